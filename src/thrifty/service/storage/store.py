"""The store of events: for each experiment a log and its snapshots, in a database."""

import hashlib
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
from thrifty.service.storage.tables import EVENTS, EXPERIMENTS, LEASES, SNAPSHOTS

PAGE = 10_000  # events that are read at once,
PAGE_BYTES = 16_000_000  # or fewer, if their bodies are longer than this
LOWEST = -(2**63)  # of all numbers that a column can have
# Statements that each group of requests needs: built by SQLAlchemy they take three times as long.
_EVENT_COLUMNS = "seq, kind, at, decision, body"
_WRITTEN = f"experiment, {_EVENT_COLUMNS}, digest"
_APPEND = {
    "sqlite": f"INSERT INTO events ({_WRITTEN}) VALUES (?, ?, ?, ?, ?, ?, ?)",
    # One statement: psycopg would send many in a pipeline, after which PostgreSQL does not notice
    # that a transaction is silent (leases.PAUSE). As JSON: psycopg takes its time for arrays.
    "postgresql": f"INSERT INTO events ({_WRITTEN}) "
    "SELECT %s, * FROM json_to_recordset(%s::json) "
    "AS new(seq bigint, kind text, at bigint, decision text, body text, digest text)",
}
_KEYS = (*_EVENT_COLUMNS.split(", "), "digest")
_FIND = {
    "sqlite": f"SELECT {_EVENT_COLUMNS} FROM events WHERE experiment = ? "
    "AND decision IN (SELECT value FROM json_each(?))",
    "postgresql": f"SELECT {_EVENT_COLUMNS} FROM events WHERE experiment = %s "
    "AND decision = ANY(%s)",
}
_EVENT = tuple(EVENTS.c[key] for key in _KEYS)


class Event(NamedTuple):
    """An entry of an experiment's log."""

    seq: int
    kind: str
    at: int  # microseconds since 1970, UTC
    decision: str | None  # its id
    body: dict[str, Any]


class Head(NamedTuple):
    """The last event of a log: its number and its digest ("" of earlier versions)."""

    seq: int
    digest: str


EMPTY = Head(0, "")  # of a log without events


class Summary(NamedTuple):
    """What the list shows of an experiment, and after which event."""

    seq: int
    line: dict[str, Any]


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
    """A database with the newest schema; made: whether its tables were made just now.

    use: "serve" makes its tables or updates them, and "add" makes them only. "change" and "read"
    need them as they are; "read" writes nothing at all.
    """

    def __init__(self, url: str, use: Use = "serve") -> None:
        self.url = urls.parse(url)
        self.shared = not urls.is_file(self.url)  # whether several machines may use it
        schema: databases.Schema = "none"
        if self.shared or urls.check_file(self.url, must_exist=use in ("change", "read")):
            schema = databases.check_schema(self.url, _ALLOWED[use])
        self.made = schema == "none"
        if schema != "newest" or use == "serve":  # which must be able to write
            databases.migrate(self.url)
        # connections of their own: those who read must not keep the writer waiting
        connect = databases.connect_to_read if use == "read" else databases.connect
        # what one transaction reads must fit together; in SQLite it always does
        options: dict[str, Any] = {"isolation_level": "REPEATABLE READ"} if self.shared else {}
        self._reading = connect(self.url).execution_options(reading=True, **options)
        self.engine = self._reading if use == "read" else connect(self.url)

    def __str__(self) -> str:
        return urls.shown(self.url)

    def described(self) -> str:
        """Which store it is, in words."""
        return f"{'made the store' if self.made else 'store:'} {urls.place(self.url)}"

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


def append(connection: Connection, experiment: str, events: Sequence[Event], head: Head) -> Head:
    """Add events to the log of an experiment that has a head.

    Each event carries the digest of itself and of the one before, so that no event can be changed,
    added or removed without changing all digests after it. Returns the new head.
    """
    rows, digest = [], head.digest
    for seq, kind, at, decision, content in events:
        body = to_json(content).decode()
        digest = chained(digest, experiment, seq, kind, at, decision, body)
        rows.append((experiment, seq, kind, at, decision, body, digest))
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(_APPEND["sqlite"], rows)
    else:
        new = to_json([dict(zip(_KEYS, row[1:], strict=True)) for row in rows]).decode()
        connection.exec_driver_sql(_APPEND["postgresql"], (experiment, new))
    return Head(events[-1].seq, digest)


def chained(
    before: str, experiment: str, seq: int, kind: str, at: int, decision: str | None, body: str
) -> str:
    """The digest of an event; before: that of its predecessor, "" for the first.

    body: as the database has it.
    """
    text = f"{before}\n{experiment}\n{seq}\n{kind}\n{at}\n{decision or ''}\n{body}"
    return hashlib.sha256(text.encode()).hexdigest()


def read_head(connection: Connection, experiment: str) -> Head:
    """The last event of a log."""
    query = sa.select(EVENTS.c.seq, EVENTS.c.digest).where(EVENTS.c.experiment == experiment)
    row = connection.execute(query.order_by(EVENTS.c.seq.desc()).limit(1)).first()
    return EMPTY if row is None else Head(row.seq, row.digest or "")


def read_events(connection: Connection, experiment: str, after: int = 0) -> list[Event]:
    """A page of the events after a sequence number, in order."""
    return [_event(row) for row in _page(connection, experiment, after)]


def _page(connection: Connection, experiment: str, after: int) -> list[Any]:
    """The rows of a page."""
    query = _events(experiment, EVENTS.c.seq > after).order_by(EVENTS.c.seq).limit(PAGE)
    page, size = [], 0
    # PostgreSQL sends few rows at first, and more and more
    with connection.execute(query, execution_options={"stream_results": True}) as rows:
        for row in rows:
            page.append(row)
            size += len(str(row.body))  # a damaged one may be no text
            if size > PAGE_BYTES:
                break
    return page


def all_events(connection: Connection, experiment: str, after: int = 0) -> Iterator[Event]:
    """All events after a sequence number, a page at a time."""
    return map(_event, raw_events(connection, experiment, after))


def raw_events(connection: Connection, experiment: str, after: int = 0) -> Iterator[Any]:
    """The same as rows of EVENTS, as the database has them.

    after: LOWEST, also those whose numbers no log has.
    """
    while page := _page(connection, experiment, after):
        yield from page
        after = page[-1].seq


def last_events(connection: Connection, experiment: str, kind: str, most: int) -> list[Event]:
    """The last events of a kind, the newest first."""
    query = _events(experiment, EVENTS.c.seq > 0, EVENTS.c.kind == kind)
    query = query.order_by(EVENTS.c.seq.desc()).limit(most)
    return [_event(row) for row in connection.execute(query)]


def events_about_all(connection: Connection, experiment: str, kind: str) -> list[Event]:
    """The events of a kind that is about no decision, in order."""
    about_none = EVENTS.c.decision.is_(None)  # few, and the index finds them
    query = _events(experiment, EVENTS.c.seq > 0, about_none, EVENTS.c.kind == kind)
    query = query.order_by(EVENTS.c.seq)
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
        if is_number(row.seq):  # else no replay has seen it
            events.setdefault(row.decision, {})[row.kind] = _event(row)
    return events


def is_number(seq: Any) -> bool:
    """Whether something can be the number of an event: columns of SQLite take any value."""
    return type(seq) is int and seq > 0


def list_for(dialect: str, names: Collection[str]) -> Any:
    """Names as one parameter of a statement: an array for PostgreSQL, JSON for SQLite."""
    return to_json(list(names)).decode() if dialect == "sqlite" else list(names)


def _event(row: Any) -> Event:
    return Event(row.seq, row.kind, row.at, row.decision, from_json(row.body))


def add_experiment(connection: Connection, name: str, at: int) -> None:
    """Add an experiment; its log must be begun in the same transaction."""
    connection.execute(sa.insert(EXPERIMENTS).values(name=name, at=at, status="active"))


def set_summary(connection: Connection, name: str, seq: int, line: dict[str, Any]) -> None:
    """Keep what the list shows of an experiment after an event."""
    text = to_json({"seq": seq, "line": line}).decode()
    connection.execute(EXPERIMENTS.update().where(EXPERIMENTS.c.name == name).values(summary=text))


class Listed(NamedTuple):
    """An experiment in the list.

    summary : None if there is none that can be read
    last : number of the last event
    leader : address of the server that leads it, or has led it a moment ago; None if there is none
    """

    status: str
    summary: Summary | None
    last: int
    leader: str | None


def list_experiments(connection: Connection, at: int) -> dict[str, Listed]:
    """All experiments that are not archived, by name; at: the time."""
    last = sa.select(sa.func.max(EVENTS.c.seq)).where(EVENTS.c.experiment == EXPERIMENTS.c.name)
    led = (LEASES.c.experiment == EXPERIMENTS.c.name) & (LEASES.c.until > at)
    shown = (EXPERIMENTS.c.name, EXPERIMENTS.c.status, EXPERIMENTS.c.summary, LEASES.c.url)
    query = sa.select(*shown, last.scalar_subquery().label("last"))
    query = query.select_from(EXPERIMENTS.outerjoin(LEASES, led))
    query = query.where(EXPERIMENTS.c.status != "archived").order_by(EXPERIMENTS.c.name)
    return {
        row.name: Listed(row.status, _summary(row.summary), row.last, row.url)
        for row in connection.execute(query)
    }


def read_summary(connection: Connection, experiment: str) -> Summary | None:
    """What the list shows of an experiment; None if it has nothing that can be read."""
    return _summary(_summary_text(connection, experiment))


def has_damaged_summary(connection: Connection, experiment: str) -> bool:
    """Whether there is something for the list that cannot be read."""
    text = _summary_text(connection, experiment)
    return text is not None and _summary(text) is None


def _summary_text(connection: Connection, experiment: str) -> Any:
    query = sa.select(EXPERIMENTS.c.summary).where(EXPERIMENTS.c.name == experiment)
    return connection.execute(query).scalar()


def _summary(text: Any) -> Summary | None:
    """The summary that a text is, if it is one."""
    try:
        saved = from_json(text)
        found = Summary(saved["seq"], saved["line"])
    except (KeyError, TypeError, ValueError):
        return None
    return found if is_number(found.seq) and isinstance(found.line, dict) else None


def set_status(connection: Connection, name: str, status: str) -> None:
    connection.execute(EXPERIMENTS.update().where(EXPERIMENTS.c.name == name).values(status=status))


def statuses(connection: Connection, names: Collection[str] | None = None) -> dict[str, str]:
    """The status of each experiment by name: of all, or of those of some names that there are."""
    query = sa.select(EXPERIMENTS.c.name, EXPERIMENTS.c.status).order_by(EXPERIMENTS.c.name)
    if names is not None:
        query = query.where(EXPERIMENTS.c.name.in_(names))
    return {row.name: row.status for row in connection.execute(query)}


def last_seq(connection: Connection, experiment: str) -> int:
    """The sequence number of the last event; 0 if there is none."""
    query = sa.select(sa.func.max(EVENTS.c.seq)).where(EVENTS.c.experiment == experiment)
    return connection.execute(query).scalar() or 0


def seqs_of_kind(connection: Connection, experiment: str, kind: str) -> list[int]:
    """The sequence numbers of the events of a kind that is about no decision, in order."""
    query = sa.select(EVENTS.c.seq).where(EVENTS.c.experiment == experiment)
    query = query.where(EVENTS.c.seq > 0, EVENTS.c.decision.is_(None), EVENTS.c.kind == kind)
    return list(connection.execute(query.order_by(EVENTS.c.seq)).scalars())


def last_seen(connection: Connection, experiment: str) -> int:
    """The last event that snapshots and the summary know of; 0 if there are none."""
    summary = read_summary(connection, experiment)
    numbers = filter(is_number, snapshot_numbers(connection, experiment))
    return max([0 if summary is None else summary.seq, *numbers])


def logged(connection: Connection) -> list[str]:
    """The names of all experiments that have events or snapshots."""
    queries = (sa.select(table.c.experiment) for table in (EVENTS, SNAPSHOTS))
    return sorted(connection.execute(sa.union(*queries)).scalars())


def save_snapshot(
    connection: Connection, experiment: str, snapshot: Snapshot, keep: Collection[int] = ()
) -> None:
    """Add a snapshot; of earlier ones only the last, and those at `keep`, remain."""
    mine, seq = SNAPSHOTS.c.experiment == experiment, SNAPSHOTS.c.seq
    connection.execute(sa.delete(SNAPSHOTS).where(mine, seq == snapshot.seq))
    row = {"experiment": experiment, "at": now(), **snapshot._asdict()}
    row["digest"] = hashlib.sha256(snapshot.state).hexdigest()
    connection.execute(sa.insert(SNAPSHOTS).values(row))
    numbers = filter(is_number, snapshot_numbers(connection, experiment))
    if old := set(list(numbers)[2:]) - set(keep):
        connection.execute(sa.delete(SNAPSHOTS).where(mine, seq.in_(old)))


def read_snapshots(
    connection: Connection, experiment: str, until: int | None = None
) -> Iterator[Snapshot]:
    """The snapshots of an experiment up to a sequence number, the newest first, one at a time."""
    mine, seq = SNAPSHOTS.c.experiment == experiment, SNAPSHOTS.c.seq
    for number in filter(is_number, snapshot_numbers(connection, experiment)):
        if until is None or number <= until:
            row = connection.execute(sa.select(SNAPSHOTS).where(mine, seq == number)).one()
            yield Snapshot(row.seq, row.code, _intact(row))


def snapshot_numbers(connection: Connection, experiment: str) -> list[Any]:
    """After which events there are snapshots, the newest first, as the database has it."""
    query = sa.select(SNAPSHOTS.c.seq).where(SNAPSHOTS.c.experiment == experiment)
    return list(connection.execute(query.order_by(SNAPSHOTS.c.seq.desc())).scalars())


def strange_snapshots(connection: Connection, experiment: str) -> list[Any]:
    """The numbers of snapshots that no event can have."""
    return [n for n in snapshot_numbers(connection, experiment) if not is_number(n)]


def _intact(row: Any) -> bytes:
    """The state in a row of SNAPSHOTS; nothing if it is not what was saved."""
    state = row.state if isinstance(row.state, bytes | memoryview) else b""
    state = bytes(state)
    same = row.digest in (None, hashlib.sha256(state).hexdigest())  # None: of earlier versions
    return state if same else b""
