"""Compiled least squares: the only place where V^-1, theta_hat and log det V change.

V = base + sum of x x^T over all rewards seen. A reward costs O(k d): the inverse follows by Sherman
and Morrison's formula, and so do, for every arm x, its mean <x, theta_hat> and its squared norm
||x||^2 in V^-1, which is what policies read. Rounding errors accumulate; but pulls are counted and
rewards summed arm by arm, and `refresh` recomputes everything from these before the errors matter.

Where an arm has features of its own, V consists of blocks along the diagonal. All arrays hold these
blocks only, of some width; a row has its features there, and `firsts` says where the block begins.
Usually there is one block, and the width is d.

Where rewards are pooled, they are added to the base at once, and rows may change from round to
round. With a memory, what was seen counts less with every later reward:
V = ridge I + sum of kept^(later rewards) x x^T. Between two refreshes the ridge fades, too.

Without a ridge V is singular until the pulled arms span the space. Until then the inverse is the
pseudo-inverse and theta_hat the estimate of least norm.
"""

from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from thrifty.numerics.arrays import Bools, FixedFloats, FixedInts, Floats, Ints, WorkSpace
from thrifty.numerics.bases import VANISHING, grow_basis, project_off, range_basis
from thrifty.numerics.compilation import Pointer, compiled, kernel
from thrifty.numerics.dense import add_gram, copy_matrix, factor, squared_norms, whiten
from thrifty.numerics.records import Record, Records

# A rank-one step adds up to (1 + norm)^2 roundings to the relative error of the inverse. After four
# thousand it is recomputed: that costs a hundredth of the rounds between, and keeps the error near
# that of a direct inversion.
MAX_ROUNDINGS = 2.0**12
FADING = 0.1  # of what was seen, between two refreshes; and so of the ridge
TINY = 1e-15  # a pivot below this share of its diagonal entry is rounding


class Totals(Record):
    """Numbers about V as a whole."""

    logdet: float  # log det V, within its span
    roundings: float  # since the last refresh
    outside: int  # how many arms lie outside the span of V
    ridge: float


class Regression(NamedTuple):
    """Least squares over k arms in R^d, in blocks of width w; arrays change in place."""

    rows: FixedFloats  # (k, w) the arms
    columns: FixedFloats  # (w, k) the same
    firsts: FixedInts  # (k,) the first of the w entries of theta that a row is about
    base: Floats  # (d, w) information that no row accounts for: the ridge, pooled, removed arms
    base_sums: Floats  # (d,) sum of x times reward over the same
    pulls: Ints  # (k,) rewards seen
    sums: Floats  # (k,) of these rewards
    inverse: Floats  # (d, w) V^-1, or the pseudo-inverse
    theta: Floats  # (d,) theta_hat
    means: Floats  # (k,) <x, theta_hat>
    norms: Floats  # (k,) ||x||^2 in V^-1
    outside: Bools  # (k,) whether an arm lies outside the span of V
    totals: Records  # (1,) of Totals
    step: WorkSpace  # (d,) V^-1 times a vector
    along: WorkSpace  # (k,)
    invert: Any  # `invert`, or without a ridge `pseudo_invert`, behind a pointer
    tracked: bool  # whether means and norms of all arms are always current; else see update_arms
    pooled: bool  # whether rewards are added to the base
    kept: float  # of what was seen, at each reward; 1 if nothing is forgotten


def start_regression(
    rows: Floats,
    *,
    ridge: float,
    largest_set: int | None = None,
    pooled: bool = False,
    memory: float = np.inf,
    blocks: int = 1,
) -> Regression:
    """A regression that has seen no rewards, on rows (k, w), for theta in R^d, d = blocks w.

    largest_set: how many arms a decision looks at. If given, arms are tracked only where that is
    cheaper, O(k d) per round, than computing one set, O(K d^2). By default all arms are tracked.
    pooled: whether rows may change; memory: of how many rewards. Both need a ridge, and several
    blocks need to be pooled.
    """
    k, width = rows.shape
    d = blocks * width
    pooled = pooled or memory < np.inf
    regression = Regression(
        rows=np.array(rows),
        columns=np.array(rows.T, order="C"),
        firsts=np.zeros(k, dtype=np.int64),
        base=ridge * np.tile(np.eye(width), (blocks, 1)),
        base_sums=np.zeros(d),
        pulls=np.zeros(k, dtype=np.int64),
        sums=np.zeros(k),
        inverse=np.zeros((d, width)),
        theta=np.zeros(d),
        means=np.zeros(k),
        norms=np.zeros(k),
        outside=np.zeros(k, dtype=np.bool_),
        totals=Totals.new(ridge=ridge),
        step=np.zeros(d),
        along=np.zeros(k),
        invert=_inversion(definite=ridge > 0),
        tracked=not pooled and (largest_set is None or k <= largest_set * d),
        pooled=pooled,
        kept=1.0 - 1.0 / memory,
    )
    _start_estimates(regression)
    return regression


def _start_estimates(regression: Regression) -> None:
    """What `refresh` gives before any reward, where V is diagonal: nothing to compile."""
    inverse, rows, norms = regression.inverse, regression.rows, regression.norms
    _invert_information(regression)
    if regression.tracked:
        for i in range(rows.shape[1]):
            norms += inverse[i, i] * rows[:, i] * rows[:, i]


def carry_regression(old: Regression, new: Regression, where: Ints) -> None:
    """Copy all that old has seen: row i becomes row where[i], or part of the base if that is -1."""
    removed = where < 0
    new.base[:] = old.base + (old.rows[removed].T * old.pulls[removed]) @ old.rows[removed]
    new.base_sums[:] = old.base_sums + old.rows[removed].T @ old.sums[removed]
    np.add.at(new.pulls, where[~removed], old.pulls[~removed])
    np.add.at(new.sums, where[~removed], old.sums[~removed])
    new.totals[0].ridge = old.totals[0].ridge
    rebuild(new)


def observe_removed(regression: Regression, features: Floats, reward: float) -> None:
    """Add one reward of an arm with features (d,) that is no longer a row."""
    regression.base[:] += np.outer(features, features)
    regression.base_sums[:] += reward * features
    rebuild(regression)


@kernel
def squared_distance(regression: Regression, row: int, other: int) -> float:
    """||x - y||^2 in V^-1 of two rows, at least 0; leaves V^-1 (x - y) in their part of `step`."""
    rows, inverse, step, total = regression.rows, regression.inverse, regression.step, 0.0
    first, width = regression.firsts[row], inverse.shape[1]
    if regression.firsts[other] != first:
        return _apart(regression, row, 1.0) + _apart(regression, other, -1.0)
    for i in range(width):
        along = 0.0
        for j in range(width):
            along += inverse[first + i, j] * (rows[row, j] - rows[other, j])
        step[first + i] = along
        total += (rows[row, i] - rows[other, i]) * along
    return max(0.0, total)


@kernel
def _apart(regression: Regression, row: int, sign: float) -> float:
    """||x||^2 in V^-1; leaves V^-1 x, with a sign, in `step`."""
    rows, inverse, step, total = regression.rows, regression.inverse, regression.step, 0.0
    first, width = regression.firsts[row], inverse.shape[1]
    for i in range(width):
        along = 0.0
        for j in range(width):
            along += inverse[first + i, j] * rows[row, j]
        step[first + i] = sign * along
        total += rows[row, i] * along
    return max(0.0, total)


@kernel
def observe(regression: Regression, row: int, reward: float) -> None:
    """Add one reward of an arm, in O(k d), or in O(w^2) if pooled."""
    rows, inverse, theta = regression.rows, regression.inverse, regression.theta
    step, totals = regression.step, regression.totals
    first, width = regression.firsts[row], inverse.shape[1]
    if regression.pooled:
        _pool(regression, row, reward)
    else:
        regression.pulls[row] += 1
        regression.sums[row] += reward
    norm, mean = 0.0, 0.0
    for i in range(width):
        total = 0.0
        for j in range(width):
            total += inverse[first + i, j] * rows[row, j]
        step[first + i] = total
        norm += total * rows[row, i]
        mean += theta[first + i] * rows[row, i]
    totals[0].roundings += (1.0 + norm) ** 2
    if totals[0].roundings > MAX_ROUNDINGS or regression.outside[row]:
        refresh(regression)
        return
    # (V + x x^T)^-1 = V^-1 - (V^-1 x)(V^-1 x)^T / (1 + ||x||^2)
    # theta_hat += V^-1 x (reward - <x, theta_hat>) / (1 + ||x||^2)
    shrink = 1.0 / (1.0 + norm)
    pull = shrink * (reward - mean)
    for i in range(first, first + width):
        theta[i] += pull * step[i]
        for j in range(width):
            inverse[i, j] -= shrink * step[i] * step[first + j]
    totals[0].logdet += np.log1p(norm)
    if regression.tracked:
        _track_arms(regression, shrink, pull)


@kernel
def _pool(regression: Regression, row: int, reward: float) -> None:
    """Add one reward to the base, after some of what it has is forgotten."""
    rows, base, sums, kept = regression.rows, regression.base, regression.base_sums, regression.kept
    first, width = regression.firsts[row], base.shape[1]
    if kept < 1.0:
        _forget(regression)
    for i in range(width):
        sums[first + i] += reward * rows[row, i]
        for j in range(width):
            base[first + i, j] += rows[row, i] * rows[row, j]


@kernel
def _forget(regression: Regression) -> None:
    """Before a reward is added: keep a share of all that was seen, and the ridge."""
    base, inverse, totals = regression.base, regression.inverse, regression.totals
    kept, (d, width) = regression.kept, base.shape
    totals[0].logdet += d * np.log(kept)
    totals[0].roundings += (1.0 - kept) / FADING * MAX_ROUNDINGS
    for i in range(d):
        regression.base_sums[i] *= kept
        for j in range(width):
            base[i, j] *= kept
            inverse[i, j] /= kept
        base[i, i % width] += (1.0 - kept) * totals[0].ridge


@kernel
def _track_arms(regression: Regression, shrink: float, pull: float) -> None:
    """Update means and norms of all arms by a rank-one step, with V^-1 x in regression.step."""
    columns, step, along = regression.columns, regression.step, regression.along
    means, norms = regression.means, regression.norms
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
def update_arms(regression: Regression, arms: Ints) -> None:
    """Make means and norms of the rows arms (n,) current, unless all arms are tracked."""
    if not regression.tracked:
        for n in range(arms.size):
            _update_arm(regression, arms[n])


@kernel
def _update_arm(regression: Regression, row: int) -> None:
    """Mean and norm of one arm, in O(w^2)."""
    rows, inverse, theta = regression.rows, regression.inverse, regression.theta
    first, width = regression.firsts[row], inverse.shape[1]
    mean, norm = 0.0, 0.0
    for i in range(width):
        mean += theta[first + i] * rows[row, i]
        for j in range(width):
            norm += inverse[first + i, j] * rows[row, i] * rows[row, j]
    regression.means[row], regression.norms[row] = mean, norm


@kernel
def _invert_information(regression: Regression) -> None:
    """V^-1, log det V and the arms outside the span of V, from the pulls of the arms."""
    regression.invert(
        regression.columns,
        regression.pulls,
        regression.base,
        regression.inverse,
        regression.outside,
        regression.totals,
    )


@kernel
def refresh(regression: Regression) -> None:
    """Recompute everything from the pulls and sums of the arms."""
    inverse, theta, response = regression.inverse, regression.theta, regression.step
    width = inverse.shape[1]
    _invert_information(regression)
    regression.totals[0].roundings = 0.0
    for i in range(theta.size):
        response[i] = regression.base_sums[i]
        if not regression.pooled:
            for row in range(regression.sums.size):
                response[i] += regression.sums[row] * regression.rows[row, i]
    for i in range(theta.size):
        theta[i] = 0.0
        for j in range(width):
            theta[i] += inverse[i, j] * response[i - i % width + j]
    if regression.tracked:
        for row in range(regression.sums.size):
            _update_arm(regression, row)


@kernel
def set_ridge(regression: Regression, ridge: float) -> None:
    """Change the ridge."""
    base, totals, width = regression.base, regression.totals, regression.base.shape[1]
    for i in range(regression.theta.size):
        # the rest is of pooled or removed arms; a difference of ridges would lose small ones
        base[i, i % width] = max(0.0, base[i, i % width] - totals[0].ridge) + ridge
    totals[0].ridge = ridge
    refresh(regression)


def whole_inverse(regression: Regression) -> Floats:
    """V^-1 (d, d), of its blocks."""
    inverse = regression.inverse
    d, width = inverse.shape
    whole = np.zeros((d, d))
    for first in range(0, d, width):
        block = slice(first, first + width)
        whole[block, block] = inverse[block]
    return whole


@compiled
def rebuild(regression: Regression) -> None:
    """`refresh` for callers in Python."""
    refresh(regression)


@compiled
def invert(
    columns: Floats, pulls: Ints, base: Floats, inverse: Floats, outside: Bools, totals: Records
) -> None:
    """V^-1 into inverse (d, w) and log det V into totals, for columns (w, k); base is definite."""
    width, k = columns.shape
    information, identity, weights = np.empty((width, width)), np.empty((width, width)), np.empty(k)
    logdet = 0.0
    for i in range(width):
        for j in range(width):
            identity[i, j] = 1.0 if i == j else 0.0
    for j in range(k):
        weights[j] = pulls[j]
    for first in range(0, inverse.shape[0], width):
        for i in range(width):
            for j in range(width):
                information[i, j] = 0.0
        if inverse.shape[0] == width:  # else rewards are pooled, and rows are not pulled
            add_gram(columns, weights, information)
        for i in range(width):
            for j in range(width):
                information[i, j] += base[first + i, j]
        _invert_within(information, identity, inverse[first : first + width], totals)
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
    """Inverse of V = Q^T information Q for orthonormal rows Q = basis (r, d).

    With information = R^T R it is W^T W, W = R^-T Q.
    """
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
def _inversion(*, definite: bool) -> Pointer:
    """`invert` or `pseudo_invert` behind a pointer: otherwise every policy would compile it."""
    matrix, counts, flags = types.float64[:, ::1], types.int64[::1], types.boolean[::1]
    arguments = (matrix, counts, matrix, matrix, flags, numba.typeof(Totals.new()))
    return Pointer(invert if definite else pseudo_invert, arguments)


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
