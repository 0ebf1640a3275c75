"""Probabilities of decisions that are estimated by draws, for Thompson sampling."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import thrifty as th
from thrifty.learners.state_files import pack, to_text
from thrifty.policies import POLICIES

# learned from the second context, whose arm makes the entries of theta far from independent
SETS = th.ActionSets([[[1, 0, 0], [0.8, 0.5, 0.1], [0, 1, 0.5]], [[2, 2, 1], [0, 0, 1]]])
PAST = [0, 1, 2, 3, 3, 3, 4]
REWARDS = [0.4, 0.3, 0.5, 1.9, 1.4, 1.6, -0.2]
ROWS = [[0.5, 0.2, -0.1], [0.1, 0.4, 0.3], [0.3, 0.3, 0.2], [0.0, -0.4, 0.6]]
MAP = th.features.disjoint(["a", "b", "c"], ["age"], bias=True)


def listed(policy, **settings):
    learner = policy.learner(SETS, noise=0.7, **settings)
    learner.observe([0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 0, 0, 0, 1], REWARDS)
    return learner


def opened(policy, **settings):
    learner = policy.learner(dimension=3, noise=0.7, **settings)
    learner.observe(SETS.rows[PAST], reward=REWARDS)
    return learner


def mapped(policy, **settings):
    learner = policy.learner(features=MAP, noise=0.7, **settings)
    learner.observe([[1.0], [0.5], [2.0]] * 2, ["a", "b", "c"] * 2, [0.4, 0.3, 0.5] * 2)
    return learner


OFFERS = [
    (listed, lambda learner: learner.choose(0)),
    (listed, lambda learner: learner.choose(0, available=[0, 2])),
    (opened, lambda learner: learner.choose(ROWS)),
    (mapped, lambda learner: learner.choose({"age": 0.7})),
    (mapped, lambda learner: learner.choose({"age": 0.7}, available=["c", "a"])),
]


def check_frequencies(policy, start, choose):
    """How often fresh learners in one state choose each arm, against what they say."""
    trials, draws = 1000, 400
    chosen: dict[int, list[float]] = {}
    for seed in range(trials):
        decision = choose(start(policy, seed=seed, probability_draws=draws))
        chosen.setdefault(decision.arm, []).append(decision.probability)
    assert len(chosen) > 1
    for said in chosen.values():
        p, share = np.mean(said), len(said) / trials
        spread = np.sqrt(p * (1 - p))
        error = spread * np.sqrt(1 / trials + 1 / (draws * len(said)))
        assert abs(p - share) < 4 * error + 1 / draws  # the decision itself is one of the draws
        assert np.std(said) < 1.5 * spread / np.sqrt(draws)
        assert np.std(said) > 0.5 * spread / np.sqrt(draws)  # other seeds, other draws


@pytest.mark.slow
@pytest.mark.parametrize(("start", "choose"), OFFERS)
def test_estimates_are_frequencies(start, choose):
    check_frequencies(th.LinTS(), start, choose)


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [
        th.LinTS(scale=0.4),
        th.LinTS(ridge=3),
        th.LinTS(inflation="theory", horizon=100),
        th.LinTS(forgetting=3),
    ],
    ids=str,
)
def test_estimates_follow_the_parameters(policy):
    check_frequencies(policy, *OFFERS[0])


def test_estimates_are_those_of_the_posterior():
    """After rewards of one arm the entries of theta are far from independent."""
    learner = th.LinTS(scale=0.5).learner(dimension=2, noise=0.1)
    learner.observe([[1.0, -2.0]] * 5, reward=[-0.1, 0.1, 0.2, 0.1, 0.0])
    rows, rng, draws = np.array([[1, 0], [0, 1], [0.6, -0.6]]), np.random.default_rng(0), 10_000
    found = learner.policy.estimate_probabilities(learner.state, rows, draws=draws, rng=rng)
    V = 0.1**2 * np.eye(2) + 5 * np.outer([1, -2], [1, -2])
    theta = np.linalg.solve(V, 0.3 * np.array([1, -2]))
    drawn = rng.multivariate_normal(theta, 0.05**2 * np.linalg.inv(V), size=draws) @ rows.T
    shares = np.bincount(drawn.argmax(axis=1), minlength=3) / draws
    assert found == pytest.approx(shares, abs=4 * np.sqrt(2 * 0.25 / draws))
    assert 0.1 < shares[0] < 0.9


def play(learner, rounds=40):
    """Decisions with rewards, some of them late."""
    decisions = []
    for t in range(rounds):
        decisions.append(learner.choose(t % 2))
        if t % 3:
            learner.learn(decisions[-1], 0.1 * (t % 5))
    return decisions


def test_decisions_are_the_same_with_estimates_and_without():
    with_estimates, without = (listed(th.LinTS(), probability_draws=n) for n in (50, 0))
    one, other = play(with_estimates), play(without)
    assert [decision._replace(probability=None) for decision in one] == other
    assert all(0 < decision.probability <= 1 for decision in one)
    assert pack(with_estimates.state) == pack(without.state)


def test_a_learner_that_was_loaded_goes_on_with_the_same_estimates():
    learner = listed(th.LinTS(), probability_draws=50)
    play(learner)
    again = th.Learner.load(learner.to_bytes())
    assert again.settings.probability_draws == 50
    decisions = play(learner)
    assert play(again) == decisions
    assert len({decision.probability for decision in decisions}) > 10
    repeated = listed(th.LinTS(), probability_draws=50)
    play(repeated)
    assert play(repeated) == decisions


def test_each_decision_has_draws_of_its_own():
    """Nothing is learned in between: the state is the same, the estimates are not."""
    learner = listed(th.LinTS(), probability_draws=1000)
    said = {}
    for _ in range(30):
        decision = learner.choose(0)
        said.setdefault(decision.arm, set()).add(decision.probability)
    assert max(map(len, said.values())) > 5


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "lints"])
def test_other_policies_say_what_they_said(name):
    sets = th.ActionSets([SETS.arms(0)])
    horizon = {"horizon": 100} if "horizon" in POLICIES[name].parameters() else {}
    one, other = (
        POLICIES[name](**horizon).learner(sets, probability_draws=draws) for draws in (0, 20)
    )
    for t in range(20):
        decision = one.choose(0)
        assert other.choose(0) == decision
        one.learn(decision, 0.1 * t)
        other.learn(decision, 0.1 * t)


def test_of_equal_arms_the_first_has_it_all():
    """As in the compiled choice; a matrix product rounds equal rows differently."""
    row = np.random.default_rng(0).normal(size=20)
    learner = th.LinTS().learner(th.ActionSets([[row] * 31]), probability_draws=20)
    for t in range(20):
        decision = learner.choose(0)
        assert (decision.arm, decision.probability) == (0, 1.0)
        learner.learn(decision, 0.3 * t)
    assert th.LinTS().learner(dimension=20, probability_draws=5).choose([row]).probability == 1.0


def test_a_probability_is_above_0():
    learner, rng = listed(th.LinTS(scale=1e-9)), np.random.default_rng(0)
    found = learner.policy.estimate_probabilities(learner.state, SETS.rows[:3], draws=9, rng=rng)
    assert sorted(found) == [0.1, 0.1, 1.0]


def test_draws_are_made_in_parts():
    """Of a large product; the draws, and so the estimates, are those of one part."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 20))
    learner = th.LinTS().learner(dimension=20)
    found = learner.policy.estimate_probabilities(
        learner.state, rows, draws=100, rng=np.random.default_rng(5)
    )
    best = (np.random.default_rng(5).standard_normal((100, 20)) @ rows.T).argmax(axis=1)
    assert found == pytest.approx((np.bincount(best, minlength=300) + 1) / 101)


@pytest.mark.parametrize("value", [-1, 1.5, True, None, "many", 10**7])
def test_bad_numbers_of_draws(value):
    with pytest.raises(
        th.InvalidInput, match="probability_draws: a whole number from 0 to 1,000,000 expected"
    ):
        th.LinTS().learner(SETS, probability_draws=value)


def test_bad_features_are_refused_as_before():
    learner = opened(th.LinTS(), probability_draws=10)
    before = learner.to_bytes()
    for bad in (np.nan, np.inf, 1e70):
        with pytest.raises(th.InvalidInput, match=r"features\[1\]\[2\]: a finite number"):
            learner.choose([[1, 0, 0], [0, 1, bad]])
        assert learner.to_bytes() == before


def test_a_file_without_the_setting_is_read():
    content = json.loads(listed(th.LinTS()).to_bytes())["learner"]
    del content["settings"]["probability_draws"]
    assert th.Learner.load(to_text(content).encode()).settings.probability_draws == 0


@pytest.mark.parametrize(("start", "choose"), [OFFERS[1], OFFERS[3]])
def test_a_decision_that_a_signal_interrupts_has_its_estimate(start, choose):
    learner, twin = (start(th.LinTS(), probability_draws=50) for _ in range(2))

    def signal(*_):
        raise KeyboardInterrupt

    learner._register = signal  # after the compiled call, before the decision is in Python
    with pytest.raises(KeyboardInterrupt):
        choose(learner)
    del learner._register
    following = choose(learner)
    assert learner.pending[0].decision == choose(twin)
    assert following == choose(twin)


@dataclass(frozen=True, kw_only=True)
class Interrupted(th.LinTS):
    """Its estimates are never made."""

    def estimate_probabilities(self, state, rows, *, draws, rng):
        raise KeyboardInterrupt


def test_an_interrupted_estimate_leaves_everything_as_it_was():
    learner = listed(Interrupted(), probability_draws=50)
    before = learner.to_bytes()
    with pytest.raises(KeyboardInterrupt):
        learner.choose(0)
    assert learner.to_bytes() == before
    assert not learner.pending


def test_no_estimate_where_rounding_has_spoiled_the_inverse():
    learner, rng = listed(th.LinTS()), np.random.default_rng(0)
    learner.state.regression.inverse[2, 2] = -1e-20
    rows = SETS.rows[:3]
    assert learner.policy.estimate_probabilities(learner.state, rows, draws=9, rng=rng) is None
