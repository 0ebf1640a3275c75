"""Orthonormal bases of spans, grown by pivoted Gram-Schmidt."""

import numpy as np

from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.compilation import compiled
from thrifty.numerics.dense import squared_norms

VANISHING = 1e-10  # a vector lies in a span if its remainder is below this share of its length


@compiled
def grow_basis(
    rest: Floats, costs: Floats, sizes: Floats, basis: Floats, rank: int, picked: Ints
) -> int:
    """Extend basis[:rank] to the span of the columns of rest (d, n); returns the new rank.

    rest is orthogonal to basis[:rank]. Pivots, written to picked (d,), are the columns with the
    most length^2 per cost (n,). A remainder counts as zero if it is small against its size (n,), a
    squared length. What is spanned is projected out of rest.
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
def project_off(direction: Floats, rest: Floats, along: Floats) -> None:
    """Project rest (d, n) off the unit vector direction (d,)."""
    d, n = rest.shape
    for j in range(n):
        along[j] = 0.0
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
