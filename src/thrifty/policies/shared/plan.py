"""The allocation program inside a policy: estimated gaps in, optimal pulls out.

It is solved again only when the estimates have changed enough.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types

from thrifty.allocation.arms import allocate_arms
from thrifty.compiler.compilation import Pointer, kernel
from thrifty.compiler.records import Record, Records
from thrifty.numerics.arrays import Bools, FixedBools, FixedFloats, Floats, Ints
from thrifty.numerics.regression import Regression
from thrifty.numerics.vectors import fill
from thrifty.policies.shared.ledger import Ledger

TOLERANCE = 1e-6  # relative gap that a solve is asked to certify
USABLE = 1e-3  # a certified gap up to this still gives targets worth tracking
TIE = 1e-14  # gaps below this share of the largest mean are ties


class Solved(Record):
    """When the program was solved."""

    before: bool  # whether it was solved at all
    logdet: float  # log det V at the last solve


class Plan(NamedTuple):
    """The last solution of the allocation program."""

    solve: Any  # allocate_arms, behind a pointer
    gaps: Floats  # (k,) estimated suboptimality gaps
    best: Bools  # (k,) whether a row looks optimal in its context
    pulls: Floats  # (k,) alpha: pulls per log n; inf for the best
    prices: Floats  # (k,) dual variables of the constraints, from which the next solve starts
    no_base: FixedFloats  # (d, d) zeros: no base information
    never: FixedBools  # (1,) false: nothing stops a solve
    solved: Records  # (1,) of Solved


def start_plan(rows: Floats) -> Plan:
    """A plan before the first solve, for rows (k, d)."""
    k, d = rows.shape
    return Plan(
        solve=_solver(),
        gaps=np.zeros(k),
        best=np.zeros(k, dtype=np.bool_),
        pulls=np.zeros(k),
        prices=np.zeros(k),
        no_base=np.zeros((d, d)),
        never=np.zeros(1, dtype=np.bool_),
        solved=Solved.new(),
    )


@kernel
def estimate_gaps(plan: Plan, means: Floats, offsets: Ints) -> float:
    """Write the gaps of all rows for means (k,); returns the least positive gap, inf if none."""
    gaps, best = plan.gaps, plan.best
    least = math.inf
    for m in range(offsets.size - 1):
        highest, size = -math.inf, 0.0
        for row in range(offsets[m], offsets[m + 1]):
            highest = max(highest, means[row])
            size = max(size, abs(means[row]))
        for row in range(offsets[m], offsets[m + 1]):
            gap = highest - means[row]
            best[row] = gap <= TIE * size
            gaps[row] = 0.0 if best[row] else gap
            if not best[row]:
                least = min(least, gap)
    return least


@kernel
def solve_if_due(
    plan: Plan, ledger: Ledger, regression: Regression, noise: float, growth: float
) -> None:
    """Solve at the gaps in plan, if log det V has grown by growth since the last solve."""
    solved, logdet = plan.solved, regression.totals[0].logdet
    if not solved[0].before or logdet >= solved[0].logdet + growth:
        solve_plan(plan, ledger, regression.rows, noise)
        solved[0].logdet = logdet


@kernel
def solve_plan(plan: Plan, ledger: Ledger, rows: Floats, noise: float) -> None:
    """Solve at the gaps in plan. If that fails, every arm may be needed: all pulls are inf."""
    pulls, prices, base, before = plan.pulls, plan.prices, plan.no_base, plan.solved[0].before
    lower, upper, _, _, _, _ = plan.solve(
        rows, plan.gaps, plan.best, noise, base, True, pulls, prices, before, TOLERANCE, plan.never
    )
    plan.solved[0].before = True
    if not count_solve(ledger, lower, upper, USABLE):
        fill(pulls, math.inf)
        fill(prices, 0.0)


@kernel
def count_solve(ledger: Ledger, lower: float, upper: float, usable: float) -> bool:
    """Count a solve, and whether it missed TOLERANCE; returns whether its gap is usable."""
    counters, excess = ledger.counters, upper - lower
    counters[0].solves += 1
    if not excess <= TOLERANCE * lower:
        counters[0].unsolved += 1
    return excess <= usable * lower


@cache
def _solver() -> Pointer:
    """Made on first use: policies that solve nothing need not wait for the solver to compile."""
    vector, matrix, flags = types.float64[::1], types.float64[:, ::1], types.boolean[::1]
    number, flag = types.float64, types.boolean
    arguments = (matrix, vector, flags, number, matrix, flag, vector, vector, flag, number, flags)
    bounds = (number, number, types.int64, types.int64, types.int64, number)
    return Pointer(allocate_arms, types.Tuple(bounds)(*arguments))
