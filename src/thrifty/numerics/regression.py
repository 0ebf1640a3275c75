"""Compiled least squares: the only place where V^-1, theta_hat and log det V change.

V = base + sum of x x^T over all rewards seen. A reward costs O(k d): the inverse follows by Sherman
and Morrison's formula, and so do, for every arm x, its mean <x, theta_hat> and its squared norm
||x||^2 in V^-1, which is what policies read. Rounding errors accumulate; but pulls are counted and
rewards summed arm by arm, and `refresh` recomputes everything from these before the errors matter.

Where an arm has features of its own, V consists of blocks along the diagonal. All arrays hold only
these, of some width; `firsts` says where the block of a row begins. Usually there is one, of d.

Where rewards are pooled, they are added to the base at once, and rows may change from round to
round. With a memory, what was seen counts less with every later reward:
V = ridge I + sum of kept^(later rewards) x x^T. Between two refreshes the ridge fades, too.

Without a ridge V is singular until the pulled arms span the space. Until then the inverse is the
pseudo-inverse and theta_hat the estimate of least norm.
"""

from typing import Any, NamedTuple

import numpy as np

from thrifty.compiler.compilation import compiled, kernel
from thrifty.compiler.records import Records
from thrifty.numerics.arrays import (
    FixedFloats,
    FixedInts,
    Floats,
    Ints,
    RowBools,
    RowFloats,
    RowInts,
    ThetaFloats,
    WorkSpace,
)
from thrifty.numerics.inversion import Totals, inversion
from thrifty.numerics.vectors import fill

# A rank-one step adds up to (1 + norm)^2 roundings to the relative error of the inverse. After so
# many it is recomputed, which costs a hundredth of the rounds between and keeps the error small.
MAX_ROUNDINGS = 2.0**12
FADING = 0.1  # of what was seen, between two refreshes; and so of the ridge


class Regression(NamedTuple):
    """Least squares over k arms in R^d, in blocks of width w; arrays change in place."""

    rows: FixedFloats  # (k, w) the arms
    columns: FixedFloats  # (w, k) the same
    firsts: FixedInts  # (k,) the first of the w entries of theta that a row is about
    base: ThetaFloats  # (d, w) information that no row accounts for: ridge, pooled, removed arms
    base_sums: ThetaFloats  # (d,) sum of x times reward over the same
    pulls: RowInts  # (k,) rewards seen
    sums: RowFloats  # (k,) of these rewards
    inverse: ThetaFloats  # (d, w) V^-1, or the pseudo-inverse
    theta: ThetaFloats  # (d,) theta_hat
    means: RowFloats  # (k,) <x, theta_hat>
    norms: RowFloats  # (k,) ||x||^2 in V^-1
    outside: RowBools  # (k,) whether an arm lies outside the span of V
    totals: Records  # (1,) of Totals
    step: WorkSpace  # (d,) V^-1 times a vector
    difference: WorkSpace  # (w,) of two rows
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
        difference=np.zeros(width),
        along=np.zeros(k),
        invert=inversion(definite=ridge > 0),
        tracked=not pooled and (largest_set is None or k <= largest_set * d),
        pooled=pooled,
        kept=1.0 - 1.0 / memory,
    )
    # what `refresh` gives before any reward, where V is diagonal: nothing to compile
    _invert_information(regression)
    for i in range(width if regression.tracked else 0):
        regression.norms[:] += regression.inverse[i, i] * rows[:, i] * rows[:, i]
    return regression


def carry_regression(old: Regression, new: Regression, where: Ints) -> None:
    """Copy all that old has seen: row i becomes row where[i], or part of the base if that is -1.

    Where new pools rewards, all become part of the base.
    """
    based = (where < 0) | new.pooled
    new.base[:] = old.base + (old.rows[based].T * old.pulls[based]) @ old.rows[based]
    new.base_sums[:] = old.base_sums + old.rows[based].T @ old.sums[based]
    np.add.at(new.pulls, where[~based], old.pulls[~based])
    np.add.at(new.sums, where[~based], old.sums[~based])
    new.totals[0].ridge = old.totals[0].ridge
    rebuild(new)


def start_blocks(regression: Regression, blocks: Ints) -> None:
    """Blocks of theta that nothing is known about, beside others that are copied."""
    width = regression.base.shape[1]
    for block in blocks:
        entries = slice(block * width, (block + 1) * width)
        regression.base[entries] = regression.totals[0].ridge * np.eye(width)
        regression.base_sums[entries] = 0.0
    rebuild(regression)


def observe_removed(regression: Regression, features: Floats, reward: float) -> None:
    """Add one reward of an arm with features (d,) that is no longer a row."""
    regression.base[:] += np.outer(features, features)
    regression.base_sums[:] += reward * features
    rebuild(regression)


@kernel
def squared_distance(regression: Regression, row: int, other: int) -> float:
    """||x - y||^2 in V^-1 of two rows, at least 0; leaves V^-1 (x - y) in their part of `step`."""
    rows, difference, first = regression.rows, regression.difference, regression.firsts[row]
    if regression.firsts[other] != first:
        return _apart(regression, row, 1.0) + _apart(regression, other, -1.0)
    for i in range(difference.size):
        difference[i] = rows[row, i] - rows[other, i]
    return _squared_length(regression, first)


@kernel
def _apart(regression: Regression, row: int, sign: float) -> float:
    """||x||^2 in V^-1; leaves V^-1 x, with a sign, in `step`."""
    for i in range(regression.difference.size):
        regression.difference[i] = sign * regression.rows[row, i]
    return _squared_length(regression, regression.firsts[row])


@kernel
def _squared_length(regression: Regression, first: int) -> float:
    """||x||^2 in V^-1 for x = `difference` in the block that begins at first; leaves V^-1 x."""
    difference, step, total = regression.difference, regression.step, 0.0
    _multiply(regression.inverse, first, difference, step)
    for i in range(difference.size):
        total += difference[i] * step[first + i]
    return max(0.0, total)


@kernel
def _norm_and_mean(regression: Regression, row: int) -> tuple[float, float]:
    """||x||^2 in V^-1 and <x, theta_hat>, in O(w^2); leaves V^-1 x in `step`."""
    rows, step, theta = regression.rows, regression.step, regression.theta
    first, norm, mean = regression.firsts[row], 0.0, 0.0
    _multiply(regression.inverse, first, rows[row], step)
    for i in range(rows.shape[1]):
        norm += step[first + i] * rows[row, i]
        mean += theta[first + i] * rows[row, i]
    return norm, mean


@kernel
def _multiply(inverse: Floats, first: int, vector: Floats, product: Floats) -> None:
    """product[first + i] = (V^-1 x)_i for x = vector (w,), in the block that begins at first.

    Rows of the symmetric V^-1 are added up, four at a time: unlike sums along rows, vectorised.
    """
    width, whole = inverse.shape[1], inverse.shape[1] // 4
    block, result = inverse[first : first + width], product[first : first + width]
    fill(result, 0.0)
    for n in range(whole):
        j = 4 * n
        row0, row1, row2, row3 = block[j], block[j + 1], block[j + 2], block[j + 3]
        a, b, c, d = vector[j], vector[j + 1], vector[j + 2], vector[j + 3]
        for i in range(width):
            result[i] = result[i] + a * row0[i] + b * row1[i] + c * row2[i] + d * row3[i]
    for j in range(4 * whole, width):
        for i in range(width):
            result[i] += vector[j] * block[j, i]


@kernel
def observe(regression: Regression, row: int, reward: float) -> None:
    """Add one reward of an arm, in O(k d), or in O(w^2) if pooled."""
    inverse, theta, step = regression.inverse, regression.theta, regression.step
    totals, first, width = regression.totals, regression.firsts[row], regression.inverse.shape[1]
    if regression.pooled:
        _pool(regression, row, reward)
    else:
        regression.pulls[row] += 1
        regression.sums[row] += reward
    norm, mean = _norm_and_mean(regression, row)
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
    means, norms, (d, k) = regression.means, regression.norms, columns.shape
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
            row = arms[n]
            regression.norms[row], regression.means[row] = _norm_and_mean(regression, row)


@kernel
def _invert_information(regression: Regression) -> None:
    """V^-1, log det V and the arms outside the span of V, from the pulls of the arms."""
    columns, pulls, base = regression.columns, regression.pulls, regression.base
    inverse, outside, totals = regression.inverse, regression.outside, regression.totals
    regression.invert(columns, pulls, base, inverse, outside, totals)


@kernel
def refresh(regression: Regression) -> None:
    """Recompute everything from the pulls and sums of the arms."""
    inverse, theta, response = regression.inverse, regression.theta, regression.step
    _invert_information(regression)
    regression.totals[0].roundings, width = 0.0, inverse.shape[1]
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
            regression.norms[row], regression.means[row] = _norm_and_mean(regression, row)


@kernel
def set_ridge(regression: Regression, ridge: float) -> None:
    """Change the ridge."""
    base, totals, width = regression.base, regression.totals, regression.base.shape[1]
    for i in range(regression.theta.size):
        # the rest is of pooled or removed arms; a difference of ridges would lose small ones
        base[i, i % width] = max(0.0, base[i, i % width] - totals[0].ridge) + ridge
    totals[0].ridge = ridge
    refresh(regression)


@compiled
def rebuild(regression: Regression) -> None:
    """`refresh` for callers in Python."""
    refresh(regression)
