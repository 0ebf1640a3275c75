"""Policies that draw arms from a distribution: squarecb, linmed, vids."""

import numpy as np
import pytest

import thrifty as th
from tests.policies.test_solid import ARMS, RANDOM, SETS, played
from thrifty.policies.linmed import _find_design
from thrifty.simulation.replication import simulate

pytestmark = pytest.mark.slow

SCALED = th.Instance(SETS, theta=4 * RANDOM.theta, noise=4 * RANDOM.noise)


@pytest.mark.parametrize("spec", ["squarecb:ridge=1"])
def test_the_unit_of_rewards_does_not_matter(spec):
    decisions = [
        [(decision.arm, decision.label) for decision in played(instance, th.policy(spec), 1000)[1]]
        for instance in (RANDOM, SCALED)
    ]
    assert decisions[0] == decisions[1]


def test_squarecb_draws_uniformly_where_means_are_equal_and_less_with_time():
    _, decisions = played(RANDOM, th.SquareCB(c=0), 2000)
    counts = np.bincount([decision.arm for decision in decisions], minlength=20)
    assert ((counts - 100) ** 2 / 100).sum() < 45  # chi-squared with 19 degrees of freedom
    _, decisions = played(RANDOM, th.SquareCB(), 4000)
    sampled = np.array([decision.label == "sampled" for decision in decisions])
    assert 0 < sampled[2000:].sum() < 0.75 * sampled[:2000].sum()


@pytest.mark.parametrize("arms", [ARMS, ARMS[:4], ARMS[:, :1], ARMS[:, [0, 1, 1]], 1e-6 * ARMS])
def test_the_design_of_linmed_is_nearly_optimal(arms):
    """Under the optimal design the largest norm is the rank (Kiefer and Wolfowitz 1960)."""
    state = th.LinMED().start(th.ActionSets([arms]), noise=1.0, horizon=None)
    F = np.linspace(1, 0.01, len(arms))
    _find_design(state.design, state.regression.rows, F, np.arange(len(arms)))
    weights, scaled = state.design.weights, arms * np.sqrt(F)[:, None]
    inverse = np.linalg.pinv((scaled.T * weights) @ scaled, rcond=1e-6, hermitian=True)
    norms = np.einsum("ki,ij,kj->k", scaled, inverse, scaled)
    assert weights.sum() == pytest.approx(1)
    assert weights.min() >= 0
    assert norms.max() <= 1.25 * np.linalg.matrix_rank(scaled)


def test_linmed_is_nearly_greedy_in_the_end_and_takes_duplicates_for_one_arm():
    _, decisions = played(RANDOM, th.LinMED(alpha_emp=0.5, alpha_opt=0.25), 4000)
    sampled = np.array([decision.label == "sampled" for decision in decisions])
    assert 0 < sampled[2000:].sum() < 0.85 * sampled[:2000].sum()
    sets = th.ActionSets([[[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]])
    learner = th.LinMED(alpha_emp=0, alpha_opt=0).learner(sets)
    for _ in range(500):
        learner.learn(learner.choose(0), 1.0)
    first, second, zero = learner.state.regression.pulls
    assert abs(first - second) < 100
    assert zero < first + second


def regrets(policy, replications=400, rounds=250):
    """The linear example of Russo and Van Roy (2018): theta ~ N(0, 10 I), 30 arms in a cube."""
    found = []
    for replication in range(replications):
        rng = np.random.default_rng([9, replication])
        sets = th.ActionSets([rng.uniform(-1, 1, size=(30, 5)) / np.sqrt(5)])
        instance = th.Instance(sets, theta=np.sqrt(10) * rng.normal(size=5))
        played = simulate(instance, policy, horizon=rounds, seed=replication)
        found.append(played.regret[-1].sum())
    return np.array(found)


def test_vids_has_less_regret_than_thompson_sampling_with_the_same_prior():
    """On that example about 0.8 of it, whatever the number of samples."""
    vids, lints = regrets(th.VIDS(ridge=0.1)), regrets(th.LinTS(ridge=0.1))
    saved = lints - vids
    assert saved.mean() > 3 * saved.std(ddof=1) / np.sqrt(saved.size)
    assert np.median(vids) < 0.8 * np.median(lints)


def test_vids_is_greedy_once_no_sample_has_another_best_arm():
    sets = th.ActionSets([[[1.0, 0.0], [0.0, 1.0]]])
    learner = th.VIDS().learner(sets, noise=0.01)
    labels = []
    for _ in range(100):
        decision = learner.choose(0)
        labels.append(decision.label)
        learner.learn(decision, (1.0, 0.0)[decision.arm])
    assert labels[-50:] == ["exploit"] * 50
    assert learner.state.posterior.chances == pytest.approx([1.0, 0.0])
