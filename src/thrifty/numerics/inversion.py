"""The inverse of V and log det V, from the pulls of the arms and a base.

With a ridge V is definite, and may consist of blocks; without one it is inverted within its span.
"""

from functools import cache

import numba
import numpy as np
from numba import types

from thrifty.compiler.compilation import Pointer, compiled
from thrifty.compiler.records import Record, Records
from thrifty.numerics.arrays import Bools, Floats, Ints
from thrifty.numerics.bases import VANISHING, grow_basis, project_off, range_basis
from thrifty.numerics.dense import add_gram, copy_matrix, factor, squared_norms, whiten
from thrifty.numerics.vectors import identity, zero_matrix

TINY = 1e-15  # a pivot below this share of its diagonal entry is rounding


class Totals(Record):
    """Numbers about V as a whole."""

    logdet: float  # log det V, within its span
    roundings: float  # since the last refresh
    outside: int  # how many arms lie outside the span of V
    ridge: float


@compiled
def invert(
    columns: Floats, pulls: Ints, base: Floats, inverse: Floats, outside: Bools, totals: Records
) -> None:
    """V^-1 into inverse (d, w) and log det V into totals, for columns (w, k); base is definite."""
    width, k = columns.shape
    unit, weights, logdet = identity(width), np.empty(k), 0.0
    for j in range(k):
        weights[j] = pulls[j]
    for first in range(0, inverse.shape[0], width):
        information = zero_matrix(width, width)
        if inverse.shape[0] == width:  # else rewards are pooled, and rows are not pulled
            add_gram(columns, weights, information)
        for i in range(width):
            for j in range(width):
                information[i, j] += base[first + i, j]
        _invert_within(information, unit, inverse[first : first + width], totals)
        logdet += totals[0].logdet
    totals[0].logdet = logdet


@compiled
def pseudo_invert(
    columns: Floats, pulls: Ints, base: Floats, inverse: Floats, outside: Bools, totals: Records
) -> None:
    """The same where V may be singular: within its span; marks the arms outside it."""
    d, k = columns.shape
    basis = np.zeros((d, d))  # Q, orthonormal rows
    rank = _find_span(columns, pulls, base, basis, outside, totals)
    information, vectors, weights = np.zeros((rank, rank)), np.zeros((rank, k)), np.empty(k)
    for j in range(k):
        weights[j] = pulls[j]
        for q in range(rank):
            for i in range(d):
                vectors[q, j] += basis[q, i] * columns[i, j]
    add_gram(vectors, weights, information)
    for p in range(rank):
        for q in range(rank):
            for i in range(d):
                for j in range(d):
                    information[p, q] += basis[p, i] * base[i, j] * basis[q, j]
    _invert_within(information, basis[:rank], inverse, totals)


@compiled
def _invert_within(information: Floats, basis: Floats, inverse: Floats, totals: Records) -> None:
    """Inverse of V = Q^T information Q, Q = basis (r, d): W^T W, W = R^-T Q for the factor R."""
    rank, d = basis.shape
    whitening = np.empty((rank, d))
    factor(information, TINY)
    whiten(information, basis, whitening)
    totals[0].logdet = 0.0
    for q in range(rank):
        totals[0].logdet += 2.0 * np.log(information[q, q])
    for i in range(d):
        for j in range(d):
            inverse[i, j] = 0.0
            for q in range(rank):
                inverse[i, j] += whitening[q, i] * whitening[q, j]


@cache
def inversion(*, definite: bool) -> Pointer:
    """`invert` or `pseudo_invert` behind a pointer: otherwise every policy would compile it."""
    matrix, counts, flags = types.float64[:, ::1], types.int64[::1], types.boolean[::1]
    arguments = (matrix, counts, matrix, matrix, flags, numba.typeof(Totals.new()))
    return Pointer(invert if definite else pseudo_invert, types.void(*arguments))


@compiled
def _find_span(
    columns: Floats, pulls: Ints, base: Floats, basis: Floats, outside: Bools, totals: Records
) -> int:
    """Orthonormal basis (d, d) of the span of V; marks the arms outside, returns the rank."""
    d, k = columns.shape
    picked, even = np.empty(d, np.int64), np.ones(k)
    known = range_basis(base, basis)
    rest, seen, sizes, lengths = np.empty((d, k)), np.empty((d, k)), np.empty(k), np.empty(k)
    copy_matrix(columns, rest)
    squared_norms(rest, sizes)
    for q in range(known):
        project_off(basis[q], rest, lengths)
    for i in range(d):
        for j in range(k):
            seen[i, j] = rest[i, j] if pulls[j] > 0 else 0.0
    rank = grow_basis(seen, even, sizes, basis, known, picked)
    for q in range(known, rank):
        project_off(basis[q], rest, lengths)
    squared_norms(rest, lengths)
    totals[0].outside = 0
    for j in range(k):
        outside[j] = lengths[j] > VANISHING * VANISHING * sizes[j]
        totals[0].outside += outside[j]
    return rank
