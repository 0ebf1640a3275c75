"""The allocation program on differences: what remains to be bought so that every arm is told from
the best of its context.

    minimise  sum_j a_j c_j   subject to   s_i^2 ||x_i - x_b(i)||^2 <= 1  in the inverse of F +
    sum_j a_j x_j x_j^T,   a >= 0

for arms x_j with costs c_j > 0, rivals b(i), the arm that i is compared with, scales s_i >= 0, and
base information F, positive definite.
"""

import numpy as np

from thrifty.allocation.arms import Outcome
from thrifty.allocation.interior_point import Program
from thrifty.allocation.working_sets import solve_program
from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.bases import grow_basis
from thrifty.numerics.compilation import compiled
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
) -> Outcome:
    """Solve for pulls (k,) and prices (k,), in place, for features (k, d), costs (k,), rivals (k,),
    scales (k,) and base (d, d).

    warm: pulls and prices hold an earlier solution. Nothing is kept between calls.
    """
    k, d = features.shape
    arms, columns, sizes = np.empty((d, k)), np.empty((d, k)), np.zeros(k)
    widest = costs.max()
    for j in range(k):
        for i in range(d):
            arms[i, j] = features[j, i]
            columns[i, j] = features[j, i] / np.sqrt(costs[j] / widest)
            sizes[j] += (scales[j] * (features[j, i] - features[rivals[j], i])) ** 2
    told = np.flatnonzero(sizes > 0.0)  # the others are their own rivals, or look the same
    if told.size == 0:
        pulls[:] = 0.0
        prices[:] = 0.0
        return Outcome(0.0, 0.0, 0, 0, d)
    unit = sizes.max()  # of information: constraints become vectors of length at most 1
    constraints = np.empty((d, told.size))
    for l in range(told.size):
        j = told[l]
        for i in range(d):
            constraints[i, l] = (
                scales[j] * (features[j, i] - features[rivals[j], i]) / np.sqrt(unit)
            )
    squared_norms(arms, sizes)
    basis, picked = np.zeros((d, d)), np.empty(d, np.int64)
    rank = grow_basis(arms, costs, sizes, basis, 0, picked)
    program = Program(columns, constraints, base / unit, False)
    value = unit * widest
    spend, worth = np.zeros(k), np.zeros(told.size)
    if warm:
        for j in range(k):
            spend[j] = pulls[j] * costs[j] / value
        for l in range(told.size):
            worth[l] = prices[told[l]] / value
    solution = solve_program(program, picked[:rank].copy(), spend, worth, warm, tol)
    for j in range(k):
        pulls[j] = value * spend[j] / costs[j]
        prices[j] = 0.0
    for l in range(told.size):
        prices[told[l]] = value * worth[l]
    return Outcome(
        value * solution.lower, value * solution.upper, solution.iterations, solution.rounds, d
    )
