"""Time and memory as the number of arms grows, as a multiple of one pass over them in NumPy."""

import resource
import time

import numpy as np

import thrifty as th
from benchmarks.problems import common_optimum

TITLE = "Growth with the number of arms"
SIZES = [(10, 20), (100, 20), (1_000, 20), (10, 50), (100, 50), (1_000, 50), (10_000, 20)]
ARMS = 100


def measure() -> str:
    """One cold solve each, to a certified 1e-6; contexts of 100 arms with a common optimal arm."""
    lines = [
        "| arms | d | seconds | one NumPy pass, ms | passes | certified gap | "
        "iterations | working sets | arms with pulls | peak memory, GiB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for contexts, d in SIZES:
        arms = common_optimum(contexts, ARMS, d)
        one_pass = _numpy_pass(arms.features)
        start = time.perf_counter()
        found = th.allocate(*arms)
        seconds = time.perf_counter() - start
        one_pass = min(one_pass, _numpy_pass(arms.features))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        busy = np.count_nonzero(found.pulls[~arms.best])
        lines.append(
            f"| {contexts * ARMS:,} | {d} | {seconds:.3g} | {one_pass * 1e3:.2g} | "
            f"**{seconds / one_pass:.0f}** | {found.gap:.0e} "
            f"| {found.iterations} | {found.rounds} | {busy} | {peak:.2f} |"
        )
    return (
        "\n".join(lines)
        + "\n\nA pass is `((X @ A) * X).sum(1)`, the fastest of thirty before and after "
        "the solve. Peak memory is that of the whole benchmark process so far."
    )


def _numpy_pass(features: np.ndarray) -> float:
    matrix = np.eye(features.shape[1])
    times = []
    for _ in range(15):
        start = time.perf_counter()
        ((features @ matrix) * features).sum(1)
        times.append(time.perf_counter() - start)
    return min(times)
