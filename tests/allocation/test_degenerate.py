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
    with_zero = Arms(
        np.vstack([plain.features, [0, 0]]),
        np.append(plain.gaps, 1.0),
        np.append(plain.best, False),
    )
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


@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e-100, 1e100])
def test_features_of_any_size(scale):
    arms, noise = random_problem(5)
    expected = th.allocate(*arms, noise=noise).value
    assert th.allocate(
        arms.features * scale, arms.gaps, arms.best, noise=noise
    ).value == pytest.approx(expected, rel=1e-6)


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


def test_base_that_suffices_needs_no_pulls():
    arms, noise = random_problem(7)
    d = arms.features.shape[1]
    found = th.allocate(*arms, noise=noise, base=1e9 * np.eye(d))
    assert (found.value, found.gap, found.status) == (0, 0, "solved")
    assert not found.pulls.any()


def test_base_of_optimal_arms_tends_to_the_infinite_program():
    """With n pulls of optimal arms as base, the value falls with n to that without base."""
    arms, noise = random_problem(0)
    limit = th.allocate(*arms, noise=noise, tol=1e-8).value
    optimal = arms.features[arms.best]
    values = [
        th.allocate(*arms, noise=noise, base=n * optimal.T @ optimal, tol=1e-8).value
        for n in (1e1, 1e3, 1e5, 1e7, 1e9)
    ]
    assert all(after <= before * (1 + 1e-7) for before, after in pairwise(values))
    assert values[0] > limit * (1 + 1e-4)
    assert values[-1] == pytest.approx(limit, rel=1e-5)


def test_base_in_one_dimension():
    found = th.allocate([[2.0], [1.0]], [0.5, 1.0], [False, False], base=[[10.0]])
    assert found.value == pytest.approx((2 * 4 / 0.25 - 10) / 4 * 0.5)
    bounds = certificate(
        [[2.0], [1.0]], [0.5, 1.0], [False, False], found.pulls, found.prices, base=[[10.0]]
    )
    assert bounds == (pytest.approx(found.value), pytest.approx(found.value))


def test_past_failure_divergence_with_base_information():
    """From a start far from the optimum the iterates once diverged; halved steps prevent it."""
    rng = np.random.default_rng(2039)
    d, k = int(rng.integers(2, 9)), int(rng.integers(3, 30))
    features, gaps = rng.normal(size=(k, d)), rng.uniform(0.1, 1, k)
    best = np.arange(k) < int(rng.integers(1, max(2, d - 1)))
    rows = rng.normal(size=(int(rng.integers(1, d + 1)), d))
    base = rows.T @ rows * 10 ** rng.uniform(-3, 4) + np.eye(d) * 10 ** rng.uniform(-2, 2)
    assert th.allocate(features, np.where(best, 0, gaps), best, base=base).status == "solved"


def test_past_failure_copies_of_arms_with_base_information():
    """Working sets once held copies of one arm only, and violated the constraints of others."""
    features, gaps = np.repeat(np.eye(2), 9, axis=0), np.repeat([0.5, 1.0], 9)
    found = th.allocate(features, gaps, np.zeros(18, bool), base=0.1 * np.eye(2))
    assert found.status == "solved"
    assert found.value == pytest.approx(0.5 * (2 / 0.25 - 0.1) + (2 - 0.1), rel=1e-6)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 9))
        features = rng.integers(0, 2, size=(60, d)).astype(float)
        gaps = rng.choice([0.1, 0.5, 1.0], size=60)
        best = np.arange(60) % 20 == 0
        base = 10 ** rng.uniform(-2, 1) * np.eye(d) + 10 * features[best].T @ features[best]
        assert th.allocate(features, gaps, best, base=base).status == "solved"


def test_past_failure_warm_start_with_base_information():
    """The support of an earlier solution need not span the constraints that are violated now."""
    before = th.allocate(np.eye(2), [1, 1], [False, False], base=np.diag([0.1, 9]))
    found = th.allocate(np.eye(2), [1, 1], [False, False], base=np.diag([0.1, 1]), warm=before)
    assert found.status == "solved"
    assert found.value == pytest.approx(1.9 + 1, rel=1e-6)


def test_warm_starts_along_a_growing_base():
    """As in a policy: base information grows, gaps change, and each solve starts from the last."""
    for seed in range(30):
        arms, noise = random_problem(seed)
        rng = np.random.default_rng(seed)
        base, plan = np.eye(arms.features.shape[1]), None
        for _ in range(15):
            base = base + sum(
                np.outer(x, x) for x in arms.features[rng.integers(len(arms.gaps), size=10)]
            )
            gaps = arms.gaps * rng.uniform(0.8, 1.25, len(arms.gaps))
            plan = th.allocate(arms.features, gaps, arms.best, noise=noise, base=base, warm=plan)
            fresh = th.allocate(arms.features, gaps, arms.best, noise=noise, base=base)
            assert plan.status == "solved"
            assert plan.value == pytest.approx(fresh.value, rel=2e-6, abs=1e-12)


@pytest.mark.parametrize("excess", [1e-12, 1e-9, 1e-6, 1e-3])
def test_base_that_nearly_suffices(excess):
    """An excess below 1e-7 is neglected; above it the bounds are right."""
    arms, _ = random_problem(0)
    needed = (
        2 * (np.linalg.norm(arms.features, axis=1) / np.where(arms.best, np.inf, arms.gaps)) ** 2
    )
    base = needed.max() / (1 + excess) * np.eye(arms.features.shape[1])
    found = th.allocate(*arms, base=base)
    assert found.status == "solved"
    assert (found.value == 0) == (excess < 1e-7)
    if found.value > 0:
        lower, upper = certificate(*arms, found.pulls, found.prices, base=base)
        assert (lower, upper) == (
            pytest.approx(found.value, rel=1e-5),
            pytest.approx(found.value, rel=1e-5),
        )


def test_rounding_of_a_huge_base_does_not_pass_for_information():
    """A base of rank 2 and size up to 1e18 has no information along other directions."""
    rng = np.random.default_rng(1)
    features = rng.integers(-3, 4, size=(40, 6)).astype(float)
    best = np.arange(40) < 2
    gaps = np.where(best, 0, rng.uniform(0.1, 1, 40))
    limit = th.allocate(features, gaps, best).value
    optimal = features[best].T @ features[best]
    for n in (1e8, 1e12, 1e18):
        assert th.allocate(features, gaps, best, base=n * optimal).value == pytest.approx(
            limit, rel=1e-5
        )


def test_many_copies_of_few_arms():
    rng = np.random.default_rng(268)
    few = rng.normal(size=(8, 8))
    features, gaps = np.repeat(few, 60, axis=0), np.repeat(rng.uniform(0.1, 1, 8), 60)
    found = th.allocate(features, gaps, np.zeros(480, bool), tol=1e-8)
    assert found.status == "solved"
    assert found.value == pytest.approx(
        th.allocate(few, gaps[::60], np.zeros(8, bool)).value, rel=1e-5
    )
