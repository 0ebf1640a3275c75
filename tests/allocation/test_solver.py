"""Behaviour of the solver beyond its answers: working sets, warm starts, use from compiled code,
errors.
"""

import resource

import numba
import numpy as np
import pytest

import thrifty as th
from tests.bank import Arms, random_problem
from tests.oracles import certificate
from thrifty.allocation.arms import allocate_arms


def many_arms(contexts: int, arms: int, d: int) -> Arms:
    """Random directions with one common optimal arm, as in the growth benchmark."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(contexts, arms, d))
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    theta = rows[0, 0]
    rows[:, 0] = theta
    rows = rows.reshape(-1, d)
    best = np.arange(len(rows)) % arms == 0
    return Arms(rows, np.where(best, 0, 1 - rows @ theta), best)


@pytest.mark.parametrize(("contexts", "d"), [(3, 5), (20, 10), (50, 20)])
def test_working_sets_certify_the_whole_program(contexts, d):
    arms = many_arms(contexts, 100, d)
    found = th.allocate(*arms)
    lower, upper = certificate(*arms, found.pulls, found.prices)
    assert found.status == "solved"
    assert found.reduced_dimension == d - 1
    assert lower <= upper <= lower * (1 + 1.01e-6)
    # Caratheodory: no more are ever needed
    assert np.count_nonzero(found.pulls[~arms.best]) < d * (d + 1) / 2


def test_idle_arms_get_exactly_no_pulls():
    gaps = np.array([0, 1, 0.1, 0.5])
    found = th.allocate([[1, 0, 0], [0, 1, 0], [0.9, 0.5, 0], [0.5, 0, 1]], gaps, gaps == 0)
    assert found.pulls[1] == 0
    assert found.pulls[2] > 0
    assert found.pulls[3] > 0


def test_warm_start_gives_the_same_answer_in_fewer_iterations():
    cold, warm = 0, 0
    for seed in range(100):
        arms, noise = random_problem(seed)
        before = th.allocate(*arms, noise=noise)
        moved = arms._replace(
            gaps=arms.gaps * np.random.default_rng(seed).uniform(0.95, 1.05, len(arms.gaps))
        )
        again = th.allocate(*moved, noise=noise, warm=before)
        fresh = th.allocate(*moved, noise=noise)
        assert again.status == "solved"
        assert again.value == pytest.approx(fresh.value, rel=2e-6)
        cold, warm = cold + fresh.iterations, warm + again.iterations
    assert warm < 0.7 * cold


def test_warm_start_survives_a_new_best_arm():
    """After a change of the best arm the old support may not even span: the solver must notice and
    start afresh.
    """
    for seed in range(100):
        arms, noise = random_problem(seed)
        before = th.allocate(*arms, noise=noise)
        other, other_noise = random_problem(seed)
        features = np.random.default_rng(seed).permutation(other.features)
        again = th.allocate(features, other.gaps, other.best, noise=other_noise, warm=before)
        assert again.status == "solved"
        assert again.value == pytest.approx(
            th.allocate(features, other.gaps, other.best, noise=other_noise).value, rel=2e-6
        )


@numba.njit
def solve_again_and_again(features, gaps, best, times):
    k, d = features.shape
    pulls, prices, base = np.zeros(k), np.zeros(k), np.zeros((d, d))
    total = 0.0
    for t in range(times):
        total += allocate_arms(
            features,
            gaps * (1.0 + 0.001 * (t % 50)),
            best,
            1.0,
            base,
            True,
            pulls,
            prices,
            t > 0,
            1e-6,
        ).upper
    return total / times


def test_callable_from_compiled_code_without_growing_memory():
    arms, _ = random_problem(2)
    solve_again_and_again(*arms, 1000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mean = solve_again_and_again(*arms, 50_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    factors = 1 / (1 + 0.001 * np.arange(50))
    assert mean == pytest.approx(th.allocate(*arms).value * factors.mean(), rel=1e-5)
    assert grown < 8 * 1024  # KiB; one leaked array a call would be ten times as much


def test_the_same_bits_every_time():
    arms, noise = random_problem(9)
    first, second = th.allocate(*arms, noise=noise), th.allocate(*arms, noise=noise)
    assert first.pulls.tobytes() == second.pulls.tobytes()
    assert first.prices.tobytes() == second.prices.tobytes()


def test_arguments_are_not_touched():
    arms, noise = random_problem(9)
    copies = Arms(*(part.copy() for part in arms))
    before = th.allocate(*arms, noise=noise)
    kept = before.pulls.copy()
    th.allocate(*arms, noise=noise, warm=before)
    assert all(np.array_equal(part, copy) for part, copy in zip(arms, copies, strict=True))
    assert np.array_equal(before.pulls, kept)


def test_status_speaks():
    assert "within" in th.Status.SOLVED.advice
    assert "larger tol" in th.Status.ALMOST_SOLVED.advice
    assert "do not use" in th.Status.FAILED.advice
    impossible = th.allocate(*random_problem(0)[0], tol=1e-16)
    assert impossible.status in ("solved", "almost solved")
    assert impossible.gap < 1e-9


FEATURES, GAPS, BEST = [[1, 0], [0, 1], [0.9, 0.5]], [0, 1, 0.1], [True, False, False]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"features": [[1, 0], [0, np.nan], [0.9, 0.5]]},
            "features[1]: finite numbers expected, got array([ 0., nan])",
        ),
        ({"features": [1, 2]}, "features: a (k, d) array with at least one arm expected, got (2,)"),
        (
            {"features": [["a", "b"]]},
            "features: a (k, d) array of numbers expected, got [['a', 'b']]",
        ),
        ({"gaps": [0, 1]}, "gaps: 3 numbers (one an arm) expected, got 2"),
        (
            {"gaps": [0, -1, 0.1]},
            "gaps[1]: a positive number (the arm is not best) expected, got -1.0",
        ),
        ({"gaps": [0, np.inf, 0.1]}, "gaps[1]: a finite number expected, got inf"),
        ({"best": [True]}, "best: 3 flags (one an arm) expected, got [True]"),
        (
            {"best": ["False", "True", "True"]},
            "best: 3 flags (one an arm) expected, got ['False', 'True', 'True']",
        ),
        (
            {"features": [[1, 0], [0, 1], [1e300, 0]]},
            "features[0]: an arm of at least 1e-120 of the largest expected, got 1.0",
        ),
        (
            {"gaps": [0, 1e-200, 1]},
            "gaps[1]: a gap of at least 1e-120 of the largest expected, got 1e-200",
        ),
        ({"noise": 1e160}, "noise: a number between 1e-120 and 1e+120 expected, got 1e+160"),
        ({"base": "x"}, "base: a (2, 2) array of finite numbers expected, got 'x'"),
        ({"base": 1e200 * np.eye(2)}, "base: entries up to 1e+120 expected, got 1e+200"),
        ({"noise": 0}, "noise: a positive number expected, got 0"),
        ({"noise": np.nan}, "noise: a positive number expected, got nan"),
        ({"tol": 1.5}, "tol: a number between 0 and 1 expected, got 1.5"),
        ({"base": np.eye(3)}, "base: a (2, 2) array of finite numbers expected, got (3, 3)"),
        (
            {"base": [[1, 1], [0, 1]]},
            "base: a symmetric matrix expected, got array([[1., 1.], [0., 1.]])",
        ),
        (
            {"base": [[1, 0], [0, -1]]},
            "base: a positive semidefinite matrix expected, got array([[ 1., 0.], [ 0., -1.]])",
        ),
    ],
)
def test_bad_input_gets_one_clear_line(changes, message):
    arguments = {"features": FEATURES, "gaps": GAPS, "best": BEST} | changes
    with pytest.raises(th.InvalidInput) as caught:
        th.allocate(**arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.int64])
def test_numbers_of_any_kind_are_taken(dtype):
    features, gaps = (
        np.array([[1, 0], [0, 2], [1, 1]], dtype=dtype),
        np.array([0, 2, 1], dtype=dtype),
    )
    # z^2 = 2 for both, v^2 / gap = 2 for (0, 2)
    assert th.allocate(features, gaps, [1, 0, 0]).value == pytest.approx(1.0)
    assert th.ActionSets([features]).rows.dtype == np.float64


def test_warm_start_of_other_arms_is_refused():
    before = th.allocate(FEATURES, GAPS, BEST)
    with pytest.raises(th.InvalidInput, match="an allocation of 2 arms"):
        th.allocate(np.eye(2), [0, 1], [True, False], warm=before)
