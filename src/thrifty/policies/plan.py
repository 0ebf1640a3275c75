"""The allocation program inside a policy: estimated gaps in, targets out, solved again only when
the evidence has changed.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types

from thrifty.allocation.arms import allocate_arms
from thrifty.arrays import Bools, Floats, Ints
from thrifty.compilation import Pointer, kernel
from thrifty.policies.base import SOLVES, UNSOLVED, Ledger

TOLERANCE = 1e-6
USABLE = 1e-3  # a certified gap up to this still gives targets worth tracking
ROUNDING = 1e-14  # gaps below this share of the largest mean are ties


class Plan(NamedTuple):
    """What the last solve said."""

    solve: Any  # allocate_arms, behind a pointer
    gaps: Floats  # (k,) estimated
    best: Bools  # (k,) whether a row looks optimal in its context
    pulls: Floats  # (k,) alpha: pulls per log n; inf for the best
    prices: Floats  # (k,) of the constraints, for the next solve to start from
    nothing: Floats  # (d, d) zeros: no information comes for free
    solved_at: Floats  # (1,) log det at the last solve; NaN before the first


def start_plan(rows: Floats) -> Plan:
    """A plan before the first solve, for rows (k, d)."""
    k, d = rows.shape
    return Plan(
        _solver(),
        np.zeros(k),
        np.zeros(k, dtype=np.bool_),
        np.zeros(k),
        np.zeros(k),
        np.zeros((d, d)),
        np.full(1, np.nan),
    )


@kernel
def estimate_gaps(plan: Plan, means: Floats, offsets: Ints) -> float:
    """Gaps of all rows from means (k,), context by context; returns the least positive one, inf if
    there is none.
    """
    gaps, best = plan.gaps, plan.best
    least = math.inf
    for m in range(offsets.size - 1):
        top, size = -math.inf, 0.0
        for row in range(offsets[m], offsets[m + 1]):
            top = max(top, means[row])
            size = max(size, abs(means[row]))
        for row in range(offsets[m], offsets[m + 1]):
            gap = top - means[row]
            best[row] = gap <= ROUNDING * size
            gaps[row] = 0.0 if best[row] else gap
            if not best[row]:
                least = min(least, gap)
    return least


@kernel
def solve_plan(plan: Plan, ledger: Ledger, rows: Floats, noise: float) -> None:
    """Solve the program for the gaps in plan. Where it cannot be solved, every arm may be needed:
    all pulls are inf then, and the failure is counted.
    """
    warm = not math.isnan(plan.solved_at[0])
    outcome = plan.solve(
        rows,
        plan.gaps,
        plan.best,
        noise,
        plan.nothing,
        True,
        plan.pulls,
        plan.prices,
        warm,
        TOLERANCE,
    )
    excess, lower = outcome.upper - outcome.lower, outcome.lower
    ledger.clock[SOLVES] += 1
    if not excess <= TOLERANCE * lower:
        ledger.clock[UNSOLVED] += 1
    if not excess <= USABLE * lower:
        for row in range(plan.pulls.size):
            plan.pulls[row] = math.inf
            plan.prices[row] = 0.0


@cache
def _solver() -> Pointer:
    """Made on first use: policies that solve nothing need not wait for the solver to compile."""
    vector, matrix, flags = types.float64[::1], types.float64[:, ::1], types.boolean[::1]
    return Pointer(
        allocate_arms,
        (
            matrix,
            vector,
            flags,
            types.float64,
            matrix,
            types.boolean,
            vector,
            vector,
            types.boolean,
            types.float64,
        ),
    )
