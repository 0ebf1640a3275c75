"""The solver beyond its values: working sets, warm starts, compiled callers, status, errors."""

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

import thrifty as th
from tests.bank import Arms, random_problem
from tests.oracles import certificate
from thrifty.allocation.arms import Outcome, allocate_arms


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


@pytest.mark.slow
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


@pytest.mark.parametrize("size", [1e-3, 0.1, 10.0])
def test_with_base_information_idle_arms_get_exactly_no_pulls(size):
    """The other pulls grow to make up for it, since nothing is rescaled afterwards."""
    arms = many_arms(2, 30, 4)
    found = th.allocate(*arms, base=size * np.eye(4))
    assert found.status == "solved"
    assert 0 < np.count_nonzero(found.pulls) < 4 * 5 / 2
    assert found.pulls[found.pulls > 0].min() > 1e-3 * found.pulls.max()


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
    """The support of the earlier solution need not span any more: the solve then starts cold."""
    for seed in range(100):
        problem, noise = random_problem(seed)
        before = th.allocate(*problem, noise=noise)
        order = np.random.default_rng(seed).permutation(len(problem.gaps))
        other = problem._replace(features=problem.features[order])
        again = th.allocate(*other, noise=noise, warm=before)
        assert again.status == "solved"
        assert again.value == pytest.approx(th.allocate(*other, noise=noise).value, rel=2e-6)


@numba.njit
def solve_again_and_again(features, gaps, best, times):
    k, d = features.shape
    pulls, prices, base, never = np.zeros(k), np.zeros(k), np.zeros((d, d)), np.zeros(1, np.bool_)
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
            never,
        )[1]
    return total / times


@pytest.mark.slow
def test_compiled_callers_get_the_same_values_and_every_array_is_released():
    """Numba counts the arrays that compiled code makes and frees."""
    problem, _ = random_problem(2)
    solve_again_and_again(*problem, 1)
    counting = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        mean = solve_again_and_again(*problem, 50)
        after = rtsys.get_allocation_stats()
    finally:
        if not counting:
            _nrt_python.memsys_disable_stats()
    factors = 1 / (1 + 0.001 * np.arange(50))
    assert mean == pytest.approx(th.allocate(*problem).value * factors.mean(), rel=1e-5)
    assert after.alloc - before.alloc > 50  # the count works
    assert after.alloc - before.alloc == after.free - before.free


@pytest.mark.parametrize("seed", [*range(20), 1000, 1001])
def test_python_and_compiled_callers_get_the_same_bits(seed):
    """Python runs the parts one by one; compiled callers run them in one function."""
    problem, noise = random_problem(seed) if seed < 1000 else (line(dimension=seed - 1000), 1.0)
    k, d = problem.features.shape
    for base in (None, 3.0 * np.eye(d)):
        pulls, prices, before = np.zeros(k), np.zeros(k), None
        for warm in (False, True):
            gaps = problem.gaps * (1.02 if warm else 1.0)
            found = th.allocate(
                problem.features, gaps, problem.best, noise=noise, base=base, warm=before
            )
            known = np.zeros((d, d)) if base is None else base
            outcome = allocate_arms(
                problem.features,
                gaps,
                problem.best,
                noise,
                known,
                base is None,
                pulls,
                prices,
                warm,
                1e-6,
                np.zeros(1, dtype=bool),
            )
            assert found.pulls.tobytes() == pulls.tobytes()
            assert found.prices.tobytes() == prices.tobytes()
            bounds = sorted(outcome[:2])
            if base is None:
                assert bounds == [found.lower, found.upper]
            else:  # Python computes them again, with higher precision where that matters
                assert bounds == pytest.approx([found.lower, found.upper], rel=1e-9)
            assert outcome[2:5] == (found.iterations, found.rounds, found.reduced_dimension)
            before = found


def line(*, dimension: int) -> Arms:
    """Three arms in the plane, the first optimal, with reduced dimension 0 or 1."""
    features = np.array([[1, 0], [0.5, dimension], [0.9, 0.5 * dimension]])
    return Arms(features, np.array([0, 1, 0.1]), np.array([True, False, False]))


def test_small_reduced_dimensions_do_not_need_the_iterative_solver(monkeypatch):
    """Python then need not compile it, which takes most of the time of a first call."""

    def refuse(*arguments):
        raise AssertionError

    monkeypatch.setattr("thrifty.allocation.arms.solve_program", refuse)
    assert th.allocate(*line(dimension=0)).reduced_dimension == 0
    assert th.allocate(*line(dimension=1)).value == pytest.approx(20)
    assert th.allocate(*line(dimension=1)._replace(best=np.ones(3, bool))).value == 0
    with pytest.raises(AssertionError):
        th.allocate(np.eye(3), [0, 1, 1], [True, False, False])


def test_the_same_bits_every_time():
    arms, noise = random_problem(9)
    first, second = th.allocate(*arms, noise=noise), th.allocate(*arms, noise=noise)
    assert first.pulls.tobytes() == second.pulls.tobytes()
    assert first.prices.tobytes() == second.prices.tobytes()


def test_arguments_are_not_touched():
    arms, noise = random_problem(9)
    copies = Arms(*(part.copy() for part in arms))
    base = np.eye(arms.features.shape[1])
    before = th.allocate(*arms, noise=noise)
    pulls, prices = before.pulls.copy(), before.prices.copy()
    th.allocate(*arms._replace(gaps=arms.gaps * 1.1), noise=noise, warm=before)
    th.allocate(*arms, noise=noise, base=base)
    assert all(np.array_equal(part, copy) for part, copy in zip(arms, copies, strict=True))
    assert np.array_equal(before.pulls, pulls)
    assert np.array_equal(before.prices, prices)
    assert np.array_equal(base, np.eye(len(base)))


@pytest.mark.parametrize(
    ("gap", "status", "advice"),
    [
        (0.9e-6, "solved", "within"),
        (1.1e-6, "almost solved", "larger tol"),
        (0.9e-3, "almost solved", "larger tol"),
        (1.1e-3, "failed", "do not use"),
    ],
)
def test_status_follows_from_the_certified_gap(monkeypatch, gap, status, advice):
    for bounds in ((2.0, 2.0 * (1 + gap)), (2.0 * (1 + gap), 2.0)):  # rounding may exchange them
        outcome = Outcome(*bounds, iterations=3, rounds=2, reduced_dimension=1)
        monkeypatch.setattr(
            "thrifty.allocation.allocations.allocate_stepwise", lambda *_, found=outcome: found
        )
        found = th.allocate(np.eye(2), [0, 1], [True, False], tol=1e-6)
        assert (found.status, found.lower, found.upper) == (status, *sorted(bounds))
        assert found.gap == pytest.approx(gap)
        assert advice in found.status.advice


def test_a_lower_bound_of_zero_certifies_no_positive_cost(monkeypatch):
    outcome = Outcome(0.0, 2.0, iterations=3, rounds=2, reduced_dimension=1)
    monkeypatch.setattr("thrifty.allocation.allocations.allocate_stepwise", lambda *_: outcome)
    found = th.allocate(np.eye(2), [0, 1], [True, False])
    assert (found.status, found.gap) == ("failed", np.inf)


def test_a_tolerance_below_rounding_ends_with_bounds_near_rounding():
    impossible = th.allocate(*random_problem(0)[0], tol=1e-16)
    assert impossible.status == "almost solved"
    assert 1e-16 < impossible.gap < 1e-9


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
        ({"gaps": [0, 1]}, "gaps: 3 numbers (one per arm) expected, got 2"),
        (
            {"gaps": [0, -1, 0.1]},
            "gaps[1]: a positive number (the arm is not best) expected, got -1.0",
        ),
        ({"gaps": [0, np.inf, 0.1]}, "gaps[1]: a finite number expected, got inf"),
        ({"best": [True]}, "best: 3 flags (one per arm) expected, got [True]"),
        (
            {"best": [[True], [True, False]]},
            "best: 3 flags (one per arm) expected, got [[True], [True, False]]",
        ),
        ({"best": [2, 0, 0]}, "best: 3 flags (one per arm) expected, got [2, 0, 0]"),
        ({"warm": 5}, "warm: what thrifty.allocate returned expected, got 5"),
        (
            {"best": ["False", "True", "True"]},
            "best: 3 flags (one per arm) expected, got ['False', 'True', 'True']",
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
