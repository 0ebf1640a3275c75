"""The store: a log of events for each experiment, snapshots, tokens and leases in a database."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from pydantic_core import from_json, to_json
from sqlalchemy import (
    Connection,
    Engine,
    create_engine,
    delete,
    event,
    func,
    insert,
    literal_column,
    select,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from thrifty.errors import BadFile, InvalidInput, escaped, first_line
from thrifty.service.storage.tables import EVENTS, EXPERIMENTS, LEASES, SNAPSHOTS

MIGRATIONS = Path(__file__).parent / "migrations"
BUSY = 10_000  # milliseconds that a connection waits for another process to leave SQLite
PAUSE = 2_000  # milliseconds that a transaction may be silent while it holds leases
LONGEST_WAIT = 5_000  # milliseconds that a statement waits for a lock in PostgreSQL
PAGE = 10_000  # events that are read at once,
PAGE_BYTES = 16_000_000  # or fewer, if their bodies are longer than this
# Statements that each group of requests needs: built by SQLAlchemy they take three times as long.
# One parameter for a list: an array for PostgreSQL, JSON for SQLite.
_EVENT_COLUMNS = "seq, kind, at, decision, body"
_APPEND = {
    "sqlite": f"INSERT INTO events (experiment, {_EVENT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
    # One statement: psycopg would send many in a pipeline, after which PostgreSQL does not notice
    # that a transaction is silent (PAUSE). As JSON, since psycopg takes its time for arrays.
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
_LEASE_COLUMNS = "experiment, holder, url, fence, until"
_LEASES = {
    "sqlite": f"SELECT {_LEASE_COLUMNS} FROM leases "
    "WHERE experiment IN (SELECT value FROM json_each(?))",
    "postgresql": f"SELECT {_LEASE_COLUMNS} FROM leases WHERE experiment = ANY(%s)",
}
_LIMIT_SILENCE = f"set_config('idle_in_transaction_session_timeout', '{PAUSE}', true)"
_LOCKED_LEASES = (
    f"SELECT {_LEASE_COLUMNS}, {_LIMIT_SILENCE} "
    "FROM leases WHERE experiment = ANY(%s) ORDER BY experiment FOR"
)
_PATIENCE = {"connect_timeout": 5, "tcp_user_timeout": 5_000}  # seconds, milliseconds; of libpq
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


class Store:
    """A database, migrated to the newest schema; must_exist: do not make a new SQLite file."""

    def __init__(self, url: str, *, must_exist: bool = False) -> None:
        self.engine = _engine(url)
        # connections of their own: those who read must not keep the writer waiting
        self._reading = _engine(url).execution_options(reading=True)
        file = self.engine.url.database if self.engine.dialect.name == "sqlite" else None
        if must_exist and file is not None and not Path(file).is_file():
            raise BadFile(f"{file}: no such file; pass --store with that of the service")
        self.shared = self.engine.dialect.name != "sqlite"  # whether several machines may use it
        migrate(self.engine)

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction: committed at the end, rolled back if an exception leaves it."""
        with self.engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads: it does not keep others from writing."""
        with self._reading.begin() as connection:
            yield connection

    def now(self, connection: Connection) -> int:
        """The time of the database, which all servers share, in microseconds."""
        if not self.shared:
            return now()
        seconds = connection.execute(text("SELECT extract(epoch FROM clock_timestamp())"))
        return int(seconds.scalar_one() * 1_000_000)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()
        self._reading.dispose()


def append(connection: Connection, experiment: str, events: Sequence[Event]) -> None:
    """Add events to the log of an experiment."""
    if not events:
        return
    kind = connection.dialect.name
    if kind == "sqlite":
        rows: Any = [(experiment, *event[:4], to_json(event.body).decode()) for event in events]
    else:
        rows = (experiment, to_json([event._asdict() for event in events]).decode())
    connection.exec_driver_sql(_APPEND[kind], rows)


def read_events(
    connection: Connection, experiment: str, after: int = 0, most: int | None = None
) -> list[Event]:
    """The events after a sequence number, in order: at most so many, or a page."""
    query = (
        select(*_EVENT)
        .where(EVENTS.c.experiment == experiment, EVENTS.c.seq > after)
        .order_by(EVENTS.c.seq)
        .limit(PAGE if most is None else most)
    )
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
    query = (
        select(*_EVENT)
        .where(EVENTS.c.experiment == experiment, EVENTS.c.kind == kind)
        .order_by(EVENTS.c.seq.desc())
        .limit(most)
    )
    return [_event(row) for row in connection.execute(query)]


def events_about_all(connection: Connection, experiment: str, kind: str) -> list[Event]:
    """The events of a kind that is about no decision, in order."""
    query = (
        select(*_EVENT)
        .where(
            EVENTS.c.experiment == experiment,
            EVENTS.c.decision.is_(None),  # few, and the index finds them
            EVENTS.c.kind == kind,
        )
        .order_by(EVENTS.c.seq)
    )
    return [_event(row) for row in connection.execute(query)]


def find_decisions(
    connection: Connection, experiment: str, ids: Collection[str]
) -> dict[str, dict[str, Event]]:
    """The events about decisions, by the id of the decision and by kind."""
    found: dict[str, dict[str, Event]] = {}
    kind = connection.dialect.name
    rows = connection.exec_driver_sql(_FIND[kind], (experiment, _list_for(kind, ids)))
    for row in rows:
        found.setdefault(row.decision, {})[row.kind] = _event(row)
    return found


def _list_for(kind: str, names: Collection[str]) -> Any:
    """Names as a parameter of a statement."""
    return to_json(list(names)).decode() if kind == "sqlite" else list(names)


def _event(row: Any) -> Event:
    return Event(row.seq, row.kind, row.at, row.decision, from_json(row.body))


def add_experiment(connection: Connection, name: str, at: int) -> None:
    """Add an experiment; its log must be begun in the same transaction."""
    connection.execute(insert(EXPERIMENTS).values(name=name, at=at, status="active"))


def set_status(connection: Connection, name: str, status: str) -> None:
    connection.execute(EXPERIMENTS.update().where(EXPERIMENTS.c.name == name).values(status=status))


def statuses(connection: Connection) -> dict[str, str]:
    """The status of each experiment, by name."""
    rows = connection.execute(
        select(EXPERIMENTS.c.name, EXPERIMENTS.c.status).order_by(EXPERIMENTS.c.name)
    )
    return {row.name: row.status for row in rows}


def last_seq(connection: Connection, experiment: str) -> int:
    """The sequence number of the last event; 0 if there is none."""
    query = select(func.max(EVENTS.c.seq)).where(EVENTS.c.experiment == experiment)
    return connection.execute(query).scalar() or 0


def save_snapshot(
    connection: Connection, experiment: str, snapshot: Snapshot, keep: Collection[int] = ()
) -> None:
    """Add a snapshot; of earlier ones only the last, and those at `keep`, remain."""
    connection.execute(
        delete(SNAPSHOTS).where(
            SNAPSHOTS.c.experiment == experiment, SNAPSHOTS.c.seq == snapshot.seq
        )
    )
    connection.execute(
        insert(SNAPSHOTS).values(experiment=experiment, at=now(), **snapshot._asdict())
    )
    earlier = (
        select(SNAPSHOTS.c.seq)
        .where(SNAPSHOTS.c.experiment == experiment)
        .order_by(SNAPSHOTS.c.seq.desc())
    )
    old = set(connection.execute(earlier).scalars().all()[2:]) - set(keep)
    if old:
        connection.execute(
            delete(SNAPSHOTS).where(
                SNAPSHOTS.c.experiment == experiment, SNAPSHOTS.c.seq.in_(sorted(old))
            )
        )


def last_snapshot(
    connection: Connection, experiment: str, until: int | None = None
) -> Snapshot | None:
    """The newest snapshot, or the newest up to a sequence number."""
    query = select(SNAPSHOTS.c.seq, SNAPSHOTS.c.code, SNAPSHOTS.c.state).where(
        SNAPSHOTS.c.experiment == experiment
    )
    if until is not None:
        query = query.where(SNAPSHOTS.c.seq <= until)
    row = connection.execute(query.order_by(SNAPSHOTS.c.seq.desc()).limit(1)).first()
    return None if row is None else Snapshot(row.seq, row.code, bytes(row.state))


def snapshots_by(connection: Connection, experiment: str, code: str) -> dict[int, bytes]:
    """The states in all snapshots that some code has made, by sequence number."""
    query = select(SNAPSHOTS.c.seq, SNAPSHOTS.c.state).where(
        SNAPSHOTS.c.experiment == experiment, SNAPSHOTS.c.code == code
    )
    return {row.seq: bytes(row.state) for row in connection.execute(query)}


class Lease(NamedTuple):
    """Who leads an experiment, and until when."""

    holder: str
    url: str
    fence: int
    until: int


def read_leases(
    connection: Connection,
    experiments: Collection[str],
    *,
    lock: Literal["key share", "update"] | None = None,
) -> dict[str, Lease]:
    """The leases of experiments.

    lock: until the transaction ends there are no new leaders, but leases can be renewed; "update":
    nobody else reads them with a lock. The database ends a transaction that holds them and is
    silent for PAUSE: a server that stands still must not keep others from leading.
    """
    kind = connection.dialect.name
    statement = _LEASES[kind]
    if lock and kind != "sqlite":  # there, a transaction that writes is alone
        statement = f"{_LOCKED_LEASES} {lock.upper()}"
    rows = connection.exec_driver_sql(statement, (_list_for(kind, experiments),))
    return {row.experiment: Lease(row.holder, row.url, row.fence, row.until) for row in rows}


def write_lease(connection: Connection, experiment: str, lease: Lease) -> None:
    """Make, or take over, a lease."""
    values: Mapping[str, Any] = lease._asdict()
    changed = connection.execute(
        LEASES.update()
        .where(LEASES.c.experiment == experiment, LEASES.c.fence < lease.fence)
        .values(**values)
    )
    if changed.rowcount == 0:
        new = insert(LEASES).values(experiment=experiment, **values)
        if connection.dialect.name != "sqlite":  # as read_leases with a lock
            new = new.returning(literal_column(_LIMIT_SILENCE))
        connection.execute(new)


def extend_leases(connection: Connection, holder: str, until: int) -> None:
    """Keep all leases of a holder; until 0 gives them up."""
    connection.execute(LEASES.update().where(LEASES.c.holder == holder).values(until=until))


def migrate(engine: Engine) -> None:
    """Bring the schema up to date, from whatever version it has."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    newest = ScriptDirectory.from_config(config).get_current_head()
    try:
        with engine.begin() as connection:
            if MigrationContext.configure(connection).get_current_revision() == newest:
                return
            if engine.dialect.name != "sqlite":  # one server at a time
                connection.execute(text("SET LOCAL lock_timeout = 0"))
                connection.execute(text("SELECT pg_advisory_xact_lock(7417117)"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except CommandError:
        raise BadFile(f"{_shown(engine.url)}: a newer version of thrifty has made it") from None
    except SQLAlchemyError as error:
        reason = escaped(first_line(error.args[0]))
        raise BadFile(f"{_shown(engine.url)}: the store cannot be opened: {reason}") from None


def _engine(url: str) -> Engine:
    """A connection pool for a URL; a path is that of a SQLite file."""
    if "://" not in url:
        url = f"sqlite:///{url}"
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
            engine = create_engine(
                parsed, pool_pre_ping=True, connect_args=_PATIENCE, hide_parameters=True
            )
            event.listen(engine, "connect", _set_up_postgresql)
            return engine
        if parsed.get_backend_name() != "sqlite" or not parsed.database:
            raise ArgumentError
        engine = create_engine(parsed, hide_parameters=True)
    except (ArgumentError, NoSuchModuleError):
        expected = "a file, or postgresql://user:password@host/database"
        raise InvalidInput.expected("store", expected, f"{url.partition('://')[0]}://...") from None
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _shown(url: URL) -> str:
    """Where a store is, without its password."""
    return url.render_as_string(hide_password=True)


def _set_up_postgresql(connection: Any, _record: Any) -> None:
    """A server that stands still must not keep others waiting for ever."""
    connection.execute(f"SET lock_timeout = {LONGEST_WAIT}")
    connection.commit()


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    """Commits reach the disk; readers do not wait for the writer."""
    connection.isolation_level = None  # transactions are begun by _begin_sqlite
    for pragma in (f"busy_timeout={BUSY}", "journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Wait for other writers now, not in the middle of a transaction; readers do not wait."""
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
