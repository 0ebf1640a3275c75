"""Changes of a problem that leave the value, scale it, or move it in a known direction."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import thrifty as th
from tests.bank import Arms, random_problem

fast = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.filter_too_much],
)
seeds = st.integers(0, 10_000)
scales = st.floats(-6, 6).map(lambda exponent: 10**exponent)


def value(arms: Arms, noise: float = 1.0) -> float:
    found = th.allocate(*arms, noise=noise, tol=1e-9)
    assert found.status == "solved"
    return found.value


def close(expected: float):
    return pytest.approx(expected, rel=1e-7)


@fast
@given(seeds)
def test_rotation_changes_nothing(seed):
    arms, noise = random_problem(seed)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(arms.features.shape[1],) * 2))[
        0
    ]
    assert value(arms._replace(features=arms.features @ rotation), noise) == close(
        value(arms, noise)
    )


@fast
@given(seeds, scales)
def test_units_of_the_features_change_nothing(seed, scale):
    """Features times s and theta over s leave the gaps, and so C, as they were."""
    arms, noise = random_problem(seed)
    assert value(arms._replace(features=arms.features * scale), noise) == close(value(arms, noise))


@fast
@given(seeds, scales)
def test_noise_scales_by_its_square(seed, scale):
    arms, noise = random_problem(seed)
    assert value(arms, noise * scale) == close(value(arms, noise) * scale**2)


@fast
@given(seeds, scales)
def test_gaps_scale_inversely(seed, scale):
    arms, noise = random_problem(seed)
    assert value(arms._replace(gaps=arms.gaps * scale), noise) == close(value(arms, noise) / scale)


@fast
@given(seeds)
def test_order_changes_nothing(seed):
    """Neither the order of arms nor that of contexts: both permute flat rows."""
    arms, noise = random_problem(seed)
    order = np.random.default_rng(seed).permutation(len(arms.gaps))
    shuffled = Arms(*(part[order] for part in arms))
    assert value(shuffled, noise) == close(value(arms, noise))


@fast
@given(seeds)
def test_a_duplicated_arm_changes_nothing(seed):
    arms, noise = random_problem(seed)
    row = np.random.default_rng(seed).integers(len(arms.gaps))
    assert value(with_arm(arms, arms.features[row], arms.gaps[row]), noise) == close(
        value(arms, noise)
    )


def with_arm(arms: Arms, vector, gap: float) -> Arms:
    """The problem with one more arm, optimal if its gap is 0."""
    return Arms(
        np.vstack([arms.features, vector]),
        np.append(arms.gaps, gap),
        np.append(arms.best, gap == 0),
    )


# An added suboptimal arm x is a new column, which can lower C, and a new constraint, which can
# raise it:
# - by at most 2 sigma^2 / gap(x): 2 sigma^2 / gap^2 pulls of x satisfy its constraint;
# - not up, if the constraint is implied: x / gap in the convex hull of the others' +-x / gap;
# - not down, if the column is dominated: x / sqrt(gap) in the hull of the others' +-x / sqrt(gap);
# - not up, if x is optimal too: its pulls have no cost, and it has no constraint.


@fast
@given(seeds, st.floats(0.01, 3.0))
def test_an_added_arm_costs_at_most_its_own_pulls(seed, gap):
    arms, noise = random_problem(seed)
    vector = np.random.default_rng([seed, 1]).normal(size=arms.features.shape[1])
    assert value(with_arm(arms, vector, gap), noise) <= (
        value(arms, noise) + 2 * noise**2 / gap
    ) * (1 + 1e-8)


def mixture(seed: int, points: np.ndarray) -> np.ndarray:
    """A point of the convex hull of +-points (n, d)."""
    rng = np.random.default_rng([seed, 2])
    weights = rng.dirichlet(np.full(len(points), 0.3)) * rng.choice([-1.0, 1.0], size=len(points))
    return weights @ points


@fast
@given(seeds, st.floats(0.01, 3.0))
def test_an_added_arm_with_an_implied_constraint_cannot_raise_the_bound(seed, gap):
    arms, noise = random_problem(seed)
    others = ~arms.best
    assume(others.any())
    vector = gap * mixture(seed, arms.features[others] / arms.gaps[others, None])
    assert value(with_arm(arms, vector, gap), noise) <= value(arms, noise) * (1 + 1e-7)


@fast
@given(seeds, st.floats(0.01, 3.0))
def test_an_added_arm_with_a_dominated_column_cannot_lower_the_bound(seed, gap):
    arms, noise = random_problem(seed)
    others = ~arms.best
    assume(others.any())
    vector = np.sqrt(gap) * mixture(seed, arms.features[others] / np.sqrt(arms.gaps[others, None]))
    assert value(with_arm(arms, vector, gap), noise) >= value(arms, noise) * (1 - 1e-7)


@fast
@given(seeds)
def test_another_optimal_arm_cannot_raise_the_bound(seed):
    arms, noise = random_problem(seed)
    vector = np.random.default_rng([seed, 3]).normal(size=arms.features.shape[1])
    assert value(with_arm(arms, vector, 0.0), noise) <= value(arms, noise) * (1 + 1e-7)


def test_an_added_arm_can_move_the_bound_either_way():
    line = Arms(np.array([[1, 0], [0.99, 0.02]]), np.array([0, 0.01]), np.array([True, False]))
    assert value(line) == close(200)
    assert value(with_arm(line, [0, 1], 1.0)) == close(8)  # a cheap source of information
    assert value(with_arm(line, [1, 0.02], 1e-3)) == close(2000)  # a hard task
