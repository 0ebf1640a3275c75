"""Compiled least squares: the only place where V^-1, theta_hat and log det V change.

V = base + sum of x x^T over all rewards seen. A reward costs O(k d): the inverse follows by Sherman
and Morrison's formula, and so do, for every arm x, its mean <x, theta_hat> and its squared norm
||x||^2 in V^-1, which is what policies read. Rounding errors pile up; but pulls are counted and
rewards summed arm by arm, and from these `refresh` makes everything anew before the errors matter.

Without a ridge V is singular until the pulled arms span the space. Until then the inverse is the
pseudo-inverse and theta_hat the estimate of least norm.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types

from thrifty.arrays import Bools, Floats, Ints
from thrifty.compilation import Pointer, compiled, kernel
from thrifty.dense import add_gram, copy_matrix, factor, squared_norms, whiten
from thrifty.spans import VANISHING, grow_basis, take_out

LOGDET, WEAR, STRANGERS = range(3)  # entries of Regression.numbers
# A rank-one step adds up to (1 + norm)^2 roundings to the relative error of the inverse. Four
# thousand such, and it is made anew: that costs a hundredth of the rounds between, and keeps the
# error near that of a direct inversion.
WORN = 2.0**12
TINY = 1e-15  # a pivot below this share of its diagonal entry is rounding


class Regression(NamedTuple):
    """Least squares over k arms in R^d; arrays change in place."""

    rows: Floats  # (k, d) the arms
    columns: Floats  # (d, k) the same
    # (d, d) information that no arm below accounts for: the ridge, and arms that are gone
    base: Floats
    base_sums: Floats  # (d,) sum of x times reward over arms that are gone
    pulls: Ints  # (k,) rewards seen
    sums: Floats  # (k,) of these rewards
    inverse: Floats  # (d, d) V^-1, or the pseudo-inverse
    theta: Floats  # (d,) the estimate
    means: Floats  # (k,) <x, theta>
    norms: Floats  # (k,) ||x||^2 in V^-1
    outside: Bools  # (k,) whether an arm lies outside the span of V
    numbers: Floats  # (3,) log det V, wear since the last refresh, how many arms lie outside
    step: Floats  # (d,) work space
    along: Floats  # (k,) work space
    solid: bool  # base is positive definite
    invert: Any  # the function below, behind a pointer
    # means and norms of all arms are kept current; otherwise `look` computes those that are asked
    # for
    tracked: bool


def start_regression(rows: Floats, *, ridge: float, largest_set: int | None = None) -> Regression:
    """A regression that has seen nothing, on rows (k, d).

    largest_set: how many arms a decision looks at; given that, arms are tracked only where it
    is cheaper, O(k d) a round, than looking at one set, O(K d^2). Without it all arms are tracked.
    """
    k, d = rows.shape
    regression = Regression(
        rows=np.array(rows),
        columns=np.array(rows.T, order="C"),
        base=ridge * np.eye(d),
        base_sums=np.zeros(d),
        pulls=np.zeros(k, dtype=np.int64),
        sums=np.zeros(k),
        inverse=np.zeros((d, d)),
        theta=np.zeros(d),
        means=np.zeros(k),
        norms=np.zeros(k),
        outside=np.zeros(k, dtype=np.bool_),
        numbers=np.zeros(3),
        step=np.zeros(d),
        along=np.zeros(k),
        solid=ridge > 0,
        invert=_inversion(),
        tracked=largest_set is None or k <= largest_set * d,
    )
    renew(regression)
    return regression


def carry_regression(old: Regression, new: Regression, where: Ints) -> None:
    """Bring all that old has seen into new: row i becomes row where[i], or, if that is -1, part of
    the base.
    """
    gone = where < 0
    new.base[:] = old.base + (old.rows[gone].T * old.pulls[gone]) @ old.rows[gone]
    new.base_sums[:] = old.base_sums + old.rows[gone].T @ old.sums[gone]
    np.add.at(new.pulls, where[~gone], old.pulls[~gone])
    np.add.at(new.sums, where[~gone], old.sums[~gone])
    renew(new)


def observe_gone(regression: Regression, features: Floats, reward: float) -> None:
    """Take in one reward of an arm with features (d,) that is no row."""
    regression.base[:] += np.outer(features, features)
    regression.base_sums[:] += reward * features
    renew(regression)


@kernel
def observe(regression: Regression, row: int, reward: float) -> None:
    """Take in one reward of an arm, in O(k d)."""
    rows, inverse, theta, step, numbers = (
        regression.rows,
        regression.inverse,
        regression.theta,
        regression.step,
        regression.numbers,
    )
    d = theta.size
    regression.pulls[row] += 1
    regression.sums[row] += reward
    norm, mean = 0.0, 0.0
    for i in range(d):
        total = 0.0
        for j in range(d):
            total += inverse[i, j] * rows[row, j]
        step[i] = total
        norm += total * rows[row, i]
        mean += theta[i] * rows[row, i]
    numbers[WEAR] += (1.0 + norm) ** 2
    if numbers[WEAR] > WORN or regression.outside[row]:
        refresh(regression)
        return
    # (V + x x^T)^-1 = V^-1 - (V^-1 x)(V^-1 x)^T / (1 + ||x||^2),  theta += V^-1 x (reward - <x,
    # theta>) / (1 + ||x||^2)
    shrink = 1.0 / (1.0 + norm)
    pull = shrink * (reward - mean)
    for i in range(d):
        theta[i] += pull * step[i]
        for j in range(d):
            inverse[i, j] -= shrink * step[i] * step[j]
    numbers[LOGDET] += np.log1p(norm)
    if regression.tracked:
        _track(regression, shrink, pull)


@kernel
def _track(regression: Regression, shrink: float, pull: float) -> None:
    """Follow a rank-one step, V^-1 x in regression.step, in the means and norms of all arms."""
    columns, step, along, means, norms = (
        regression.columns,
        regression.step,
        regression.along,
        regression.means,
        regression.norms,
    )
    d, k = columns.shape
    for j in range(k):
        along[j] = step[0] * columns[0, j]
    for i in range(1, d):
        share = step[i]
        for j in range(k):
            along[j] += share * columns[i, j]
    for j in range(k):
        means[j] += pull * along[j]
        norms[j] -= shrink * along[j] * along[j]


@kernel
def look(regression: Regression, arms: Ints) -> None:
    """Make the means and norms of arms (n,) current, unless they are kept so anyway."""
    if not regression.tracked:
        for n in range(arms.size):
            _look_at(regression, arms[n])


@kernel
def _look_at(regression: Regression, row: int) -> None:
    """The mean and the norm of one arm, in O(d^2)."""
    rows, inverse, theta = regression.rows, regression.inverse, regression.theta
    mean, norm = 0.0, 0.0
    for i in range(theta.size):
        mean += theta[i] * rows[row, i]
        for j in range(theta.size):
            norm += inverse[i, j] * rows[row, i] * rows[row, j]
    regression.means[row], regression.norms[row] = mean, norm


@kernel
def refresh(regression: Regression) -> None:
    """Make everything anew from the pulls and sums of the arms."""
    inverse, theta, response, numbers = (
        regression.inverse,
        regression.theta,
        regression.step,
        regression.numbers,
    )
    regression.invert(
        regression.columns,
        regression.pulls,
        regression.base,
        regression.solid,
        inverse,
        regression.outside,
        numbers,
    )
    numbers[WEAR] = 0.0
    for i in range(theta.size):
        response[i] = regression.base_sums[i]
        for row in range(regression.sums.size):
            response[i] += regression.sums[row] * regression.rows[row, i]
    for i in range(theta.size):
        theta[i] = 0.0
        for j in range(theta.size):
            theta[i] += inverse[i, j] * response[j]
    if regression.tracked:
        for row in range(regression.sums.size):
            _look_at(regression, row)


@compiled
def renew(regression: Regression) -> None:
    """Refresh, for callers in Python."""
    refresh(regression)


@compiled
def invert(
    columns: Floats,
    pulls: Ints,
    base: Floats,
    solid: bool,
    inverse: Floats,
    outside: Bools,
    numbers: Floats,
) -> None:
    """V in coordinates of its span, V = Q^T (R^T R) Q, and V^-1 = W^T W with W = R^-T Q; log det V,
    and which of columns (d, k) lie outside the span.
    """
    d = columns.shape[0]
    basis = np.zeros((d, d))  # Q, orthonormal rows
    rank = _span(columns, pulls, base, solid, basis, outside, numbers)
    information, whitening = np.zeros((rank, rank)), np.empty((rank, d))
    _project_information(columns, pulls, base, basis, information)
    factor(information, TINY)
    whiten(information, basis[:rank], whitening)
    numbers[LOGDET] = 0.0
    for q in range(rank):
        numbers[LOGDET] += 2.0 * np.log(information[q, q])
    for i in range(d):
        for j in range(d):
            inverse[i, j] = 0.0
            for q in range(rank):
                inverse[i, j] += whitening[q, i] * whitening[q, j]


@cache
def _inversion() -> Pointer:
    """Behind a pointer: every policy would otherwise compile it again, twice."""
    matrix, vector = types.float64[:, ::1], types.float64[::1]
    return Pointer(
        invert,
        (matrix, types.int64[::1], matrix, types.boolean, matrix, types.boolean[::1], vector),
    )


@compiled
def _project_information(
    columns: Floats, pulls: Ints, base: Floats, basis: Floats, information: Floats
) -> None:
    """information (r, r) += Q V Q^T for the first r rows Q of basis (d, d)."""
    d, k = columns.shape
    rank = information.shape[0]
    vectors, weights = np.zeros((rank, k)), np.empty(k)
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


@compiled
def _span(
    columns: Floats,
    pulls: Ints,
    base: Floats,
    solid: bool,
    basis: Floats,
    outside: Bools,
    numbers: Floats,
) -> int:
    """Write an orthonormal basis of the span of V into basis (d, d), return its rank, and note
    which arms lie outside.
    """
    d, k = columns.shape
    if solid:
        for i in range(d):
            basis[i, i] = 1.0
        return d
    known, seen, rest = np.empty((d, d)), np.empty((d, k)), np.empty((d, k))
    spread, even, sizes, lengths, picked = (
        np.empty(d),
        np.ones(max(d, k)),
        np.empty(k),
        np.empty(k),
        np.empty(d, np.int64),
    )
    copy_matrix(base, known)
    squared_norms(known, spread)
    widest = 0.0
    for i in range(d):
        widest = max(widest, spread[i])
    for i in range(d):
        spread[i] = widest  # the columns of base are no vectors of their own: one scale for all
    nothing = int(np.int64(0))  # a literal would compile grow_basis a second time
    before = grow_basis(known, even[:d], spread, basis, nothing, picked)
    copy_matrix(columns, rest)
    squared_norms(rest, sizes)
    for q in range(before):
        take_out(basis[q], rest, lengths)
    for i in range(d):
        for j in range(k):
            seen[i, j] = rest[i, j] if pulls[j] > 0 else 0.0
    rank = grow_basis(seen, even[:k], sizes, basis, before, picked)
    for q in range(before, rank):
        take_out(basis[q], rest, lengths)
    squared_norms(rest, lengths)
    strangers = 0
    for j in range(k):
        outside[j] = lengths[j] > VANISHING * VANISHING * sizes[j]
        strangers += outside[j]
    numbers[STRANGERS] = strangers
    return rank
