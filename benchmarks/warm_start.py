"""Warm and cold starts after a 5 % change of the gaps, called from compiled code as in policies."""

import time
from statistics import median

import numba
import numpy as np

from benchmarks.problems import random_arms
from thrifty.allocation.arms import allocate_arms

TITLE = "Warm start after a 5 % change of the gaps"
SIZES = [(5, 20, 1), (5, 20, 3), (10, 50, 1), (20, 200, 1)]
SEEDS = range(15)
CHANGES = 40


@numba.njit(nogil=True)
def solve_all(features, gaps, best, start_pulls, start_prices, warm):
    """Solve for each row of gaps (n, k) from the same start; returns steps and total value."""
    k, d = features.shape
    pulls, prices, base, never = np.empty(k), np.empty(k), np.zeros((d, d)), np.zeros(1, np.bool_)
    iterations, total = 0, 0.0
    for i in range(len(gaps)):
        pulls[:] = start_pulls
        prices[:] = start_prices
        _, upper, steps, _, _, _ = allocate_arms(
            features, gaps[i], best, 1.0, base, True, pulls, prices, warm, 1e-6, never
        )
        iterations += steps
        total += upper
    return iterations, total


def measure() -> str:
    """Medians over random instances, each with its own changes."""
    lines = [
        "| d, K, M | cold, µs | warm, µs | ratio | iterations cold | warm | values differ by |",
        "|---|---|---|---|---|---|---|",
    ]
    for size in SIZES:
        rows = np.array([_compare(size, seed) for seed in SEEDS])
        cold, warm, cold_steps, warm_steps = (median(rows[:, i]) for i in range(4))
        ratio, differ = median(rows[:, 0] / rows[:, 1]), rows[:, 4].max()
        lines.append(
            f"| {', '.join(map(str, size))} | {cold * 1e6:.0f} | {warm * 1e6:.0f} | "
            f"**{ratio:.2f}** | {cold_steps:.1f} | {warm_steps:.1f} | {differ:.0e} |"
        )
    return (
        "\n".join(lines)
        + f"\n\nMedians over {len(SEEDS)} instances with {CHANGES} changes each; every "
        "gap is scaled by its own factor from [0.95, 1.05]."
    )


def _compare(size: tuple[int, int, int], seed: int) -> tuple[float, ...]:
    features, gaps, best = random_arms(*size, seed)
    changed = gaps * np.random.default_rng([seed, 1]).uniform(0.95, 1.05, size=(CHANGES, len(gaps)))
    pulls, prices = np.zeros(len(gaps)), np.zeros(len(gaps))
    allocate_arms(
        features,
        gaps,
        best,
        1.0,
        np.zeros((features.shape[1],) * 2),
        True,
        pulls,
        prices,
        False,
        1e-6,
        np.zeros(1, dtype=np.bool_),
    )
    times, steps, totals = [], [], []
    for warm in (False, True):
        solve_all(features, changed[:1], best, pulls, prices, warm)
        best_time = np.inf
        for _ in range(5):
            start = time.perf_counter()
            iterations, total = solve_all(features, changed, best, pulls, prices, warm)
            best_time = min(best_time, time.perf_counter() - start)
        times.append(best_time / CHANGES)
        steps.append(iterations / CHANGES)
        totals.append(total)
    return *times, *steps, abs(totals[1] / totals[0] - 1)
