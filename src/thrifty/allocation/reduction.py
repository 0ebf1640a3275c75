"""The reduction of arms and gaps to the normal form (docs/allocation.md, section 2).

Without base information, optimal arms are pulled infinitely often: the other arms are projected
onto the complement of their span, exactly. Pivoted Gram-Schmidt extends an orthonormal basis of
that span (with base information, of the range of base) to the span of all arms. Coordinates along
the basis give the reduced program, and the pivots are columns that span it.
"""

import math
from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import compiled
from thrifty.numerics.arrays import Bools, Floats, Ints
from thrifty.numerics.bases import VANISHING, grow_basis, project_off, range_basis
from thrifty.numerics.dense import copy_matrix, multiply_transposed, squared_norms, take_columns
from thrifty.numerics.vectors import copy_range, fill, gather, identity, indices_where, zero_matrix

# The normal form of an allocation problem, of dimension r with k' informative arms, and the units
# that translate its solution back. A plain tuple: see compilation.py.
# - columns, constraints (r, k') and base (r, r) of the program
# - spanning columns (<= r,): indices of columns that span all others
# - rows (k',): the arm of each column
# - costs (k',): gap of the arm / largest gap
# - pulls unit: pulls = pulls unit * spend / cost
# - value unit: value = value unit * sum(spend)
# - neglected: the largest share of its length that an arm has in directions that count as none
Reduction = tuple[Floats, Floats, Floats, Ints, Ints, Floats, float, float, float]


class Units(NamedTuple):
    """Factors that make the reduced program independent of the units of the problem."""

    feature_scale: float  # 1 / largest entry of the features
    largest_gap: float
    information: float  # 2 (noise / largest gap)^2


class Arms(NamedTuple):
    """Suboptimal arms, n of them, scaled by the units."""

    rows: Ints  # (n,) indices
    vectors: Floats  # (d, n)
    sizes: Floats  # (n,) squared lengths
    costs: Floats  # (n,) gaps


@compiled
def reduce_arms(features: Floats, gaps: Floats, best: Bools, noise: float) -> Reduction:
    """The normal form of features (k, d), gaps (k,), best (k,): arms projected off optimal ones."""
    units = _units(features, gaps, best, noise)
    arms = _suboptimal_arms(features, gaps, best, units)
    optimal = _scaled_columns(features, indices_where(best), units.feature_scale)
    d = features.shape[1]
    basis, pivots = zero_matrix(d, d), np.empty(d, np.int64)
    sizes = _squared_lengths(optimal)
    even = np.empty(sizes.size)
    fill(even, 1.0)
    first = grow_basis(optimal, even, sizes, basis, 0, pivots)
    neglected = _neglected(optimal, sizes, first)
    remainders = _remainders(arms.vectors, basis, first)
    neglected = max(neglected, _neglected(remainders, arms.sizes, 0))
    informative = _informative(remainders, arms.sizes)
    if informative.size < arms.rows.size:
        arms, remainders = _select(arms, informative), take_columns(remainders, informative)
    rank = grow_basis(remainders, arms.costs, arms.sizes, basis, first, pivots)
    neglected = max(neglected, _neglected(remainders, arms.sizes, rank))
    directions, spanning = _directions(basis, first, rank), copy_range(pivots, first, rank)
    no_base = zero_matrix(rank - first, rank - first)
    return _normal_form(arms, directions, no_base, spanning, units, neglected)


@compiled
def reduce_arms_with_base(
    features: Floats, gaps: Floats, best: Bools, noise: float, base: Floats
) -> Reduction:
    """Reduce features (k, d), gaps (k,), best (k,) and base (d, d) to the normal form.

    base includes the information of optimal arms. The basis starts with the range of base, which
    vanishes, exactly, along the rest. Coordinates are scaled first: units may be far apart.
    """
    features, base = _scale_coordinates(features, base)
    units = _units(features, gaps, best, noise)
    arms = _suboptimal_arms(features, gaps, best, units)
    arms = _select(arms, _informative(arms.vectors, arms.sizes))
    d = features.shape[1]
    basis, pivots = zero_matrix(d, d), np.empty(d, np.int64)
    base_rank = range_basis(base, basis)
    if base_rank == d:
        basis = identity(d)  # any basis will do: this one rounds nothing
    remainders = _remainders(arms.vectors, basis, base_rank)
    rank = grow_basis(remainders, arms.costs, arms.sizes, basis, base_rank, pivots)
    neglected = _neglected(remainders, arms.sizes, rank)
    directions = _directions(basis, 0, rank)
    scale = units.feature_scale * units.feature_scale / units.information
    known = _reduced_base(base, directions, base_rank, scale)
    vectors = _copied(arms.vectors)  # grow_basis overwrites them
    spanning = grow_basis(vectors, arms.costs, arms.sizes, basis, 0, pivots)
    return _normal_form(arms, directions, known, copy_range(pivots, 0, spanning), units, neglected)


@compiled
def _scale_coordinates(features: Floats, base: Floats) -> tuple[Floats, Floats]:
    """Features (k, d) and base (d, d) in coordinates in which the diagonal of base is 1, or 0.

    Where it is 0 the largest entry of the features is 1, or 0.
    """
    k, d = features.shape
    units = np.empty(d)
    for i in range(d):
        units[i] = np.sqrt(max(0.0, base[i, i]))
        if units[i] == 0.0:
            for j in range(k):
                units[i] = max(units[i], abs(features[j, i]))
        if units[i] == 0.0:
            units[i] = 1.0
    scaled, scaled_base = np.empty((k, d)), np.empty((d, d))
    for j in range(k):
        for i in range(d):
            scaled[j, i] = features[j, i] / units[i]
    for i in range(d):
        for j in range(d):
            scaled_base[i, j] = base[i, j] / (units[i] * units[j])
    return scaled, scaled_base


@compiled
def _units(features: Floats, gaps: Floats, best: Bools, noise: float) -> Units:
    """The units of a problem; 1 in place of a largest entry or gap of 0."""
    largest_entry, largest_gap = 0.0, 0.0
    for j in range(features.shape[0]):
        for i in range(features.shape[1]):
            largest_entry = max(largest_entry, abs(features[j, i]))
        if not best[j]:
            largest_gap = max(largest_gap, gaps[j])
    scale = 1.0 / largest_entry if largest_entry > 0.0 else 1.0
    largest_gap = largest_gap if largest_gap > 0.0 else 1.0
    return Units(scale, largest_gap, 2.0 * (noise / largest_gap) ** 2)


@compiled
def _suboptimal_arms(features: Floats, gaps: Floats, best: Bools, units: Units) -> Arms:
    suboptimal = np.empty(best.size, np.bool_)
    for j in range(best.size):
        suboptimal[j] = not best[j]
    rows = indices_where(suboptimal)
    vectors = _scaled_columns(features, rows, units.feature_scale)
    costs = gather(gaps, rows)
    for j in range(costs.size):
        costs[j] /= units.largest_gap
    return Arms(rows, vectors, _squared_lengths(vectors), costs)


@compiled
def _informative(vectors: Floats, sizes: Floats) -> Ints:
    """Indices of vectors (d, n) above rounding of sizes (n,); others neither inform nor bind."""
    lengths = _squared_lengths(vectors)
    flags = np.empty(lengths.size, np.bool_)
    for j in range(lengths.size):
        flags[j] = lengths[j] > VANISHING * VANISHING * sizes[j]
    return indices_where(flags)


@compiled
def _neglected(rest: Floats, sizes: Floats, rank: int) -> float:
    """Largest share, up to VANISHING, of its size (n,) in a column of rest (d, n); 0 at rank d."""
    most = 0.0
    if rank < rest.shape[0]:
        lengths = _squared_lengths(rest)
        for j in range(sizes.size):
            if most * sizes[j] < lengths[j] <= VANISHING * VANISHING * sizes[j]:
                most = lengths[j] / sizes[j]
    return math.sqrt(most)


@compiled
def _select(arms: Arms, kept: Ints) -> Arms:
    """The arms with the given indices among arms."""
    rows = np.empty(kept.size, np.int64)
    for j in range(kept.size):
        rows[j] = arms.rows[kept[j]]
    vectors = take_columns(arms.vectors, kept)
    return Arms(rows, vectors, gather(arms.sizes, kept), gather(arms.costs, kept))


@compiled
def _remainders(vectors: Floats, basis: Floats, rank: int) -> Floats:
    """vectors (d, n) projected off the first rows of basis (d, d), as many as rank."""
    out, along = _copied(vectors), np.empty(vectors.shape[1])
    for q in range(rank):
        project_off(basis[q], out, along)
    return out


@compiled
def _squared_lengths(vectors: Floats) -> Floats:
    """(n,) squared lengths of the columns of vectors (d, n)."""
    out = np.empty(vectors.shape[1])
    squared_norms(vectors, out)
    return out


@compiled
def _copied(matrix: Floats) -> Floats:
    out = np.empty(matrix.shape)
    copy_matrix(matrix, out)
    return out


@compiled
def _reduced_base(base: Floats, directions: Floats, base_rank: int, scale: float) -> Floats:
    """(r, r) scale D^T base D for directions D (d, r); exactly 0 beyond the first base_rank."""
    d, r = directions.shape
    half, product, known = np.empty((d, r)), np.empty((r, r)), zero_matrix(r, r)
    np.dot(base, directions, half)
    np.dot(directions.T, half, product)
    for i in range(base_rank):
        for j in range(base_rank):
            known[i, j] += product[i, j] * scale
    return known


@compiled
def _normal_form(
    arms: Arms, directions: Floats, base: Floats, spanning: Ints, units: Units, neglected: float
) -> Reduction:
    """Columns x / sqrt(cost) of unit cost and constraints x / cost, in coordinates (r, n)."""
    r, n = directions.shape[1], arms.costs.size
    coordinates, columns, constraints = np.empty((r, n)), np.empty((r, n)), np.empty((r, n))
    multiply_transposed(directions, arms.vectors, coordinates)
    for i in range(r):
        for j in range(n):
            columns[i, j] = coordinates[i, j] / np.sqrt(arms.costs[j])
            constraints[i, j] = coordinates[i, j] / arms.costs[j]
    unit, value_unit = units.information, units.information * units.largest_gap
    return columns, constraints, base, spanning, arms.rows, arms.costs, unit, value_unit, neglected


@compiled
def _scaled_columns(features: Floats, rows: Ints, scale: float) -> Floats:
    """The given rows of features (k, d) as columns (d, n), times scale."""
    out = np.empty((features.shape[1], rows.size))
    for j in range(rows.size):
        for i in range(out.shape[0]):
            out[i, j] = scale * features[rows[j], i]
    return out


@compiled
def _directions(basis: Floats, start: int, stop: int) -> Floats:
    """Rows start to stop of basis (d, d) as columns (d, stop - start), contiguous."""
    out = np.empty((basis.shape[1], stop - start))
    for q in range(stop - start):
        for i in range(out.shape[0]):
            out[i, q] = basis[start + q, i]
    return out
