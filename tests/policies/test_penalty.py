"""What is particular about penalty: the price of information, what pending decisions will tell, and
that it does what it was made for.
"""

import numpy as np
import pytest
from scipy.stats import norm

import thrifty as th
from thrifty.policies.penalty import LEVEL, STAKES

SETS = th.ActionSets(
    [np.random.default_rng(1).normal(size=(6, 3)), np.random.default_rng(2).normal(size=(4, 3))]
)
THETA = np.array([0.5, -0.3, 0.2])


def penalty(learner, information, asked):
    """The expected loss per round of committing now, given V, over the questions that are asked."""
    inverse, theta = np.linalg.inv(information), learner.state.regression.theta
    total, visits = 0.0, learner.state.ledger.visits
    for m, n, best in asked:
        row, arms = learner.sets.arms(m)[n], learner.sets.arms(m)
        difference = arms[best] - row
        error = learner.state.model[0].noise * np.sqrt(difference @ inverse @ difference)
        z = difference @ theta / error
        total += visits[m] / visits.sum() * error * (norm.pdf(z) - z * norm.sf(z))
    return total


def open_questions(learner):
    """Context, arm and greedy arm of each arm whose bound is above the greedy one's."""
    inverse, state = learner.state.regression.inverse, learner.state
    for m, visits in enumerate(state.ledger.visits):
        arms = learner.sets.arms(m)
        means, norms = arms @ state.regression.theta, np.sum(arms @ inverse * arms, axis=1)
        levels = LEVEL + 2 * np.log(1 + visits * norms / STAKES)
        bounds = means + state.model[0].noise * np.sqrt(levels * norms)
        best = int(means.argmax())
        yield from ((m, n, best) for n in range(len(arms)) if bounds[n] > bounds[best])


def test_the_price_of_information_is_a_derivative():
    """A pull of y reduces the penalty by y^T A y, to first order."""
    learner = th.Penalty(noise="known").learner(SETS, noise=0.5)
    rng = np.random.default_rng(0)
    for t in range(10):
        decision = learner.choose(t % 2)
        mean = learner.sets.arms(t % 2)[decision.arm] @ THETA
        learner.learn(decision, mean + 0.5 * rng.normal())
    learner.state.sweep[0].next_round = 0.0  # so that the next decision begins with a sweep
    learner.choose(0)
    learner.cancel(learner.decisions - 1)
    learner.state.ledger.visits[0] += 1  # the round that the sweep has counted
    asked = list(open_questions(learner))
    assert {m for m, _, _ in asked} == {0, 1}
    information = np.linalg.inv(learner.state.regression.inverse)
    for y in [*SETS.arms(0), *SETS.arms(1)]:
        step = 1e-5 * np.outer(y, y)
        before = penalty(learner, information - step, asked)
        saved = (before - penalty(learner, information + step, asked)) / 2e-5
        assert y @ learner.state.questions.price @ y == pytest.approx(saved, rel=1e-5)


def listed(policy):
    return policy.learner(SETS, noise=0.5), lambda rng: int(rng.integers(2))


def opened(policy):
    return policy.learner(dimension=3, noise=0.5), lambda rng: rng.normal(size=(5, 3))


def mapped(policy):
    features = th.features.disjoint(["a", "b", "c"], ["x", "y"])
    return policy.learner(features=features, noise=0.5), lambda rng: rng.normal(size=2)


def whole(blocks):
    """(d, d) of blocks (d, w) along the diagonal."""
    d, width = blocks.shape
    full = np.zeros((d, d))
    for first in range(0, d, width):
        full[first : first + width, first : first + width] = blocks[first : first + width]
    return full


@pytest.mark.parametrize("kind", [listed, opened, mapped])
@pytest.mark.parametrize("forgetting", [None, 300])
def test_pending_decisions_count_as_information_that_will_come(kind, forgetting):
    """V with their pulls, whatever comes in between: rewards, withdrawals, pulls of others."""
    learner, context = kind(th.Penalty(noise="known", forgetting=forgetting))
    rng, waiting, compared = np.random.default_rng(0), [], 0
    for _ in range(400):
        waiting.append(learner.choose(context(rng)))
        expected = learner.state.expected
        if expected.awaited[0].current and len(waiting) > 1:
            information = np.linalg.inv(whole(learner.state.regression.inverse))
            pending = information + whole(expected.information)
            # with a memory what is pending fades with the rest, until V is computed anew
            close = {"rtol": 1e-6} if forgetting is None else {"rtol": 0.4, "atol": 0.05}
            np.testing.assert_allclose(
                np.diag(np.linalg.inv(whole(expected.inverse))), np.diag(pending), **close
            )
            compared += 1
        action = rng.choice(
            ["learn", "learn", "cancel", "wait", "clear"], p=[0.4, 0.2, 0.1, 0.28, 0.02]
        )
        while waiting and action != "wait":
            decision = waiting.pop(int(rng.integers(len(waiting))))
            if action == "cancel":
                learner.cancel(decision)
            else:
                learner.learn(decision, float(rng.normal()))
            if action != "clear":
                break
        if not waiting:
            assert not learner.state.expected.awaited[0].count
            np.testing.assert_allclose(learner.state.expected.information, 0, atol=1e-12)
    assert compared > 100


@pytest.mark.parametrize("kind", [listed, opened, mapped])
def test_decisions_without_a_reward_are_not_one_arm(kind):
    """At least half of the entropy of uniform play."""
    learner, context = kind(th.Penalty())
    rng = np.random.default_rng(3)
    offer = context(rng)
    chosen = np.bincount([learner.choose(offer).arm for _ in range(500)])
    shares = chosen[chosen > 0] / 500
    arms = {listed: len(SETS.arms(offer)) if kind is listed else 0, opened: 5, mapped: 3}[kind]
    assert -(shares * np.log(shares)).sum() > 0.5 * np.log(arms)


def test_equal_arms_are_drawn_at_random():
    sets = th.ActionSets([np.eye(4)])
    first = [th.Penalty().learner(sets, seed=seed).choose(0) for seed in range(40)]
    assert {decision.arm for decision in first} == {0, 1, 2, 3}
    assert {decision.probability for decision in first} == {0.25}


def test_blocks_of_theta_are_as_good_as_whole_features():
    """A disjoint map, and the same features written out, lead to the same decisions."""
    features = th.features.disjoint(["a", "b", "c"], ["x", "y"], bias=False)
    blocks, plain = th.Penalty().learner(features=features), th.Penalty().learner(dimension=6)
    rng = np.random.default_rng(5)
    for _ in range(300):
        x = rng.normal(size=2)
        decision = blocks.choose(x)
        other = plain.choose(np.kron(np.eye(3), features.encode(x).values))
        assert decision.arm == other.arm
        reward = float(decision.arm == 1) + 0.1 * rng.normal()
        blocks.learn(decision, reward)
        plain.learn(other, reward)


@pytest.mark.slow
def test_information_is_bought_in_the_context_where_it_is_cheap():
    """One question at a time cannot do that, nor Thompson sampling."""
    study = th.run(
        "two-contexts",
        ["penalty", "thrifty", "lints"],
        horizon=30_000,
        replications=200,
        progress=False,
    )
    mine = study["two-contexts", "penalty"]
    for rival in ("thrifty", "lints"):
        ratio = mine.final - 0.6 * study["two-contexts", rival].final
        assert ratio.mean() < -2 * ratio.std(ddof=1) / np.sqrt(200)
