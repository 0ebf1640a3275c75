"""Stores that other code has written: decisions stand, the log says so, the service goes on."""

import asyncio
import json
import time

import pytest
from sqlalchemy import delete

from tests.service.load import LISTED, OPEN
from thrifty.cli.serving import audit_sentence
from thrifty.errors import InvalidInput
from thrifty.learners.learner import Learner
from thrifty.service.server import actions, auditing, loading
from thrifty.service.server import experiment as experiment_module
from thrifty.service.server.actions import Alter, Ask, Create, Decide, Learn
from thrifty.service.server.auditing import audit
from thrifty.service.server.experiment import Experiment
from thrifty.service.server.refusals import Conflict
from thrifty.service.server.writer import Writer
from thrifty.service.storage.store import EventStore, all_events, read_snapshots
from thrifty.service.storage.tables import EVENTS, SNAPSHOTS

COMMON = {"policy": "greedy", "rewards": "gaussian", "seed": 0}
ASKED = {"listed": {"context": "a"}, "open": {"features": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]}}


@pytest.fixture
def store(tmp_path):
    store = EventStore(str(tmp_path / "store.db"))
    yield store
    store.close()


@pytest.fixture(params=[LISTED, OPEN], ids=["listed", "open"])
def name(request, store):
    """An experiment that this code has made, with six decisions and five rewards."""
    settings = COMMON | {key: value for key, value in request.param.items() if key != "name"}
    name = request.param["name"]
    run(store, Create(name, settings), *rounds(name, range(6)))
    return name


def rounds(name, numbers):
    for n in numbers:
        yield Decide(name, [(f"d{n}", ASKED[name])], [f"d{n}"])
        if n != 3:  # one waits
            yield Learn(name, [(f"d{n}", 1.0 - n % 3)])


def run(store, *asked, stop=True):
    """Carry actions out, one after the other, with a server of its own."""

    async def answers(writer):
        return [await asyncio.wait_for(writer.submit(action), 20) for action in asked]

    writer = Writer(store, "holder", "http://a")
    writer.start()
    assert writer.ready.wait(10)
    try:
        return asyncio.run(answers(writer))
    finally:
        if not stop:  # as one that is killed: no snapshot
            writer._leave = lambda: None
        writer.stop()


def upgrade(monkeypatch, version="other"):
    for module in (loading, actions, auditing):
        monkeypatch.setattr(module, "code", lambda: version)


def choose_the_last_arm(monkeypatch, name):
    """Another policy: the last arm of those on offer."""
    choose = Learner.choose

    def last(self, asked, available=None, names=None):
        if name == "listed":
            return choose(self, asked, (available or ["z"])[-1:])
        before = self.to_bytes()
        decision = choose(self, asked, names=names)
        if decision.arm == len(asked) - 1:
            return decision
        self.__dict__.update(Learner.load(before).__dict__)
        decision = choose(self, asked[-1:], names=names and names[-1:])
        return decision._replace(arm=len(asked) - 1) if len(asked) > 1 else decision

    monkeypatch.setattr(Learner, "choose", last)


def estimates(experiment):
    return {key: list(column) for key, column in experiment.learner.estimates().items()}


def log(store, name):
    with store.reading() as connection:
        return list(all_events(connection, name))


def audited(store, name):
    with store.reading() as connection:
        return audit(connection, name)


def test_the_log_says_that_other_code_took_over(store, name, monkeypatch):
    before, made_by = log(store, name), loading.code()
    upgrade(monkeypatch)
    [[found], _] = run(store, *rounds(name, [6]))
    after = log(store, name)
    assert after[: len(before)] == before
    upgraded = after[len(before)]
    assert upgraded.kind == "upgraded"
    assert upgraded.body == {"from": made_by, "to": "other", "differs": None}
    assert found["seq"] == upgraded.seq + 1
    assert [event.kind for event in after].count("upgraded") == 1


def test_the_audit_verifies_what_this_code_has_decided(store, name, monkeypatch):
    assert audited(store, name).unverified == 0
    upgrade(monkeypatch)
    assert audited(store, name)[:5] == (0, 0, 12, None, "")
    run(store, *rounds(name, [6, 7]))
    found = audited(store, name)
    assert (found.unverified, found.events, found.decisions, found.seq) == (13, 4, 2, None)
    assert "13 events of other versions left out" in audit_sentence(name, found)


@pytest.mark.parametrize("snapshot", [True, False])
def test_decisions_stand_where_this_code_would_decide_otherwise(store, name, monkeypatch, snapshot):
    run(store, *rounds(name, range(6, 10)), stop=snapshot)
    before = log(store, name)
    assert any(event.body["arm"] != 2 for event in before if event.kind == "decision")
    upgrade(monkeypatch)
    choose_the_last_arm(monkeypatch, name)
    asked = [(f"d{n}", ASKED[name]) for n in range(10)]
    [again, fresh, _, late] = run(
        store,
        Decide(name, asked, [id for id, _ in asked]),
        *rounds(name, [10]),
        Learn(name, [("d3", 0.5)]),
    )
    after = log(store, name)
    assert after[: len(before)] == before
    [upgraded] = [event for event in after if event.kind == "upgraded"]
    differs = next(e.seq for e in before if e.seq > 12 and e.kind == "decision")
    assert upgraded.body["differs"] == (None if snapshot else differs)
    known = {event.decision: event for event in before if event.kind == "decision"}
    for found in again:
        assert (found["seq"], found["arm"]) == (
            known[found["id"]].seq,
            known[found["id"]].body["arm"],
        )
    assert fresh[0]["arm"] == 2
    assert late[0]["status"] == "learned"
    if name == "listed":
        [pulls] = run(store, Ask(name, lambda experiment: experiment.learner.estimates()["pulls"]))
        arms = [event.body["arm"] for event in log(store, name) if event.kind == "decision"]
        assert list(pulls)[:3] == [arms.count(arm) for arm in range(3)]
    assert audited(store, name).seq is None


def test_a_snapshot_that_cannot_be_read_any_more_is_replaced_by_the_log(store, name, monkeypatch):
    def refuse(state):
        raise ValueError

    before = log(store, name)
    [known] = run(store, Ask(name, estimates))
    upgrade(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(Experiment, "from_bytes", refuse)
        [found] = run(store, Ask(name, estimates))
    [[decided], _] = run(store, *rounds(name, [6]))
    assert found == known
    assert decided["seq"] == len(before) + 2
    assert audited(store, name).seq is None


def test_back_to_the_code_before(store, name, monkeypatch):
    upgrade(monkeypatch)
    run(store, *rounds(name, [6]))
    monkeypatch.undo()
    run(store, *rounds(name, [7]))
    kinds = [event.kind for event in log(store, name)]
    assert kinds.count("upgraded") == 2
    found = audited(store, name)
    assert (found.decisions, found.seq) == (1, None)


def test_the_audit_finds_an_event_that_was_removed(store, name):
    with store.begin() as connection:
        connection.execute(delete(EVENTS).where(EVENTS.c.seq == 12))
    assert audited(store, name).seq == 12  # the last one: the snapshot has seen it
    with store.begin() as connection:
        connection.execute(delete(EVENTS).where(EVENTS.c.seq == 5))
    found = audited(store, name)
    assert (found.seq, found.difference) == (6, "event 5 is missing")


def refuse(monkeypatch, method, wrong):
    """Newer code refuses some of what was accepted."""
    kept = getattr(Learner, method)

    def refusing(self, *arguments, **options):
        if wrong(self, *arguments):
            raise InvalidInput(method, "not with this version")
        return kept(self, *arguments, **options)

    monkeypatch.setattr(Learner, method, refusing)


@pytest.mark.parametrize("method", ["choose", "learn", "cancel"])
def test_what_newer_code_refuses_stands_all_the_same(store, name, monkeypatch, method):
    change = {"expire": {"after_s": 0.2}} if method == "cancel" else {"status": "active"}
    run(store, Alter(name, change), *rounds(name, range(6, 10)), stop=False)
    if method == "cancel":
        run(store, Ask(name, lambda experiment: time.sleep(0.7)), stop=False)  # and then it ticks
    before = log(store, name)
    upgrade(monkeypatch)
    replays = iter([True, True])  # one that finds the difference, and one that follows the log
    wrong = {
        "choose": lambda learner, *_: learner.decisions == 7 and next(replays, False),
        "learn": lambda _, number, reward: number == 7,
        "cancel": lambda *_: True,
    }
    refuse(monkeypatch, method, wrong[method])
    [shown, again, fresh, _, late] = run(
        store,
        Ask(name, lambda experiment: (dict(experiment.counts), sorted(experiment.pending))),
        Decide(name, [("d7", ASKED[name])], ["d7"]),
        *rounds(name, [20]),
        Learn(name, [("d7", 0.0)]),
    )
    kinds = [event.kind for event in before]
    assert shown[0]["decisions"] == kinds.count("decision")
    assert shown[0]["rewards"] == kinds.count("reward")
    ended = {event.decision for event in before if event.kind in ("reward", "expired")}
    assert shown[1] == sorted({e.decision for e in before if e.kind == "decision"} - ended)
    [upgraded] = [event for event in log(store, name) if event.kind == "upgraded"]
    assert upgraded.body["refused"]
    assert again[0]["seq"] == next(e.seq for e in before if e.decision == "d7")
    assert fresh[0]["seq"] > upgraded.seq
    assert late[0]["status"] == "already"
    assert audited(store, name).seq is None


def test_settings_that_newer_code_refuses_are_one_experiment_s_trouble(store, name, monkeypatch):
    run(store, Create("other", {**COMMON, "dimension": 2}))
    upgrade(monkeypatch)
    kept = experiment_module._start
    listed = name == "listed"

    def start(settings):
        if ("contexts" in settings) == listed and settings.get("dimension") != 2:
            raise InvalidInput("policy", "not with this version")
        return kept(settings)

    with store.begin() as connection:
        connection.execute(delete(SNAPSHOTS))
        if not listed:
            body = log(store, name)[0].body
            body["settings"]["dimension"] = 3
            connection.execute(
                EVENTS.update()
                .where(EVENTS.c.experiment == name, EVENTS.c.seq == 1)
                .values(body=json.dumps(body))
            )
    monkeypatch.setattr(experiment_module, "_start", start)
    with pytest.raises(Conflict, match="this version of thrifty cannot continue it: policy: not"):
        run(store, Ask(name, estimates))
    assert run(store, Ask("other", lambda experiment: experiment.seq)) == [2]


def test_snapshots_of_earlier_code_do_not_pile_up(store, name, monkeypatch):
    for version in range(6):
        upgrade(monkeypatch, f"version {version}")
        run(store, *rounds(name, [100 + version]))
    with store.reading() as connection:
        kept = list(read_snapshots(connection, name))
    assert len(kept) <= 3
    assert {snapshot.code for snapshot in kept} <= {"version 5", "version 4"}
    assert audited(store, name).seq is None
