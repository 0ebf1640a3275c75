"""The schema of the store: from nothing, and from every one that was released."""

import json

import pytest
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import TableClause, create_engine, inspect, text

from tests.service.servers import audit_all
from thrifty.service.server.experiment import Experiment
from thrifty.service.server.loading import code
from thrifty.service.storage import tables
from thrifty.service.storage.databases import MIGRATIONS
from thrifty.service.storage.store import EventStore

RELEASED = ["0001", "0002"]


def alembic_config():
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


def schema_of(engine):
    """The tables with their columns and indices, as the database has them."""
    found = inspect(engine)
    return {
        name: (
            [
                (one["name"], str(one["type"]), one["nullable"], one["primary_key"])
                for one in found.get_columns(name)
            ],
            found.get_indexes(name),
        )
        for name in sorted(found.get_table_names())
    }


def test_every_migration_is_known_here():
    """A new one must be tried from: add it to RELEASED when it is released."""
    script = ScriptDirectory.from_config(alembic_config())
    assert [one.revision for one in script.walk_revisions()][::-1] == RELEASED


@pytest.mark.parametrize("revision", [None, *RELEASED])
def test_a_store_of_any_version_becomes_what_the_tables_say(tmp_path, revision):
    path = tmp_path / "store.db"
    if revision is not None:
        _make(path, revision)
    store = EventStore(str(path))
    with store.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        for table in vars(tables).values():
            if isinstance(table, TableClause):
                columns = inspect(connection).get_columns(table.name)
                assert {column["name"]: str(column["type"]) for column in columns} == {
                    column.name: str(column.type) for column in table.c
                }
        newest = ScriptDirectory.from_config(alembic_config()).get_current_head()
        assert context.get_current_revision() == newest
    fresh = EventStore(str(tmp_path / "fresh.db"))
    assert schema_of(store.engine) == schema_of(fresh.engine)
    store.close()
    fresh.close()
    assert audit_all(path) == (0 if revision is None else 3)


def test_a_store_is_opened_again_as_it_is(tmp_path):
    path = tmp_path / "store.db"
    _make(path, RELEASED[-1])
    for _ in range(2):
        EventStore(str(path)).close()
    assert audit_all(path) == 3


def _make(path, revision):
    """A store as that version made it, with the log of an experiment."""
    settings = {"policy": "lints", "rewards": "gaussian", "seed": 0, "dimension": 2}
    experiment = Experiment("old", settings, 1)
    log = [(1, "created", None, {"settings": settings, "code": code()})]
    for n in range(3):
        event = experiment.decide(f"d{n}", {"features": [[1, 0], [0, 1]]}, n)
        log.append((event.seq, event.kind, event.decision, event.body))
    event = experiment.reward("d1", 0.5, 9)
    log.append((event.seq, event.kind, event.decision, event.body))
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.execute(
            text("INSERT INTO experiments (name, at, status) VALUES ('old', 1, 'active')")
        )
        for seq, kind, decision, body in log:
            connection.execute(
                text(
                    "INSERT INTO events (experiment, seq, kind, at, decision, body) "
                    "VALUES ('old', :seq, :kind, :at, :decision, :body)"
                ),
                {
                    "seq": seq,
                    "kind": kind,
                    "at": seq,
                    "decision": decision,
                    "body": json.dumps(body),
                },
            )
    engine.dispose()
