"""The list of experiments: what it shows of those that are not in memory, or cannot be read."""

import pytest

from tests.service.servers import serving
from tests.service.test_turns import decide, wait
from thrifty.service.server import memory
from thrifty.service.server import writer as writer_module
from thrifty.service.storage.leases import LASTS
from thrifty.service.storage.store import EventStore, now
from thrifty.service.storage.tables import EVENTS, EXPERIMENTS, LEASES


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.db"


def decisions(server):
    """The number of decisions of each experiment in the list."""
    lines = server.client.get("/v1/experiments").raise_for_status().json()
    return {line["name"]: line["counts"]["decisions"] for line in lines}


def crash(server):
    """Let a server end without snapshots; its leases have ended when the next one begins."""
    server.writer._leave = server.writer.memory.leave


def change(path, statement):
    store = EventStore(str(path))
    with store.begin() as connection:
        connection.execute(statement)
    store.close()


@pytest.mark.slow
def test_after_a_crash_the_list_is_a_little_old_and_reads_nothing(path, monkeypatch):
    monkeypatch.setattr(memory, "SUMMED_UP", 0.0)
    with serving(path) as server:
        where = server.make("kept")
        decide(server, where)
        wait(lambda: server.writer.experiments["kept"].summary == 2)
        monkeypatch.setattr(memory, "SUMMED_UP", 1_000.0)
        decide(server, where)
        assert decisions(server) == {"kept": 2}
        crash(server)
    with serving(path) as server:
        assert decisions(server) == {"kept": 1}
        assert server.writer.experiments == {}
        server.client.get(where)
        assert decisions(server) == {"kept": 2}


def test_a_leader_that_does_not_answer_is_asked_in_vain_once(path, monkeypatch):
    with serving(path) as server:
        for n in range(3):
            decide(server, server.make(f"e{n}"))
        crash(server)
    elsewhere = {"url": "http://127.0.0.1:1", "holder": "another", "until": now() + 100 * LASTS}
    change(path, LEASES.update().values(elsewhere))
    with serving(path) as server:
        assert decisions(server) == {"e0": 0, "e1": 0, "e2": 0}
        change(path, EXPERIMENTS.update().where(EXPERIMENTS.c.name == "e1").values(summary=None))
        assert server.client.get("/v1/experiments").status_code == 503


@pytest.mark.parametrize("text", ["[", "[]", '{"seq": 2, "line": {"name": 5}}'])
def test_a_line_that_is_damaged_is_made_again(path, text):
    with serving(path) as server:
        decide(server, server.make("kept"))
    change(path, EXPERIMENTS.update().values(summary=text))
    with serving(path) as server:
        assert decisions(server) == {"kept": 1}


def test_a_busy_server_shows_what_is_saved_or_asks_to_come_again(path, monkeypatch):
    with serving(path) as server:
        decide(server, server.make("kept"))
        monkeypatch.setattr(writer_module, "MOST_QUEUED", 0)
        assert decisions(server) == {"kept": 0}
        change(path, EXPERIMENTS.update().values(summary=None))
        assert server.client.get("/v1/experiments").status_code == 503


@pytest.mark.slow
def test_an_experiment_that_cannot_be_read_leaves_the_others_in_the_list(path):
    with serving(path) as server:
        for name in ("damaged", "whole"):
            server.make(name)
        crash(server)
    damaged = EVENTS.c.experiment == "damaged"
    change(path, EVENTS.update().where(damaged).values(body="no JSON"))
    with serving(path) as server:
        assert decisions(server) == {"damaged": 0, "whole": 0}
    change(path, EXPERIMENTS.update().values(summary=None))
    with serving(path) as server:
        assert decisions(server) == {"whole": 0}
