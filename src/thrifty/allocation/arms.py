"""The allocation program on arms: reduce, solve, translate back.

The same function serves Python, where each part is compiled when it is first needed, and compiled
callers, for which it is compiled as a whole.
"""

from typing import NamedTuple

import numpy as np

from thrifty.allocation.interior_point import Program
from thrifty.allocation.reduction import reduce_arms, reduce_arms_with_base
from thrifty.allocation.working_sets import FEASIBILITY, Solution, solve_program
from thrifty.compiler.compilation import compiled
from thrifty.numerics.arrays import Bools, Floats, Ints
from thrifty.numerics.vectors import fill


class Outcome(NamedTuple):
    """Bounds on the optimal value and the work of a solve."""

    lower: float
    upper: float
    iterations: int  # Newton steps
    rounds: int  # working sets
    reduced_dimension: int
    neglected: float = 0.0  # largest share of its length that an arm has where none is counted


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
    stop: Bools,
) -> tuple[float, float, int, int, int, float]:
    """Minimise pulls . gaps subject to ||x||^2 <= gap^2 / (2 noise^2) for every suboptimal arm x.

    The norm is that of the inverse information, base + sum pulls x x^T. Nothing is kept between
    calls. Called from Python, this function runs as Python and its parts are compiled: a problem
    of reduced dimension 0 or 1 does not compile the interior-point method.

    Parameters
    ----------
    features, gaps, best, noise, base, tol : as for `allocate`, but base is an array
    homogeneous : base is zero, and optimal arms get infinitely many pulls (inf). Otherwise base
        includes their information, and they get none
    pulls, prices : (k,) the solution, written in place; if warm, an earlier solution to start from
    warm : whether pulls and prices hold an earlier solution
    stop : (1,) whether to give up; another thread may set it

    Returns the fields of an Outcome.
    """
    if homogeneous:
        reduction = reduce_arms(features, gaps, best, noise)
    else:
        reduction = reduce_arms_with_base(features, gaps, best, noise, base)
    columns, constraints, reduced_base, spanning, rows, costs = reduction[:6]
    pulls_unit, value_unit, neglected = reduction[6:]
    spend, duals = reduced_point(rows, costs, pulls_unit, value_unit, pulls, prices, warm)
    dimension = reduced_base.shape[0]
    if dimension <= 1 or rows.size == 0:
        solution = solve_directly(columns, constraints, reduced_base, spend, duals)
    else:
        program = Program(columns, constraints, reduced_base, homogeneous, stop)
        solution = solve_program(program, spanning, spend, duals, warm, tol)
    lower, upper, iterations, rounds = solution
    write_solution(
        rows, costs, pulls_unit, value_unit, spend, duals, best, homogeneous, pulls, prices
    )
    return value_unit * lower, value_unit * upper, iterations, rounds, dimension, neglected


allocate_arms = compiled(allocate_stepwise)

# The parts take arrays rather than a Reduction: Python spends 10 microseconds on passing one.


@compiled
def reduced_point(
    rows: Ints,
    costs: Floats,
    pulls_unit: float,
    value_unit: float,
    pulls: Floats,
    prices: Floats,
    warm: bool,
) -> tuple[Floats, Floats]:
    """Reduced spend (k',), 0 unless warm and pulls (k,) are finite; duals (k',) of prices (k,)."""
    spend, duals = np.empty(rows.size), np.empty(rows.size)
    for j in range(rows.size):
        usable = warm and pulls[rows[j]] < np.inf
        spend[j] = pulls[rows[j]] * costs[j] / pulls_unit if usable else 0.0
        duals[j] = prices[rows[j]] / value_unit
    return spend, duals


@compiled
def write_solution(
    rows: Ints,
    costs: Floats,
    pulls_unit: float,
    value_unit: float,
    spend: Floats,
    duals: Floats,
    best: Bools,
    homogeneous: bool,
    pulls: Floats,
    prices: Floats,
) -> None:
    """Write pulls (k,) and prices (k,) for a point of the reduced program."""
    for j in range(best.size):
        pulls[j] = np.inf if best[j] and homogeneous else 0.0
        prices[j] = 0.0
    for j in range(rows.size):
        pulls[rows[j]] = pulls_unit * spend[j] / costs[j]
        prices[rows[j]] = value_unit * duals[j]


@compiled
def solve_directly(
    columns: Floats, constraints: Floats, base: Floats, spend: Floats, duals: Floats
) -> Solution:
    """Dimension 0 or 1 (docs/allocation.md, section 5): the longest column and constraint count."""
    fill(spend, 0.0)
    fill(duals, 0.0)
    if base.shape[0] == 0 or spend.size == 0:
        return 0.0, 0.0, 0, 0
    column, constraint = 0, 0
    for j in range(spend.size):
        if abs(columns[0, j]) > abs(columns[0, column]):
            column = j
        if abs(constraints[0, j]) > abs(constraints[0, constraint]):
            constraint = j
    known, required = base[0, 0], constraints[0, constraint] ** 2
    rate = columns[0, column] ** 2  # information per unit of spend
    if required <= known * (1.0 + FEASIBILITY):
        return 0.0, 0.0, 0, 0
    cost = max(0.0, required - known) / rate
    spend[column], duals[constraint] = cost, required / rate
    return cost, cost, 0, 0
