"""Spans of vectors: an orthonormal basis, grown by pivoted Gram-Schmidt."""

import numpy as np

from thrifty.arrays import Floats, Ints
from thrifty.compilation import compiled
from thrifty.dense import squared_norms

VANISHING = 1e-10  # a vector whose remainder is below this share of its length lies in the span


@compiled
def grow_basis(
    rest: Floats, costs: Floats, sizes: Floats, basis: Floats, rank: int, picked: Ints
) -> int:
    """Extend basis[:rank] to the span of rest (d, n), which is orthogonal to it, by the most
    length^2 per cost; returns the new rank.

    A remainder counts as zero when it is small against its size (n,), a squared length. What is
    spanned is taken out of rest.
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
            take_out(direction, rest, along)
    return rank


@compiled
def take_out(direction: Floats, rest: Floats, along: Floats) -> None:
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
    """Make direction (d,) a unit vector orthogonal to basis[:rank]; twice is enough."""
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
