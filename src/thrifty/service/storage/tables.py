"""The tables of the store. Migrations (migrations/versions) make and change them."""

from typing import Any

import sqlalchemy as sa

METADATA = sa.MetaData()
LONGEST_NAME = 100  # of experiments and of decisions' ids, in characters
NAME = sa.String(LONGEST_NAME)


def _key() -> list[sa.Column[Any]]:
    """The columns that tell an event, or the state after it, from all others."""
    return [
        sa.Column("experiment", NAME, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    ]


# at: microseconds since 1970, UTC
EXPERIMENTS = sa.Table(
    "experiments",
    METADATA,
    sa.Column("name", NAME, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("status", sa.String(20), nullable=False),  # active, paused or archived
)

# Only ever appended to. decision: its id, for events that are about one; each kind once.
EVENTS = sa.Table(
    "events",
    METADATA,
    *_key(),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("decision", NAME),
    sa.Column("body", sa.Text, nullable=False),
    sa.Index("events_decision", "experiment", "decision", "kind", unique=True),
)

# code: the fingerprint of the sources that computed the state
SNAPSHOTS = sa.Table(
    "snapshots",
    METADATA,
    *_key(),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("code", sa.String(64), nullable=False),
    sa.Column("state", sa.LargeBinary, nullable=False),
)

TOKENS = sa.Table(
    "tokens",
    METADATA,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("name", NAME, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("scopes", sa.String(100), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("revoked", sa.BigInteger),
)

# fence: grows with each new leader, who must present it with every commit
LEASES = sa.Table(
    "leases",
    METADATA,
    sa.Column("experiment", NAME, primary_key=True),
    sa.Column("holder", sa.String(36), nullable=False),
    sa.Column("url", sa.String(500), nullable=False),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
)
