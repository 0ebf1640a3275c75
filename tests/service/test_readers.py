"""Readers of a store do not keep the writer waiting, nor a whole log in memory."""

from threading import Thread

import pyarrow.parquet as pq
import pytest
from sqlalchemy.exc import SQLAlchemyError

from tests.service.postgres import Postgres
from thrifty.service.server.exports import parquet
from thrifty.service.storage import store as stores
from thrifty.service.storage.store import (
    EMPTY,
    Event,
    EventStore,
    add_experiment,
    all_events,
    append,
    last_seq,
    read_events,
    set_status,
    statuses,
)


@pytest.fixture
def store(tmp_path):
    store = EventStore(str(tmp_path / "store.db"))
    with store.begin() as connection:
        add_experiment(connection, "one", 0)
    yield store
    store.close()


def test_events_are_written_while_somebody_reads(store):
    def write():
        with store.begin() as connection:
            append(connection, "one", [Event(1, "created", 0, None, {})], EMPTY)

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
        append(writing, "one", [Event(1, "created", 0, None, {})], EMPTY)
        with store.reading() as connection:
            assert statuses(connection) == {"one": "active"}
            assert last_seq(connection, "one") == 0


def test_two_who_write_take_turns(store):
    """The second waits before it reads: what it reads is still true when it writes."""
    with store.begin() as first:
        number = last_seq(first, "one")
        second = Thread(target=_append_next, args=(store,))
        second.start()
        append(first, "one", [Event(number + 1, "created", 0, None, {})], EMPTY)
    second.join(5)
    with store.reading() as connection:
        assert last_seq(connection, "one") == 2


def _append_next(store):
    try:
        with store.begin() as connection:
            number = last_seq(connection, "one")
            append(connection, "one", [Event(number + 1, "changed", 0, None, {})], EMPTY)
    except SQLAlchemyError:
        return


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def any_store(request, tmp_path):
    """A store of each kind, with an experiment whose log is empty."""
    if request.param == "sqlite":
        yield from _with_experiment(str(tmp_path / "store.db"))
    else:
        with Postgres() as database:
            yield from _with_experiment(database.url)


def _with_experiment(url):
    store = EventStore(url)
    with store.begin() as connection:
        add_experiment(connection, "one", 0)
    yield store
    store.close()


def _decided(number, size=0):
    """A decision with so many names on offer, and what was answered."""
    answered = {"arm": 0, "name": "a", "label": "greedy", "probability": None, "gap": 0.0}
    return Event(
        number, "decision", number, f"d{number}", {"names": ["0123456789"] * size, **answered}
    )


@pytest.mark.slow
def test_what_is_read_in_a_transaction_fits_together(any_store):
    with any_store.reading() as connection:
        assert statuses(connection) == {"one": "active"}
        with any_store.begin() as other:
            append(other, "one", [_decided(1)], EMPTY)
            set_status(other, "one", "paused")
        assert read_events(connection, "one") == []
        assert statuses(connection) == {"one": "active"}
    with any_store.reading() as connection:
        assert len(read_events(connection, "one")) == 1


@pytest.mark.slow
def test_a_page_is_bounded_in_events_and_in_bytes(any_store, monkeypatch):
    with any_store.begin() as connection:
        events = [_decided(k, size=100 if k > 30 else 0) for k in range(1, 41)]
        append(connection, "one", events, EMPTY)
    monkeypatch.setattr(stores, "PAGE", 25)
    monkeypatch.setattr(stores, "PAGE_BYTES", 5_000)
    with any_store.reading() as connection:
        ends, after = [], 0
        while page := read_events(connection, "one", after):
            after = page[-1].seq
            ends.append(after)
        # 25 events; then 5 short ones and 4 of about 1,300 bytes; then by bytes alone
        assert ends == [25, 34, 38, 40]
        assert [one.seq for one in all_events(connection, "one")] == list(range(1, 41))


@pytest.mark.slow
def test_a_table_is_written_a_page_at_a_time(any_store, monkeypatch):
    """Also if the reward of a decision is on another page."""
    rewards = [Event(10 + k, "reward", 50 + k, f"d{k}", {"reward": k / 2}) for k in (2, 9)]
    given_up = Event(20, "expired", 70, "d4", {"reward": None})
    with any_store.begin() as connection:
        append(connection, "one", [Event(1, "created", 1, None, {})], EMPTY)
        append(connection, "one", [_decided(k) for k in range(2, 11)], EMPTY)
        append(connection, "one", [*rewards, given_up], EMPTY)
    monkeypatch.setattr(stores, "PAGE", 4)
    with any_store.reading() as connection, parquet(connection, "one", 2) as file:
        table = pq.ParquetFile(file)
        assert table.num_row_groups > 1
        rows = table.read().to_pylist()
    assert [row["seq"] for row in rows] == list(range(3, 11))
    assert [row["reward"] for row in rows] == [None] * 6 + [4.5, None]
    assert [row["seq"] for row in rows if row["expired"]] == [4]
    assert table.schema_arrow.metadata[b"experiment"] == b'"one"'


@pytest.mark.slow
def test_a_table_without_decisions_has_its_columns(any_store):
    with any_store.reading() as connection, parquet(connection, "one") as file:
        table = pq.read_table(file)
    assert len(table) == 0
    assert "probability" in table.column_names
