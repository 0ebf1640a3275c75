"""Files that are deleted or full, snapshots that are damaged: what is said, and what goes on."""

import logging
import os
import shutil
import subprocess
import sys
import time

import httpx
import pytest
from sqlalchemy import text

from tests.service.processes import PLACE
from tests.service.servers import audit_all, serving
from tests.service.test_turns import decide, wait
from thrifty.service.server import writer
from thrifty.service.storage.store import EventStore, read_snapshots
from thrifty.service.storage.tables import EVENTS, SNAPSHOTS


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.db"


def left(path, rounds=2):
    """A store that a server has left, with a snapshot for each round."""
    for number in range(rounds):
        with serving(path) as server:
            where = "/v1/experiments/kept" if number else server.make("kept")
            decide(server, where)
    return where


def decide_again(path, where):
    with serving(path) as server:
        decide(server, where)


def change(path, statement):
    store = EventStore(str(path))
    with store.begin() as connection:
        connection.execute(statement)
    store.close()


@pytest.mark.parametrize("part", ["", "-wal"])
@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_store_whose_file_is_gone_is_not_ready_and_answers_nothing(path, part, how):
    with serving(path) as server:
        where = server.make("kept")
        decide(server, where)
        file = f"{path}{part}"
        shutil.copy(file, f"{file}.copy")
        if how == "deleted":
            os.remove(file)
        else:
            os.replace(f"{file}.copy", file)
        asked = server.client.post(f"{where}/decisions", json={"context": "phone"})
        assert asked.status_code == 503
        assert "restart the service" in asked.json()["error"]["message"]
        wait(lambda: server.client.get("/readyz").status_code == 503)
        for read in ("/v1/experiments", where, f"{where}/log", f"{where}/decisions"):
            assert server.client.get(read).status_code == 503, read  # a new file may know nothing
        time.sleep(0.6)  # and stays so
        assert server.client.get("/readyz").status_code == 503


@pytest.mark.slow
@pytest.mark.parametrize("part", ["", "-wal"])
def test_a_store_whose_file_was_cut_in_place_is_not_ready(path, part):
    with serving(path) as server:
        where = server.make("kept")
        decide(server, where)
        os.truncate(f"{path}{part}", 0)
        for _ in range(2):
            asked = server.client.post(f"{where}/decisions", json={"context": "phone"})
            assert asked.status_code == 503
        wait(lambda: server.client.get("/readyz").status_code == 503)
        time.sleep(1.2)  # and stays so: two ticks
        assert server.client.get("/readyz").status_code == 503


@pytest.mark.slow
def test_a_server_whose_disk_is_full_is_not_ready(path, monkeypatch):
    script = 'ulimit -f 4000 && exec "$0" -m thrifty serve --port 0 --store "$1"'
    command = ["sh", "-c", script, sys.executable, str(path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not (place := PLACE.search(process.stderr.readline())):
                pass
            with httpx.Client(base_url=place[1], timeout=30) as client:
                wait(lambda: is_ready(client))
                client.post("/v1/experiments", json={"name": "e", "dimension": 50})
                asked = [{"features": [[0.123456789] * 50] * 20}] * 20
                statuses = [
                    client.post("/v1/experiments/e/decisions", json=asked).status_code
                    for _ in range(20)
                ]
                assert (statuses[0], statuses[-1]) == (200, 503)
                wait(lambda: client.get("/readyz").status_code == 503)
                assert client.get("/healthz").status_code == 200
        finally:
            process.kill()
    with serving(path) as server:  # as when there is room again
        assert server.client.get("/readyz").status_code == 200
        wait(lambda: server.client.get("/v1/experiments/e").status_code == 200)  # the lease ends
        shown = server.client.get("/v1/experiments/e").json()
        assert shown["counts"]["decisions"] == 20 * statuses.count(200)


def is_ready(client):
    try:
        return client.get("/readyz").status_code == 200
    except httpx.ConnectError:  # it does not listen yet
        return False


def test_ready_means_that_a_write_was_possible_lately(path, monkeypatch):
    monkeypatch.setattr(writer, "PROBE", 0.1)
    with serving(path) as server:
        assert server.client.get("/readyz").status_code == 200

        def fails(connection):
            raise OSError("no space left on device")

        server.writer.memory.leases.probe = fails
        wait(lambda: server.client.get("/readyz").status_code == 503)
        del server.writer.memory.leases.probe
        wait(lambda: server.client.get("/readyz").status_code == 200)


@pytest.mark.parametrize("state", [b"", b"{}", b"\xff" * 50])
def test_a_damaged_snapshot_is_skipped_and_the_log_says_so(path, state, caplog):
    where = left(path)
    newest = 3
    change(path, SNAPSHOTS.update().where(SNAPSHOTS.c.seq == newest).values(state=state))
    with caplog.at_level(logging.ERROR, "thrifty.service"), serving(path) as server:
        assert decide(server, where)["seq"] == 4
    assert "the snapshot after event 3 is skipped: unreadable" in caplog.text
    decide_again(path, where)
    audit_all(path)  # the second snapshot after it has taken its place


def test_without_a_readable_snapshot_the_whole_log_is_replayed(path):
    where = left(path)
    change(path, SNAPSHOTS.update().values(state=b"damaged"))
    with serving(path) as server:
        assert decide(server, where)["seq"] == 4


def test_a_snapshot_that_was_changed_is_not_used(path):
    """One that can be read, but is not what was saved."""
    where = left(path)
    store = EventStore(str(path))
    with store.begin() as connection:
        state = next(read_snapshots(connection, "kept")).state
        changed = state.replace(b'"explored": 0', b'"explored": 9')
        assert changed != state
        connection.execute(SNAPSHOTS.update().values(state=changed))
    store.close()
    with serving(path) as server:
        assert server.client.get(where).json()["exploration"]["rounds"] == 0


def test_a_log_that_cannot_be_read_is_one_experiment_s_trouble(path, caplog, monkeypatch):
    monkeypatch.setattr(writer, "UNREADABLE", 0.5)
    left(path)
    change(path, SNAPSHOTS.delete())
    change(path, EVENTS.update().where(EVENTS.c.seq == 2).values(body="no JSON"))
    with caplog.at_level(logging.ERROR, "thrifty.service"), serving(path) as server:
        for _ in range(5):
            found = server.client.get("/v1/experiments/kept")
            assert found.status_code == 503
            assert "run thrifty audit" in found.json()["error"]["message"]
        assert caplog.text.count("cannot be read") == 1  # it is not read at each request
        assert decide(server, server.make("other"))["seq"] == 2


def test_a_missing_end_that_a_snapshot_has_seen_is_said(path, caplog):
    where = left(path)
    change(path, EVENTS.delete().where(EVENTS.c.seq == 3))
    with caplog.at_level(logging.ERROR, "thrifty.service"), serving(path) as server:
        assert decide(server, where)["seq"] == 4
    assert "its log ends at event 2, but a snapshot has seen event 3" in caplog.text


def test_memory_is_not_ahead_of_the_log_after_a_failed_commit(path, monkeypatch):
    refuse = "CREATE TRIGGER no BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'refused'); END"
    with serving(path) as server:
        where = server.make("kept")
        with server.app.state.service.store.begin() as connection:
            connection.execute(text(refuse))
        assert (
            server.client.post(f"{where}/decisions", json={"context": "phone"}).status_code == 503
        )
        with server.app.state.service.store.begin() as connection:
            connection.execute(text("DROP TRIGGER no"))
        assert decide(server, where)["seq"] == 2
    audit_all(path)
