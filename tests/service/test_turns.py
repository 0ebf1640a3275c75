"""Long work of one experiment keeps neither others nor tokens nor the database waiting."""

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.service.servers import LISTED, audit_all, serving
from thrifty.service.server import actions, background, experiment, memory
from thrifty.service.server import writer as writer_module
from thrifty.service.server.actions import Alter, Ask, Decide, Explain, Learn
from thrifty.service.server.experiment import Experiment
from thrifty.service.storage.store import EventStore
from thrifty.service.storage.tokens import make_token, revoke_token


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path / "s.db") as running:
        yield running
    audit_all(tmp_path / "s.db")


@pytest.fixture
def slow(monkeypatch):
    """Each decision of an experiment called slow takes a while."""
    decide = experiment.Experiment.decide

    def slowly(self, id, asked, at):
        if self.name.startswith("slow"):
            time.sleep(0.02)
        return decide(self, id, asked, at)

    monkeypatch.setattr(experiment.Experiment, "decide", slowly)


def decide(server, path, *, many=1):
    asked = [{"context": "phone"}] * many
    answered = server.client.post(f"{path}/decisions", json=asked if many > 1 else asked[0])
    assert answered.status_code == 200, answered.text
    return answered.json()


def seconds(call, *arguments, **options):
    begun = time.monotonic()
    call(*arguments, **options)
    return time.monotonic() - begun


def test_a_long_batch_does_not_delay_other_experiments(server, slow):
    long, other = server.make("slow"), server.make("other")
    decide(server, other)
    with ThreadPoolExecutor() as pool:
        batch = pool.submit(decide, server, long, many=100)  # two seconds
        time.sleep(0.2)
        waits = [seconds(decide, server, other) for _ in range(10)]
        assert server.client.get("/readyz").status_code == 200
        assert not batch.done()
        behind = pool.submit(decide, server, long)  # of the same experiment: it waits
        seqs = [made["seq"] for made in batch.result()]
    assert max(waits) < 0.5
    assert seqs == list(range(2, 102))
    assert behind.result()["seq"] == 102


def test_long_batches_of_several_experiments_share_the_time(server, slow, monkeypatch):
    monkeypatch.setattr(background, "THREADS", 1)
    server.writer._background = background.Background()
    paths = [server.make(f"slow {n}") for n in range(3)]
    ends = []

    def batch(path, many):
        decide(server, path, many=many)
        ends.append(many)

    threads = [
        threading.Thread(target=batch, args=(path, many))
        for path, many in zip(paths, (60, 30, 10), strict=True)
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    for thread in threads:
        thread.join()
    assert ends == [10, 30, 60]  # though the longest came first


def test_no_transaction_is_open_while_something_is_computed(server, slow):
    path = server.make("slow")
    with ThreadPoolExecutor() as pool:
        batch = pool.submit(decide, server, path, many=50)
        time.sleep(0.3)
        other = sqlite3.connect(server.store, timeout=0.5, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
        other.close()
        assert not batch.done()
        batch.result()


def test_a_token_is_revoked_whatever_the_writer_does(tmp_path, slow):
    with serving(tmp_path / "s.db") as server:
        path = server.make("slow")
        store = EventStore(str(server.store))
        with store.begin() as connection:
            good = make_token(connection, "good", ["admin"])
            bad = make_token(connection, "bad", ["admin"])
        bearer = {"Authorization": f"Bearer {bad}"}
        server.client.headers["Authorization"] = f"Bearer {good}"
        end = time.monotonic() + 2
        while server.client.get("/v1/experiments", headers=bearer).status_code != 200:
            assert time.monotonic() < end
            time.sleep(0.05)
        with ThreadPoolExecutor() as pool:
            batch = pool.submit(decide, server, path, many=150)  # three seconds
            time.sleep(0.3)
            server.writer._visit = lambda name: time.sleep(2) or []  # and the writer stands still
            pool.submit(server.client.get, path)
            with store.begin() as connection:
                revoke_token(connection, bad)
            time.sleep(1.0)
            assert server.client.get("/metrics", headers=bearer).status_code == 401
            assert not batch.done()
            del server.writer._visit
            batch.result()
        store.close()


def test_what_an_experiment_shows_is_read_without_the_writer_if_it_is_large(server, monkeypatch):
    path, other = server.make("large"), server.make("other")
    monkeypatch.setattr("thrifty.service.server.actions.LARGE", 1)
    seen, kept = [], experiment.Learner.estimates

    def shown(self):
        seen.append(threading.current_thread().name)
        time.sleep(0.5)
        return kept(self)

    monkeypatch.setattr(experiment.Learner, "estimates", shown)
    with ThreadPoolExecutor() as pool:
        large = pool.submit(server.client.get, path)
        time.sleep(0.1)
        assert seconds(decide, server, other) < 0.3
        assert large.result().status_code == 200
    assert all(name.startswith("background") for name in seen)


@pytest.mark.slow
def test_one_long_decision_or_reward_does_not_delay_other_experiments(server, monkeypatch):
    path, other = server.make("large"), server.make("other")
    kept = Experiment.reward_work
    monkeypatch.setattr(
        Experiment, "reward_work", lambda self: 1e9 if self.name == "large" else kept(self)
    )
    seen = []

    def slowly(method):
        def slow(self, *arguments):
            if self.name == "large":
                seen.append(threading.current_thread().name)
                time.sleep(0.6)
            return method(self, *arguments)

        return slow

    for name in ("decide", "reward"):
        monkeypatch.setattr(Experiment, name, slowly(getattr(Experiment, name)))
    with ThreadPoolExecutor() as pool:
        made = pool.submit(decide, server, path)
        time.sleep(0.1)
        assert seconds(decide, server, other) < 0.4
        reward = {"decision": made.result()["id"], "reward": 1.0}
        learned = pool.submit(server.client.post, f"{path}/rewards", json=reward)
        time.sleep(0.1)
        assert seconds(decide, server, other) < 0.4
        assert learned.result().json()["status"] == "learned"
    assert len(seen) == 2
    assert all(name.startswith("background") for name in seen)


@pytest.mark.parametrize(
    ("policy", "arms", "dimension", "long"),
    [
        ("thrifty", 10, 10, (False, False)),
        ("thrifty", 1_000, 20, (False, False)),
        ("thrifty", 1_000, 200, (True, True)),
        ("thrifty", 1_000, 100, (True, False)),
        ("thrifty", 10, 400, (True, True)),
        ("vids:samples=200", 10, 10, (False, False)),
        ("vids:samples=100000", 10, 50, (True, False)),
    ],
)
def test_what_takes_long_is_known_before(policy, arms, dimension, long):
    features = [[0.0] * dimension] * arms
    common = {"policy": policy, "rewards": "gaussian", "seed": 0}
    settings = {"contexts": [{"name": "all", "arms": features}]}, {"dimension": dimension}
    for kind, asked in zip(settings, ({"context": "all"}, {"features": features}), strict=True):
        one = Experiment("one", {**common, **kind}, 0)
        decided = Decide("one", [("x", {"features": None, **asked})])
        found = decided.is_long(one), Learn("one", [("x", 1.0)]).is_long(one)
        assert found[0] == long[0]
        assert found[1] == long[1] or (arms, dimension) == (1_000, 200)  # many rows, if listed


def test_many_arms_take_long_to_show_and_to_save_however_few_features_they_have():
    contexts = [{"name": str(n), "arms": [[1.0]] * 1_000} for n in range(2)]
    common = {"policy": "greedy", "rewards": "gaussian", "seed": 0}
    many = Experiment("many", {**common, "contexts": contexts}, 0)
    few = Experiment("few", {**common, "contexts": [{"name": "all", "arms": [[1.0]] * 50}]}, 0)
    for action in (Ask("", len), Alter("", {}), Explain("", [])):
        assert (action.is_long(few), action.is_long(many)) == (False, True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["listed", "open"])
def test_explanations_keep_nobody_else_waiting(server, monkeypatch, kind):
    path = server.make(kind, **({} if kind == "listed" else {"dimension": 2}))
    other, asked = server.make("other"), {"context": "phone"}
    asked = asked if kind == "listed" else {"features": [[1, 0], [0, 1]]}
    assert server.client.post(f"{path}/decisions", json=[asked] * 10).is_success
    seen, kept = [], actions.decision_detail

    def slowly(*arguments):
        seen.append(threading.current_thread().name)
        time.sleep(0.1)
        return kept(*arguments)

    monkeypatch.setattr(actions, "decision_detail", slowly)
    with ThreadPoolExecutor() as pool:
        details = pool.submit(server.client.get, f"{path}/decisions?last=10")
        time.sleep(0.2)
        assert seconds(decide, server, other) < 0.4
        assert not details.done()
        assert len(details.result().json()) == 10
    on_writer = [name for name in seen if not name.startswith("background")]
    assert len(on_writer) == (kind == "listed")  # the first, since these are few arms


def test_snapshots_of_many_arms_are_taken_in_the_background(server, monkeypatch):
    seen, kept = [], memory.take_snapshot

    def noted(experiment):
        seen.append((experiment.name, threading.current_thread().name))
        return kept(experiment)

    monkeypatch.setattr(memory, "take_snapshot", noted)
    monkeypatch.setattr(writer_module, "SNAPSHOT_EVERY", 1)
    contexts = [{"name": "phone", "arms": [[1.0]] * 1_000}]
    for path in (server.make("many", contexts=contexts), server.make("few")):
        made = decide(server, path)
        reward = {"decision": made["id"], "reward": 1}
        assert server.client.post(f"{path}/rewards", json=reward).is_success
    wait(lambda: {name for name, _ in seen} == {"many", "few"})
    threads = dict(seen)
    assert threads["many"].startswith("background")
    assert threads["few"] == "writer"


def test_long_expiry_goes_to_the_background(server, monkeypatch):
    monkeypatch.setattr(Experiment, "reward_work", lambda self: 1e9)
    path = server.make("expiring", expire={"after_s": 0.01, "reward": 0.0})
    seen, kept = [], Experiment._expired

    def expired(self, *arguments):
        seen.append(threading.current_thread().name)
        return kept(self, *arguments)

    monkeypatch.setattr(Experiment, "_expired", expired)
    decide(server, path, many=3)
    wait(lambda: len(server.log("expiring")) == 7)
    assert len(seen) == 3
    assert all(name.startswith("background") for name in seen)


def test_one_experiment_cannot_fill_the_queue(server, slow, monkeypatch):
    monkeypatch.setattr(writer_module, "MOST_OF_ONE", 3)
    long, other = server.make("slow"), server.make("other")
    with ThreadPoolExecutor() as pool:
        batch = pool.submit(decide, server, long, many=50)
        time.sleep(0.2)
        waiting = [pool.submit(server.client.get, long) for _ in range(10)]
        time.sleep(0.2)
        assert decide(server, other)["seq"] == 2
        batch.result()
        statuses = sorted(found.result().status_code for found in waiting)
    assert statuses == [200] * 2 + [503] * 8


def test_idle_experiments_leave_memory_and_come_back(server, monkeypatch):
    path, kept = server.make("idle"), server.make("expiring", expire={"after_s": 1000})
    decide(server, path)
    decide(server, kept)
    monkeypatch.setattr(memory, "IDLE", 0.0)
    wait(lambda: "idle" not in server.writer.experiments)
    assert "expiring" in server.writer.experiments  # its decisions are given up in time
    monkeypatch.undo()
    assert decide(server, path)["seq"] == 3


@pytest.mark.slow
def test_too_many_experiments_leave_memory_soon_but_not_at_once(server, monkeypatch):
    for name in ("first", "second", "third"):
        server.make(name)
    kept = server.make("expiring", expire={"after_s": 1.5})
    decide(server, kept)
    monkeypatch.setattr(memory, "MOST_IN_MEMORY", 1)
    time.sleep(1.2)  # two ticks
    assert len(server.writer.experiments) == 4  # they were asked for a moment ago
    monkeypatch.setattr(memory, "SOON", 0.0)
    wait(lambda: list(server.writer.experiments) == ["expiring"])
    wait(lambda: len(server.log("expiring")) == 3)  # though nobody asks


def test_the_list_loads_nothing_that_the_store_knows(tmp_path, monkeypatch):
    with serving(tmp_path / "s.db") as server:
        for n in range(3):
            decide(server, server.make(f"e{n}"))
        before = server.client.get("/v1/experiments").json()
    with serving(tmp_path / "s.db") as server:
        assert server.client.get("/v1/experiments").json() == before
        assert server.writer.experiments == {}
        decide(server, "/v1/experiments/e1")
        lines = server.client.get("/v1/experiments").json()
        assert [line["counts"]["decisions"] for line in lines] == [1, 2, 1]
        assert list(server.writer.experiments) == ["e1"]


def wait(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_made_experiment_is_known_to_the_list_before_any_snapshot(server):
    server.make("fresh", contexts=LISTED)
    with server.app.state.service.store.reading() as connection:
        found = connection.exec_driver_sql("SELECT summary FROM experiments").scalar()
    assert '"decisions":0' in found
