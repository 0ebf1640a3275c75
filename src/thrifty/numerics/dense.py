"""Dense linear algebra: plain loops where matrices are small, BLAS where they are large.

Vectors stand side by side as columns, (d, n), so that every inner loop runs along contiguous
memory. Small products never reach BLAS: its threads cost more than the arithmetic, far more on a
busy machine, and the bits could depend on them.
"""

import math

import numpy as np

from thrifty.compiler.compilation import compiled, kernel
from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.vectors import fill

BLOCK = 64  # rows in one step of the blocked factorisation
MUCH = 1 << 20  # multiplications from which BLAS pays
REGULARISATION = 1e-6  # added to the diagonal of a singular matrix, as a share of its trace


@compiled
def multiply_transposed(left: Floats, right: Floats, out: Floats) -> None:
    """out (m, n) = left^T right for left (d, m), right (d, n)."""
    if left.shape[0] * out.size > MUCH:
        np.dot(left.T, right, out)
        return
    for i in range(left.shape[1]):
        fill(out[i], 0.0)
        for k in range(left.shape[0]):
            scale = left[k, i]
            for j in range(right.shape[1]):
                out[i, j] += scale * right[k, j]


@compiled
def add_gram(vectors: Floats, weights: Floats, out: Floats) -> None:
    """out (d, d) += sum_j weights_j x_j x_j^T for the columns x_j of vectors (d, n)."""
    d, n = vectors.shape
    if d * d * n > MUCH:
        scaled, gram = np.empty((d, n)), np.empty((d, d))
        for k in range(d):
            for j in range(n):
                scaled[k, j] = vectors[k, j] * weights[j]
        np.dot(scaled, vectors.T, gram)
        for k in range(d):
            for l in range(d):
                out[k, l] += gram[k, l]
        return
    for k in range(d):
        for l in range(k, d):
            total = 0.0
            for j in range(n):
                total += vectors[k, j] * weights[j] * vectors[l, j]
            out[k, l] += total
            if l > k:
                out[l, k] += total


@compiled
def copy_matrix(source: Floats, out: Floats) -> None:
    """out = source, both (n, m)."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            out[i, j] = source[i, j]


@compiled
def copy_factor(matrix: Floats, root: Floats) -> bool:
    """Write R with R^T R = matrix to the upper triangle of root; False if there is none."""
    copy_matrix(matrix, root)
    return factor(root, 0.0)


@compiled
def factor(matrix: Floats, floor: float) -> bool:
    """Overwrite the upper triangle of matrix (n, n) by R with R^T R = matrix.

    A pivot below floor times its diagonal entry is rounding: it is replaced by the entry, which
    keeps a step along it short. With floor = 0, returns False if there is no such R.
    """
    n = matrix.shape[0]
    diagonal = np.empty(n if floor > 0.0 else 0)
    for k in range(diagonal.size):
        diagonal[k] = matrix[k, k]
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        if not _factor_rows(matrix, diagonal, floor, start, stop):
            return False
        if stop < n:
            _subtract_rows(matrix, start, stop)
    return True


@compiled
def _subtract_rows(matrix: Floats, start: int, stop: int) -> None:
    """Subtract from the trailing block what the finished rows start..stop of the factor explain."""
    rest = matrix.shape[0] - stop
    panel, update = np.empty((stop - start, rest)), np.empty((rest, rest))
    for i in range(stop - start):
        for j in range(rest):
            panel[i, j] = matrix[start + i, stop + j]
    multiply_transposed(panel, panel, update)
    for i in range(rest):
        for j in range(i, rest):
            matrix[stop + i, stop + j] -= update[i, j]


@compiled
def _factor_rows(matrix: Floats, diagonal: Floats, floor: float, start: int, stop: int) -> bool:
    """Finish rows start to stop - 1 of the factor; earlier rows are already subtracted."""
    n = matrix.shape[0]
    for k in range(start, stop):
        pivot = matrix[k, k]
        if floor > 0.0 and pivot <= floor * diagonal[k]:
            pivot = diagonal[k]
        if not 0.0 < pivot < np.inf:
            return False
        matrix[k, k] = pivot
        scale = 1.0 / np.sqrt(pivot)
        for j in range(k, n):
            matrix[k, j] *= scale
        for i in range(k + 1, stop):
            above = matrix[k, i]
            for j in range(i, n):
                matrix[i, j] -= above * matrix[k, j]
    return True


@compiled
def factor_information(base: Floats, columns: Floats, weights: Floats, root: Floats) -> bool:
    """Write R with R^T R = base + sum_j weights_j x_j x_j^T, for columns x_j; False if singular."""
    copy_matrix(base, root)
    add_gram(columns, weights, root)
    return factor(root, 0.0)


@compiled
def whiten(factor: Floats, vectors: Floats, out: Floats) -> None:
    """out (d, n) = R^-T vectors (d, n), so that x^T (R^T R)^-1 y is a plain product."""
    d, n = vectors.shape
    for k in range(d):
        for j in range(n):
            out[k, j] = vectors[k, j]
        for l in range(k):
            above = factor[l, k]
            for j in range(n):
                out[k, j] -= above * out[l, j]
        scale = 1.0 / factor[k, k]
        for j in range(n):
            out[k, j] *= scale


@compiled
def squared_norms(vectors: Floats, out: Floats) -> None:
    """out (n,) = squared lengths of the columns of vectors (d, n)."""
    fill(out, 0.0)
    for k in range(vectors.shape[0]):
        for j in range(out.size):
            out[j] += vectors[k, j] * vectors[k, j]


@compiled
def solve_factored(factor: Floats, vector: Floats) -> None:
    """Overwrite vector (n,) by (R^T R)^-1 vector."""
    n = vector.size
    for k in range(n):
        vector[k] /= factor[k, k]
        for j in range(k + 1, n):
            vector[j] -= vector[k] * factor[k, j]
    for k in range(n - 1, -1, -1):
        total = vector[k]
        for j in range(k + 1, n):
            total -= factor[k, j] * vector[j]
        vector[k] = total / factor[k, k]


@kernel
def cholesky(matrix: Floats, root: Floats) -> None:
    """Lower triangle of root (d, d): L with L L^T = matrix; root may be matrix itself.

    For inner loops. Only the lower triangle of matrix is read; a negative pivot, rounding, is 0.
    """
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            total = matrix[i, j]
            for l in range(j):
                total -= root[i, l] * root[j, l]
            root[i, j] = math.sqrt(max(0.0, total)) if i == j else total / root[j, j]


@kernel
def invert_positive(matrix: Floats, inverse: Floats) -> None:
    """inverse (d, d) of a positive definite matrix, which is overwritten by its Cholesky factor."""
    d = matrix.shape[0]
    cholesky(matrix, matrix)
    for j in range(d):  # L^-1, the lower triangle of inverse
        for i in range(j, d):
            total = 1.0 if i == j else 0.0
            for l in range(j, i):
                total -= matrix[i, l] * inverse[l, j]
            inverse[i, j] = total / matrix[i, i]
    for i in range(d):  # L^-T L^-1: row i of L^-1 is read for the last time as it is overwritten
        for j in range(i + 1):
            total = 0.0
            for l in range(i, d):
                total += inverse[l, i] * inverse[l, j]
            inverse[i, j], inverse[j, i] = total, total


@kernel
def add_outer(matrix: Floats, weight: float, vector: Floats, trace: float) -> float:
    """Lower triangle of matrix (d, d) += weight x x^T; returns trace + weight ||x||^2."""
    for i in range(vector.size):
        share = weight * vector[i]
        trace += share * vector[i]
        for j in range(i + 1):
            matrix[i, j] += share * vector[j]
    return trace


@kernel
def invert_regularised(matrix: Floats, trace: float, inverse: Floats) -> None:
    """As invert_positive, once REGULARISATION trace is added to the diagonal; 1 if trace is 0."""
    for i in range(matrix.shape[0]):
        matrix[i, i] += REGULARISATION * trace if trace > 0.0 else 1.0
    invert_positive(matrix, inverse)


@kernel
def cholesky_blocks(matrix: Floats, root: Floats) -> None:
    """root (d, w) with L L^T = matrix (d, w), block by block of width w along the diagonal."""
    width = root.shape[1]
    for first in range(0, root.shape[0], width):
        cholesky(matrix[first : first + width], root[first : first + width])


@compiled
def take_columns(vectors: Floats, chosen: Ints) -> Floats:
    """The chosen columns of vectors (d, n), contiguous."""
    out = np.empty((vectors.shape[0], chosen.size))
    for k in range(vectors.shape[0]):
        for j in range(chosen.size):
            out[k, j] = vectors[k, chosen[j]]
    return out
