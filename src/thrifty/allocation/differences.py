"""The allocation program on differences: each arm is compared with the best of its context.

    minimise  sum_j a_j c_j   subject to   s_i^2 ||x_i - x_b(i)||^2 <= 1,   a >= 0

in the norm of the inverse of F + sum_j a_j x_j x_j^T, for arms x_j with costs c_j > 0, rivals b(i)
(the arm that i is compared with), scales s_i >= 0, and base information F, positive definite.
"""

import numpy as np

from thrifty.allocation.interior_point import Program
from thrifty.allocation.vectors import (
    copy_range,
    fill,
    flags_above,
    indices_where,
    largest,
    zero_matrix,
    zeros,
)
from thrifty.allocation.working_sets import solve_program
from thrifty.compiler.compilation import compiled
from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.bases import grow_basis
from thrifty.numerics.dense import squared_norms


@compiled
def allocate_differences(
    features: Floats,
    costs: Floats,
    rivals: Ints,
    scales: Floats,
    base: Floats,
    pulls: Floats,
    prices: Floats,
    warm: bool,
    tol: float,
) -> tuple[float, float, int, int, int]:
    """Solve the program on differences; writes pulls (k,) and prices (k,). Nothing else is kept.

    Parameters
    ----------
    features : (k, d) arms x
    costs : (k,) cost c of a pull
    rivals : (k,) index b of the arm that each arm is compared with
    scales : (k,) factor s of each difference; 0 for no constraint
    base : (d, d) base information F
    pulls, prices : (k,) the solution a and the dual variables of the constraints
    warm : whether pulls and prices hold an earlier solution to start from
    tol : relative gap to certify

    Returns lower and upper bound, Newton steps, working sets and dimension.
    """
    k, d = features.shape
    sizes = _difference_sizes(features, rivals, scales)
    compared = indices_where(flags_above(sizes, 0.0))
    if compared.size == 0:
        fill(pulls, 0.0)
        fill(prices, 0.0)
        return 0.0, 0.0, 0, 0, d
    largest_cost, unit = largest(costs), largest(sizes)
    never = flags_above(zeros(1), 0.0)  # nothing stops the solve
    program = Program(
        _unit_cost_columns(features, costs, largest_cost),
        _difference_vectors(features, rivals, scales, compared, unit),
        _divided(base, unit),
        False,
        never,
    )
    value_unit = unit * largest_cost
    spend, duals = zeros(k), zeros(compared.size)
    if warm:
        for j in range(k):
            spend[j] = pulls[j] * costs[j] / value_unit
        for i in range(compared.size):
            duals[i] = prices[compared[i]] / value_unit
    lower, upper, iterations, rounds = solve_program(
        program, _spanning_arms(features, costs), spend, duals, warm, tol
    )
    fill(prices, 0.0)
    for j in range(k):
        pulls[j] = value_unit * spend[j] / costs[j]
    for i in range(compared.size):
        prices[compared[i]] = value_unit * duals[i]
    return value_unit * lower, value_unit * upper, iterations, rounds, d


@compiled
def _difference_sizes(features: Floats, rivals: Ints, scales: Floats) -> Floats:
    """(k,) squared lengths of the scaled differences."""
    k, d = features.shape
    sizes = zeros(k)
    for j in range(k):
        for i in range(d):
            sizes[j] += (scales[j] * (features[j, i] - features[rivals[j], i])) ** 2
    return sizes


@compiled
def _unit_cost_columns(features: Floats, costs: Floats, largest_cost: float) -> Floats:
    """(d, k) the arms as columns, divided by the root of their cost relative to the largest."""
    k, d = features.shape
    columns = np.empty((d, k))
    for j in range(k):
        for i in range(d):
            columns[i, j] = features[j, i] / np.sqrt(costs[j] / largest_cost)
    return columns


@compiled
def _difference_vectors(
    features: Floats, rivals: Ints, scales: Floats, compared: Ints, unit: float
) -> Floats:
    """(d, l) the scaled differences of the compared arms, divided by sqrt(unit)."""
    d = features.shape[1]
    vectors = np.empty((d, compared.size))
    for l in range(compared.size):
        j = compared[l]
        for i in range(d):
            difference = features[j, i] - features[rivals[j], i]
            vectors[i, l] = scales[j] * difference / np.sqrt(unit)
    return vectors


@compiled
def _spanning_arms(features: Floats, costs: Floats) -> Ints:
    """Indices of arms that span all arms."""
    k, d = features.shape
    arms, sizes = np.empty((d, k)), np.empty(k)
    for j in range(k):
        for i in range(d):
            arms[i, j] = features[j, i]
    squared_norms(arms, sizes)
    basis, pivots = zero_matrix(d, d), np.empty(d, np.int64)
    rank = grow_basis(arms, costs, sizes, basis, 0, pivots)
    return copy_range(pivots, 0, rank)


@compiled
def _divided(matrix: Floats, divisor: float) -> Floats:
    """matrix (d, d) / divisor."""
    out = np.empty(matrix.shape)
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[i, j] = matrix[i, j] / divisor
    return out
