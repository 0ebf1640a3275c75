"""SOLID: what it explores, when it stops, what it leaves alone."""

import numpy as np
import pytest

import thrifty as th
from thrifty.numerics.dense import invert_positive
from thrifty.policies.solid import HIGHEST_PRICE

ARMS = np.random.default_rng(1).normal(size=(20, 5))
SETS = th.ActionSets([ARMS / np.linalg.norm(ARMS, axis=1, keepdims=True)])
RANDOM = th.Instance(
    SETS, theta=np.array([2.0, -1.0, 0.0, 1.0, 2.0]) / np.sqrt(10), noise=0.5, name="random"
)


@pytest.mark.slow
def test_it_comes_to_exploit_and_regret_grows_far_less_than_linearly():
    shorter, longer = (
        th.run(RANDOM, "solid:kappa=0", horizon=n, replications=20, seed=1, progress=False).results[
            0
        ]
        for n in (10**4, 10**5)
    )
    assert longer.to_json()["labels"]["exploit"]["rounds"] > 0.8 * 10**5
    assert longer.mean < 2 * shorter.mean
    # a hundredth of what arms at random would cost
    assert longer.mean < 10**5 * RANDOM.gaps.mean() / 100


def test_with_optimism_about_information_it_still_beats_the_width_of_the_theorem():
    solid, linucb = th.run(
        RANDOM, ["solid", "linucb"], horizon=10**4, replications=20, seed=1, progress=False
    ).results
    assert solid.mean + 4 * solid.se < linucb.mean - 4 * linucb.se


def played(instance, policy, rounds, seed=0):
    """A learner that has played an instance, and its decisions."""
    learner, rng, decisions = (
        policy.learner(instance.sets, seed, noise=instance.noise),
        np.random.default_rng(seed),
        [],
    )
    for _ in range(rounds):
        m = int(rng.integers(instance.sets.contexts))
        decisions.append(learner.choose(m))
        row = int(instance.sets.offsets[m]) + decisions[-1].arm
        learner.learn(
            decisions[-1], float(instance.means[row] + instance.noise * rng.standard_normal())
        )
    return learner, decisions


def test_rewards_of_exploit_rounds_teach_nothing():
    learner, decisions = played(RANDOM, th.SOLID(horizon=1e4, kappa=0, ridge=1), 6000)
    explored = sum(decision.label != "exploit" for decision in decisions)
    assert 0 < explored < 6000
    assert learner.state.regression.pulls.sum() == explored


def test_weights_gather_on_the_best_arm_and_information_has_its_price():
    learner, _ = played(
        th.instance("end-of-optimism:eps=0.05,a=2"), th.SOLID(horizon=1e5, kappa=0), 3000
    )
    saddle = learner.state.saddle
    assert saddle.weights.sum() == pytest.approx(1)
    assert saddle.weights.argmax() == saddle.best[0] == 0
    assert 0 < saddle.progress[0].price < HIGHEST_PRICE


def test_the_unit_of_rewards_does_not_matter():
    scaled = th.Instance(SETS, theta=4 * RANDOM.theta, noise=4 * RANDOM.noise)
    decisions = [
        [
            (decision.arm, decision.label)
            for decision in played(instance, th.SOLID(horizon=1e4, ridge=1), 2000)[1]
        ]
        for instance in (RANDOM, scaled)
    ]
    assert decisions[0] == decisions[1]


def test_without_a_choice_there_is_nothing_to_explore():
    sets = th.ActionSets([[[1.0, 2.0]], [[0.5, 1.0], [0.5, 1.0]]])
    _, decisions = played(th.Instance(sets, theta=[1, 1]), th.SOLID(horizon=100), 20)
    assert {decision.label for decision in decisions} == {"exploit"}


def test_a_late_reward_of_an_arm_that_is_gone_counts_at_once():
    sets = th.ActionSets([[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]])
    learner = th.SOLID(horizon=100).learner(sets)
    late = learner.choose(0)
    learner.remove_arm(0, late.arm)
    learner.choose(0)
    assert learner.state.saddle.progress[0].current
    learner.learn(late, 5.0)
    assert not learner.state.saddle.progress[0].current


@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_inverse_of_a_positive_definite_matrix(size):
    root = np.random.default_rng(size).normal(size=(size, size))
    matrix, inverse = root @ root.T + 0.1 * np.eye(size), np.zeros((size, size))
    expected = np.linalg.inv(matrix)
    invert_positive(matrix, inverse)
    np.testing.assert_allclose(inverse, expected, rtol=1e-8, atol=1e-10)
