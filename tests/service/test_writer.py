"""The writer: groups of requests, what fails alone, and leaders that follow each other."""

import asyncio
import time

import pytest

from tests.service.load import LISTED
from thrifty.service.server import memory
from thrifty.service.server import writer as writer_module
from thrifty.service.server.actions import Alter, Ask, Create, Decide, Learn
from thrifty.service.server.experiment import Experiment
from thrifty.service.server.refusals import Conflict, Unavailable
from thrifty.service.server.turns import Job
from thrifty.service.server.writer import Writer
from thrifty.service.storage.leases import LASTS, Elsewhere
from thrifty.service.storage.store import EventStore, all_events
from thrifty.service.storage.tables import LEASES

SETTINGS = {key: value for key, value in LISTED.items() if key != "name"} | {
    "policy": "greedy",
    "rewards": "gaussian",
    "seed": 0,
}


@pytest.fixture
def store(tmp_path):
    store = EventStore(str(tmp_path / "store.db"))
    yield store
    store.close()


@pytest.fixture
def start(store):
    """Start writers; all are stopped at the end."""
    started = []

    def start(url, holder=None):
        writer = Writer(store, holder or url, url)
        writer.start()
        assert writer.ready.wait(10)
        started.append(writer)
        return writer

    yield start
    for writer in started:
        writer.stop()


def ask(writer, *actions):
    """The answers to actions that are submitted together."""

    async def answers():
        submitted = [writer.submit(action) for action in actions]
        return await asyncio.wait_for(asyncio.gather(*submitted, return_exceptions=True), 20)

    return asyncio.run(answers())


def leader_in(answers):
    """The address of the leader that the one answer names."""
    [elsewhere] = answers
    assert isinstance(elsewhere, Elsewhere)
    return elsewhere.url


def decide(id, name="one"):
    return Decide(name, [(id, {"context": "a"})], [id])


def events(store, kind, name="one"):
    with store.begin() as connection:
        return [event for event in all_events(connection, name) if event.kind == kind]


def test_decisions_expire_without_a_reward_where_none_is_given(store, start):
    writer = start("http://a")
    ask(writer, Create("one", SETTINGS | {"expire": {"after_s": 0.1}}))
    ask(writer, decide("x"))
    end = time.monotonic() + 10
    while not events(store, "expired"):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert [event.body for event in events(store, "expired")] == [{"reward": None}]
    [[found]] = ask(writer, decide("y"))
    assert found["id"] == "y"


def test_a_fault_in_the_regular_work_does_not_end_the_writer(store, start, monkeypatch):
    writer = start("http://a")
    ask(writer, Create("one", SETTINGS), Create("two", SETTINGS))
    kept = Experiment.expire

    def expire(self, at):
        return 1 / 0 if self.name == "one" else kept(self, at)

    monkeypatch.setattr(Experiment, "expire", expire)
    end = time.monotonic() + 10
    while "one" in writer.experiments:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert "two" in writer.experiments  # which does not suffer
    assert writer.is_ready()
    monkeypatch.undo()
    [[found]] = ask(writer, decide("x"))
    assert found["seq"] == 2


def test_a_request_that_fails_does_not_take_others_along(store, start):
    writer = start("http://a")
    ask(writer, Create("one", SETTINGS), Create("two", SETTINGS))
    wrong = Ask("two", lambda experiment: 1 / 0)
    first, failed, last = ask(writer, decide("x"), wrong, decide("y"))
    assert isinstance(failed, Unavailable)
    assert [found[0]["id"] for found in (first, last)] == ["x", "y"]
    assert [event.decision for event in events(store, "decision")] == ["x", "y"]


def test_long_requests_that_wait_together_share_transactions(store, start, monkeypatch):
    monkeypatch.setattr(Experiment, "reward_work", lambda self: 1e9)
    writer = start("http://a")
    ask(writer, Create("one", SETTINGS))
    before = writer.measured["groups"]
    wrong = Ask("one", lambda experiment: 1 / 0)
    asked = [decide(str(n)) for n in range(40)]
    answers = ask(writer, *asked[:20], wrong, *asked[20:])
    assert isinstance(answers.pop(20), Unavailable)
    assert [answer[0]["seq"] for answer in answers] == list(range(2, 42))
    assert [event.decision for event in events(store, "decision")] == [str(n) for n in range(40)]
    assert writer.measured["groups"] - before < 20


def test_a_server_at_the_same_address_leads_at_once(store, start):
    ask(start("http://a", "before"), Create("one", SETTINGS))
    [[found]] = ask(start("http://a", "after"), decide("x"))
    assert found["seq"] == 2


def test_a_server_at_another_address_waits_for_the_end_of_the_lease(store, start):
    first, second = start("http://a"), start("http://b")
    ask(first, Create("one", SETTINGS))
    assert leader_in(ask(second, decide("x"))) == "http://a"
    first.stop()  # which gives its leases up
    [[found]] = ask(second, decide("x"))
    assert found["seq"] == 2


def test_a_leader_that_was_replaced_neither_writes_nor_answers_from_memory(store, start):
    first, second = start("http://a"), start("http://b")
    ask(first, Create("one", SETTINGS))
    ask(first, decide("x"))
    hold(first)
    with store.begin() as connection:  # the lease ends
        connection.execute(LEASES.update().values(until=0))
    [[found]] = ask(second, decide("y"))
    assert found["seq"] == 3
    [late] = ask(first, decide("z"))
    assert isinstance(late, Unavailable)
    [[again]] = ask(second, decide("z"))
    assert again["seq"] == 4
    assert leader_in(ask(first, decide("z"))) == "http://b"


def test_a_leader_that_was_replaced_does_not_show_its_old_state(store, start):
    first, second = start("http://a"), start("http://b")
    ask(first, Create("one", SETTINGS))
    hold(first)
    with store.begin() as connection:
        connection.execute(LEASES.update().values(until=0))
    ask(second, decide("y"))
    [late] = ask(first, Ask("one", lambda experiment: experiment.seq))
    assert isinstance(late, Unavailable)


def hold(writer):
    """Keep a writer from renewing its leases: what a pause does."""
    writer._tick = lambda: None


def test_a_long_replay_counts_from_its_end(store, start, monkeypatch):
    first = start("http://a")
    ask(first, Create("one", SETTINGS))
    first.stop()
    load, clock = memory.load, [0]
    now = EventStore.now
    monkeypatch.setattr(
        EventStore, "now", lambda self, connection: now(self, connection) + clock[0]
    )

    def slow(connection, name):
        clock[0] += 2 * LASTS
        return (yield from load(connection, name))

    monkeypatch.setattr(memory, "load", slow)
    second = start("http://b")
    ask(second, decide("x"))
    third = start("http://c")
    assert leader_in(ask(third, decide("y"))) == "http://b"


def test_what_comes_while_the_writer_ends_is_refused(store, start):
    writer = start("http://a")
    ask(writer, Create("one", SETTINGS))

    async def late():
        future = asyncio.get_running_loop().create_future()
        writer._queued["one"] = 1
        writer._leave = lambda: writer._jobs.put(Job(decide("x"), future))  # the last thing it does
        writer._stopping = True
        writer._jobs.put(None)
        return await asyncio.wait_for(future, 10)

    with pytest.raises(Unavailable):
        asyncio.run(late())


def test_a_change_and_a_reward_of_one_group_are_in_the_order_of_requests(store, start):
    writer = start("http://a")
    ask(writer, Create("one", SETTINGS))
    ask(writer, decide("x"))
    change = Alter("one", {"status": "paused"})
    changed, learned, refused = ask(writer, change, Learn("one", [("x", 1.0)]), decide("y"))
    assert (changed["seq"], learned[0]["seq"]) == (3, 4)
    assert "paused" in str(refused)


def test_snapshots_are_taken_though_no_reward_comes(store, start, monkeypatch):
    monkeypatch.setattr(writer_module, "SNAPSHOT_EVERY", 10)
    monkeypatch.setattr(memory, "LONGEST_REPLAY", 30)
    writer = start("http://a")
    ask(writer, Create("one", SETTINGS))
    ask(writer, Decide("one", [(str(n), {"context": "a"}) for n in range(100)]))
    end = time.monotonic() + 10
    while writer.experiments["one"].snapshot == 0:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert writer.experiments["one"].snapshot == 101


@pytest.mark.slow
def test_a_late_reward_is_refused_before_the_decision_is_given_up(store, start, monkeypatch):
    monkeypatch.setattr(Experiment, "expire", lambda self, at: iter(()))  # as after a restart
    writer = start("http://a")
    ask(writer, Create("one", SETTINGS | {"expire": {"after_s": 1}}), decide("x"), decide("y"))
    assert ask(writer, Learn("one", [("x", 1.0)]))[0][0]["status"] == "learned"
    time.sleep(1.1)
    [refused] = ask(writer, Learn("one", [("y", 1.0)]))
    assert str(refused) == "[0].reward: decision y has expired"
    assert isinstance(refused, Conflict)
    assert ask(writer, Learn("one", [("x", 1.0)]))[0][0]["status"] == "already"


@pytest.mark.slow
def test_many_decisions_expire_in_a_tick(store, start):
    writer = start("http://a")
    ask(writer, Create("one", SETTINGS | {"expire": {"after_s": 0.01, "reward": 0.0}}))
    for first in range(0, 20_000, 1000):
        ids = range(first, first + 1000)
        ask(writer, Decide("one", [(str(n), {"context": "a"}) for n in ids]))
    end = time.monotonic() + 8
    while writer.experiments["one"].experiment.counts["expired"] < 20_000:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_writer_that_works_for_long_is_not_ready_meanwhile(store, start, monkeypatch):
    monkeypatch.setattr(writer_module, "SILENT", 0.2)
    writer = start("http://a")
    ask(writer, Create("one", SETTINGS))
    monkeypatch.setattr(writer_module, "TICK", 0.05)  # it turns often
    ask(writer, Ask("one", lambda experiment: 0))
    assert writer.is_ready()
    seen = []

    def slow(experiment):
        time.sleep(0.5)
        seen.append(writer.is_ready())

    ask(writer, Ask("one", slow))
    assert seen == [False]


def test_a_change_of_the_status_does_not_save_the_learner(store, start, monkeypatch):
    writer = start("http://a")
    ask(writer, Create("one", SETTINGS))
    learner = type(writer.experiments["one"].experiment.learner)
    monkeypatch.setattr(learner, "to_bytes", lambda self: 1 / 0)
    [found] = ask(writer, Alter("one", {"status": "paused", "expire": {"after_s": 3}}))
    assert (found["status"], found["expire"]["after_s"]) == ("paused", 3)
    monkeypatch.undo()


def test_a_snapshot_that_cannot_be_saved_does_no_harm(store, start, monkeypatch):
    monkeypatch.setattr(writer_module, "SNAPSHOT_EVERY", 1)
    failed = []

    def save(*arguments, **options):
        failed.append(True)
        raise OverflowError("too large")

    monkeypatch.setattr(writer_module.store, "save_snapshot", save)
    writer = start("http://a")
    ask(writer, Create("one", SETTINGS))
    experiment = writer.experiments["one"].experiment
    end = time.monotonic() + 10
    while not failed:
        assert time.monotonic() < end
        time.sleep(0.05)
    [[found]] = ask(writer, decide("x"))
    assert found["seq"] == 2
    assert writer.experiments["one"].experiment is experiment
    assert writer.is_ready()
