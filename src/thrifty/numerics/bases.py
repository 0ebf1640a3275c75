"""Orthonormal bases of spans, grown by pivoted Gram-Schmidt, and of ranges of matrices."""

import numpy as np

from thrifty.compiler.compilation import compiled
from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.dense import squared_norms
from thrifty.numerics.vectors import fill

VANISHING = 1e-10  # a vector lies in a span if its remainder is below this share of its length
NO_PIVOT = 1e-12  # a pivot of a matrix with unit diagonal up to this is rounding


@compiled
def grow_basis(
    rest: Floats, costs: Floats, sizes: Floats, basis: Floats, rank: int, picked: Ints
) -> int:
    """Extend basis[:rank] to the span of the columns of rest (d, n); returns the new rank.

    rest, orthogonal to basis[:rank], is projected off it. Pivots, in picked (d,), are the columns
    with the most length^2 per cost (n,), unless small against their size (n,), a squared length.
    """
    d, n = rest.shape
    along, lengths = np.empty(n), np.empty(n)
    while rank < d:
        squared_norms(rest, lengths)
        pivot, most = -1, 0.0
        for j in range(n):
            if lengths[j] > VANISHING * VANISHING * sizes[j] and lengths[j] > most * costs[j]:
                pivot, most = j, lengths[j] / costs[j]
        if pivot < 0:
            break
        direction = basis[rank]
        for i in range(d):
            direction[i] = rest[i, pivot]
        _orthonormalise(direction, basis, rank)
        picked[rank] = pivot
        rank += 1
        if rank < d:
            project_off(direction, rest, along)
    return rank


@compiled
def range_basis(matrix: Floats, basis: Floats) -> int:
    """Write an orthonormal basis of the range of matrix (d, d) to the rows of basis (d, d).

    Returns the rank. The matrix is positive semidefinite, perhaps with units far apart: it is that
    of a pivoted Cholesky factor at unit diagonal, whose columns, scaled back, span the range.
    """
    d = matrix.shape[0]
    rest, units = np.empty((d, d)), np.empty(d)
    for i in range(d):
        units[i] = np.sqrt(max(0.0, matrix[i, i]))
    for i in range(d):
        for j in range(d):
            unit = units[i] * units[j]
            rest[i, j] = matrix[i, j] / unit if unit > 0.0 else 0.0
    rank = 0
    while rank < d:
        pivot = 0
        for i in range(d):
            if rest[i, i] > rest[pivot, pivot]:
                pivot = i
        if not rest[pivot, pivot] > NO_PIVOT:
            break
        direction, root = basis[rank], np.sqrt(rest[pivot, pivot])
        for i in range(d):
            direction[i] = rest[i, pivot] / root
        for i in range(d):
            for j in range(d):
                rest[i, j] -= direction[i] * direction[j]
        for i in range(d):  # of this coordinate nothing is left, whatever rounding says
            rest[i, pivot], rest[pivot, i] = 0.0, 0.0
            direction[i] *= units[i]
        _orthonormalise(direction, basis, rank)
        rank += 1
    return rank


@compiled
def project_off(direction: Floats, rest: Floats, along: Floats) -> None:
    """Project rest (d, n) off the unit vector direction (d,)."""
    d, n = rest.shape
    fill(along, 0.0)
    for i in range(d):
        for j in range(n):
            along[j] += direction[i] * rest[i, j]
    for i in range(d):
        for j in range(n):
            rest[i, j] -= direction[i] * along[j]


@compiled
def _orthonormalise(direction: Floats, basis: Floats, rank: int) -> None:
    """Make direction (d,) a unit vector orthogonal to basis[:rank]; two passes are enough."""
    d = direction.size
    for _ in range(2):
        for q in range(rank):
            along = 0.0
            for i in range(d):
                along += basis[q, i] * direction[i]
            for i in range(d):
                direction[i] -= along * basis[q, i]
        length = 0.0
        for i in range(d):
            length += direction[i] * direction[i]
        for i in range(d):
            direction[i] /= np.sqrt(length)
