"""A primal-dual interior-point method for the allocation program in normal form.

    minimise  sum_j a_j   subject to   z_i^T A^-1 z_i <= 1,   a >= 0,   A = F + sum_j a_j u_j u_j^T

with columns u_j (d, n) of unit cost, constraints z_i (d, m) and base information F (d, d). With g_i
= z_i^T A^-1 z_i the constraint is used as phi_i(a) = 1 / g_i(a) >= 1: phi is concave and, for F =
0, homogeneous of degree 1, hence closer to linear than g: on arms that do not share directions the
program becomes a linear one. That saves steps, most of all where gaps are uneven.

Optimality: 1 - J^T lam - mu = 0,  phi - 1 - s = 0,  lam s = 0,  mu a = 0,  with J_ij = (z_i^T A^-1
u_j)^2 / g_i^2. Slacks are variables of their own: a step need not stay feasible, and about ten
steps do. Mehrotra's predictor and corrector steer the products; the certificate, not the residuals,
says when to stop.
"""

from typing import NamedTuple

import numpy as np

from thrifty.allocation.certificate import lower_bound, upper_bound
from thrifty.numerics.arrays import Floats
from thrifty.numerics.compilation import compiled
from thrifty.numerics.dense import (
    MUCH,
    add_gram,
    copy_matrix,
    factor,
    multiply_transposed,
    solve_factored,
    squared_norms,
    whiten,
)

MAX_ITERATIONS = 80
PATIENCE = 10  # iterations without a tighter certificate before giving up
BOUNDARY = 0.9995  # share of the way to the boundary that a step may go
STRAIN = 0.3  # share of the unit costs by which a step may break the dual equation
PIVOT_FLOOR = 1e-20


class Program(NamedTuple):
    """The normal form; of the whole program or of a working set."""

    columns: Floats  # (d, n) u, of unit cost
    constraints: Floats  # (d, m) z
    base: Floats  # (d, d) F
    homogeneous: bool  # F is zero


class Point(NamedTuple):
    """Where the method stands, or the direction in which it moves."""

    a: Floats  # (n,) spend on each column
    mu: Floats  # (n,) its reduced cost
    lam: Floats  # (m,) price of each constraint
    s: Floats  # (m,) its slack


class Geometry(NamedTuple):
    """What the program looks like from the current point."""

    root: Floats  # (d, d) upper factor of A
    columns: Floats  # (d, n) whitened u
    constraints: Floats  # (d, m) whitened z
    g: Floats  # (m,)
    squares: Floats  # (m, n) (z_i^T A^-1 u_j)^2
    der: Floats  # (n,) slopes: J^T lam


@compiled
def interior_point(
    program: Program, spend: Floats, prices: Floats, warmth: float, tol: float
) -> int:
    """Improve spend (n,) and prices (m,) in place until upper <= (1 + tol) lower, or no step helps;
    returns the steps taken.

    warmth > 0: start from the given point, trusted to about that relative accuracy; 0: ignore its
    prices and start from the middle. Returns -1, and spend is of no use, where no scale of it meets
    the constraints.
    """
    d, n = program.columns.shape
    m = program.constraints.shape[1]
    here = Geometry(
        np.empty((d, d)),
        np.empty((d, n)),
        np.empty((d, m)),
        np.empty(m),
        np.empty((m, n)),
        np.empty(n),
    )
    point = Point(spend, np.empty(n), prices, np.empty(m))
    move = Point(np.empty(n), np.empty(n), np.empty(m), np.empty(m))
    before = Point(np.empty(n), np.empty(n), np.empty(m), np.empty(m))
    newton = np.empty((n, n))
    lower, upper, iteration = 0.0, np.inf, 0
    best, idle = np.inf, 0
    _lift(spend, m, warmth)
    if not make_feasible(program, spend, here, 1.0 + warmth if warmth > 0.0 else 2.0):
        return -1
    _start(program.columns, point, here, warmth)
    working = True
    while working:
        lower, upper = _bracket(program.homogeneous, point, here)
        idle = 0 if upper - lower < 0.9 * best else idle + 1
        best = min(best, upper - lower)
        if upper <= lower * (1.0 + tol) or iteration == MAX_ITERATIONS or idle == PATIENCE:
            break
        _assemble(point, here, newton)
        if not factor(newton, PIVOT_FLOOR):
            break
        _direction(point, here, newton, 0.1 * tol * lower / (n + m), move)
        working = _advance(program, point, here, move, before)
        iteration += working
    g, largest = here.g, 0.0
    for i in range(m):
        largest = max(largest, g[i])
    for i in range(m):
        prices[i] = _certifying(prices[i], g[i], largest)
    if not program.homogeneous:  # otherwise the certificate scales by max g itself
        make_feasible(program, spend, here, 1.0)
    return iteration


@compiled
def look(program: Program, a: Floats, here: Geometry) -> bool:
    """Factor A and evaluate g at spend a; False where A is singular to working precision."""
    copy_matrix(program.base, here.root)
    add_gram(program.columns, a, here.root)
    if not factor(here.root, 0.0):
        return False
    whiten(here.root, program.constraints, here.constraints)
    squared_norms(here.constraints, here.g)
    return True


@compiled
def make_feasible(program: Program, a: Floats, here: Geometry, margin: float) -> bool:
    """Scale a up until max g <= 1 / margin, or down to it where only a carries information; False
    where no scale will do.

    One scaling does it without base information. With it, g falls more slowly than a grows, and the
    reach doubles until it is far enough.
    """
    g, reach = here.g, 1.0
    for _ in range(100):
        if not look(program, a, here):
            return False
        worst = 0.0
        for i in range(g.size):
            worst = max(worst, g[i] * margin)
        if 0.9 / margin < worst <= 1.0 or (reach > 1.0 and worst <= 1.0):
            return True
        for j in range(a.size):
            a[j] *= 1.0 + reach * (worst - 1.0) if worst > 1.0 else worst
        reach *= 2.0
    return False


@compiled
def _lift(a: Floats, constraints: int, warmth: float) -> None:
    """Lift a warm spend off its zeros: what was not worth buying may be now."""
    total = 0.0
    for j in range(a.size):
        total += a[j]
    for j in range(a.size):
        a[j] = max(a[j], warmth * total / (a.size + constraints))


@compiled
def _start(columns: Floats, point: Point, here: Geometry, warmth: float) -> None:
    """A first point with every product lam s and mu a near one value; feasible on both sides when
    cold.
    """
    a, mu, lam, s = point
    g, der = here.g, here.der
    total, steepest = 0.0, 0.0
    for j in range(a.size):
        total += a[j]
    level = (warmth if warmth > 0.0 else 1.0) * total / (a.size + s.size)
    for i in range(s.size):
        s[i] = max(1.0 / g[i] - 1.0, warmth)
        lam[i] = max(lam[i] * g[i] * g[i], level / s[i]) if warmth > 0.0 else 1.0 / s[i]
    _slopes(columns, lam, here)
    for j in range(a.size):
        steepest = max(steepest, der[j])
    scale = 0.5 / steepest if warmth == 0.0 else 1.0
    for i in range(s.size):
        lam[i] *= scale
    for j in range(a.size):
        der[j] *= scale
        mu[j] = max(1.0 - der[j], level / a[j]) if warmth > 0.0 else 1.0 - der[j]


@compiled
def _slopes(columns: Floats, lam: Floats, here: Geometry) -> None:
    """Complete the geometry: squares and der = sum_i lam_i / g_i^2 squares_i."""
    whiten(here.root, columns, here.columns)
    multiply_transposed(here.constraints, here.columns, here.squares)
    g, squares, der = here.g, here.squares, here.der
    for j in range(der.size):
        der[j] = 0.0
    for i in range(lam.size):
        weight = lam[i] / (g[i] * g[i])
        for j in range(der.size):
            squares[i, j] *= squares[i, j]
            der[j] += weight * squares[i, j]


@compiled
def _bracket(homogeneous: bool, point: Point, here: Geometry) -> tuple[float, float]:
    """The certificate on the working set, at the prices that _certifying keeps."""
    a, lam = point.a, point.lam
    g, squares, der = here.g, here.squares, here.der
    spend, steepest, largest = 0.0, 0.0, 0.0
    for j in range(a.size):
        spend += a[j]
        steepest = max(steepest, der[j])  # over all prices, hence at least the slope of those kept
    for i in range(g.size):
        largest = max(largest, g[i])
    priced, total, earned, stretch = 0.0, 0.0, 0.0, 1.0
    for i in range(g.size):
        w = _certifying(lam[i], g[i], largest)
        priced += w * g[i]
        total += w
        if w > 0.0 and not homogeneous:
            fall = 0.0  # of g as the whole of a grows
            for j in range(a.size):
                fall += squares[i, j] * a[j]
            earned += w * fall
            stretch = max(stretch, 1.0 + (g[i] - 1.0) / fall)
    # with base information no scaling is exact: stretch is, to first order, the factor on a that
    # brings every g to 1
    return lower_bound(homogeneous, priced, total, steepest, earned), upper_bound(
        homogeneous, spend * stretch, largest if homogeneous else 1.0
    )


@compiled
def _certifying(lam: float, g: float, largest: float) -> float:
    """The price of g for the price lam of phi = 1 / g; zero for constraints far from binding, where
    1 / g^2 would blow rounding up.
    """
    return lam / (g * g) if g > 0.5 * largest else 0.0


@compiled
def _assemble(point: Point, here: Geometry, newton: Floats) -> None:
    """Upper triangle of newton (n, n) = -sum_i lam_i phi_i'' + diag(mu / a) + J^T diag(lam / s) J.

    phi'' = -g'' / g^2 + 2 g' g'^T / g^3 and g''_jl = 2 (u_j^T A^-1 u_l)(z^T A^-1 u_j)(z^T A^-1
    u_l).
    """
    a, mu, lam, s = point
    g = here.g
    d, n = here.columns.shape
    prices = np.empty(g.size)
    weights = np.empty(g.size)
    for i in range(g.size):
        prices[i] = lam[i] / (g[i] * g[i])
        weights[i] = prices[i] / g[i] * (1.0 / (s[i] * g[i]) - 2.0)
    spread = np.zeros((d, d))  # sum_i w_i z_i z_i^T, whitened
    add_gram(here.constraints, prices, spread)
    turned = np.empty((d, n))
    multiply_transposed(spread, here.columns, turned)
    if n * n * g.size > MUCH:
        _fill_by_blas(here.columns, turned, here.squares, weights, newton)
    else:
        _fill_by_rows(here.columns, turned, here.squares, weights, newton)
    for j in range(n):
        newton[j, j] += mu[j] / a[j]


@compiled
def _fill_by_blas(
    columns: Floats, turned: Floats, squares: Floats, weights: Floats, newton: Floats
) -> None:
    """newton_jl = 2 (u_j . u_l)(t_j . u_l) + sum_i weights_i squares_ij squares_il, in matrix
    products.
    """
    m, n = squares.shape
    weighted = np.empty((m, n))
    for i in range(m):
        for j in range(n):
            weighted[i, j] = weights[i] * squares[i, j]
    multiply_transposed(weighted, squares, newton)
    plain = np.empty((n, n))
    twisted = np.empty((n, n))
    multiply_transposed(columns, columns, plain)
    multiply_transposed(turned, columns, twisted)
    for j in range(n):
        for l in range(j, n):
            newton[j, l] += 2.0 * plain[j, l] * twisted[j, l]


@compiled
def _fill_by_rows(
    columns: Floats, turned: Floats, squares: Floats, weights: Floats, newton: Floats
) -> None:
    """The same, upper triangle only, in plain loops."""
    d, n = columns.shape
    plain = np.empty(n)
    twisted = np.empty(n)
    for j in range(n):
        for l in range(j, n):
            plain[l] = 0.0
            twisted[l] = 0.0
        for k in range(d):
            x, y = columns[k, j], turned[k, j]
            for l in range(j, n):
                plain[l] += x * columns[k, l]
                twisted[l] += y * columns[k, l]
        for l in range(j, n):
            newton[j, l] = 2.0 * plain[l] * twisted[l]
        for i in range(weights.size):
            scale = weights[i] * squares[i, j]
            for l in range(j, n):
                newton[j, l] += scale * squares[i, l]


@compiled
def _direction(point: Point, here: Geometry, newton: Floats, least: float, move: Point) -> None:
    """Mehrotra: a predictor towards products 0 tells how far to centre, and its second-order error
    is corrected.

    Products below least would not tighten the certificate any more, and would drown the Newton
    matrix in rounding.
    """
    a, mu, lam, s = point
    da, dmu, dlam, ds = move
    n, m = a.size, s.size
    change_a = np.empty(n)
    change_s = np.empty(m)
    products, predicted = 0.0, 0.0
    for j in range(n):
        change_a[j] = -a[j] * mu[j]
        products -= change_a[j]
    for i in range(m):
        change_s[i] = -lam[i] * s[i]
        products -= change_s[i]
    _solve(point, here, newton, change_a, change_s, move)
    primal, dual = _room(a, s, da, ds), _room(mu, lam, dmu, dlam)
    for j in range(n):
        predicted += (a[j] + primal * da[j]) * (mu[j] + dual * dmu[j])
    for i in range(m):
        predicted += (s[i] + primal * ds[i]) * (lam[i] + dual * dlam[i])
    target = max(least, (predicted / products) ** 3 * products / (n + m))
    for j in range(n):
        change_a[j] += target - da[j] * dmu[j]
    for i in range(m):
        change_s[i] += target - dlam[i] * ds[i]
    _solve(point, here, newton, change_a, change_s, move)


@compiled
def _solve(
    point: Point, here: Geometry, newton: Floats, change_a: Floats, change_s: Floats, move: Point
) -> None:
    """The Newton step for which the products a mu and lam s change by change_a and change_s to
    first order.
    """
    a, mu, lam, s = point
    da, dmu, dlam, ds = move
    g, squares, der = here.g, here.squares, here.der
    m, n = squares.shape
    for j in range(n):
        da[j] = der[j] + mu[j] - 1.0 + change_a[j] / a[j]
    for i in range(m):
        weight = (change_s[i] - lam[i] * _miss(g[i], s[i])) / (s[i] * g[i] * g[i])
        for j in range(n):
            da[j] += squares[i, j] * weight
    solve_factored(newton, da)
    for i in range(m):
        gain = 0.0
        for j in range(n):
            gain += squares[i, j] * da[j]
        ds[i] = gain / (g[i] * g[i]) + _miss(g[i], s[i])
        dlam[i] = (change_s[i] - lam[i] * ds[i]) / s[i]
    for j in range(n):
        dmu[j] = (change_a[j] - mu[j] * da[j]) / a[j]


@compiled
def _miss(g: float, s: float) -> float:
    """phi - 1 - s, or 0 where it is rounding: prices are divided by s, which may be as small."""
    miss = 1.0 / g - 1.0 - s
    return miss if abs(miss) > 1e-14 * (1.0 / g + s) else 0.0


@compiled
def _room(x: Floats, y: Floats, dx: Floats, dy: Floats) -> float:
    """The largest step, at most 1, for which x + step dx and y + step dy stay >= 0."""
    step = 1.0
    for i in range(x.size):
        if x[i] + step * dx[i] < 0.0:
            step = -x[i] / dx[i]
    for i in range(y.size):
        if y[i] + step * dy[i] < 0.0:
            step = -y[i] / dy[i]
    return step


@compiled
def _advance(program: Program, point: Point, here: Geometry, move: Point, before: Point) -> bool:
    """Step most of the way to the boundary, spend and prices each at their own length; False where
    no progress is left.

    The step is halved while it strains the dual equation, 1 = J^T lam + mu, by more than a share of
    the unit costs and more than before: it then has gone further than the linear model of phi
    holds.
    """
    a, mu, lam, s = point
    da, dmu, dlam, ds = move
    last_a, last_mu, last_lam, last_s = before
    primal = min(1.0, BOUNDARY * _room(a, s, da, ds))
    dual = min(1.0, BOUNDARY * _room(mu, lam, dmu, dlam))
    allowed = max(STRAIN, 1.5 * _strain(here.der, mu))
    _copy(point, before)
    while max(primal, dual) > 1e-6:
        for j in range(a.size):
            a[j] = last_a[j] + primal * da[j]
            mu[j] = last_mu[j] + dual * dmu[j]
        for i in range(s.size):
            s[i] = last_s[i] + primal * ds[i]
            lam[i] = last_lam[i] + dual * dlam[i]
        if look(program, a, here):
            _slopes(program.columns, lam, here)
            if _strain(here.der, mu) <= allowed:
                return True
        primal *= 0.5
        dual *= 0.5
    _copy(before, point)
    look(program, a, here)
    return False


@compiled
def _strain(der: Floats, mu: Floats) -> float:
    """max |1 - der - mu|: how far the dual equation is from holding, as a share of the unit
    costs.
    """
    largest = 0.0
    for j in range(mu.size):
        largest = max(largest, abs(1.0 - der[j] - mu[j]))
    return largest


@compiled
def _copy(source: Point, target: Point) -> None:
    a, mu, lam, s = source
    to_a, to_mu, to_lam, to_s = target
    for j in range(a.size):
        to_a[j] = a[j]
        to_mu[j] = mu[j]
    for i in range(s.size):
        to_lam[i] = lam[i]
        to_s[i] = s[i]
