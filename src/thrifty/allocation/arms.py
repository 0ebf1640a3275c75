"""The allocation program on arms: reduce, solve, translate back. This is what other compiled code
calls.
"""

from typing import NamedTuple

import numpy as np

from thrifty.allocation.interior_point import Program
from thrifty.allocation.reduction import reduce_arms
from thrifty.allocation.working_sets import MET, Solution, solve_program
from thrifty.numerics.arrays import Bools, Floats
from thrifty.numerics.compilation import compiled


class Outcome(NamedTuple):
    """What a solve reports; pulls and prices are written in place."""

    lower: float
    upper: float
    iterations: int
    rounds: int
    reduced_dimension: int


@compiled
def allocate_arms(
    features: Floats,
    gaps: Floats,
    best: Bools,
    noise: float,
    base: Floats,
    homogeneous: bool,
    pulls: Floats,
    prices: Floats,
    warm: bool,
    tol: float,
) -> Outcome:
    """Minimise pulls . gaps subject to ||x||^2 <= gap^2 / (2 noise^2) in the inverse information,
    for every arm that is not best.

    features (k, d), gaps (k,), best (k,), base (d, d); pulls (k,) and prices (k,) are written in
    place and, if warm, read as an earlier solution. homogeneous: base is zero and best arms are
    pulled for ever (inf); otherwise base is all that best arms bring, and their pulls are 0.
    Nothing is kept between calls.
    """
    reduction = reduce_arms(features, gaps, best, noise, base, homogeneous)
    program, rows, costs = reduction.program, reduction.rows, reduction.costs
    spend, worth = np.empty(rows.size), np.empty(rows.size)
    for j in range(rows.size):
        spend[j] = (
            pulls[rows[j]] * costs[j] / reduction.pulls_unit
            if warm and pulls[rows[j]] < np.inf
            else 0.0
        )
        worth[j] = prices[rows[j]] / reduction.value_unit
    dimension = program.base.shape[0]
    if dimension == 0 or rows.size == 0:
        solution = Solution(0.0, 0.0, 0, 0)
    elif dimension == 1:
        solution = _solve_line(program, spend, worth)
    else:
        solution = solve_program(program, reduction.anchors, spend, worth, warm, tol)
    for j in range(best.size):
        pulls[j] = np.inf if best[j] and homogeneous else 0.0
        prices[j] = 0.0
    for j in range(rows.size):
        pulls[rows[j]] = reduction.pulls_unit * spend[j] / costs[j]
        prices[rows[j]] = reduction.value_unit * worth[j]
    unit = reduction.value_unit
    return Outcome(
        unit * solution.lower,
        unit * solution.upper,
        solution.iterations,
        solution.rounds,
        dimension,
    )


@compiled
def _solve_line(program: Program, spend: Floats, prices: Floats) -> Solution:
    """One dimension: the column with the most information per cost buys all that the hardest
    constraint lacks.
    """
    column, constraint = 0, 0
    for j in range(spend.size):
        if abs(program.columns[0, j]) > abs(program.columns[0, column]):
            column = j
        if abs(program.constraints[0, j]) > abs(program.constraints[0, constraint]):
            constraint = j
    rate = program.columns[0, column] ** 2
    need = program.constraints[0, constraint] ** 2
    spend[:] = 0.0
    prices[:] = 0.0
    cost = max(0.0, need - program.base[0, 0]) / rate
    if need <= program.base[0, 0] * (1.0 + MET):
        cost = 0.0
    else:
        spend[column] = cost
        prices[constraint] = need / rate
    return Solution(cost, cost, 0, 0)
