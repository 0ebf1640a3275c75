"""Limits: what is too much is refused at once, and nothing is changed."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.service.servers import serving
from thrifty.service.server import actions, experiment, gate, routes, writer
from thrifty.service.server import serving as processes
from thrifty.service.server.schemas import MOST_BATCH

JSON = {"Content-Type": "application/json"}


def refusal(response):
    return response.status_code, response.json()["error"]["where"]


@pytest.mark.parametrize("length", ["announced", "unknown"])
def test_a_body_that_is_too_long_is_413(tmp_path, length, monkeypatch):
    monkeypatch.setattr(gate, "MOST_BYTES", 1_000)
    with serving(tmp_path / "s.db") as server:
        body = b'{"name": "small", "dimension": 1}'
        for size, status in ((1_000, 201), (1_001, 413)):
            whole = body.ljust(size)
            content = whole if length == "announced" else iter([whole[:500], whole[500:]])
            found = server.client.post("/v1/experiments", content=content, headers=JSON)
            assert found.status_code == status
        assert found.json() == {"error": {"where": "body", "message": "at most 1,000 bytes"}}


def test_one_request_too_many_in_flight_is_503(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "MOST_IN_FLIGHT", 0)
    with serving(tmp_path / "s.db") as server:
        found = server.client.get("/v1/experiments")
        assert refusal(found) == (503, "service")
        assert found.headers["retry-after"] == "1"


def test_too_many_requests_that_wait_are_503(server, monkeypatch):
    path = server.make("queued")
    monkeypatch.setattr(writer, "MOST_QUEUED", 0)
    found = server.client.post(f"{path}/decisions", json={"context": "phone"})
    assert refusal(found) == (503, "service")
    assert found.headers["retry-after"] == "1"
    monkeypatch.undo()
    assert server.client.get(path).json()["seq"] == 1


def test_too_many_decisions_without_a_reward_are_429(server, monkeypatch):
    path = server.make("outstanding")
    monkeypatch.setattr(actions, "MOST_PENDING", 3)
    ask = f"{path}/decisions"
    made = server.client.post(ask, json=[{"id": f"d{n}", "context": "phone"} for n in range(2)])
    assert made.status_code == 200
    found = server.client.post(ask, json=[{"context": "phone"}] * 2)
    assert refusal(found) == (429, "decisions")
    assert found.headers["retry-after"] == "1"
    assert server.client.get(path).json()["seq"] == 3
    assert server.client.post(ask, json={"context": "phone"}).status_code == 200
    assert server.client.post(ask, json={"context": "phone"}).status_code == 429
    assert server.client.post(ask, json={"id": "d0", "context": "phone"}).status_code == 200
    server.client.post(f"{path}/rewards", json={"decision": "d0", "reward": 1})
    assert server.client.post(ask, json={"context": "phone"}).status_code == 200


def test_a_batch_has_a_largest_size(server):
    path = server.make("batches")
    asked = [{"context": "phone"}] * MOST_BATCH
    assert len(server.client.post(f"{path}/decisions", json=asked).json()) == MOST_BATCH
    found = server.client.post(f"{path}/decisions", json=[*asked, asked[0]])
    assert refusal(found) == (422, "body")


def test_arms_and_contexts_stay_bounded_by_changes_too(server, monkeypatch):
    path = server.make("growing")
    monkeypatch.setattr(experiment, "MOST_ARMS", 3)
    monkeypatch.setattr(experiment, "MOST_CONTEXTS", 2)
    arm = {"context": "phone", "features": [1, 1]}
    assert refusal(server.client.patch(path, json={"add_arm": arm})) == (422, "add_arm")
    new = {"name": "third", "arms": [[1, 1]]}
    assert refusal(server.client.patch(path, json={"add_context": new})) == (422, "add_context")
    assert server.client.patch(path, json={"add_arm": {**arm, "context": "desk"}}).is_success


def test_requests_that_a_stop_does_not_wait_for_are_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "ENDING", 0.1)
    monkeypatch.setattr(routes, "check_settings", lambda _: None)
    asked = [
        ("GET", "/v1/experiments/x", None),
        ("POST", "/v1/experiments/x/decisions", {"context": "phone"}),
        ("POST", "/v1/experiments", {"name": "y", "dimension": 1}),
        ("PATCH", "/v1/experiments/x", {"status": "paused"}),
    ]
    waiting = []

    async def wait(action):
        waiting.append(action)
        await asyncio.Event().wait()

    with ThreadPoolExecutor(len(asked)) as pool:
        with serving(tmp_path / "s.db") as server:
            monkeypatch.setattr(writer.Writer, "submit", lambda _self, action: wait(action))
            urls = [(method, server.url + path, body) for method, path, body in asked]
            found = [pool.submit(httpx.request, *one[:2], json=one[2]) for one in urls]
            while len(waiting) < len(asked):
                time.sleep(0.01)
        answers = [one.result() for one in found]
    unsure = (504, "experiment")
    assert [refusal(one) for one in answers] == [(503, "service")] * 2 + [unsure] * 2
    assert answers[0].headers["retry-after"] == "1"
