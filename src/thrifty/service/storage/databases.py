"""Databases of stores: connections to them, and their schema."""

import os
import sqlite3
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection
from sqlalchemy.exc import SQLAlchemyError

from thrifty.errors import BadFile, NoStore, escaped, first_line
from thrifty.service.storage.urls import is_file, place, shown

MIGRATIONS = Path(__file__).parent / "migrations"
FIRST = {"experiments", "events", "snapshots", "tokens", "leases"}  # tables since the first schema
VERSION = "alembic_version"  # the table that says which schema it is
Schema = Literal["none", "old", "newest"]
BUSY = 10_000  # milliseconds that a connection waits for another process to leave SQLite
LONGEST_WAIT = 5_000  # milliseconds that a statement waits for a lock in PostgreSQL
_PATIENCE = {"connect_timeout": 5, "tcp_user_timeout": 5_000}  # seconds, milliseconds; of libpq
_REFUSED = {
    "none": "not a store of thrifty: it is empty; pass --store with that of the service",
    "old": "an older version of thrifty has made it; start thrifty serve once, which updates it",
}


def connect(url: URL) -> sa.Engine:
    """A pool of connections."""
    if is_file(url):
        engine = sa.create_engine(url, hide_parameters=True)
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        return engine
    options: Any = {"pool_pre_ping": True, "connect_args": _PATIENCE}
    engine = sa.create_engine(url, hide_parameters=True, **options)
    sa.event.listen(engine, "connect", _set_up_postgresql)
    return engine


def connect_to_read(url: URL) -> sa.Engine:
    """A pool of connections that write nothing, not even files beside a SQLite file."""
    if is_file(url):
        engine = sa.create_engine(url, hide_parameters=True, creator=lambda: _read_only(url))
        sa.event.listen(engine, "begin", _begin_sqlite)
    else:
        engine = connect(url)
        sa.event.listen(engine, "connect", _forbid_writing)
    return engine.execution_options(reading=True)


def _set_up_postgresql(connection: Any, _record: Any) -> None:
    """A server that stands still must not keep others waiting for ever."""
    connection.execute(f"SET lock_timeout = {LONGEST_WAIT}")
    connection.commit()


def _forbid_writing(connection: Any, _record: Any) -> None:
    connection.execute("SET default_transaction_read_only = on")
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


def _read_only(url: URL) -> sqlite3.Connection:
    """A connection to a SQLite file.

    A file that nobody has open is read as one that does not change (see `changes`). Otherwise
    SQLite would leave files beside it, which the service might not be allowed to use, and could not
    read it in a folder that cannot be written.
    """
    place = Path(str(url.database)).absolute().as_uri()
    mode = "immutable=1" if is_closed(url) else "mode=ro"
    connection = sqlite3.connect(f"{place}?{mode}", uri=True, check_same_thread=False)
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout={BUSY}")
    return connection


def is_closed(url: URL) -> bool:
    """Whether no process has a SQLite file open to write it, or has crashed while it had."""
    return not any(os.path.exists(f"{url.database}{end}") for end in ("-wal", "-journal"))


def changes(url: URL) -> tuple[int, ...]:
    """What becomes another when a SQLite file is written or replaced."""
    status = os.stat(str(url.database))
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def check_schema(url: URL, allowed: Collection[Schema]) -> Schema:
    """The schema of a database; raises BadFile for one that is not allowed. Nothing is written."""
    engine = connect_to_read(url)
    try:
        with engine.begin() as connection:
            schema = _schema(connection, shown(url))
    except SQLAlchemyError as error:
        raise unusable(url, error) from None
    finally:
        engine.dispose()
    if schema not in allowed:
        refused = NoStore if schema == "none" else BadFile
        raise refused(f"{place(url)}: {_REFUSED[schema]}")
    return schema


def _schema(connection: Connection, name: str) -> Schema:
    """The schema of a database; raises BadFile if other programs have made it, or newer ones."""
    found = sa.inspect(connection)
    tables = {*found.get_table_names(), *found.get_view_names()}
    if connection.dialect.name != "sqlite":  # others may have tables beside ours
        tables &= {*FIRST, VERSION}
    if not tables and not _is_marked(connection):
        return "none"
    if not tables >= {*FIRST, VERSION}:
        whose = "it has tables of another program" if tables else "it is another program's"
        advice = "pass --store with another file or database"
        raise BadFile(f"{name}: not a store of thrifty: {whose}; {advice}")
    heads = set(MigrationContext.configure(connection).get_current_heads())
    if heads == {newest()}:
        return "newest"
    known = ScriptDirectory.from_config(_alembic()).walk_revisions()
    if heads <= {version.revision for version in known}:
        return "old"
    raise BadFile(f"{name}: a newer version of thrifty has made it")


def _is_marked(connection: Connection) -> bool:
    """Whether a program has noted in a SQLite file that it is its own, perhaps before any table."""
    if connection.dialect.name != "sqlite":
        return False
    marks = ("application_id", "user_version")
    return any(connection.exec_driver_sql(f"PRAGMA {mark}").scalar_one() for mark in marks)


def migrate(url: URL) -> None:
    """Bring the schema up to date, from whatever version it has, or make the tables."""
    config, engine = _alembic(), connect(url)
    try:
        with engine.begin() as connection:
            if MigrationContext.configure(connection).get_current_revision() == newest():
                return
            if engine.dialect.name != "sqlite":  # one server at a time
                connection.execute(sa.text("SET LOCAL lock_timeout = 0"))
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7417117)"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except SQLAlchemyError as error:
        raise unusable(url, error) from None
    finally:
        engine.dispose()


def newest() -> str | None:
    """The newest schema that this version knows."""
    return ScriptDirectory.from_config(_alembic()).get_current_head()


def _alembic() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def unusable(url: URL, error: SQLAlchemyError) -> BadFile:
    """What to say if a database does not do what it should."""
    reason = escaped(first_line(getattr(error, "orig", None) or error))
    return BadFile(f"{shown(url)}: the store cannot be used: {reason}")
