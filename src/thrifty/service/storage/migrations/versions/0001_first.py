"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NAME = sa.String(100)


def upgrade() -> None:
    op.create_table(
        "experiments",
        sa.Column("name", NAME, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("experiment", NAME, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("decision", NAME),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("events_decision", "events", ["experiment", "decision", "kind"], unique=True)
    op.create_table(
        "snapshots",
        sa.Column("experiment", NAME, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("code", sa.String(64), nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", NAME, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("scopes", NAME, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("revoked", sa.BigInteger),
    )
    op.create_table(
        "leases",
        sa.Column("experiment", NAME, primary_key=True),
        sa.Column("holder", sa.String(36), nullable=False),
        sa.Column("url", sa.String(500), nullable=False),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
    )
