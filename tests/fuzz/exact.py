"""The certificate of an allocation in rational arithmetic: no rounding, nothing of thrifty."""

from fractions import Fraction
from typing import NamedTuple


class Exact(NamedTuple):
    """What pulls and prices prove about an allocation problem with base information."""

    violation: float  # largest constraint value minus 1
    cost: float  # of the pulls
    lower: float  # bound on the optimal value, from pulls and prices


def certificate(features, gaps, best, pulls, prices, noise, base) -> Exact:
    """Evaluate the constraints and the Lagrangian bound (docs/allocation.md, section 4)."""
    X = [[Fraction(float(entry)) for entry in row] for row in features]
    c, a, w = ([Fraction(float(entry)) for entry in part] for part in (gaps, pulls, prices))
    d, sigma = len(X[0]), Fraction(float(noise))
    rows = [j for j in range(len(X)) if not best[j]]
    A = [
        [
            Fraction(float(base[i][l])) + sum(a[j] * X[j][i] * X[j][l] for j in rows)
            for l in range(d)
        ]
        for i in range(d)
    ]
    Y = dict(zip(rows, solve(A, [X[j] for j in rows]), strict=True))  # A^-1 x
    scale = {j: 2 * sigma**2 / c[j] ** 2 for j in rows}
    g = {j: scale[j] * dot(X[j], Y[j]) for j in rows}
    der = {j: sum(w[i] * scale[i] * dot(X[i], Y[j]) ** 2 for i in rows if w[i] > 0) for j in rows}
    steepest = max(der[j] / c[j] for j in rows)
    slack = sum(w[i] * (g[i] - 1) for i in rows) + sum(der[j] * a[j] for j in rows)
    lower = max(Fraction(0), slack / steepest) if steepest > 0 else Fraction(0)
    return Exact(float(max(g.values()) - 1), float(sum(c[j] * a[j] for j in rows)), float(lower))


def dot(x, y):
    return sum(p * q for p, q in zip(x, y, strict=True))


def solve(matrix, vectors):
    """The solutions of matrix y = x for each x, by elimination with pivots that are not zero."""
    d = len(matrix)
    table = [[*matrix[i], *(vector[i] for vector in vectors)] for i in range(d)]
    for i in range(d):
        pivot = next(l for l in range(i, d) if table[l][i] != 0)
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [entry / table[i][i] for entry in table[i]]
        for l in range(d):
            if l != i and table[l][i] != 0:
                factor = table[l][i]
                table[l] = [p - factor * q for p, q in zip(table[l], table[i], strict=True)]
    return [[table[i][d + n] for i in range(d)] for n in range(len(vectors))]
