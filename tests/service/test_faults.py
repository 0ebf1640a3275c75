"""Faults of the program, and of who else uses the database, stay where they are."""

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from thrifty.service.server import experiment, routes
from thrifty.service.storage.tables import LEASES


def refusal(response):
    return response.status_code, response.json()["error"]["where"]


def decide(server, path):
    return server.client.post(f"{path}/decisions", json={"context": "phone"})


@pytest.fixture
def fault(monkeypatch):
    """Experiments called faulty fail in each decision, after their learner has changed."""
    sound = experiment.Experiment.decide

    def broken(self, id, asked, at):
        made = sound(self, id, asked, at)
        if self.name.startswith("faulty"):
            raise RuntimeError("a secret of the program")
        return made

    monkeypatch.setattr(experiment.Experiment, "decide", broken)
    return monkeypatch


@contextmanager
def locked(server):
    """Somebody else writes to the same database meanwhile."""
    other = sqlite3.connect(server.store, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


def test_an_experiment_is_read_again_after_a_fault(server, fault):
    path = server.make("faulty")
    found = decide(server, path)
    assert refusal(found) == (503, "service")
    assert "secret" not in found.text
    fault.undo()
    assert decide(server, path).json()["seq"] == 2  # and the audit of the store passes


def test_a_fault_does_not_take_others_of_its_group_with_it(server, fault):
    paths = [server.make(name) for name in ("sound 1", "faulty too", "sound 2", "sound 3")]
    with ThreadPoolExecutor(5) as pool:
        with locked(server):  # the writer waits with the first request, and the others gather
            pool.submit(server.client.get, paths[0])
            time.sleep(0.2)
            found = [pool.submit(decide, server, path) for path in paths]
            while server.writer._jobs.qsize() < len(paths):
                time.sleep(0.01)
        statuses = [one.result().status_code for one in found]
    assert statuses == [200, 503, 200, 200]


def test_a_fault_in_a_route_is_500_and_tells_nothing(server, monkeypatch):
    def broken(settings):
        raise RuntimeError("a secret of the program")

    monkeypatch.setattr(routes, "check_settings", broken)
    asked = {"name": "never", "dimension": 1}
    found = httpx.post(f"{server.url}/v1/experiments", json=asked)  # the server hangs up afterwards
    assert refusal(found) == (500, "service")
    assert "secret" not in found.text


def test_a_leader_that_cannot_be_reached_for_whatever_reason_is_503(server, monkeypatch):
    class Broken(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request):
            raise RuntimeError("a secret of the program")

    path, service = server.make("led elsewhere"), server.app.state.service
    monkeypatch.setattr(service, "http", httpx.AsyncClient(transport=Broken()))
    far = int((time.time() + 3600) * 1e6)
    with service.store.begin() as connection:
        taken = LEASES.update().where(LEASES.c.experiment == "led elsewhere")
        connection.execute(taken.values(holder="b", url="http://b", fence=9, until=far))
    found = [decide(server, path) for _ in range(2)]  # the first finds out
    assert [refusal(one) for one in found] == [(503, "experiment")] * 2
    assert "secret" not in found[1].text


def test_who_reads_does_not_wait_for_who_writes(server):
    path = server.make("read")
    with locked(server):
        assert server.client.get(f"{path}/log", timeout=5).status_code == 200


def test_who_writes_does_not_wait_for_who_reads(server):
    path = server.make("written")
    with server.app.state.service.store.reading() as connection:
        before = connection.exec_driver_sql("SELECT count(*) FROM events").scalar()
        made = server.client.post(f"{path}/decisions", json={"context": "phone"}, timeout=5)
        assert made.status_code == 200
        assert connection.exec_driver_sql("SELECT count(*) FROM events").scalar() == before
