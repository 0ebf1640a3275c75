"""Plain policies as learners, and `th.learner`, which makes learners of any policy."""

import copy
import pickle
from threading import Thread

import numpy as np
import pytest

import thrifty as th
from tests.plain import FirstArm
from tests.policies import twins
from thrifty.simulation.replication import simulate

SETS = th.ActionSets(
    [[[1, 0], [0, 1], [0.9, 0.5]], [[1, 0], [0.8, 0.3]]],
    context_names=["mobile", "desktop"],
    arm_names=[["a", "b", "c"], ["a", "d"]],
)


class Diary:
    """Plays the arms of a context in turn, and writes down what it is told."""

    name = "diary"

    def start(self, sets, *, noise, horizon, rng):
        self.sets, self.told, self.rng = sets, (noise, horizon), rng
        self.chosen, self.learned = [], []

    def choose(self, context):
        self.chosen.append(context)
        return len(self.chosen) % len(self.sets.arms(context))

    def learn(self, context, arm, reward):
        self.learned.append((context, arm, reward))


class Careful(Diary):
    """It can take decisions back, and has estimates."""

    def start(self, sets, **told):
        super().start(sets, **told)
        self.cancelled = []

    def cancel(self, context, arm):
        self.cancelled.append((context, arm))

    def estimates(self, context):
        arms = len(self.sets.arms(context))
        return [0.5 * arm for arm in range(arms)], np.ones(arms)


class Player:
    """A learner as a plain policy for the simulator."""

    def __init__(self, policy):
        self.policy = policy

    def start(self, sets, *, noise, horizon, rng):
        self.learner = th.learner(self.policy, sets, twins.SEED, noise=noise, horizon=horizon)

    def choose(self, context):
        self.decision = self.learner.choose(context)
        return self.decision.arm

    def learn(self, context, arm, reward):
        self.learner.learn(self.decision, reward)


@pytest.mark.parametrize(
    ("policy", "twin"),
    [
        (th.Greedy(), twins.GreedyTwin()),
        (th.LinUCB(), twins.LinUCBTwin()),
        (th.EGreedy(), twins.EGreedyTwin()),  # draws random numbers
    ],
    ids=["greedy", "linucb", "egreedy"],
)
def test_a_plain_twin_decides_as_the_compiled_learner_and_the_simulator_do(policy, twin):
    instance, times = th.instance("scenario-one"), np.arange(1, 301)
    compiled, *others = (
        simulate(instance, one, horizon=300, seed=twins.SEED, times=times, pulls=True).pulls
        for one in (policy, twin, Player(policy), Player(twin))
    )
    assert len(np.unique(compiled[-1])) > 2
    for pulls in others:
        assert (pulls == compiled).all()


def test_decisions_of_a_plain_policy():
    given = Diary()
    learner = th.learner(given, SETS, seed=4, noise=0.5, horizon=1e3)
    assert vars(given) == {}  # a copy plays
    assert learner.policy.told == (0.5, 1000)
    assert (
        learner.policy.rng.random()
        == np.random.default_rng(np.random.SeedSequence(4, spawn_key=(0, 3))).random()
    )
    decision = learner.choose("desktop")
    assert decision[:5] == (0, "desktop", 1, "d", "plain")
    assert np.isnan(decision.gap)
    assert decision.probability is None
    assert learner.choose(0)[:5] == (1, "mobile", 2, "c", "plain")
    assert learner.policy.chosen == [1, 0]
    assert repr(learner).startswith("<learner: diary, ActionSets(2 contexts")


def test_rewards_are_late_in_any_order_by_id_and_learned_once():
    learner = th.learner(Diary(), SETS)
    decisions = [learner.choose(context) for context in (0, 1, 0)]
    learner.learn(2, 0.2)
    learner.learn(decisions[0], True)
    assert learner.policy.learned == [(0, 0, 0.2), (0, 1, 1.0)]
    assert list(learner.pending) == [1]
    for again in (decisions[0], 2):
        with pytest.raises(th.InvalidInput, match="is not pending"):
            learner.learn(again, 1.0)
    assert len(learner.policy.learned) == 2


def test_noise_and_rewards_are_those_of_other_learners():
    assert th.learner(Diary(), SETS).policy.told == (1.0, None)
    learner = th.learner(Diary(), SETS, rewards="bernoulli")
    assert learner.policy.told == (0.5, None)
    decision = learner.choose(0)
    with pytest.raises(th.InvalidInput, match="reward: 0 or 1"):
        learner.learn(decision, 0.5)
    learner.learn(decision, 1)


@pytest.mark.parametrize("policy", [Diary(), Careful()], ids=["not told", "told"])
def test_decisions_that_wait_too_long_are_given_up(policy):
    learner = th.learner(policy, SETS, expire={"after": 2})
    for context in (0, 1, 0, 1):
        learner.choose(context)
    assert list(learner.pending) == [2, 3]
    assert learner.policy.learned == []
    if isinstance(policy, Careful):
        assert learner.policy.cancelled == [(0, 1), (1, 0)]
    bounded = th.learner(policy, SETS, most_waiting=1, expire={"reward": -1.0})
    for context in (0, 1, 0):
        bounded.choose(context)
    assert list(bounded.pending) == [2]
    assert bounded.policy.learned == [(0, 1, -1.0), (1, 0, -1.0)]


def test_cancel_needs_a_policy_that_can():
    learner = th.learner(Diary(), SETS)
    decision = learner.choose(0)
    with pytest.raises(th.InvalidInput) as caught:
        learner.cancel(decision)
    assert str(caught.value).startswith("diary: cancel: ")
    assert "cancel(context, arm)" in str(caught.value)
    learner.learn(decision, 0.5)
    careful = th.learner(Careful(), SETS)
    careful.cancel(careful.choose(1))
    assert careful.policy.cancelled == [(1, 1)]
    with pytest.raises(th.InvalidInput, match="is not pending"):
        careful.cancel(0)


def test_explanations():
    learner = th.learner(Diary(), SETS)
    explanation = learner.explain(learner.choose("mobile"))
    assert explanation.arms == ()
    assert str(explanation) == "mobile: b (plain)"
    careful = th.learner(Careful(), SETS)
    decision = careful.choose("mobile")
    assert decision.gap == 0.5
    assert str(careful.explain(0)) == (
        "mobile: b (plain)\n"
        "  a: mean 0 ± 1, gap 1\n"
        "  b: mean 0.5 ± 1, gap 0.5\n"
        "  c: mean 1 ± 1, gap 0"
    )


def test_past_decisions():
    learner = th.learner(Diary(), SETS)
    learner.observe(["mobile", 1], ["c", "a"], [0.1, 0.2])
    learner.observe("desktop", 1, 0.3)
    assert learner.policy.learned == [(0, 2, 0.1), (1, 0, 0.2), (1, 1, 0.3)]
    with pytest.raises(th.ThriftyError, match="unknown arm 'z'"):
        learner.observe(["mobile", 1], ["c", "z"], [0.1, 0.2])
    assert len(learner.policy.learned) == 3


def broken(**methods):
    return type("Broken", (Diary,), {"name": "broken", **methods})()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: th.learner(FirstArm(3), SETS).choose(0), "first: choose: an arm from 0 to 2"),
        (lambda: th.learner(FirstArm(-1), SETS).choose(0), "first: choose: an arm from 0 to 2"),
        (lambda: th.learner(FirstArm("a"), SETS).choose(0), "first: choose: an arm from 0 to 2"),
        (lambda: th.learner(FirstArm(None), SETS).choose(0), "0 to 2 expected, got None"),
        (lambda: th.learner(FirstArm(1.0), SETS).choose(1), "an arm from 0 to 1 expected, got 1.0"),
        (lambda: th.learner(Diary, SETS), r"policy: pass Diary\(\), not the class"),
        (lambda: th.learner(object(), SETS), "a policy object or a spec"),
        (lambda: th.learner("linucp", SETS), "did you mean 'linucb'"),
        (lambda: th.learner(Diary(), [[1, 0]]), "sets: thrifty.ActionSets expected"),
        (lambda: th.learner(Diary()), "diary: listed contexts"),
        (lambda: th.learner(Diary(), dimension=2), "diary: listed contexts"),
        (lambda: th.learner(Diary(), SETS, dimension=2), "diary: listed contexts"),
        (lambda: th.learner(Diary(), SETS, noise="estimate"), "noise: a positive number expected"),
        (lambda: th.learner(Diary(), SETS, horizon=0), "horizon: at least one round expected"),
        (lambda: th.learner(Diary(), SETS, seed=-1), "seed: a whole number of at least 0"),
        (lambda: th.learner(Diary(), SETS, expire={"after": 0}), "expire.after: a whole number"),
        (lambda: th.learner(Diary(), SETS).choose("mobil"), "did you mean 'mobile'"),
        (lambda: th.learner(Diary(), SETS, expires=3), "did you mean 'expire'"),
        (
            lambda: th.learner(broken(estimates=lambda self, m: [1.0]), SETS).choose(0),
            "broken: estimates: means and standard errors, 3 numbers each expected",
        ),
        (
            lambda: th.learner(broken(estimates=lambda self, m: "many"), SETS).choose(0),
            "broken: estimates: means and standard errors, 3 numbers each expected, got 'many'",
        ),
    ],
)
def test_mistakes_are_one_line(call, message):
    with pytest.raises(th.ThriftyError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


class Moody(Careful):
    """Raises when it is told to."""

    mood = None

    def check(self, mood):
        if self.mood == mood:
            raise KeyError(mood)

    def choose(self, context):
        self.check("choose")
        return 7 if self.mood == "wrong" else super().choose(context)

    def learn(self, context, arm, reward):
        self.check("learn")
        super().learn(context, arm, reward)

    def cancel(self, context, arm):
        self.check("cancel")
        super().cancel(context, arm)

    def estimates(self, context):
        self.check("estimates")
        return super().estimates(context)


@pytest.mark.parametrize(
    ("mood", "call"),
    [
        ("choose", lambda learner: learner.choose(0)),
        ("wrong", lambda learner: learner.choose(0)),
        ("estimates", lambda learner: learner.choose(0)),
        ("learn", lambda learner: learner.learn(1, 0.5)),
        ("cancel", lambda learner: learner.cancel(1)),
    ],
)
def test_an_exception_of_the_policy_changes_nothing_here(mood, call):
    learner = th.learner(Moody(), SETS)
    for context in (0, 1, 0):
        learner.choose(context)
    before = dict(learner.pending)
    learner.policy.mood = mood
    with pytest.raises((KeyError, th.InvalidInput)):
        call(learner)
    assert learner.pending == before
    learner.policy.mood = None
    thread = Thread(target=call, args=(learner,))  # the lock is free
    thread.start()
    thread.join(5)
    assert not thread.is_alive()
    assert list(learner.pending) == ([0, 2] if mood in ("learn", "cancel") else [0, 1, 2, 3])


@pytest.mark.parametrize(
    "duplicate",
    [lambda one: pickle.loads(pickle.dumps(one)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_a_copy_goes_on_by_itself(duplicate):
    learner = th.learner(twins.EGreedyTwin(), SETS, seed=1, horizon=100, expire={"after": 50})
    waiting = [learner.choose(0) for _ in range(5)]
    again = duplicate(learner)
    assert again.policy is not learner.policy
    for one in (learner, again):
        one.learn(waiting[2], 0.3)
        one.learn(waiting[0], 0.1)
        assert list(one.pending) == [1, 3, 4]
    following = [[one.choose(t % 2)[:5] for t in range(40)] for one in (learner, again)]
    assert following[0] == following[1]


def test_several_threads_may_use_one_learner():
    learner, errors = th.learner(Diary(), SETS), []

    def play():
        try:
            for _ in range(300):
                learner.learn(learner.choose(0), 0.1)
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert not learner.pending
    assert len(learner.policy.learned) == learner.decisions == 1200


@pytest.mark.parametrize("policy", [th.LinTS(scale=0.5), "lints:scale=0.5"], ids=str)
def test_compiled_policies_and_specs_are_as_from_their_own_method(policy):
    own = th.LinTS(scale=0.5)
    settings = {"noise": 0.3, "expire": {"after": 9}, "probability_draws": 5}
    one, other = th.learner(policy, SETS, 3, **settings), own.learner(SETS, 3, **settings)
    assert one.to_bytes() == other.to_bytes()
    one, other = (
        th.learner(policy, columns=["x", "y"], seed=3, **settings),
        own.learner(columns=["x", "y"], seed=3, **settings),
    )
    assert one.to_bytes() == other.to_bytes()


def test_a_horizon_is_for_policies_that_plan_and_have_none():
    assert th.learner("oam", SETS, horizon=1e4).policy == th.OAM(horizon=1e4)
    assert th.learner(th.OAM(horizon=50), SETS, horizon=1e4).policy == th.OAM(horizon=50)
    assert th.learner("greedy", SETS, horizon=1e4).policy == th.Greedy()


def test_a_plain_learner_shows_itself():
    class Told(Diary):
        def estimates(self, context):
            return np.array([[0.25, 0.5], [0.1, 0.2]])

    sets = th.ActionSets([np.eye(2)])
    quiet, told = (th.learner(kind(), sets) for kind in (Diary, Told))
    assert list(quiet.to_frame().columns) == ["context", "arm"]
    assert told.to_frame()["mean"].tolist() == [0.25, 0.5]
    told.choose(0)
    assert "1 decisions, 1 pending" in told._repr_html_()
    assert "0.25" in told._repr_html_()
    assert "<table" in quiet._repr_html_()
