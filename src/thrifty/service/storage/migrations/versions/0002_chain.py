"""Digests of events and of snapshots; what the list shows of an experiment."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("events", sa.Column("digest", sa.String(64)))
    op.add_column("snapshots", sa.Column("digest", sa.String(64)))
    op.add_column("experiments", sa.Column("summary", sa.Text))
