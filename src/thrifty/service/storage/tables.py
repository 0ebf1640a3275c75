"""The tables of the store, as statements name them; migrations (migrations/versions) make them."""

from typing import Any

from sqlalchemy import BigInteger, Integer, LargeBinary, String, TableClause, Text, column, table

LONGEST_NAME = 100  # of experiments and of decisions' ids, in characters
NAME, WHOLE, WORD = String(LONGEST_NAME), BigInteger(), String(20)


def _table(name: str, /, **kinds: Any) -> TableClause:
    return table(name, *(column(key, kind) for key, kind in kinds.items()))


# at, until, revoked: microseconds since 1970, UTC. status: active, paused or archived
# summary: JSON of what the list shows, and after which event
EXPERIMENTS = _table("experiments", name=NAME, at=WHOLE, status=WORD, summary=Text())

# Only ever appended to. decision: its id, for events that are about one; each kind once.
# digest: of the event and of the digest before it; none in events of versions before 0.3
EVENTS = _table(
    "events",
    experiment=NAME,
    seq=WHOLE,
    kind=WORD,
    at=WHOLE,
    decision=NAME,
    body=Text(),
    digest=String(64),
)

# code: the fingerprint of the sources that computed the state; digest: of the state
SNAPSHOTS = _table(
    "snapshots",
    experiment=NAME,
    seq=WHOLE,
    at=WHOLE,
    code=String(64),
    state=LargeBinary(),
    digest=String(64),
)

TOKENS = _table(
    "tokens", id=String(16), name=NAME, digest=String(64), scopes=NAME, at=WHOLE, revoked=WHOLE
)

# fence: grows with each new leader, who must present it with every commit
LEASES = _table(
    "leases", experiment=NAME, holder=String(36), url=String(500), fence=Integer(), until=WHOLE
)
