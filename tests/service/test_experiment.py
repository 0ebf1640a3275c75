"""Experiments without a server: the log gives the same state to the last bit."""

import json
import random
from dataclasses import asdict

import pytest

from thrifty.errors import InvalidInput, ThriftyError
from thrifty.service.server.experiment import CREATED, Experiment, check_settings
from thrifty.service.server.history import MOST, History
from thrifty.service.server.loading import code
from thrifty.service.storage.store import Event

LISTED = {
    "contexts": [
        {"name": "phone", "arms": [[1, 0], [0, 1], [0.9, 0.5]], "arm_names": ["a", "b", "c"]},
        {"name": "desk", "arms": [[1, 0], [0.8, 0.3]]},
    ]
}
OPEN = {"dimension": 2}
SECOND = 1_000_000
CHANGES = [
    {"add_arm": {"context": "phone", "features": [0.3, 0.3], "name": "d"}},
    {"remove_arm": {"context": "phone", "name": "d"}},
    {"add_context": {"name": "new", "arms": [[0.5, 0.5], [1, 1]], "arm_names": ["x", "y"]}},
    {"remove_context": "new"},
    {"expire": {"after_s": 20, "reward": 0.5}},
    {"expire": None},
    {"status": "paused", "expire": {"after_s": 5}},
    {"status": "active"},
]


def settings_of(policy, kind, **more):
    return {"policy": policy, "rewards": "gaussian", "seed": 1, **kind, **more}


class Player:
    """Plays random events on an experiment, and keeps its log."""

    def __init__(self, settings, seed=0):
        check_settings(settings)
        self.rng, self.at = random.Random(seed), 1_700_000_000 * SECOND
        self.experiment = Experiment("tried", settings, self.at)
        body = {"settings": settings, "code": code()}
        self.log = [Event(1, CREATED, self.at, None, body)]
        self.states = {1: self.experiment.to_bytes()}

    def play(self, steps):
        for number in range(steps):
            self.at += self.rng.randrange(2 * SECOND)
            kind = self.rng.random()
            if kind < 0.5:
                self._decide(f"d{number}")
            elif kind < 0.8:
                self._reward()
            elif kind < 0.9:
                self.log += self.experiment.expire(self.at)
            else:
                self._change()
            self.states[self.experiment.seq] = self.experiment.to_bytes()
        return self

    def _decide(self, id):
        asked = {"features": [[self.rng.gauss(0, 1) for _ in range(2)] for _ in range(3)]}
        if "contexts" in self.experiment.settings:
            asked = {"context": self.rng.choice(["phone", "desk"])}
            if asked["context"] == "phone" and self.rng.random() < 0.3:
                asked["available"] = ["c", "a"]
        self.experiment.check_decision(asked)
        self.log.append(self.experiment.decide(id, asked, self.at))

    def _reward(self):
        if self.experiment.pending:
            id = self.rng.choice(list(self.experiment.pending))
            self.log.append(self.experiment.reward(id, self.rng.gauss(0.5, 1), self.at))

    def _change(self):
        before = self.experiment.to_bytes()
        try:
            self.log.append(self.experiment.change(self.rng.choice(CHANGES), self.at))
        except ThriftyError:
            assert self.experiment.to_bytes() == before  # nothing of it, to the last bit


@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        ("thrifty", LISTED),
        ("lints", LISTED),
        ("oam:horizon=1000", LISTED),
        ("egreedy", LISTED),
        ("thrifty:forgetting=50", OPEN),
        ("lints", OPEN),
        ("vids", OPEN),
    ],
    ids=lambda one: one if isinstance(one, str) else next(iter(one)),
)
def test_a_replay_gives_the_same_bytes_from_anywhere(policy, kind):
    player = Player(settings_of(policy, kind, expire={"after_s": 8, "reward": 0.0})).play(150)
    kinds = {event.kind for event in player.log}
    assert kinds == {"created", "decision", "reward", "expired", "changed"}
    again = Experiment("tried", player.log[0].body["settings"], player.log[0].at)
    middle = Experiment.from_bytes(player.states[sorted(player.states)[70]])
    for replayed in (again, middle):
        for event in player.log[replayed.seq :]:
            assert replayed.replay(event) is None
            if event.seq in player.states:
                assert replayed.to_bytes() == player.states[event.seq]
        assert replayed.seq == player.experiment.seq


def test_times_never_go_back_and_decisions_expire_in_their_order():
    rule = {"after_s": 10, "reward": 0.0}
    experiment = Experiment("e", settings_of("thrifty", LISTED, expire=rule), 0)
    ahead = experiment.decide("ahead", {"context": "phone"}, 100 * SECOND)
    back = experiment.decide("back", {"context": "phone"}, 1 * SECOND)  # the clock was put back
    assert (ahead.at, back.at) == (100 * SECOND, 100 * SECOND)
    restored = Experiment.from_bytes(experiment.to_bytes())
    for one in (experiment, restored):
        assert not one.is_overdue("back", 109 * SECOND)
        assert one.reward("ahead", 1.0, 2 * SECOND).at == 100 * SECOND
        assert one.is_overdue("back", 110 * SECOND)
        assert [event.decision for event in one.expire(110 * SECOND)] == ["back"]


def test_a_snapshot_of_a_released_version_goes_on_from_its_last_decision():
    experiment = Experiment("e", settings_of("thrifty", LISTED), 5)
    experiment.decide("first", {"context": "phone"}, 7)
    learner, _, rest = experiment.to_bytes().partition(b"\n")
    saved = json.loads(rest)
    del saved["at"]
    old = Experiment.from_bytes(learner + b"\n" + json.dumps(saved).encode())
    assert old.decide("second", {"context": "phone"}, 6).at == 7


def test_a_snapshot_has_the_keys_of_released_versions():
    """Stores are read for ever, and older servers of the same store may read it, too."""
    experiment = Experiment("e", settings_of("thrifty", LISTED), 0)
    experiment.decide("first", {"context": "phone"}, 5)
    saved = json.loads(experiment.to_bytes().partition(b"\n")[2])
    keys = "name settings created status seq waiting counts cost reward_sum history at"
    assert list(saved) == keys.split()
    assert saved["waiting"] == {"first": [0, 5]}
    assert list(saved["counts"]) == ["decisions", "rewards", "expired", "explored"]
    assert list(saved["history"]) == ["size", "stretches"]


def test_decisions_expire_with_a_reward_or_with_none_and_the_oldest_first():
    experiment = Experiment("e", settings_of("thrifty", LISTED, expire={"after_s": 10}), 0)
    for id, at in (("first", 0), ("second", 4 * SECOND)):
        experiment.decide(id, {"context": "phone"}, at)
    assert [event.decision for event in experiment.expire(9 * SECOND)] == []
    [event] = experiment.expire(11 * SECOND)
    assert (event.kind, event.decision, event.body) == ("expired", "first", {"reward": None})
    experiment.change({"expire": {"after_s": 10, "reward": 0.25}}, 12 * SECOND)
    [event] = experiment.expire(14 * SECOND)
    assert (event.decision, event.body) == ("second", {"reward": 0.25})
    assert experiment.counts["expired"] == 2
    assert experiment.learner.pending == {}


@pytest.mark.parametrize("change", [{"expire": {"after_s": 1, "reward": 0.5}}, {"policy": "no"}])
def test_a_change_that_is_refused_changes_nothing(change):
    settings = {**settings_of("thrifty", LISTED), "rewards": "bernoulli"}
    experiment = Experiment("e", settings, 0)
    before = experiment.to_bytes()
    with pytest.raises(ThriftyError):
        experiment.change({"status": "paused", "remove_context": "desk", **change}, 0)
    assert experiment.to_bytes() == before


def test_an_expiry_reward_that_cannot_be_learned_is_refused_in_advance():
    settings = settings_of("thrifty", LISTED, expire={"after_s": 1, "reward": 0.5})
    with pytest.raises(InvalidInput, match=r"^expire\.reward: "):
        check_settings({**settings, "rewards": "bernoulli"})


def test_a_history_is_bounded_and_keeps_its_sums():
    history, total = History(), 0.0
    for number in range(1_000):
        gap = (number % 3) * 0.5
        history.count_decision(number, gap, gap > 0)
        total += gap
        if number % 2:
            history.count_reward(1.0)
    assert len(history.stretches) <= MOST
    assert sum(one.decisions for one in history.stretches) == 1_000
    assert sum(one.explored for one in history.stretches) == sum(n % 3 > 0 for n in range(1_000))
    assert sum(one.cost for one in history.stretches) == total
    assert sum(one.reward_sum for one in history.stretches) == 500
    starts = [one.start for one in history.stretches]
    assert starts == sorted(starts)
    assert starts[0] == 0
    assert {one.decisions for one in history.stretches[:-1]} == {history.size}
    assert History.from_json(asdict(history)) == history
    assert history.recent_cost(1.0) == total
    assert history.recent_cost(0.5) == pytest.approx(total / 2, rel=0.02)
