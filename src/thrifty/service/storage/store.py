"""The store of events: for each experiment a log and its snapshots, in a database."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa
from pydantic_core import from_json, to_json
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from thrifty.errors import BadFile
from thrifty.service.storage import databases, urls
from thrifty.service.storage.tables import EVENTS, EXPERIMENTS, SNAPSHOTS

PAGE = 10_000  # events that are read at once,
PAGE_BYTES = 16_000_000  # or fewer, if their bodies are longer than this
# Statements that each group of requests needs: built by SQLAlchemy they take three times as long.
_EVENT_COLUMNS = "seq, kind, at, decision, body"
_APPEND = {
    "sqlite": f"INSERT INTO events (experiment, {_EVENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
    # One statement: psycopg would send many in a pipeline, after which PostgreSQL does not notice
    # that a transaction is silent (leases.PAUSE). As JSON: psycopg takes its time for arrays.
    "postgresql": f"INSERT INTO events (experiment, {_EVENT_COLUMNS}) "
    "SELECT %s, * FROM json_to_recordset(%s::json) "
    "AS new(seq bigint, kind text, at bigint, decision text, body text)",
}
_FIND = {
    "sqlite": f"SELECT {_EVENT_COLUMNS} FROM events WHERE experiment = ? "
    "AND decision IN (SELECT value FROM json_each(?))",
    "postgresql": f"SELECT {_EVENT_COLUMNS} FROM events WHERE experiment = %s "
    "AND decision = ANY(%s)",
}
_EVENT = (EVENTS.c.seq, EVENTS.c.kind, EVENTS.c.at, EVENTS.c.decision, EVENTS.c.body)


class Event(NamedTuple):
    """An entry of an experiment's log."""

    seq: int
    kind: str
    at: int  # microseconds since 1970, UTC
    decision: str | None  # its id
    body: dict[str, Any]


class Snapshot(NamedTuple):
    """The state of an experiment after an event."""

    seq: int
    code: str
    state: bytes


def now() -> int:
    """Microseconds since 1970, UTC."""
    return time.time_ns() // 1000


Use = Literal["serve", "add", "change", "read"]
_ALLOWED: dict[Use, tuple[databases.Schema, ...]] = {
    "serve": ("none", "old", "newest"),
    "add": ("none", "newest"),
    "change": ("newest",),
    "read": ("newest",),
}


class EventStore:
    """A database with the newest schema.

    use: "serve" makes its tables or updates them, and "add" makes them only. "change" and "read"
    need them as they are; "read" writes nothing at all.
    """

    def __init__(self, url: str, use: Use = "serve") -> None:
        self.url = urls.parse(url)
        self.shared = not urls.is_file(self.url)  # whether several machines may use it
        schema: databases.Schema = "none"
        if self.shared or urls.check_file(self.url, must_exist=use in ("change", "read")):
            schema = databases.check_schema(self.url, _ALLOWED[use])
        if schema != "newest" or use == "serve":  # which must be able to write
            databases.migrate(self.url)
        # connections of their own: those who read must not keep the writer waiting
        connect = databases.connect_to_read if use == "read" else databases.connect
        self._reading = connect(self.url).execution_options(reading=True)
        self.engine = self._reading if use == "read" else connect(self.url)

    def __str__(self) -> str:
        return urls.shown(self.url)

    def begin(self) -> AbstractContextManager[Connection]:
        """A transaction: committed at the end, rolled back if an exception leaves it."""
        return self.engine.begin()

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that only reads: it does not keep others from writing."""
        return self._reading.begin()

    def now(self, connection: Connection) -> int:
        """The time of the database, which all servers share, in microseconds."""
        if not self.shared:
            return now()
        seconds = connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())"))
        return int(seconds.scalar_one() * 1_000_000)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()
        self._reading.dispose()


@contextmanager
def open_store(url: str, use: Use = "serve") -> Iterator[EventStore]:
    """A store, closed at the end; faults of its database become a sentence."""
    store = EventStore(url, use)
    still = use == "read" and not store.shared and databases.is_closed(store.url)
    seen = databases.changes(store.url) if still else None
    try:
        yield store
        if still and seen != databases.changes(store.url):
            raise BadFile(f"{store}: was written while it was read; run the command again")
    except SQLAlchemyError as error:
        raise databases.unusable(store.url, error) from None
    finally:
        store.close()


def append(connection: Connection, experiment: str, events: Sequence[Event]) -> None:
    """Add events to the log of an experiment."""
    dialect = connection.dialect.name
    if dialect == "sqlite":
        rows: Any = [(experiment, *event[:4], to_json(event.body).decode()) for event in events]
    else:
        rows = (experiment, to_json([event._asdict() for event in events]).decode())
    connection.exec_driver_sql(_APPEND[dialect], rows)


def read_events(connection: Connection, experiment: str, after: int = 0) -> list[Event]:
    """A page of the events after a sequence number, in order."""
    query = _events(experiment, EVENTS.c.seq > after).order_by(EVENTS.c.seq).limit(PAGE)
    events, size = [], 0
    # PostgreSQL sends few rows at first, and more and more
    with connection.execute(query, execution_options={"stream_results": True}) as rows:
        for row in rows:
            events.append(_event(row))
            size += len(row.body)
            if size > PAGE_BYTES:
                break
    return events


def all_events(connection: Connection, experiment: str, after: int = 0) -> Iterator[Event]:
    """All events after a sequence number, a page at a time."""
    while page := read_events(connection, experiment, after):
        yield from page
        after = page[-1].seq


def last_events(connection: Connection, experiment: str, kind: str, most: int) -> list[Event]:
    """The last events of a kind, the newest first."""
    query = _events(experiment, EVENTS.c.kind == kind).order_by(EVENTS.c.seq.desc()).limit(most)
    return [_event(row) for row in connection.execute(query)]


def events_about_all(connection: Connection, experiment: str, kind: str) -> list[Event]:
    """The events of a kind that is about no decision, in order."""
    about_none = EVENTS.c.decision.is_(None)  # few, and the index finds them
    query = _events(experiment, about_none, EVENTS.c.kind == kind).order_by(EVENTS.c.seq)
    return [_event(row) for row in connection.execute(query)]


def _events(experiment: str, *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return sa.select(*_EVENT).where(EVENTS.c.experiment == experiment, *conditions)


def find_decisions(
    connection: Connection, experiment: str, ids: Collection[str]
) -> dict[str, dict[str, Event]]:
    """The events about decisions, by the id of the decision and by kind."""
    events: dict[str, dict[str, Event]] = {}
    dialect = connection.dialect.name
    rows = connection.exec_driver_sql(_FIND[dialect], (experiment, list_for(dialect, ids)))
    for row in rows:
        events.setdefault(row.decision, {})[row.kind] = _event(row)
    return events


def list_for(dialect: str, names: Collection[str]) -> Any:
    """Names as one parameter of a statement: an array for PostgreSQL, JSON for SQLite."""
    return to_json(list(names)).decode() if dialect == "sqlite" else list(names)


def _event(row: Any) -> Event:
    return Event(row.seq, row.kind, row.at, row.decision, from_json(row.body))


def add_experiment(connection: Connection, name: str, at: int) -> None:
    """Add an experiment; its log must be begun in the same transaction."""
    connection.execute(sa.insert(EXPERIMENTS).values(name=name, at=at, status="active"))


def set_status(connection: Connection, name: str, status: str) -> None:
    connection.execute(EXPERIMENTS.update().where(EXPERIMENTS.c.name == name).values(status=status))


def statuses(connection: Connection) -> dict[str, str]:
    """The status of each experiment, by name."""
    query = sa.select(EXPERIMENTS.c.name, EXPERIMENTS.c.status).order_by(EXPERIMENTS.c.name)
    return {row.name: row.status for row in connection.execute(query)}


def last_seq(connection: Connection, experiment: str) -> int:
    """The sequence number of the last event; 0 if there is none."""
    query = sa.select(sa.func.max(EVENTS.c.seq)).where(EVENTS.c.experiment == experiment)
    return connection.execute(query).scalar() or 0


def save_snapshot(
    connection: Connection, experiment: str, snapshot: Snapshot, keep: Collection[int] = ()
) -> None:
    """Add a snapshot; of earlier ones only the last, and those at `keep`, remain."""
    mine, seq = SNAPSHOTS.c.experiment == experiment, SNAPSHOTS.c.seq
    connection.execute(sa.delete(SNAPSHOTS).where(mine, seq == snapshot.seq))
    row = {"experiment": experiment, "at": now(), **snapshot._asdict()}
    connection.execute(sa.insert(SNAPSHOTS).values(row))
    newest_first = connection.execute(sa.select(seq).where(mine).order_by(seq.desc())).scalars()
    if old := set(newest_first.all()[2:]) - set(keep):
        connection.execute(sa.delete(SNAPSHOTS).where(mine, seq.in_(old)))


def last_snapshot(connection: Connection, name: str, until: int | None = None) -> Snapshot | None:
    """The newest snapshot of an experiment, or the newest up to a sequence number."""
    query = sa.select(SNAPSHOTS).where(SNAPSHOTS.c.experiment == name)
    query = query.order_by(SNAPSHOTS.c.seq.desc()).limit(1)
    if until is not None:
        query = query.where(SNAPSHOTS.c.seq <= until)
    row = connection.execute(query).first()
    return None if row is None else Snapshot(row.seq, row.code, bytes(row.state))


def snapshots_by(connection: Connection, experiment: str, code: str) -> dict[int, bytes]:
    """The states in all snapshots that some code has made, by sequence number."""
    of_code = (SNAPSHOTS.c.experiment == experiment, SNAPSHOTS.c.code == code)
    rows = connection.execute(sa.select(SNAPSHOTS).where(*of_code))
    return {row.seq: bytes(row.state) for row in rows}
