"""Open contexts: features that come at decision time."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import thrifty as th

D = 4
OPEN = ["thrifty", "greedy", "egreedy", "linucb:width=alpha", "lints", "squarecb", "vids"]
THETA = np.array([0.5, -0.3, 0.2, 0.1])


def drive(learner, rounds, *, seed=0, noise=0.3):
    """Let a learner play random features; decisions and regret."""
    rng = np.random.default_rng(seed)
    decisions, regret = [], 0.0
    for _ in range(rounds):
        features = rng.normal(size=(rng.integers(1, 7), D))
        decision = learner.choose(features)
        means = features @ THETA
        learner.learn(decision, means[decision.arm] + noise * rng.normal())
        decisions.append(decision)
        regret += means.max() - means[decision.arm]
    return decisions, regret


@pytest.mark.parametrize("spec", OPEN)
def test_open_policies_learn(spec):
    _, regret = drive(th.policy(spec).learner(dimension=D, noise=0.3), 2000)
    assert regret < 150  # of 1,200 at random


@pytest.mark.parametrize("name", sorted({"oam", "ids", "solid", "ossb", "linmed", "endoa", "del"}))
def test_the_others_say_that_they_need_listed_contexts(name):
    with pytest.raises(th.InvalidInput, match=rf"{name}: listed contexts: .* expected"):
        th.policy(name).learner(dimension=3)


@pytest.mark.parametrize("spec", ["greedy", "linucb:width=alpha", "lints"])
def test_open_and_listed_learners_decide_alike(spec):
    rng = np.random.default_rng(3)
    arms = [rng.normal(size=(k, D)) for k in (3, 5, 2)]
    listed = th.policy(spec).learner(th.ActionSets(arms), seed=5, noise=0.3)
    opened = th.policy(spec).learner(dimension=D, seed=5, noise=0.3)
    for _ in range(6000):  # the inverse is recomputed in between
        m = int(rng.integers(3))
        one, other = listed.choose(m), opened.choose(arms[m])
        assert (one.arm, one.label, one.probability) == (other.arm, other.label, other.probability)
        assert one.gap == pytest.approx(other.gap, abs=1e-9)
        reward = float(arms[m][one.arm] @ THETA + 0.3 * rng.normal())
        listed.learn(one, reward)
        opened.learn(other, reward)


def test_more_arms_than_ever_before_change_nothing_that_was_learned():
    learner = th.Thrifty().learner(dimension=D)
    drive(learner, 300)
    before = learner.state
    theta, model = before.regression.theta.copy(), before.model.copy()
    decision = learner.choose(np.random.default_rng(1).normal(size=(100, D)))
    assert learner.state is not before
    assert (learner.state.regression.theta == theta).all()
    assert learner.state.model[0].squares == model[0].squares
    learner.learn(decision, 1.0)


@pytest.mark.parametrize("spec", OPEN)
def test_saved_copied_and_pickled_learners_go_on_alike(spec, tmp_path):
    learner = th.policy(spec).learner(dimension=D, seed=3)
    drive(learner, 200)
    late = learner.choose(np.eye(D))
    learner.save(tmp_path / "state.json")
    others = [
        th.Learner.load(tmp_path / "state.json"),
        th.Learner.load(learner.to_bytes()),
        pickle.loads(pickle.dumps(learner)),
        copy.deepcopy(learner),
        copy.copy(learner),
    ]
    learner.learn(late, 0.5)
    wanted = drive(learner, 200, seed=1)
    for other in others:
        other.learn(late.id, 0.5)
        assert drive(other, 200, seed=1) == wanted


@pytest.mark.parametrize("spec", ["thrifty", "egreedy", "squarecb", "vids"])
def test_probabilities_are_frequencies(spec):
    """The same state many times over, with other random numbers: how often each arm is chosen."""
    learner = th.policy(spec).learner(dimension=D, noise=1.0)
    drive(learner, 6, noise=1.0)
    rng, trials, mixed = np.random.default_rng(9), 500, 0
    for _ in range(20):
        features = rng.normal(size=(4, D))
        chosen, chances = np.zeros(4), np.full(4, np.nan)
        for _ in range(trials):
            learner._uniform_block[:] = rng.random(learner._uniform_block.shape)
            decision = learner.choose(features)
            learner.cancel(decision)
            chosen[decision.arm] += 1
            chances[decision.arm] = decision.probability
        played = chosen > 0
        p = chances[played]
        assert p.sum() > 1 - 10 / trials  # arms that were not chosen are unlikely
        error = np.sqrt(trials * p * (1 - p))
        assert (np.abs(chosen[played] - trials * p) <= 4.5 * error + 1e-9).all()
        mixed += int((p < 0.9).all())
    assert mixed > 0


def test_probabilities_of_policies_without_random_numbers_and_of_thompson_sampling():
    features = np.eye(D)
    assert th.Greedy().learner(dimension=D).choose(features).probability == 1
    assert th.LinUCB(width="alpha").learner(dimension=D).choose(features).probability == 1
    assert th.LinTS().learner(dimension=D).choose(features).probability is None


def test_names_and_lists():
    learner = th.Thrifty().learner(dimension=2)
    decision = learner.choose([[1, 0], [0, 1]], names=["red", "blue"])
    assert decision.name == ("red", "blue")[decision.arm]
    assert decision.context == ""
    assert learner.choose([[1, 0]]).name == "0"


class Frame(SimpleNamespace):
    """As much of a data frame as is asked of one."""

    def to_numpy(self):
        return np.array(self.values)


def test_columns_of_a_data_frame_are_taken_by_name():
    learner = th.Greedy().learner(columns=["age", "price"])
    learner.observe([[1.0, 0.0]], arm=0, reward=1.0)
    straight = learner.choose(Frame(columns=["age", "price"], values=[[0, 1], [1, 0]]))
    swapped = learner.choose(Frame(columns=["price", "age"], values=[[1, 0], [0, 1]]))
    assert straight.arm == swapped.arm == 1
    restored = th.Learner.load(learner.to_bytes())
    assert restored.sets.columns == ("age", "price")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["age"], "missing price"),
        (["age", "price", "size"], "unknown size"),
        (["age", "cost"], "missing price; unknown cost"),
        (["age", "age"], "columns with distinct names"),
    ],
)
def test_wrong_columns(columns, message):
    learner = th.Greedy().learner(columns=["age", "price"])
    with pytest.raises(th.InvalidInput, match=message):
        learner.choose(Frame(columns=columns, values=np.zeros((2, len(columns)))))


def test_a_data_frame_needs_columns():
    learner = th.Greedy().learner(dimension=2)
    with pytest.raises(th.InvalidInput, match=r"learner\(columns="):
        learner.choose(Frame(columns=["age", "price"], values=[[0, 1]]))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.zeros((2, 3)), r"rows of 4 numbers expected, got \(2, 3\)"),
        (np.zeros((0, 4)), "at least one arm"),
        (np.zeros(4), "a list of arms"),
        ([[0, 0, np.nan, 0]], r"features\[0\]\[2\]: a finite number"),
        ([[0, 0, 0, 0], [0, -np.inf, 0, 0]], r"features\[1\]\[1\]"),
        ([[1e80, 0, 0, 0]], "a finite number of at most 1e"),
        ([["a", "b", "c", "d"]], "rows of 4 numbers"),
        (None, "rows of 4 numbers"),
    ],
)
def test_bad_features_change_nothing(features, message):
    learner = th.Thrifty().learner(dimension=D)
    drive(learner, 50)
    before = learner.to_bytes()
    with pytest.raises(th.InvalidInput, match=message):
        learner.choose(features)
    with pytest.raises(th.InvalidInput):
        learner.observe(features, arm=0, reward=1.0)
    assert learner.to_bytes() == before
    drive(learner, 5)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "2 names"),
        (["a", "a"], "not used before"),
        ("ab", "a list of names"),
        ([1, 2], "a string"),
    ],
)
def test_bad_names(names, message):
    with pytest.raises(th.InvalidInput, match=message):
        th.Greedy().learner(dimension=1).choose([[1.0], [2.0]], names=names)


@pytest.mark.parametrize("dimension", [0, -1, 1.5, True, 10**6, None])
def test_bad_dimensions(dimension):
    with pytest.raises(th.InvalidInput):
        th.Greedy().learner(dimension=dimension)


def test_observed_decisions_are_learned_like_own_ones():
    rng = np.random.default_rng(0)
    features, rewards = rng.normal(size=(500, D)), rng.normal(size=500)
    own, at_once, one_by_one = (th.Thrifty().learner(dimension=D) for _ in range(3))
    for row, reward in zip(features, rewards, strict=True):
        own.learn(own.choose(row[None, :]), reward)
        one_by_one.observe(np.vstack([row, -row]), arm=0, reward=reward)
    at_once.observe(features, reward=rewards)
    for other in (at_once, one_by_one):
        assert other.state.model[0].squares == own.state.model[0].squares
        assert other.state.regression.base == pytest.approx(own.state.regression.base, rel=0.2)
        assert other.state.ledger.counters[0].rounds == 500
    assert not at_once.pending


def test_observed_decisions_of_listed_contexts():
    arms = [np.eye(2), np.array([[1.0, 1.0], [0.5, 0.0], [0.0, 0.3]])]
    sets = th.ActionSets(arms, context_names=["a", "b"])
    rng = np.random.default_rng(0)
    contexts = [("a", "b")[i] for i in rng.integers(2, size=300)]
    played = [int(rng.integers(2)) for _ in contexts]
    rewards = rng.normal(size=300)
    for kind in (th.Thrifty, th.OAM, th.SOLID, th.IDS, th.LinTS):
        policy = kind(horizon=1000) if "horizon" in kind.parameters() else kind()
        many, single = policy.learner(sets), policy.learner(sets)
        many.observe(contexts, played, rewards)
        for one in zip(contexts, played, rewards, strict=True):
            single.observe(*one)
        assert many.to_bytes() == single.to_bytes()
        assert many.state.ledger.visits.tolist() == [contexts.count("a"), contexts.count("b")]
        assert many.state.regression.pulls.sum() == 300
        with pytest.raises(th.InvalidInput):
            many.observe(["a", "b"], [0], [1.0, 2.0])
        with pytest.raises(th.UnknownName):
            many.observe("c", 0, 1.0)
        assert many.to_bytes() == single.to_bytes()


def test_decisions_that_wait_too_long_are_given_up():
    cancelled = th.Thrifty().learner(dimension=D, expire_after=10)
    learned = th.Thrifty().learner(dimension=D, expire_after=10, expired_reward=0.0)
    for learner in (cancelled, learned):
        first = learner.choose(np.eye(D))
        for _ in range(30):
            learner.choose(np.eye(D))
        assert min(learner.pending) == 21
        with pytest.raises(th.InvalidInput, match="that waits for its reward"):
            learner.learn(first, 1.0)
    assert cancelled.state.ledger.counters[0].rounds == 10
    assert learned.state.ledger.counters[0].rounds == 31
    assert learned.state.model[0].rewards == 21


def test_waiting_decisions_are_bounded_in_number():
    learner = th.Greedy().learner(dimension=D, most_waiting=5)
    for _ in range(8):
        learner.choose(np.eye(D))
    assert list(learner.pending) == [3, 4, 5, 6, 7]
    assert th.Learner.load(learner.to_bytes()).most_waiting == 5


@pytest.mark.parametrize("name", ["expire_after", "most_waiting"])
def test_bad_bounds(name):
    for value in (0, -1, 1.5, True, "many"):
        with pytest.raises(th.InvalidInput, match=name):
            th.Greedy().learner(dimension=D, **{name: value})


def test_a_learner_in_a_line():
    learner = th.Thrifty().learner(dimension=D)
    learner.choose(np.eye(D))
    assert (
        repr(learner) == "<learner: thrifty, open contexts of 4 features, 1 decisions, 1 waiting>"
    )


def test_explanations():
    learner = th.Thrifty().learner(dimension=D)
    drive(learner, 300)
    features = np.eye(D)
    decision = learner.choose(features, names=list("abcd"))
    [report] = learner.explain(decision).arms
    assert report.name == decision.name
    assert report.pulls is None
    reports = learner.explain(decision, features).arms
    means = np.array([one.mean for one in reports])
    assert means == pytest.approx(learner.state.regression.theta)
    assert reports[decision.arm] == report
    assert reports[decision.arm].gap == pytest.approx(decision.gap)
    assert str(decision.name) in str(learner.explain(decision))


@pytest.mark.parametrize("spec", OPEN)
def test_what_was_learned_fades(spec):
    """After theta has turned round, a learner that forgets soon plays well again."""
    separator = "," if ":" in spec else ":"
    ends = []
    for forgetting in ("none", "200"):
        learner = th.policy(f"{spec}{separator}forgetting={forgetting}").learner(
            dimension=D, noise=0.3
        )
        rng = np.random.default_rng(0)
        late = 0.0
        for t in range(4000):
            theta = THETA if t < 2500 else -THETA
            features = rng.normal(size=(4, D))
            decision = learner.choose(features)
            means = features @ theta
            learner.learn(decision, means[decision.arm] + 0.3 * rng.normal())
            late += means.max() - means[decision.arm] if t >= 3000 else 0.0
        ends.append(late)
    assert ends[1] < 0.5 * ends[0]


def test_a_memory_is_a_sum_with_weights():
    """V and theta_hat after many rewards, from their definition."""
    learner = th.Greedy(forgetting=50, ridge=2.0).learner(dimension=D)
    rng = np.random.default_rng(0)
    features, rewards = rng.normal(size=(1000, D)), rng.normal(size=1000)
    learner.observe(features, reward=rewards)
    weights = (1 - 1 / 50) ** np.arange(999, -1, -1)
    V = 2.0 * np.eye(D) + (features.T * weights) @ features
    assert learner.state.regression.base == pytest.approx(V, rel=1e-9)
    # the ridge fades by a tenth at most until the inverse is computed again
    theta = np.linalg.solve(V, features.T @ (weights * rewards))
    assert learner.state.regression.theta == pytest.approx(theta, abs=0.01)
    assert learner.state.regression.totals[0].logdet == pytest.approx(
        np.linalg.slogdet(V)[1], abs=0.05
    )


@pytest.mark.parametrize("spec", ["thrifty", "lints"])
def test_forgetting_in_the_simulator(spec):
    study = th.run(
        "fixed-u0.1",
        [spec, f"{spec}:forgetting=300"],
        horizon=3000,
        replications=20,
        progress=False,
    )
    remembering, forgetting = (result.final.mean() for result in study.results)
    assert forgetting > remembering  # nothing changes there


@pytest.mark.parametrize("value", [0, 1, -5, "x", float("nan")])
def test_bad_memories(value):
    with pytest.raises(th.InvalidInput, match="forgetting"):
        th.Thrifty(forgetting=value)


@pytest.mark.parametrize(
    ("policy", "noise", "rewards", "known", "told"),
    [
        (th.Thrifty(), None, "gaussian", False, 1.0),
        (th.Thrifty(), "estimate", "gaussian", False, 1.0),
        (th.Thrifty(), 0.3, "gaussian", True, 0.3),
        (th.Thrifty(), None, "bernoulli", False, 0.5),
        (th.Thrifty(noise="known"), None, "bernoulli", True, 0.5),
        (th.Thrifty(noise="known"), "estimate", "gaussian", False, 1.0),
        (th.LinTS(), None, "bernoulli", None, 0.5),
        (th.LinTS(), 2.0, "bernoulli", None, 2.0),
    ],
)
def test_what_noise_means(policy, noise, rewards, known, told):
    learner = policy.learner(dimension=2, noise=noise, rewards=rewards)
    assert learner.noise == told
    assert known is None or learner.state.known == known


def test_bad_noise():
    with pytest.raises(th.InvalidInput, match="lints: noise: a number expected, got 'estimate'"):
        th.LinTS().learner(dimension=2, noise="estimate")
    with pytest.raises(th.InvalidInput, match="thrifty: noise: a number or estimate expected"):
        th.Thrifty().learner(dimension=2, noise="guess")


def test_clicks_are_0_or_1():
    learner = th.Thrifty().learner(dimension=2, rewards="bernoulli")
    decision = learner.choose(np.eye(2))
    for mistake in (lambda: learner.learn(decision, 0.5), lambda: learner.observe(np.eye(2), 0, 2)):
        before = learner.to_bytes()
        with pytest.raises(th.InvalidInput, match="reward: 0 or 1"):
            mistake()
        assert learner.to_bytes() == before
    learner.learn(decision, True)
    learner.learn(learner.choose(np.eye(2)), 0)
    assert th.Learner.load(learner.to_bytes()).rewards == "bernoulli"
    with pytest.raises(th.InvalidInput, match="rewards: gaussian or bernoulli"):
        th.Thrifty().learner(dimension=2, rewards="clicks")


@pytest.mark.parametrize("policy", [th.Thrifty(noise="known"), th.OAM(horizon=1000)])
def test_cancelling_uncounts_exploration_rounds(policy):
    learner = policy.learner(th.ActionSets([np.eye(3)]))
    for _ in range(12):
        decision = learner.choose(0)
        learner.learn(decision, (1.0, 0.9, 0.2)[decision.arm])
    explored = learner.state.ledger.counters[0].explored
    decisions = [learner.choose(0) for _ in range(20)]
    assert learner.state.ledger.counters[0].explored > explored
    restored = th.Learner.load(learner.to_bytes())
    for decision in decisions:
        learner.cancel(decision)
        restored.cancel(decision.id)
    assert learner.state.ledger.counters[0].explored == explored
    assert restored.state.ledger.counters[0].explored == explored
