"""The tables of the store. Migrations (migrations/versions) make and change them."""

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

METADATA = MetaData()
LONGEST_NAME = 100  # of experiments and of decisions' ids, in characters

# at: microseconds since 1970, UTC
EXPERIMENTS = Table(
    "experiments",
    METADATA,
    Column("name", String(LONGEST_NAME), primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("status", String(20), nullable=False),  # active, paused or archived
)

# Only ever appended to. decision: its id, for events that are about one; each kind once.
EVENTS = Table(
    "events",
    METADATA,
    Column("experiment", String(LONGEST_NAME), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("decision", String(LONGEST_NAME)),
    Column("body", Text, nullable=False),
    Index("events_decision", "experiment", "decision", "kind", unique=True),
)

# code: the fingerprint of the sources that computed the state
SNAPSHOTS = Table(
    "snapshots",
    METADATA,
    Column("experiment", String(LONGEST_NAME), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("code", String(64), nullable=False),
    Column("state", LargeBinary, nullable=False),
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("name", String(LONGEST_NAME), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("scopes", String(100), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("revoked", BigInteger),
)

# fence: grows with each new leader, who must present it with every commit
LEASES = Table(
    "leases",
    METADATA,
    Column("experiment", String(LONGEST_NAME), primary_key=True),
    Column("holder", String(36), nullable=False),
    Column("url", String(500), nullable=False),
    Column("fence", Integer, nullable=False),
    Column("until", BigInteger, nullable=False),
)
