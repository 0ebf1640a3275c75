"""From arms and gaps to the normal form: optimal arms at infinity are projected away, exactly
(docs/allocation.md, section 2).

An orthonormal basis is grown by pivoted Gram-Schmidt, first over what is free, then over the
suboptimal arms. The coordinates along the second part are the reduced program; its pivots are
columns that span it.
"""

from typing import NamedTuple

import numpy as np

from thrifty.allocation.interior_point import Program
from thrifty.numerics.arrays import Bools, Floats, Ints
from thrifty.numerics.bases import VANISHING, grow_basis, project_off
from thrifty.numerics.compilation import compiled
from thrifty.numerics.dense import multiply_transposed, squared_norms, take_columns


class Reduction(NamedTuple):
    """The normal form of an allocation problem, and the way back."""

    # of dimension r with k' columns and constraints, one of each per row that matters
    program: Program
    anchors: Ints  # (<= r,) columns that span all others
    rows: Ints  # (k',) which arm a column stands for
    costs: Floats  # (k',) its gap as a share of the largest
    pulls_unit: float  # pulls = pulls_unit * spend / cost
    value_unit: float  # value = value_unit * sum(spend)


@compiled
def reduce_arms(
    features: Floats, gaps: Floats, best: Bools, noise: float, base: Floats, homogeneous: bool
) -> Reduction:
    """Reduce features (k, d), gaps (k,), best (k,) and base (d, d) to the normal form.

    Features are scaled by their largest entry and gaps by the largest, so that nothing depends on
    the units. homogeneous: base is zero and best arms are at infinity; otherwise base says all that
    best arms bring, and they are left out.
    """
    k, d = features.shape
    largest, widest = 0.0, 0.0
    for j in range(k):
        for i in range(d):
            largest = max(largest, abs(features[j, i]))
        if not best[j]:
            widest = max(widest, gaps[j])
    scale = 1.0 / largest if largest > 0.0 else 1.0
    widest = widest if widest > 0.0 else 1.0
    unit = 2.0 * (noise / widest) ** 2

    basis = np.zeros((d, d))  # orthonormal rows
    picked = np.empty(d, np.int64)
    free = _transposed(features, np.flatnonzero(best), scale) if homogeneous else base.copy()
    free_sizes = np.empty(free.shape[1])
    squared_norms(free, free_sizes)
    if not homogeneous:
        # the columns of base are no vectors of their own: one scale for all
        free_sizes[:] = free_sizes.max()
    free_rank = grow_basis(free, np.ones(free.shape[1]), free_sizes, basis, 0, picked)
    first = free_rank if homogeneous else 0

    rows = np.flatnonzero(~best)
    arms = _transposed(features, rows, scale)
    rest, sizes, lengths = arms.copy(), np.empty(rows.size), np.empty(rows.size)
    squared_norms(arms, sizes)
    for q in range(free_rank):
        project_off(basis[q], rest, lengths)
    squared_norms(rest if homogeneous else arms, lengths)
    # the others teach nothing and need no proof
    informative = np.flatnonzero(lengths > VANISHING * VANISHING * sizes)
    if informative.size < rows.size:
        arms, rest = take_columns(arms, informative), take_columns(rest, informative)
        rows, sizes = rows[informative], sizes[informative]
    costs = gaps[rows] / widest
    rank = grow_basis(rest, costs, sizes, basis, free_rank, picked)
    directions = np.ascontiguousarray(basis[first:rank].T)
    coordinates = np.empty((rank - first, rows.size))
    multiply_transposed(directions, arms, coordinates)
    known = np.zeros((rank - first, rank - first))
    if not homogeneous:
        known += np.dot(directions.T, np.dot(base, directions)) * (scale * scale / unit)
        # base has no part there, but for rounding, which must not pass for information
        known[free_rank:] = 0.0
        known[:, free_rank:] = 0.0
    anchors = picked[free_rank:rank].copy()
    if not homogeneous:
        spanned = grow_basis(arms, costs, sizes, basis, 0, picked)
        anchors = picked[:spanned].copy()
    return Reduction(
        _normal_form(coordinates, costs, known, homogeneous),
        anchors,
        rows,
        costs,
        unit,
        unit * widest,
    )


@compiled
def _normal_form(coordinates: Floats, costs: Floats, base: Floats, homogeneous: bool) -> Program:
    """Columns x / sqrt(cost) of unit cost and constraints x / cost for coordinates (r, k')."""
    r, n = coordinates.shape
    columns = np.empty((r, n))
    constraints = np.empty((r, n))
    for i in range(r):
        for j in range(n):
            columns[i, j] = coordinates[i, j] / np.sqrt(costs[j])
            constraints[i, j] = coordinates[i, j] / costs[j]
    return Program(columns, constraints, base, homogeneous)


@compiled
def _transposed(features: Floats, rows: Ints, scale: float) -> Floats:
    """(d, n): the given rows of features (k, d) as columns, scaled."""
    d = features.shape[1]
    out = np.empty((d, rows.size))
    for j in range(rows.size):
        for i in range(d):
            out[i, j] = scale * features[rows[j], i]
    return out
