"""The allocation program on arms: reduce, solve, translate back.

The same function serves Python, where each part is compiled when it is first needed, and compiled
callers, for which it is compiled as a whole.
"""

from typing import NamedTuple

import numpy as np

from thrifty.allocation.interior_point import Program
from thrifty.allocation.reduction import Reduction, reduce_arms, reduce_arms_with_base
from thrifty.allocation.vectors import fill
from thrifty.allocation.working_sets import FEASIBILITY, Solution, solve_program
from thrifty.numerics.arrays import Bools, Floats
from thrifty.numerics.compilation import compiled


class Outcome(NamedTuple):
    """Bounds on the optimal value and the work of a solve."""

    lower: float
    upper: float
    iterations: int  # Newton steps
    rounds: int  # working sets
    reduced_dimension: int


class Point(NamedTuple):
    """A primal and a dual point of the reduced program."""

    spend: Floats  # (k',) cost of the pulls of each column, in units of the reduction
    prices: Floats  # (k',) dual variables of the constraints


def allocate_stepwise(
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
    """Minimise pulls . gaps subject to ||x||^2 <= gap^2 / (2 noise^2) for every suboptimal arm x.

    The norm is that of the inverse information, base + sum pulls x x^T. Nothing is kept between
    calls. Called from Python, this function runs as Python and its parts are compiled: a problem
    of reduced dimension 0 or 1 does not compile the interior-point method.

    Parameters
    ----------
    features : (k, d) arms
    gaps : (k,) suboptimality gaps; positive unless best
    best : (k,) whether an arm is optimal
    noise : standard deviation of the rewards
    base : (d, d) base information
    homogeneous : base is zero, and optimal arms get infinitely many pulls (inf). Otherwise base
        includes their information, and they get none
    pulls, prices : (k,) the solution, written in place; if warm, an earlier solution to start from
    warm : whether pulls and prices hold an earlier solution
    tol : relative gap to certify
    """
    if homogeneous:
        reduction = reduce_arms(features, gaps, best, noise)
    else:
        reduction = reduce_arms_with_base(features, gaps, best, noise, base)
    point = reduced_point(reduction, pulls, prices, warm)
    dimension = reduction.program.base.shape[0]
    if dimension <= 1 or reduction.rows.size == 0:
        solution = solve_directly(reduction.program, point.spend, point.prices)
    else:
        solution = solve_program(
            reduction.program, reduction.spanning_columns, point.spend, point.prices, warm, tol
        )
    return translate_back(reduction, point, solution, best, pulls, prices)


allocate_arms = compiled(allocate_stepwise)


@compiled
def reduced_point(reduction: Reduction, pulls: Floats, prices: Floats, warm: bool) -> Point:
    """The point of the reduced program for pulls (k,) and prices (k,); without spend unless warm.

    Infinite pulls, of an arm that was optimal before, count as none.
    """
    rows, costs = reduction.rows, reduction.costs
    point = Point(np.empty(rows.size), np.empty(rows.size))
    for j in range(rows.size):
        usable = warm and pulls[rows[j]] < np.inf
        point.spend[j] = pulls[rows[j]] * costs[j] / reduction.pulls_unit if usable else 0.0
        point.prices[j] = prices[rows[j]] / reduction.value_unit
    return point


@compiled
def translate_back(
    reduction: Reduction,
    point: Point,
    solution: Solution,
    best: Bools,
    pulls: Floats,
    prices: Floats,
) -> Outcome:
    """Write pulls (k,) and prices (k,) for a point of the reduced program; returns its bounds."""
    rows, program, unit = reduction.rows, reduction.program, reduction.value_unit
    for j in range(best.size):
        pulls[j] = np.inf if best[j] and program.homogeneous else 0.0
        prices[j] = 0.0
    for j in range(rows.size):
        pulls[rows[j]] = reduction.pulls_unit * point.spend[j] / reduction.costs[j]
        prices[rows[j]] = unit * point.prices[j]
    return Outcome(
        unit * solution.lower,
        unit * solution.upper,
        solution.iterations,
        solution.rounds,
        program.base.shape[0],
    )


@compiled
def solve_directly(program: Program, spend: Floats, prices: Floats) -> Solution:
    """The closed form of a program of dimension 0 or 1 (docs/allocation.md, section 5).

    All spend goes to the longest column, and the only binding constraint is the longest.
    """
    fill(spend, 0.0)
    fill(prices, 0.0)
    if program.base.shape[0] == 0 or spend.size == 0:
        return Solution(0.0, 0.0, 0, 0)
    column, constraint = 0, 0
    for j in range(spend.size):
        if abs(program.columns[0, j]) > abs(program.columns[0, column]):
            column = j
        if abs(program.constraints[0, j]) > abs(program.constraints[0, constraint]):
            constraint = j
    known = program.base[0, 0]
    rate = program.columns[0, column] ** 2  # information per unit of spend
    required = program.constraints[0, constraint] ** 2
    if required <= known * (1.0 + FEASIBILITY):
        return Solution(0.0, 0.0, 0, 0)
    cost = max(0.0, required - known) / rate
    spend[column] = cost
    prices[constraint] = required / rate
    return Solution(cost, cost, 0, 0)
