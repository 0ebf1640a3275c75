"""thrifty.allocate against what people write today: CVXPY with Clarabel, on the reduced program and
with a cap for infinity.
"""

import time
import warnings
from collections.abc import Callable
from statistics import median

import cvxpy as cp
import numpy as np

import thrifty as th
from benchmarks.problems import Arms, random_arms

TITLE = "Against CVXPY + Clarabel"
SIZES = [(5, 20, 1), (5, 20, 3), (10, 50, 1)]
SEEDS = range(7)
CAPS = [1e3, 1e4, 1e6]  # pulls that stand for infinity in the naive formulation


def measure() -> str:
    """Medians over random instances of each size; every ratio is of two times taken one after the
    other.
    """
    lines = [
        "| d, K, M | CVXPY, ms | of which Clarabel, ms | thrifty, µs | ratio | ratio "
        "to Clarabel alone | values differ by | certified gap |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for size in SIZES:
        rows = np.array([_compare(random_arms(*size, seed)) for seed in SEEDS])
        total, solver, ours = (median(rows[:, i]) for i in range(3))
        ratio, alone = median(rows[:, 0] / rows[:, 2]), median(rows[:, 1] / rows[:, 2])
        differ, gap = rows[:, 3:].max(axis=0)
        lines.append(
            f"| {_name(size)} | {total * 1e3:.0f} | {solver * 1e3:.1f} | "
            f"{ours * 1e6:.0f} | **{ratio:.0f}** | {alone:.0f} | {differ:.0e} | {gap:.0e} |"
        )
    lines += [
        "",
        f"{len(SEEDS)} instances each, to a certified 1e-6; times and ratios are "
        "medians. CVXPY solves the reduced program (`matrix_frac` constraints); its",
        "time includes compilation, which a changed instance needs again.",
        "",
        "The naive formulation by the same solver: no reduction, every arm a variable, "
        "and a cap on pulls instead of infinity.",
        "",
        "| d, K, M | cap | reported optimal | inaccurate | infeasible or error | value "
        "off by, at worst | largest constraint (should be 1) |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *(_naive(size, cap) for size in SIZES[:2] for cap in CAPS)])


def _name(size: tuple[int, int, int]) -> str:
    return ", ".join(map(str, size))


def _compare(arms: Arms) -> tuple[float, ...]:
    problem, _ = _model(*_reduced(arms))
    start = time.perf_counter()
    problem.solve(solver=cp.CLARABEL)
    total = time.perf_counter() - start
    ours, found = _best_time(lambda: th.allocate(*arms))
    return (
        total,
        problem.solver_stats.solve_time,
        ours,
        abs(problem.value / found.value - 1),
        found.gap,
    )


def _reduced(arms: Arms) -> Arms:
    """Suboptimal arms in coordinates of the orthogonal complement of the optimal ones."""
    optimal = arms.features[arms.best]
    _, _, right = np.linalg.svd(optimal)
    others = ~arms.best
    return Arms(
        arms.features[others] @ right[len(optimal) :].T, arms.gaps[others], arms.best[others]
    )


def _model(
    features: np.ndarray, gaps: np.ndarray, best: np.ndarray, cap: float = np.inf
) -> tuple[cp.Problem, cp.Variable]:
    pulls = cp.Variable(len(gaps), nonneg=True)
    information = features.T @ cp.diag(pulls) @ features
    scaled = np.sqrt(2) * features[~best] / gaps[~best, None]
    limits = [pulls <= cap] if np.isfinite(cap) else []
    return cp.Problem(
        cp.Minimize(gaps @ pulls),
        limits + [cp.matrix_frac(row, information) <= 1 for row in scaled],
    ), pulls


def _naive(size: tuple[int, int, int], cap: float) -> str:
    """What becomes of the capped formulation over the random instances, as a line of the table."""
    optimal, inaccurate, failed, off, largest = 0, 0, 0, 0.0, 0.0
    for seed in SEEDS:
        arms = random_arms(*size, seed)
        problem, pulls = _model(*arms, cap)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # "may be inaccurate": counted below
            try:
                problem.solve(solver=cp.CLARABEL)
            except cp.SolverError:
                failed += 1
                continue
        if pulls.value is None:
            failed += 1
            continue
        optimal += problem.status == cp.OPTIMAL
        inaccurate += problem.status != cp.OPTIMAL
        off = max(off, abs(problem.value / th.allocate(*arms).value - 1))
        features, gaps = arms.features[~arms.best], arms.gaps[~arms.best]
        information = arms.features.T @ np.diag(np.maximum(pulls.value, 0)) @ arms.features
        largest = max(
            largest,
            (
                2
                * np.einsum("ij,ji->i", features, np.linalg.solve(information, features.T))
                / gaps**2
            ).max(),
        )
    return (
        f"| {_name(size)} | {cap:.0e} | {optimal} | {inaccurate} | {failed} | {off:.2%} | "
        f"{largest:.4f} |"
    )


def _best_time(call: Callable[[], th.Allocation], repeats: int = 50) -> tuple[float, th.Allocation]:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return best, result
