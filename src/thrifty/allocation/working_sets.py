"""Solve the normal form on few columns and few constraints, and price all of them until the
certificate of the whole program closes.

Few columns carry spend at the optimum and few constraints bind, but nobody knows which beforehand.
A round solves the program on a working set, looks at every row from there, adds the worst offenders
of each kind and drops what has become idle.
"""

from typing import NamedTuple

import numpy as np

from thrifty.allocation.certificate import ROUNDING, lower_bound, upper_bound
from thrifty.allocation.interior_point import Program, interior_point
from thrifty.numerics.arrays import Bools, Floats, Ints
from thrifty.numerics.compilation import compiled
from thrifty.numerics.dense import add_gram, factor, multiply_transposed, take_columns, whiten

MAX_ROUNDS = 100
# restarts from the best point so far, closer to the middle, before a solve is given up
MAX_STALLS = 5
CHUNK = 256  # rows priced at a time, so that the buffers stay in the processor's cache
# up to this size pricing costs next to nothing, and every solve goes straight to the tolerance
SMALL = 256
WHOLE = 16  # programs up to this size are solved whole
# of the tolerance: the last solve goes further, so that idle columns can be told from the others
FINAL = 0.05
LOOSE = 0.1  # no working set deserves a tighter solve before the rest has been priced
WARMTH = 0.02  # how far a warm start is trusted
MOST_WARMTH = 1e-4  # and how far the last point of this solve, at best
MET = 1e-7  # excess of a constraint value that counts as none where base information meets it
IDLE = 0.8  # rows below this share of what would make them matter are dropped


class Solution(NamedTuple):
    """What a solve reports; spend and prices are written in place."""

    lower: float
    upper: float
    iterations: int
    rounds: int


class View(NamedTuple):
    """All rows seen from one point, and whether they are in the working set."""

    g: Floats  # (l,) constraint values; above 1 is a violation
    der: Floats  # (k,) slopes; above 1 is worth buying
    binding: Bools  # (l,)
    chosen: Bools  # (k,)


@compiled
def solve_program(
    program: Program, anchors: Ints, spend: Floats, prices: Floats, warm: bool, tol: float
) -> Solution:
    """Minimise sum(spend) for k columns and l constraints; spend (k,) and prices (l,) are written
    in place.

    anchors: columns that span every constraint. Where the program is homogeneous the constraints of
    the same index must span as well. warm: spend and prices hold an earlier solution.
    """
    k, l = spend.size, prices.size
    view = View(np.zeros(l), np.zeros(k), np.zeros(l, np.bool_), np.zeros(k, np.bool_))
    if _base_suffices(program, view.g):
        for j in range(k):
            spend[j] = 0.0
        for i in range(l):
            prices[i] = 0.0
        return Solution(0.0, 0.0, 0, 0)
    resumed = warm and _resume(program, anchors, spend, prices, view)
    if not resumed:
        _open(program, anchors, spend, prices, view)
    small = max(k, l) <= SMALL
    warmth = WARMTH if resumed else 0.0
    inner = FINAL * tol if resumed and small else LOOSE
    lower, upper, iterations, rounds, stalls = 0.0, np.inf, 0, 0, 0
    while rounds < MAX_ROUNDS:
        chosen, binding = np.flatnonzero(view.chosen), np.flatnonzero(view.binding)
        few = _restrict(program, chosen, binding)
        a, w = _pick(spend, chosen), _pick(prices, binding)
        if chosen.size == k and binding.size == l:
            inner = min(inner, FINAL * tol)
        steps = interior_point(few, a, w, warmth, inner)
        rounds += 1
        if steps < 0:  # the chosen columns do not span what the constraints ask for
            stalls += 1
            if stalls > MAX_STALLS:
                break
            _keep_anchors(program, anchors, view)
            for j in range(k):
                spend[j] = view.chosen[j]
            warmth = 0.0
            continue
        iterations += steps
        lower, upper = _price(program, few, a, w, view)
        gap = _relative_gap(lower, upper)
        closed = gap <= tol
        if closed:
            lower, upper, gap = _tidy(program, few, chosen, a, w, view, lower, upper, tol)
        _put(spend, chosen, a)
        _put(prices, binding, w)
        if closed and (gap <= tol or gap > LOOSE or inner <= FINAL * tol):
            break
        if closed:  # but for idle columns, which a tighter solve without them will do without
            inner, warmth = FINAL * tol, MOST_WARMTH
            continue
        added = _change_sets(program, anchors, gap, view)
        stalls += added == 0 and inner <= FINAL * tol
        if stalls > MAX_STALLS:
            break
        inner = (
            FINAL * tol
            if small
            else max(FINAL * tol, min(0.1 * gap, inner if added else 0.1 * inner))
        )
        warmth = min(0.3, max(gap, MOST_WARMTH))
    if program.homogeneous:
        _scale_to_cost(spend, upper)
    return Solution(lower, upper, iterations, rounds)


@compiled
def _scale_to_cost(spend: Floats, cost: float) -> None:
    """Make spend (k,) cost what upper says, sum(spend) max g: with that every constraint is met."""
    total = 0.0
    for j in range(spend.size):
        total += spend[j]
    for j in range(spend.size):
        spend[j] *= cost / total


@compiled
def _relative_gap(lower: float, upper: float) -> float:
    """upper / lower - 1, or 1 where it would be larger or undefined."""
    return min(1.0, upper / lower - 1.0) if lower > 0.0 else 1.0


@compiled
def _tidy(
    program: Program,
    few: Program,
    chosen: Ints,
    a: Floats,
    w: Floats,
    view: View,
    lower: float,
    upper: float,
    tol: float,
) -> tuple[float, float, float]:
    """Set to zero what the interior-point method left on idle columns, unless that opens the
    certificate; returns the bounds and the gap without them.

    A column is idle where its share of the spend is below its reduced cost, 1 - der: at the optimum
    one of the two is zero. The working set loses idle columns in any case.
    """
    trimmed = np.empty(a.size)
    cost, steepest, idle = 0.0, 0.0, 0
    for j in range(a.size):
        cost += a[j]
        steepest = max(steepest, view.der[chosen[j]])
    # pays for the trimming where no scaling is exact
    stretch = 1.0 if program.homogeneous else 1.0 + 0.25 * tol
    for j in range(a.size):
        busy = a[j] >= cost * (1.0 - view.der[chosen[j]] / steepest)
        view.chosen[chosen[j]] = busy
        trimmed[j] = stretch * a[j] if busy else 0.0
        idle += not busy
    if idle == 0:
        return lower, upper, _relative_gap(lower, upper)
    trimmed_lower, trimmed_upper = _price(program, few, trimmed, w, view)
    gap = _relative_gap(trimmed_lower, trimmed_upper)
    if gap > tol:
        return lower, upper, gap
    for j in range(a.size):
        a[j] = trimmed[j]
    return trimmed_lower, trimmed_upper, gap


@compiled
def _base_suffices(program: Program, g: Floats) -> bool:
    """Whether base information alone meets every constraint, so nearly that what is missing could
    not be certified.
    """
    if program.homogeneous:
        return g.size == 0
    root = program.base.copy()
    if not factor(root, 0.0):
        return False
    return _quadratic_forms(root, root, False, program.constraints, g) <= 1.0 + MET


@compiled
def _resume(program: Program, anchors: Ints, spend: Floats, prices: Floats, view: View) -> bool:
    """Make the support of an earlier solution the working set; False where it is no help: it spans
    too little, or is far from feasible.
    """
    floor = 0.0
    for i in range(prices.size):
        floor = max(floor, 1e-6 * prices[i])
    for i in range(prices.size):
        view.binding[i] = prices[i] > floor
    for j in range(spend.size):
        view.chosen[j] = spend[j] > 0.0
    chosen, binding = np.flatnonzero(view.chosen), np.flatnonzero(view.binding)
    few = _restrict(program, chosen, binding)
    lower, upper = _price(program, few, _pick(spend, chosen), _pick(prices, binding), view)
    if program.homogeneous:
        for j in anchors:
            view.binding[j] = True
    else:
        for j in anchors:
            view.chosen[j] = True
    _admit(view.der, view.chosen, program.base.shape[0], 1.0 + WARMTH)
    _admit(view.g, view.binding, program.base.shape[0], 1.0)
    return lower > 0.0 and (upper < 3.0 * lower or not program.homogeneous)


@compiled
def _open(program: Program, anchors: Ints, spend: Floats, prices: Floats, view: View) -> None:
    """The first working set: all of a small program, or what looks best from the middle of a large
    one.
    """
    most = 2 * program.base.shape[0]
    whole = max(spend.size, prices.size) <= WHOLE
    # where base spans, the middle is where nothing has been bought
    spread_out = program.homogeneous or not factor(program.base.copy(), 0.0)
    for j in range(spend.size):
        view.chosen[j] = whole
        spend[j] = spread_out
    for i in range(prices.size):
        view.binding[i] = whole
        prices[i] = 1.0
    _keep_anchors(program, anchors, view)
    if not whole:
        _price(program, program, spend, prices, view)
        _admit(view.g, view.binding, most, 0.0)
        _admit(view.der, view.chosen, most, 0.0)
    for j in range(spend.size):
        spend[j] = view.chosen[j]


@compiled
def _change_sets(program: Program, anchors: Ints, gap: float, view: View) -> int:
    """Admit the rows that keep the certificate open, drop idle ones once the end is near; returns
    how many were admitted.
    """
    d = program.base.shape[0]
    columns, constraints = np.flatnonzero(view.chosen), np.flatnonzero(view.binding)
    threshold = 1.0 + 0.01 * gap
    # what no scaling will mend must go altogether
    violation = threshold if program.homogeneous else 1.0 + ROUNDING
    added = _admit(view.der, view.chosen, max(2 * d, columns.size // 2), threshold)
    added += _admit(view.g, view.binding, max(2 * d, constraints.size // 2), violation)
    if gap < 0.1 and columns.size > 4 * d:
        _drop(view.der, view.chosen, columns)
        _drop(view.g, view.binding, constraints)
        _keep_anchors(program, anchors, view)
    return added


@compiled
def _keep_anchors(program: Program, anchors: Ints, view: View) -> None:
    """Put the anchors into the working set: columns so that every constraint can be met,
    constraints so that A stays bounded from below.
    """
    for j in anchors:
        view.chosen[j] = True
    if program.homogeneous:
        for j in anchors:
            view.binding[j] = True


@compiled
def _admit(scores: Floats, members: Bools, most: int, threshold: float) -> int:
    """Take rows with the highest scores (k,) above threshold into the working set, so many at most;
    returns how many.
    """
    low, high = threshold, threshold
    for j in range(scores.size):
        if not members[j]:
            high = max(high, scores[j])
    cut = low
    for _ in range(30):
        count = 0
        for j in range(scores.size):
            count += not members[j] and scores[j] > cut
        if count > most:
            low = cut
        elif cut == threshold or count > most // 2:
            break
        else:
            high = cut
        cut = 0.5 * (low + high)
    added = 0
    for j in range(scores.size):
        # more only where scores are tied: copies of one row
        if not members[j] and scores[j] > cut and added < most:
            members[j] = True
            added += 1
    return added


@compiled
def _drop(scores: Floats, members: Bools, candidates: Ints) -> None:
    """Take idle candidates out of the working set."""
    for j in candidates:
        members[j] = scores[j] > IDLE


@compiled
def _price(program: Program, few: Program, a: Floats, w: Floats, view: View) -> tuple[float, float]:
    """Look at the whole program from spend a and prices w on the few; returns its certificate."""
    d = few.base.shape[0]
    root = few.base.copy()
    add_gram(few.columns, a, root)
    if not factor(root, 0.0):
        return 0.0, np.inf
    whitened = np.empty((d, w.size))
    whiten(root, few.constraints, whitened)
    spread = np.zeros((d, d))
    add_gram(whitened, w, spread)
    largest = _quadratic_forms(root, spread, False, program.constraints, view.g)
    steepest = _quadratic_forms(root, spread, True, program.columns, view.der)
    priced, total, earned, cost = 0.0, 0.0, 0.0, 0.0
    for i in range(w.size):
        total += w[i]
        for k in range(d):
            priced += w[i] * whitened[k, i] * whitened[k, i]
    for j in range(a.size):
        cost += a[j]
    if not few.homogeneous:  # otherwise earned = priced, by Euler's identity, and is not asked for
        slopes = np.empty(a.size)
        _quadratic_forms(root, spread, True, few.columns, slopes)
        for j in range(a.size):
            earned += a[j] * slopes[j]
    return lower_bound(few.homogeneous, priced, total, steepest, earned), upper_bound(
        few.homogeneous, cost, largest
    )


@compiled
def _quadratic_forms(
    root: Floats, middle: Floats, weighted: bool, vectors: Floats, out: Floats
) -> float:
    """out (k,) = x^T R^-1 middle R^-T x for the columns x of vectors (d, k), middle left out unless
    weighted; returns the largest.
    """
    d, n = vectors.shape
    width = min(CHUNK, n)
    chunk = np.zeros((d, width))
    white = np.empty((d, width))
    turned = np.empty((d, width))
    largest = 0.0
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        for k in range(d):
            for j in range(size):
                chunk[k, j] = vectors[k, start + j]
        whiten(root, chunk, white)
        if weighted:
            multiply_transposed(middle, white, turned)
        for j in range(size):
            out[start + j] = 0.0
        for k in range(d):
            for j in range(size):
                out[start + j] += white[k, j] * (turned[k, j] if weighted else white[k, j])
        for j in range(size):
            largest = max(largest, out[start + j])
    return largest


@compiled
def _restrict(program: Program, chosen: Ints, binding: Ints) -> Program:
    """The program on the chosen columns and the binding constraints."""
    columns, constraints = (
        take_columns(program.columns, chosen),
        take_columns(program.constraints, binding),
    )
    return Program(columns, constraints, program.base, program.homogeneous)


@compiled
def _pick(values: Floats, chosen: Ints) -> Floats:
    """values (k,) at the chosen indices."""
    out = np.empty(chosen.size)
    for j in range(chosen.size):
        out[j] = values[chosen[j]]
    return out


@compiled
def _put(values: Floats, chosen: Ints, few: Floats) -> None:
    """Write few (n,) to values (k,) at the chosen indices, zero elsewhere."""
    for j in range(values.size):
        values[j] = 0.0
    for j in range(chosen.size):
        values[chosen[j]] = few[j]
