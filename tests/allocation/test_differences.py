"""The program on differences against a conic solver."""

import cvxpy as cp
import numpy as np
import pytest

from thrifty.allocation.arms import Outcome
from thrifty.allocation.differences import allocate_differences


def random_program(seed):
    """Two contexts, costs over three orders of magnitude, base information that does not suffice.

    Without pulls the largest constraint value is between 1.6 and 10000.
    """
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(4, 14)), int(rng.integers(2, 5))
    features = rng.normal(size=(k, d)) * 10 ** rng.uniform(-2, 2)
    rivals = np.where(np.arange(k) < k // 2, 0, k // 2)
    scales = np.where(np.arange(k) == rivals, 0.0, rng.uniform(1, 30, k))
    rows = rng.normal(size=(d + 2, d)) * np.abs(features).max() * 10 ** rng.uniform(-1, 1)
    program = features, 10 ** rng.uniform(-3, 0, k), rivals, scales, rows.T @ rows
    scales *= np.sqrt(10 ** rng.uniform(0.2, 4) / needs(program, np.zeros(k)).max())
    return program


def solve(program, *, warm=None):
    features = program[0]
    pulls, prices = warm if warm is not None else (np.zeros(len(features)), np.zeros(len(features)))
    found = allocate_differences(*program, pulls, prices, warm is not None, 1e-7)
    return Outcome(*found), pulls, prices


def needs(program, pulls):
    """(k,) the left-hand sides of the constraints; at most 1 where they are met."""
    features, _, rivals, scales, base = program
    inverse = np.linalg.inv(base + (features.T * pulls) @ features)
    return np.array(
        [
            scale**2 * (x - features[rival]) @ inverse @ (x - features[rival])
            for x, rival, scale in zip(features, rivals, scales, strict=True)
        ]
    )


@pytest.mark.parametrize("seed", range(24))
def test_agrees_with_a_conic_solver(seed):
    program = random_program(seed)
    features, costs, rivals, scales, base = program
    outcome, pulls, _ = solve(program)
    unit = np.abs(features).max()  # a conic solver wants numbers near 1
    amount = cp.Variable(len(features), nonneg=True)
    matrix = base / unit**2 + sum(
        amount[j] * np.outer(x, x) / unit**2 for j, x in enumerate(features)
    )
    told = [i for i in range(len(features)) if scales[i] > 0]
    constraints = [
        cp.matrix_frac(scales[i] * (features[i] - features[rivals[i]]) / unit, matrix) <= 1
        for i in told
    ]
    expected = cp.Problem(cp.Minimize(costs @ amount), constraints).solve(solver="CLARABEL")
    assert outcome.upper == pytest.approx(costs @ pulls, rel=1e-6, abs=1e-9)
    # the conic solver's accuracy; ours is certified below
    assert outcome.upper == pytest.approx(expected, rel=5e-5, abs=1e-5 * costs.max())
    assert outcome.upper - outcome.lower <= 1e-6 * outcome.upper
    assert outcome.upper > 0
    assert needs(program, pulls).max() <= 1 + 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_a_warm_start_gives_the_same(seed):
    program = random_program(seed)
    outcome, pulls, prices = solve(program)
    again, warm_pulls, _ = solve(program, warm=(pulls.copy(), prices.copy()))
    assert again.iterations < outcome.iterations
    assert again.upper == pytest.approx(outcome.upper, rel=1e-6)
    assert needs(program, warm_pulls).max() <= 1 + 1e-6


def test_no_pulls_where_the_base_suffices_or_there_is_no_constraint():
    """Earlier pulls and prices are overwritten by zeros."""
    features, costs, rivals, scales, base = random_program(1)
    k = len(features)
    for program in (
        (features, costs, rivals, scales, base * 1e9),
        (features, costs, rivals, 0.0 * scales, base),
    ):
        outcome, pulls, prices = solve(program, warm=(np.ones(k), np.ones(k)))
        assert outcome == (0, 0, 0, 0, features.shape[1], 0)
        assert not pulls.any()
        assert not prices.any()
