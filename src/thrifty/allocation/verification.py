"""The certificate of an allocation with base information, from its pulls and prices alone.

A = base + sum pulls x x^T can be so ill-conditioned that the rounding of a Cholesky factor changes
the bounds: a thousand pulls along one direction, base information of 1e-9 along another. Then they
are computed again with twice the precision. Without base information the pulls themselves scale the
program, and rounding matters less.

Coordinates are scaled by powers of 2 to make the diagonal of A about 1, which rounds nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import compiled, kernel
from thrifty.numerics.arrays import Bools, Floats, Ints
from thrifty.numerics.bases import range_basis
from thrifty.numerics.double_double import (
    Double,
    add,
    divide,
    multiply,
    negative,
    square_root,
    two_product,
)
from thrifty.numerics.vectors import zero_matrix

WELL_CONDITIONED = 1e3  # up to this condition rounding changes bounds by less than 1e-11
NO_INFORMATION = 1e-20  # a pivot of the scaled A up to this is rounding in what was given
OUTSIDE = 1e-10  # a remainder of this share of an arm may lie outside the range of A
FEASIBLE = 1e-12  # excess of a constraint that counts as rounding
MOST_TRIES = 12  # to make pulls feasible by raising them


def is_well_conditioned(proposal: "Proposal") -> bool:
    """Whether A at unit diagonal has a condition up to WELL_CONDITIONED, and base is definite."""
    base, pulls = proposal.base, proposal.pulls
    if range_basis(base, np.empty(base.shape)) < len(base):
        return False  # the reduction has rotated the coordinates
    rows = proposal.features[pulls > 0]
    with np.errstate(over="ignore", invalid="ignore"):  # then the condition is NaN
        information = base + (rows.T * pulls[pulls > 0]) @ rows
        units = np.sqrt(np.diagonal(information))
        condition = np.linalg.cond(information / np.outer(units, units), np.inf)
    return bool(condition <= WELL_CONDITIONED)


class Proposal(NamedTuple):
    """An allocation problem, and the pulls and prices to be verified."""

    features: Floats  # (k, d)
    gaps: Floats  # (k,)
    best: Bools  # (k,)
    noise: float
    base: Floats  # (d, d)
    pulls: Floats  # (k,)
    prices: Floats  # (k,)


class Values(NamedTuple):
    """High and low parts of what is computed."""

    white: Floats  # (k, d) R^-T x for A = R^T R
    white_low: Floats
    g: Floats  # (k,) constraint values
    g_low: Floats


@compiled
def verify(proposal: Proposal) -> tuple[float, float, float]:
    """The lower bound that pulls and prices prove, the cost of the pulls, and their largest g - 1.

    Computed with twice the precision. Pulls that miss a constraint by a little are raised until
    they meet all of them, if that is possible. g - 1 up to FEASIBLE is rounding.
    """
    features, gaps, best, pulls = proposal.features, proposal.gaps, proposal.best, proposal.pulls
    k, d = features.shape
    values = Values(np.empty((k, d)), np.empty((k, d)), np.empty(k), np.empty(k))
    scales = _powers_of_two(features, proposal.base, pulls)
    stretch, cost = 1.0, (0.0, 0.0)
    for _ in range(MOST_TRIES):
        rank = _whiten_arms(proposal, scales, values)
        excess = _constraint_values(proposal, rank, values)
        if excess <= FEASIBLE or not excess < 1.0:
            break
        for j in range(k):
            pulls[j] *= 1.0 + stretch * excess
        stretch *= 2.0
    for j in range(k):
        if not best[j]:
            cost = add(cost, two_product(pulls[j], gaps[j]))
    if not excess < math.inf:
        return 0.0, cost[0], excess
    return _dual_bound(proposal, rank, values), cost[0], excess


@compiled
def _powers_of_two(features: Floats, base: Floats, pulls: Floats) -> Floats:
    """(d,) 1 / sqrt(A_ii), rounded to powers of 2; 1 where A_ii is 0."""
    k, d = features.shape
    scales = np.empty(d)
    for i in range(d):
        total = base[i, i]
        for j in range(k):
            if pulls[j] > 0.0:
                total += pulls[j] * features[j, i] * features[j, i]
        scales[i] = 2.0 ** -math.floor(0.5 * math.log2(total) + 0.5) if total > 0.0 else 1.0
    return scales


@compiled
def _whiten_arms(proposal: Proposal, scales: Floats, values: Values) -> int:
    """Write R^-T x of every arm x for A = R^T R, in the order of the pivots; returns the rank.

    Coordinates beyond the rank hold the remainder of x outside the range of A.
    """
    features, white, low = proposal.features, values.white, values.white_low
    k, d = features.shape
    high, rest, order = np.empty((d, d)), np.empty((d, d)), np.empty(d, np.int64)
    _form_information(proposal, scales, high, rest)
    rank = _factor(high, rest, order)
    for j in range(k):
        for p in range(d):
            i = order[p]
            value = features[j, i] * scales[i], 0.0
            for q in range(min(p, rank)):
                above = high[q, i], rest[q, i]
                value = add(value, negative(multiply(above, (white[j, q], low[j, q]))))
            if p < rank:
                value = divide(value, (high[p, i], rest[p, i]))
            white[j, p], low[j, p] = value
    return rank


@compiled
def _form_information(proposal: Proposal, scales: Floats, high: Floats, rest: Floats) -> None:
    """Write A in scaled coordinates, as high and low parts (d, d)."""
    features, base, pulls = proposal.features, proposal.base, proposal.pulls
    k, d = features.shape
    for i in range(d):
        for l in range(d):
            total = base[i, l] * scales[i] * scales[l], 0.0
            for j in range(k):
                if pulls[j] > 0.0:
                    product = two_product(features[j, i] * scales[i], features[j, l] * scales[l])
                    total = add(total, multiply((pulls[j], 0.0), product))
            high[i, l], rest[i, l] = total


@compiled
def _factor(high: Floats, rest: Floats, order: Ints) -> int:
    """Pivoted Cholesky: row q of R overwrites row q, its columns in their places; returns the rank.

    order (d,): the coordinate of each pivot, then the others.
    """
    d = rank = order.size
    A, A_low, left = high.copy(), rest.copy(), np.empty(d, np.bool_)
    for i in range(d):
        left[i] = True
    for q in range(d):
        pivot = -1
        for i in range(d):
            if left[i] and (pivot < 0 or A[i, i] > A[pivot, pivot]):
                pivot = i
        order[q], left[pivot] = pivot, False
        if q >= rank or not A[pivot, pivot] > NO_INFORMATION:
            rank = min(rank, q)
            continue
        root = square_root((A[pivot, pivot], A_low[pivot, pivot]))
        for i in range(d):
            high[q, i], rest[q, i] = divide((A[pivot, i], A_low[pivot, i]), root)
        for i in range(d):
            if left[i]:
                for l in range(d):
                    product = multiply((high[q, i], rest[q, i]), (high[q, l], rest[q, l]))
                    A[i, l], A_low[i, l] = add((A[i, l], A_low[i, l]), negative(product))
    return rank


@compiled
def _constraint_values(proposal: Proposal, rank: int, values: Values) -> float:
    """Write g of suboptimal arms; returns the largest minus 1, inf if one is outside A's range."""
    gaps, best, noise = proposal.gaps, proposal.best, proposal.noise
    white, low, g, g_low = values
    worst = -1.0
    for j in range(gaps.size):
        if best[j]:
            continue
        inside, outside = (0.0, 0.0), 0.0
        for p in range(white.shape[1]):
            if p < rank:
                entry = white[j, p], low[j, p]
                inside = add(inside, multiply(entry, entry))
            else:
                outside = max(outside, abs(white[j, p]))
        if outside > OUTSIDE * (math.sqrt(inside[0]) + outside):
            return math.inf
        value = multiply(inside, _constraint_scale(noise, gaps[j]))
        g[j], g_low[j] = value
        worst = max(worst, (value[0] - 1.0) + value[1])
    return worst


@kernel
def _constraint_scale(noise: float, gap: float) -> Double:
    """2 noise^2 / gap^2: g is this times ||x||^2."""
    ratio = divide((noise, 0.0), (gap, 0.0))
    return multiply((2.0, 0.0), multiply(ratio, ratio))


@compiled
def _dual_bound(proposal: Proposal, rank: int, values: Values) -> float:
    """(sum w (g - 1) + der . a) / max der / c: see docs/allocation.md, section 4."""
    gaps, best, noise = proposal.gaps, proposal.best, proposal.noise
    pulls, prices = proposal.pulls, proposal.prices
    white, low, g, g_low = values
    k, slack, steepest = gaps.size, (0.0, 0.0), 0.0
    spread, spread_low = zero_matrix(rank, rank), zero_matrix(rank, rank)
    for j in range(k):
        if best[j] or not prices[j] > 0.0:
            continue
        excess = add((g[j], g_low[j]), (-1.0, 0.0))
        slack = add(slack, multiply((prices[j], 0.0), excess))
        weight = multiply((prices[j], 0.0), _constraint_scale(noise, gaps[j]))
        for p in range(rank):
            scaled = multiply(weight, (white[j, p], low[j, p]))
            for q in range(rank):
                product = multiply(scaled, (white[j, q], low[j, q]))
                total = add((spread[p, q], spread_low[p, q]), product)
                spread[p, q], spread_low[p, q] = total
    for j in range(k):
        if best[j]:
            continue
        der = 0.0, 0.0
        for p in range(rank):
            along = 0.0, 0.0
            for q in range(rank):
                product = multiply((spread[p, q], spread_low[p, q]), (white[j, q], low[j, q]))
                along = add(along, product)
            der = add(der, multiply(along, (white[j, p], low[j, p])))
        slack = add(slack, multiply(der, (pulls[j], 0.0)))
        steepest = max(steepest, der[0] / gaps[j])
    return max(0.0, slack[0] / steepest) if steepest > 0.0 else 0.0
