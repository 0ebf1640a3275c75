"""A primal-dual interior-point method for the allocation program in normal form.

    minimise  sum_j a_j   subject to   z_i^T A^-1 z_i <= 1,   a >= 0,   A = F + sum_j a_j u_j u_j^T

with columns u_j (d, n) of unit cost, constraints z_i (d, m) and base information F (d, d).

With g_i = z_i^T A^-1 z_i the constraint is used as phi_i(a) = 1 / g_i(a) >= 1. phi is concave and,
for F = 0, homogeneous of degree 1, hence closer to linear than g; on arms that share no directions
it is linear. That saves Newton steps, most of all where gaps are uneven.

Optimality: 1 - J^T lam - mu = 0,  phi - 1 - s = 0,  lam s = 0,  mu a = 0,  with
J_ij = (z_i^T A^-1 u_j)^2 / g_i^2. Slacks are variables of their own, so that iterates need not be
feasible; about ten steps suffice. Mehrotra's predictor and corrector choose the direction. The
method stops on the certificate, not on the residuals.
"""

from typing import NamedTuple

import numpy as np

from thrifty.allocation.certificate import Bounds, dual_bound, primal_bound
from thrifty.compiler.compilation import compiled, kernel
from thrifty.numerics.arrays import Bools, Floats
from thrifty.numerics.dense import (
    MUCH,
    add_gram,
    factor,
    factor_information,
    multiply_transposed,
    solve_factored,
    squared_norms,
    whiten,
)
from thrifty.numerics.vectors import add_multiple, copy, fill, largest, total, zero_matrix

MAX_ITERATIONS = 80
PATIENCE = 10  # iterations without a tighter certificate before the method stops
BOUNDARY = 0.9995  # largest step, as a share of the step to the boundary
DUAL_RESIDUAL = 0.3  # largest residual of the dual equation after a step, relative to unit costs
PIVOT_FLOOR = 1e-20


class Program(NamedTuple):
    """The normal form, of the whole program or of a working set."""

    columns: Floats  # (d, n) u, of unit cost
    constraints: Floats  # (d, m) z
    base: Floats  # (d, d) F
    homogeneous: bool  # F is zero
    stop: Bools  # (1,) whether to give up: another thread may set it during a solve


class Iterate(NamedTuple):
    """The variables of the method, or a direction in their space."""

    a: Floats  # (n,) spend on each column
    mu: Floats  # (n,) reduced cost of each column
    lam: Floats  # (m,) dual variable of each constraint phi >= 1
    s: Floats  # (m,) slack of each constraint


class Evaluation(NamedTuple):
    """The quantities of the program at an iterate."""

    root: Floats  # (d, d) upper factor R of A = R^T R
    columns: Floats  # (d, n) R^-T u
    constraints: Floats  # (d, m) R^-T z
    g: Floats  # (m,) constraint values
    squares: Floats  # (m, n) (z_i^T A^-1 u_j)^2
    der: Floats  # (n,) slopes J^T lam


@compiled
def interior_point(
    program: Program, spend: Floats, prices: Floats, start_error: float, tol: float
) -> int:
    """Improve spend (n,) and prices (m,) in place until upper <= (1 + tol) lower.

    Returns the Newton steps. The method also stops where steps no longer tighten the certificate.
    It returns -1, and spend is unusable, where no multiple of spend is feasible.

    start_error : relative error of the given point, if positive; 0 for a cold start, which ignores
        the given prices
    """
    d, n = program.columns.shape
    m = program.constraints.shape[1]
    iterate = Iterate(spend, np.empty(n), prices, np.empty(m))
    g, squares, der = np.empty(m), np.empty((m, n)), np.empty(n)
    at = Evaluation(np.empty((d, d)), np.empty((d, n)), np.empty((d, m)), g, squares, der)
    cost = total(spend)
    for j in range(n):  # raise the zeros of a warm start, in proportion to its error
        spend[j] = max(spend[j], start_error * cost / (n + m))
    margin = 1.0 + start_error if start_error > 0.0 else 2.0
    if not make_feasible(program, spend, at, margin):
        return -1
    _initialise(program.columns, iterate, at, start_error)
    iterations = _iterate(program, iterate, at, tol)
    largest_value = largest(g)
    for i in range(m):
        prices[i] = _dual_of_g(prices[i], g[i], largest_value)
    if not program.homogeneous:  # otherwise the certificate scales by max g
        make_feasible(program, spend, at, 1.0)
    return iterations


@compiled
def _iterate(program: Program, iterate: Iterate, at: Evaluation, tol: float) -> int:
    """Take Newton steps until the gap is within tol or no longer shrinks; returns how many."""
    m, n = at.squares.shape
    direction = Iterate(np.empty(n), np.empty(n), np.empty(m), np.empty(m))
    previous = Iterate(np.empty(n), np.empty(n), np.empty(m), np.empty(m))
    newton = np.empty((n, n))
    iterations, least_gap, unimproved = 0, np.inf, 0
    while True:
        bounds = _bounds(program.homogeneous, iterate, at)
        gap = bounds.upper - bounds.lower
        unimproved = 0 if gap < 0.9 * least_gap else unimproved + 1
        least_gap = min(least_gap, gap)
        if bounds.upper <= bounds.lower * (1.0 + tol):
            break
        if iterations == MAX_ITERATIONS or unimproved == PATIENCE or program.stop[0]:
            break
        _fill_newton_matrix(iterate, at, newton)
        if not factor(newton, PIVOT_FLOOR):
            break
        _find_direction(iterate, at, newton, 0.1 * tol * bounds.lower / (n + m), direction)
        if not _take_step(program, iterate, at, direction, previous):
            break
        iterations += 1
    return iterations


@compiled
def _evaluate_constraints(program: Program, a: Floats, at: Evaluation) -> bool:
    """Factor A and evaluate g at spend a; False where A is singular to working precision."""
    if not factor_information(program.base, program.columns, a, at.root):
        return False
    whiten(at.root, program.constraints, at.constraints)
    squared_norms(at.constraints, at.g)
    return True


@compiled
def _evaluate_slopes(columns: Floats, lam: Floats, at: Evaluation) -> None:
    """Complete an evaluation: squares, and der = sum_i lam_i / g_i^2 squares_i."""
    whiten(at.root, columns, at.columns)
    multiply_transposed(at.constraints, at.columns, at.squares)
    g, squares, der = at.g, at.squares, at.der
    fill(der, 0.0)
    for i in range(lam.size):
        weight = lam[i] / (g[i] * g[i])
        for j in range(der.size):
            squares[i, j] *= squares[i, j]
            der[j] += weight * squares[i, j]


@compiled
def make_feasible(program: Program, a: Floats, at: Evaluation, margin: float) -> bool:
    """Scale spend a until max g <= 1 / margin; False where no multiple of a is feasible.

    Without base information one scaling, up or down, is exact. With it, g decreases more slowly
    than a grows, and the step length doubles until a is feasible.
    """
    length = 1.0
    for _ in range(100):
        if not _evaluate_constraints(program, a, at):
            return False
        worst = 0.0
        for i in range(at.g.size):
            worst = max(worst, at.g[i] * margin)
        if 0.9 / margin < worst <= 1.0 or (length > 1.0 and worst <= 1.0):
            return True
        for j in range(a.size):
            a[j] *= 1.0 + length * (worst - 1.0) if worst > 1.0 else worst
        length *= 2.0
    return False


@compiled
def _initialise(columns: Floats, iterate: Iterate, at: Evaluation, start_error: float) -> None:
    """Choose lam, s, mu with all lam s and mu a near one value; a cold start is feasible."""
    a, mu, lam, s = iterate
    g, der, warm = at.g, at.der, start_error > 0.0
    level = (start_error if warm else 1.0) * total(a) / (a.size + s.size)
    for i in range(s.size):
        s[i] = max(1.0 / g[i] - 1.0, start_error)
        lam[i] = max(lam[i] * g[i] * g[i], level / s[i]) if warm else 1.0 / s[i]
    _evaluate_slopes(columns, lam, at)
    scale = 1.0 if warm else 0.5 / largest(der)
    for i in range(s.size):
        lam[i] *= scale
    for j in range(a.size):
        der[j] *= scale
        mu[j] = max(1.0 - der[j], level / a[j]) if warm else 1.0 - der[j]


@kernel
def _bounds(homogeneous: bool, iterate: Iterate, at: Evaluation) -> Bounds:
    """The certificate of the program, at the dual variables that _dual_of_g keeps."""
    a, lam, g, squares = iterate.a, iterate.lam, at.g, at.squares
    largest_value, weighted_value, total_weight, slope_spend, stretch = (
        largest(g),
        0.0,
        0.0,
        0.0,
        1.0,
    )
    for i in range(g.size):
        w = _dual_of_g(lam[i], g[i], largest_value)
        weighted_value += w * g[i]
        total_weight += w
        if w > 0.0 and not homogeneous:
            decrease = 0.0  # -dg_i(t a) / dt at t = 1
            for j in range(a.size):
                decrease += squares[i, j] * a[j]
            slope_spend += w * decrease
            stretch = max(stretch, 1.0 + (g[i] - 1.0) / decrease)
    # der counts all dual variables, hence is at least the slope for those kept
    lower = dual_bound(homogeneous, weighted_value, total_weight, largest(at.der), slope_spend)
    # with base information no scaling is exact: to first order, stretch * a brings every g to 1
    cost = total(a) * stretch
    return Bounds(lower, primal_bound(homogeneous, cost, largest_value if homogeneous else 1.0))


@kernel
def _dual_of_g(lam: float, g: float, largest_value: float) -> float:
    """The dual of g <= 1 for lam of 1 / g >= 1; 0 far from binding, where 1 / g^2 adds rounding."""
    return lam / (g * g) if g > 0.5 * largest_value else 0.0


@compiled
def _fill_newton_matrix(iterate: Iterate, at: Evaluation, newton: Floats) -> None:
    """Upper triangle of newton (n, n) = -sum_i lam_i phi_i'' + diag(mu / a) + J^T diag(lam / s) J.

    phi'' = -g'' / g^2 + 2 g' g'^T / g^3
    g''_jl = 2 (u_j^T A^-1 u_l) (z^T A^-1 u_j) (z^T A^-1 u_l)
    """
    a, mu, lam, s = iterate
    g = at.g
    d, n = at.columns.shape
    duals, weights = np.empty(g.size), np.empty(g.size)
    for i in range(g.size):
        duals[i] = lam[i] / (g[i] * g[i])
        weights[i] = duals[i] / g[i] * (1.0 / (s[i] * g[i]) - 2.0)
    spread = zero_matrix(d, d)  # S = sum_i w_i z_i z_i^T, whitened
    add_gram(at.constraints, duals, spread)
    products = np.empty((d, n))  # S u
    multiply_transposed(spread, at.columns, products)
    if n * n * g.size > MUCH:
        _fill_by_blas(at, products, weights, newton)
    else:
        _fill_by_rows(at, products, weights, newton)
    for j in range(n):
        newton[j, j] += mu[j] / a[j]


@compiled
def _fill_by_blas(at: Evaluation, products: Floats, weights: Floats, newton: Floats) -> None:
    """newton_jl = 2 (u_j . u_l) (p_j . u_l) + sum_i weights_i squares_ij squares_il, by BLAS."""
    columns, squares, (m, n) = at.columns, at.squares, at.squares.shape
    weighted = np.empty((m, n))
    for i in range(m):
        for j in range(n):
            weighted[i, j] = weights[i] * squares[i, j]
    multiply_transposed(weighted, squares, newton)
    gram, product_gram = np.empty((n, n)), np.empty((n, n))
    multiply_transposed(columns, columns, gram)
    multiply_transposed(products, columns, product_gram)
    for j in range(n):
        for l in range(j, n):
            newton[j, l] += 2.0 * gram[j, l] * product_gram[j, l]


@compiled
def _fill_by_rows(at: Evaluation, products: Floats, weights: Floats, newton: Floats) -> None:
    """The upper triangle of the same matrix, in plain loops."""
    columns, squares, (d, n) = at.columns, at.squares, at.columns.shape
    gram, product_gram = np.empty(n), np.empty(n)  # row j
    for j in range(n):
        for l in range(j, n):
            gram[l], product_gram[l] = 0.0, 0.0
        for k in range(d):
            x, y = columns[k, j], products[k, j]
            for l in range(j, n):
                gram[l] += x * columns[k, l]
                product_gram[l] += y * columns[k, l]
        for l in range(j, n):
            newton[j, l] = 2.0 * gram[l] * product_gram[l]
        for i in range(weights.size):
            scale = weights[i] * squares[i, j]
            for l in range(j, n):
                newton[j, l] += scale * squares[i, l]


@compiled
def _find_direction(
    iterate: Iterate, at: Evaluation, newton: Floats, least: float, direction: Iterate
) -> None:
    """Mehrotra's direction: a predictor step sets the centring, and the corrector follows.

    The predictor aims at products mu a = lam s = 0. How far it gets sets the corrector's target, at
    least `least`: smaller ones do not tighten the certificate, but worsen the Newton matrix.
    """
    a, mu, lam, s = iterate
    da, dmu, dlam, ds = direction
    n, m, products = a.size, s.size, 0.0
    change_a, change_s = np.empty(n), np.empty(m)
    for j in range(n):
        change_a[j] = -a[j] * mu[j]
        products -= change_a[j]
    for i in range(m):
        change_s[i] = -lam[i] * s[i]
        products -= change_s[i]
    _newton_step(iterate, at, newton, change_a, change_s, direction)
    predicted = _products_after(iterate, direction)
    target = max(least, (predicted / products) ** 3 * products / (n + m))
    for j in range(n):
        change_a[j] += target - da[j] * dmu[j]
    for i in range(m):
        change_s[i] += target - dlam[i] * ds[i]
    _newton_step(iterate, at, newton, change_a, change_s, direction)


@kernel
def _products_after(iterate: Iterate, direction: Iterate) -> float:
    """mu . a + lam . s after the longest step along the direction."""
    a, mu, lam, s = iterate
    da, dmu, dlam, ds = direction
    primal, dual = _steps_to_boundary(iterate, direction)
    products = 0.0
    for j in range(a.size):
        products += (a[j] + primal * da[j]) * (mu[j] + dual * dmu[j])
    for i in range(s.size):
        products += (s[i] + primal * ds[i]) * (lam[i] + dual * dlam[i])
    return products


@kernel
def _newton_step(
    iterate: Iterate,
    at: Evaluation,
    newton: Floats,
    change_a: Floats,
    change_s: Floats,
    direction: Iterate,
) -> None:
    """The Newton step for changes of the products: change_a of mu a, change_s of lam s."""
    a, mu, lam, s = iterate
    da, dmu, dlam, ds = direction
    g, squares, der = at.g, at.squares, at.der
    m, n = squares.shape
    for j in range(n):
        da[j] = der[j] + mu[j] - 1.0 + change_a[j] / a[j]
    for i in range(m):
        residual = _primal_residual(g[i], s[i])
        weight = (change_s[i] - lam[i] * residual) / (s[i] * g[i] * g[i])
        for j in range(n):
            da[j] += squares[i, j] * weight
    solve_factored(newton, da)
    for i in range(m):
        increase = 0.0
        for j in range(n):
            increase += squares[i, j] * da[j]
        ds[i] = increase / (g[i] * g[i]) + _primal_residual(g[i], s[i])
        dlam[i] = (change_s[i] - lam[i] * ds[i]) / s[i]
    for j in range(n):
        dmu[j] = (change_a[j] - mu[j] * da[j]) / a[j]


@kernel
def _primal_residual(g: float, s: float) -> float:
    """phi - 1 - s, or 0 where it is rounding: it will be divided by s, which may be as small."""
    residual = 1.0 / g - 1.0 - s
    return residual if abs(residual) > 1e-14 * (1.0 / g + s) else 0.0


@kernel
def _steps_to_boundary(iterate: Iterate, direction: Iterate) -> tuple[float, float]:
    """The largest primal and dual steps, at most 1, for which all variables stay >= 0."""
    primal = _step_within(iterate.s, direction.s, _step_within(iterate.a, direction.a, 1.0))
    dual = _step_within(iterate.lam, direction.lam, _step_within(iterate.mu, direction.mu, 1.0))
    return primal, dual


@kernel
def _step_within(x: Floats, dx: Floats, step: float) -> float:
    """The largest step, at most as given, for which x + step dx stays >= 0."""
    for i in range(x.size):
        if x[i] + step * dx[i] < 0.0:
            step = -x[i] / dx[i]
    return step


@compiled
def _take_step(
    program: Program, iterate: Iterate, at: Evaluation, direction: Iterate, previous: Iterate
) -> bool:
    """Step close to the boundary, with separate primal and dual lengths; False if too short.

    It is halved while the residual of the dual equation, 1 = J^T lam + mu, is large and has grown:
    the linear model of phi does not hold that far. previous is scratch space.
    """
    a, mu, lam, _ = iterate
    primal, dual = _steps_to_boundary(iterate, direction)
    primal, dual = min(1.0, BOUNDARY * primal), min(1.0, BOUNDARY * dual)
    allowed = max(DUAL_RESIDUAL, 1.5 * _dual_residual(at.der, mu))
    _copy(iterate, previous)
    while max(primal, dual) > 1e-6:
        _add_multiple(previous, direction, primal, dual, iterate)
        if _evaluate_constraints(program, a, at):
            _evaluate_slopes(program.columns, lam, at)
            if _dual_residual(at.der, mu) <= allowed:
                return True
        primal, dual = 0.5 * primal, 0.5 * dual
    _copy(previous, iterate)
    _evaluate_constraints(program, a, at)
    return False


@kernel
def _dual_residual(der: Floats, mu: Floats) -> float:
    """max |1 - der - mu|: the residual of the dual equation, relative to the unit costs."""
    most = 0.0
    for j in range(mu.size):
        most = max(most, abs(1.0 - der[j] - mu[j]))
    return most


@kernel
def _add_multiple(
    start: Iterate, direction: Iterate, primal: float, dual: float, out: Iterate
) -> None:
    """out = start + primal (da, ds) + dual (dmu, dlam)."""
    add_multiple(start.a, primal, direction.a, out.a)
    add_multiple(start.mu, dual, direction.mu, out.mu)
    add_multiple(start.lam, dual, direction.lam, out.lam)
    add_multiple(start.s, primal, direction.s, out.s)


@kernel
def _copy(source: Iterate, out: Iterate) -> None:
    """Copy source to out."""
    copy(source.a, out.a)
    copy(source.mu, out.mu)
    copy(source.lam, out.lam)
    copy(source.s, out.s)
