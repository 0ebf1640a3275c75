"""Inputs at the edge have defined answers."""

from itertools import pairwise

import numpy as np
import pytest

import thrifty as th
from tests.bank import Arms, from_sets, random_problem
from tests.oracles import certificate


def solve(sets, theta, **options):
    return th.allocate(*from_sets([np.array(rows, float) for rows in sets], theta), **options)


def test_all_optimal_arms_of_a_context_are_free():
    found = solve([[[1, 0], [1, 0.5], [0, 1]]], [1, 0])
    assert found.pulls.tolist() == [np.inf, np.inf, 0]
    assert (found.value, found.gap, found.status) == (0, 0, "solved")


def test_optimal_arms_that_span_make_exploration_free():
    found = solve([[[1, 0], [0, 1], [0.9, 0.5]], [[0, 1], [-1, 0], [-1, 0]]], [1, 0])
    assert (found.value, found.reduced_dimension) == (0, 0)


def test_arms_that_do_not_span_are_solved_in_their_span():
    flat = solve([[[1, 0], [0, 1], [0.9, 0.5]]], [1, 0])
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    raised = np.array([[1, 0], [0, 1], [0.9, 0.5]]) @ rotation[:2]
    found = th.allocate(raised, [0, 1, 0.1], [True, False, False])
    assert found.reduced_dimension == 1
    assert found.value == pytest.approx(flat.value, rel=1e-9)


def test_contexts_that_do_not_span_alone():
    sets = [[[1, 0, 0], [0, 1, 0], [0.9, 0.5, 0]], [[0, 1, 0], [0, 0, 1], [0, 0.5, 0.9]]]
    assert solve(sets, [1, 0, 1]).value == pytest.approx(20, rel=1e-9)


def test_zero_vectors_need_no_proof():
    plain = from_sets([np.array([[1, 0], [0, 1], [0.9, 0.5]])], [1, 0])
    with_zero = Arms(np.vstack([plain.features, [0, 0]]), np.append(plain.gaps, 1.0), np.append(plain.best, False))
    found = th.allocate(*with_zero)
    assert found.value == pytest.approx(20)
    assert found.pulls[3] == 0


def test_only_zero_vectors():
    found = th.allocate(np.zeros((2, 3)), [0, 1], [True, False])
    assert (found.value, found.reduced_dimension) == (0, 0)


def test_one_arm_contexts_are_free_information():
    found = solve([[[1, 0], [0, 1], [0.9, 0.5]], [[0, 1]]], [1, 0])
    assert found.value == 0
    assert solve([[[1, 0]]], [1, 0]).value == 0


def test_theta_zero_makes_every_arm_optimal():
    found = solve([np.eye(3)], [0, 0, 0])
    assert np.isinf(found.pulls).all()
    assert found.value == 0


def test_an_arm_whose_projection_vanishes_is_left_alone():
    found = solve([[[1, 0], [0.5, 0], [0, 1], [0.9, 0.5]]], [1, 0])
    assert found.value == pytest.approx(20)
    assert found.pulls[1] == 0


def test_no_optimal_arm_given():
    found = th.allocate(np.eye(2), [1, 0.5], [False, False])
    assert found.value == pytest.approx(2 / 1 + 2 / 0.5)


@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e-150, 1e150])
def test_features_of_any_size(scale):
    arms, noise = random_problem(5)
    expected = th.allocate(*arms, noise=noise).value
    assert th.allocate(arms.features * scale, arms.gaps, arms.best, noise=noise).value == pytest.approx(expected, rel=1e-6)


def test_gaps_of_very_different_sizes():
    """Gaps from 1e-9 to 1e3 in one problem, 200 times: solved, and certified by the plain twin."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        d, k = int(rng.integers(2, 9)), int(rng.integers(3, 30))
        gaps = 10 ** rng.uniform(-9, 3, k)
        gaps[-2:] = 1e-9, 1e3
        best = np.arange(k) < rng.integers(1, max(2, d - 1))
        best[-2:] = False
        arms = Arms(rng.normal(size=(k, d)), np.where(best, 0, gaps), best)
        found = th.allocate(*arms)
        lower, upper = certificate(*arms, found.pulls, found.prices)
        assert found.status == "solved"
        assert upper <= lower * (1 + 2e-6)


def test_orthogonal_arms_with_gaps_of_very_different_sizes():
    gaps = np.array([0, 1e-9, 1e-3, 1, 1e3])
    found = th.allocate(np.eye(5), gaps, gaps == 0)
    assert found.status == "solved"
    assert found.value == pytest.approx((2 / gaps[1:]).sum(), rel=1e-6)
    assert (found.pulls[1:] >= 2 / gaps[1:] ** 2 * (1 - 1e-9)).all()


def test_base_that_suffices_leaves_nothing_to_buy():
    arms, noise = random_problem(7)
    d = arms.features.shape[1]
    found = th.allocate(*arms, noise=noise, base=1e9 * np.eye(d))
    assert (found.value, found.gap, found.status) == (0, 0, "solved")
    assert not found.pulls.any()


def test_base_of_optimal_arms_tends_to_the_infinite_program():
    """What optimal arms bring in n pulls: the value falls with n towards that of the paper's program."""
    arms, noise = random_problem(0)
    limit = th.allocate(*arms, noise=noise, tol=1e-8).value
    optimal = arms.features[arms.best]
    values = [th.allocate(*arms, noise=noise, base=n * optimal.T @ optimal, tol=1e-8).value for n in (1e1, 1e3, 1e5, 1e7, 1e9)]
    assert all(after <= before * (1 + 1e-7) for before, after in pairwise(values))
    assert values[0] > limit * (1 + 1e-4)
    assert values[-1] == pytest.approx(limit, rel=1e-5)


def test_base_in_one_dimension():
    found = th.allocate([[2.0], [1.0]], [0.5, 1.0], [False, False], base=[[10.0]])
    assert found.value == pytest.approx((2 * 4 / 0.25 - 10) / 4 * 0.5)


def test_past_failure_divergence_with_base_information():
    """A start far from the optimum once threw the iterates off; the strain rule keeps them."""
    rng = np.random.default_rng(2039)
    d, k = int(rng.integers(2, 9)), int(rng.integers(3, 30))
    features, gaps = rng.normal(size=(k, d)), rng.uniform(0.1, 1, k)
    best = np.arange(k) < int(rng.integers(1, max(2, d - 1)))
    rows = rng.normal(size=(int(rng.integers(1, d + 1)), d))
    base = rows.T @ rows * 10 ** rng.uniform(-3, 4) + np.eye(d) * 10 ** rng.uniform(-2, 2)
    assert th.allocate(features, np.where(best, 0, gaps), best, base=base).status == "solved"
