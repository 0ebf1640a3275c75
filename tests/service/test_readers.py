"""Readers of a store do not keep the writer waiting."""

from threading import Thread

import pytest
from sqlalchemy.exc import SQLAlchemyError

from thrifty.service.store import Event, Store, add_experiment, append, last_seq, statuses


@pytest.fixture
def store(tmp_path):
    store = Store(str(tmp_path / "store.db"))
    with store.begin() as connection:
        add_experiment(connection, "one", 0)
    yield store
    store.close()


def test_events_are_written_while_somebody_reads(store):
    def write():
        with store.begin() as connection:
            append(connection, "one", [Event(1, "created", 0, None, {})])

    with store.reading() as connection:
        assert last_seq(connection, "one") == 0
        writer = Thread(target=write)
        writer.start()
        writer.join(5)
        assert not writer.is_alive()
        assert last_seq(connection, "one") == 0  # what is read does not change meanwhile
    with store.reading() as connection:
        assert last_seq(connection, "one") == 1


def test_somebody_reads_while_events_are_written(store):
    with store.begin() as writing:
        append(writing, "one", [Event(1, "created", 0, None, {})])
        with store.reading() as connection:
            assert statuses(connection) == {"one": "active"}
            assert last_seq(connection, "one") == 0


def test_two_who_write_take_turns(store):
    """The second waits before it reads: what it reads is still true when it writes."""
    with store.begin() as first:
        number = last_seq(first, "one")
        second = Thread(target=_append_next, args=(store,))
        second.start()
        append(first, "one", [Event(number + 1, "created", 0, None, {})])
    second.join(5)
    with store.reading() as connection:
        assert last_seq(connection, "one") == 2


def _append_next(store):
    try:
        with store.begin() as connection:
            number = last_seq(connection, "one")
            append(connection, "one", [Event(number + 1, "changed", 0, None, {})])
    except SQLAlchemyError:
        return
