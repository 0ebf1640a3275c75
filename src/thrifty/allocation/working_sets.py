"""Solution of the normal form on working sets: few columns and few constraints at a time.

At the optimum few columns have positive spend and few constraints bind. A round solves the program
on a working set, evaluates all columns and constraints at the solution, adds those that violate
optimality most and drops those far from active, until the whole program is certified.
"""

from typing import NamedTuple

import numpy as np

from thrifty.allocation.certificate import ROUNDING, Bounds, dual_bound, primal_bound, relative_gap
from thrifty.allocation.interior_point import Program, interior_point
from thrifty.compiler.compilation import compiled, kernel
from thrifty.numerics.arrays import Bools, Floats, Ints
from thrifty.numerics.dense import (
    add_gram,
    copy_factor,
    factor_information,
    multiply_transposed,
    take_columns,
    whiten,
)
from thrifty.numerics.vectors import (
    copy,
    fill,
    gather,
    indices_where,
    largest,
    scatter,
    total,
    zero_matrix,
    zeros,
)

MAX_ROUNDS = 100
MAX_STALLS = 5  # rounds without progress before the solve stops
CHUNK = 256  # columns evaluated at a time, so that the buffers stay in the processor's cache
WHOLE = 16  # programs up to this size start with the whole program as the working set
SMALL = 256  # up to this size evaluation is cheap, and every solve goes to the final accuracy
FINAL = 0.05  # accuracy of a working set in the end, as a share of tol: it separates idle columns
LOOSE = 0.1  # accuracy of the first working set of a larger program
WARM_START_ERROR = 0.02  # relative error assumed of an earlier solution
LEAST_START_ERROR = 1e-4  # and, at least, of the previous round
FEASIBILITY = 1e-7  # excess of g over 1 that is neglected where base information suffices
ACTIVE = 0.8  # rows with g or der up to this are dropped from the working set

# lower and upper bound on the optimal value, Newton steps, working sets: plain, see compilation.py
Solution = tuple[float, float, int, int]


class Search(NamedTuple):
    """A program of k columns and l constraints, the current point, and the working set."""

    program: Program
    spanning: Ints  # columns that span every constraint
    spend: Floats  # (k,)
    prices: Floats  # (l,) dual variables
    der: Floats  # (k,) slopes; above 1, more spend on the column lowers the cost
    g: Floats  # (l,) constraint values; above 1, the constraint is violated
    chosen: Bools  # (k,) columns of the working set
    binding: Bools  # (l,) constraints of the working set


class Round(NamedTuple):
    """The result of solving on one working set."""

    steps: int  # Newton steps; -1: the columns do not span the constraints
    bounds: Bounds  # on the optimal value of the whole program
    gap: float  # relative gap without idle columns
    closed: bool  # whether the gap with idle columns is within the tolerance


@compiled
def solve_program(
    program: Program, spanning_columns: Ints, spend: Floats, prices: Floats, warm: bool, tol: float
) -> Solution:
    """Minimise sum(spend) for k columns and l constraints; writes spend (k,) and prices (l,).

    spanning_columns : indices of columns that span every constraint. If the program is
        homogeneous, the constraints of the same indices must span as well
    prices : dual variables of the constraints
    warm : whether spend and prices hold an earlier solution to start from
    tol : relative gap to certify
    """
    k, l = spend.size, prices.size
    chosen, binding = np.empty(k, np.bool_), np.empty(l, np.bool_)
    search = Search(program, spanning_columns, spend, prices, zeros(k), zeros(l), chosen, binding)
    if _base_suffices(program, search.g):
        fill(spend, 0.0)
        fill(prices, 0.0)
        return 0.0, 0.0, 0, 0
    resumed = warm and _start_warm(search)
    if not resumed:
        _start_cold(search)
    lower, upper, iterations, rounds = _run_rounds(search, resumed, tol)
    if program.homogeneous:
        unscaled = total(spend)  # scaled to upper, sum(spend) max g, it satisfies all constraints
        for j in range(k):
            spend[j] *= upper / unscaled
    return lower, upper, iterations, rounds


@compiled
def _run_rounds(search: Search, resumed: bool, tol: float) -> Solution:
    """Solve on working sets until the certificate is within tol or no progress is left."""
    final = FINAL * tol
    small = max(search.spend.size, search.prices.size) <= SMALL
    accuracy = final if resumed and small else LOOSE
    start_error, bounds = WARM_START_ERROR if resumed else 0.0, Bounds(0.0, np.inf)
    iterations, rounds, stalls = 0, 0, 0
    while rounds < MAX_ROUNDS and not search.program.stop[0]:
        if _all_set(search.chosen) and _all_set(search.binding):  # the whole program
            accuracy = min(accuracy, final)
        result = _solve_working_set(search, start_error, accuracy, tol)
        rounds += 1
        if result.steps < 0:
            stalls += 1
            if stalls > MAX_STALLS:
                break
            _include_spanning(search)
            _spend_equally(search.spend, search.chosen)
            start_error = 0.0
            continue
        iterations += result.steps
        bounds, gap = result.bounds, result.gap
        if result.closed:
            if gap <= tol or gap > LOOSE or accuracy <= final:
                break
            # idle columns are still needed to meet tol: solve without them, to higher accuracy
            accuracy, start_error = final, LEAST_START_ERROR
            continue
        added = _change_working_set(search, gap)
        stalls += added == 0 and accuracy <= final
        if stalls > MAX_STALLS:
            break
        finer = min(0.1 * gap, accuracy if added else 0.1 * accuracy)
        accuracy = final if small else max(final, finer)
        start_error = min(0.3, max(gap, LEAST_START_ERROR))
    return bounds.lower, bounds.upper, iterations, rounds


@compiled
def _solve_working_set(search: Search, start_error: float, accuracy: float, tol: float) -> Round:
    """Solve on the working set, and evaluate the whole program at the solution."""
    chosen, binding = indices_where(search.chosen), indices_where(search.binding)
    few = _restrict(search.program, chosen, binding)
    a, w = gather(search.spend, chosen), gather(search.prices, binding)
    steps = interior_point(few, a, w, start_error, accuracy)
    if steps < 0:
        return Round(steps, Bounds(0.0, np.inf), 1.0, False)
    bounds = _evaluate(search, few, a, w)
    gap = relative_gap(bounds)
    closed = gap <= tol
    if closed:
        bounds, gap = _drop_idle_columns(search, few, chosen, a, w, bounds, tol)
    scatter(a, chosen, search.spend)
    scatter(w, binding, search.prices)
    return Round(steps, bounds, gap, closed)


@compiled
def _drop_idle_columns(
    search: Search, few: Program, chosen: Ints, a: Floats, w: Floats, bounds: Bounds, tol: float
) -> tuple[Bounds, float]:
    """Set the spend of idle columns to 0 if the gap stays within tol; returns bounds and gap.

    A column is idle if its share of the spend is below its reduced cost, 1 - der: at the optimum
    one of the two is 0. Idle columns leave the working set in any case; the gap is without them.
    """
    trimmed = np.empty(a.size)
    cost, largest_slope, idle = total(a), 0.0, 0
    for j in range(a.size):
        largest_slope = max(largest_slope, search.der[chosen[j]])
    # where no scaling is exact, the other columns grow to keep the constraints satisfied
    stretch = 1.0 if search.program.homogeneous else 1.0 + 0.25 * tol
    for j in range(a.size):
        active = a[j] >= cost * (1.0 - search.der[chosen[j]] / largest_slope)
        search.chosen[chosen[j]] = active
        trimmed[j] = stretch * a[j] if active else 0.0
        idle += not active
    if idle == 0:
        return bounds, relative_gap(bounds)
    trimmed_bounds = _evaluate(search, few, trimmed, w)
    gap = relative_gap(trimmed_bounds)
    if gap > tol:
        return bounds, gap
    copy(trimmed, a)
    return trimmed_bounds, gap


@compiled
def _base_suffices(program: Program, g: Floats) -> bool:
    """Whether base information alone satisfies every constraint, up to FEASIBILITY."""
    if program.homogeneous:
        return g.size == 0
    root = np.empty(program.base.shape)
    if not copy_factor(program.base, root):
        return False
    return _quadratic_forms(root, root, False, program.constraints, g) <= 1.0 + FEASIBILITY


@compiled
def _start_warm(search: Search) -> bool:
    """Start from an earlier solution's support; False if it does not span or is far off."""
    program, d = search.program, search.program.base.shape[0]
    floor = 1e-6 * largest(search.prices)
    for i in range(search.prices.size):
        search.binding[i] = search.prices[i] > floor
    for j in range(search.spend.size):
        search.chosen[j] = search.spend[j] > 0.0
    chosen, binding = indices_where(search.chosen), indices_where(search.binding)
    few = _restrict(program, chosen, binding)
    a, w = gather(search.spend, chosen), gather(search.prices, binding)
    bounds = _evaluate(search, few, a, w)
    _include(search.spanning, search.binding if program.homogeneous else search.chosen)
    _add_highest(search.der, search.chosen, d, 1.0 + WARM_START_ERROR)
    _add_highest(search.g, search.binding, d, 1.0)
    return bounds.lower > 0.0 and (bounds.upper < 3.0 * bounds.lower or not program.homogeneous)


@compiled
def _start_cold(search: Search) -> None:
    """Choose the first working set: all if small, else the highest rows at equal or no spend."""
    program, spend, prices = search.program, search.spend, search.prices
    most = 2 * program.base.shape[0]
    whole = max(spend.size, prices.size) <= WHOLE
    definite = not program.homogeneous and copy_factor(program.base, np.empty(program.base.shape))
    fill(spend, 0.0 if definite else 1.0)
    fill(prices, 1.0)
    for j in range(spend.size):
        search.chosen[j] = whole
    for i in range(prices.size):
        search.binding[i] = whole
    _include_spanning(search)
    if not whole:
        _evaluate(search, program, spend, prices)
        _add_highest(search.g, search.binding, most, 0.0)
        _add_highest(search.der, search.chosen, most, 0.0)
    _spend_equally(spend, search.chosen)


@kernel
def _spend_equally(spend: Floats, chosen: Bools) -> None:
    """Set spend (k,) to 1 on the chosen columns, and to 0 elsewhere."""
    for j in range(spend.size):
        spend[j] = 1.0 if chosen[j] else 0.0


@kernel
def _all_set(flags: Bools) -> bool:
    for j in range(flags.size):
        if not flags[j]:
            return False
    return True


@compiled
def _change_working_set(search: Search, gap: float) -> int:
    """Add violating rows; drop inactive ones of many once the gap is small; returns rows added."""
    d = search.program.base.shape[0]
    chosen, binding = indices_where(search.chosen), indices_where(search.binding)
    threshold = 1.0 + 0.01 * gap
    # with base information the point cannot be rescaled: every violation counts
    violation = threshold if search.program.homogeneous else 1.0 + ROUNDING
    added = _add_highest(search.der, search.chosen, max(2 * d, chosen.size // 2), threshold)
    added += _add_highest(search.g, search.binding, max(2 * d, binding.size // 2), violation)
    if gap < 0.1 and chosen.size > 4 * d:
        _keep_active(search.der, search.chosen, chosen)
        _keep_active(search.g, search.binding, binding)
        _include_spanning(search)
    return added


@kernel
def _include_spanning(search: Search) -> None:
    """Add the spanning columns, and if homogeneous their constraints, which bound A from below."""
    _include(search.spanning, search.chosen)
    if search.program.homogeneous:
        _include(search.spanning, search.binding)


@kernel
def _include(indices: Ints, members: Bools) -> None:
    """Set the flags members (n,) at the indices."""
    for j in range(indices.size):
        members[indices[j]] = True


@compiled
def _add_highest(scores: Floats, members: Bools, most: int, threshold: float) -> int:
    """Add at most `most` rows of the highest scores (n,) above threshold; returns how many."""
    low, high = threshold, threshold
    for j in range(scores.size):
        if not members[j]:
            high = max(high, scores[j])
    cut = low
    for _ in range(30):  # bisection, until more than half of `most` pass
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
        # more than `most` pass only if scores are tied, as those of equal rows are
        if not members[j] and scores[j] > cut and added < most:
            members[j] = True
            added += 1
    return added


@kernel
def _keep_active(scores: Floats, members: Bools, candidates: Ints) -> None:
    """Keep only those candidates in the working set whose scores (n,) are above ACTIVE."""
    for j in candidates:
        members[j] = scores[j] > ACTIVE


@compiled
def _evaluate(search: Search, few: Program, a: Floats, w: Floats) -> Bounds:
    """g and der of all rows at spend a and duals w of the working set; returns the certificate."""
    program, d = search.program, few.base.shape[0]
    root = np.empty((d, d))
    if not factor_information(few.base, few.columns, a, root):
        return Bounds(0.0, np.inf)
    whitened = np.empty((d, w.size))
    whiten(root, few.constraints, whitened)
    spread = zero_matrix(d, d)
    add_gram(whitened, w, spread)
    largest_value = _quadratic_forms(root, spread, False, program.constraints, search.g)
    largest_slope = _quadratic_forms(root, spread, True, program.columns, search.der)
    weighted_value, slope_spend = 0.0, 0.0
    for i in range(w.size):
        for k in range(d):
            weighted_value += w[i] * whitened[k, i] * whitened[k, i]
    if not few.homogeneous:  # otherwise the dual bound does without, by Euler's identity
        slopes = np.empty(a.size)
        _quadratic_forms(root, spread, True, few.columns, slopes)
        for j in range(a.size):
            slope_spend += a[j] * slopes[j]
    lower = dual_bound(few.homogeneous, weighted_value, total(w), largest_slope, slope_spend)
    return Bounds(lower, primal_bound(few.homogeneous, total(a), largest_value))


@compiled
def _quadratic_forms(
    root: Floats, middle: Floats, weighted: bool, vectors: Floats, out: Floats
) -> float:
    """out (n,) = x^T R^-1 M R^-T x for the columns x of vectors (d, n); returns the largest.

    R is root (d, d) and M is middle (d, d), or the identity unless weighted.
    """
    d, n = vectors.shape
    width = min(CHUNK, n)
    chunk, whitened, product = zero_matrix(d, width), np.empty((d, width)), np.empty((d, width))
    fill(out, 0.0)
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        for k in range(d):
            for j in range(size):
                chunk[k, j] = vectors[k, start + j]
        whiten(root, chunk, whitened)
        if weighted:
            multiply_transposed(middle, whitened, product)
        for k in range(d):
            for j in range(size):
                out[start + j] += whitened[k, j] * (product[k, j] if weighted else whitened[k, j])
    return largest(out)


@compiled
def _restrict(program: Program, chosen: Ints, binding: Ints) -> Program:
    """The program on the chosen columns and the binding constraints."""
    columns = take_columns(program.columns, chosen)
    constraints = take_columns(program.constraints, binding)
    return Program(columns, constraints, program.base, program.homogeneous, program.stop)
