"""Thrifty: buy what remains to be known, and no more. Our own; it keeps the skeleton of Optimal Allocation Matching (Hao, Lattimore and Szepesvari 2020).

Estimate, solve the allocation program at the estimates, match it, exploit when the evidence is in. What differs from the paper, and why, is measured in
docs/thrifty.md; none of it is proved:

- differences: an arm is told from the best of its context by ||x - x^||, not by ||x||: the same in the limit, less before it;
- a level that shrinks as evidence grows, 2 log(1 + N(m) ||x - x^||^2 / 4) with N(m) the visits of the context, instead of f_n: no horizon, and the same leading
  term, 2 log t; a mistake in a rare context costs little, and deserves less proof;
- the residual: information that is there, and that greedy play brings over the next rounds, is base information of the program; its solution is what remains to
  be bought;
- traffic: a best arm costs nothing but the wait for its context, so a rare context is no free source;
- interleaving: purchases are spread over the visits of a context. Bought in one go they would leave the direction of the greedy arm unknown.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import types

from thrifty.actions import ActionSets
from thrifty.allocation.differences import allocate_differences
from thrifty.arrays import Floats, Ints
from thrifty.compilation import Pointer, kernel
from thrifty.policies.base import EXPLORED, ROUNDS, SOLVES, UNSOLVED, Choice, Ledger, Policy, choose, implements, learn, start_ledger
from thrifty.policies.moves import greedy_arm
from thrifty.regression import LOGDET, Regression, look, observe, start_regression

EXPLOIT, BOUGHT = range(2)
EVIDENCE = 0.25  # share of the visits of a context that stands in the level
FORESIGHT = 4.0  # greedy pulls that a context will bring, per visit so far
PACE = 4.0 / 3.0  # visits of a context over which one purchase is spread, per visit so far
FLOOR = 0.5  # standard errors: a gap is taken for no less
WAIT = 0.01  # cost of the wait for one round, as a share of the largest gap
CHEAPEST = 1e-3  # cost of an arm, as a share of the largest: keeps the program well scaled
GROWTH = 0.1  # of det V, or of t, between two solves
TOLERANCE = 1e-6
USABLE = 1e-2  # a certified gap up to this still gives a plan worth following


@dataclass(frozen=True, kw_only=True)
class Thrifty(Policy):
    """Buy, at estimated gaps, what greedy play will not tell in time: optimal allocation on differences, for no horizon in particular, with nothing to tune."""

    name: ClassVar[str] = "thrifty"
    labels: ClassVar[tuple[str, ...]] = ("exploit", "bought")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        regression = start_regression(sets.rows, ridge=noise**2, largest_set=sets.largest)  # as if theta were N(0, I)
        return State(start_ledger(sets, uniforms=1), regression, _start_purchase(sets), noise=noise)

    def targets(self, state: "State") -> Floats:
        """What was chosen, and what remains to be bought."""
        return state.ledger.chosen + state.purchase.pulls


class Purchase(NamedTuple):
    """The last solve, and what of it remains to be bought."""

    solve: Any  # allocate_differences, behind a pointer
    pulls: Floats  # (k,) that remain
    prices: Floats  # (k,) of the constraints, for the next solve to start from
    costs: Floats  # (k,) of a pull
    rivals: Ints  # (k,) the best row of a row's context
    scales: Floats  # (k,) how precisely the difference to the rival must be known: 1 over the standard error to reach
    best: Ints  # (M,) the best row of each context; -1 before the first solve
    base: Floats  # (d, d) information that is there, or comes by itself
    due: Floats  # (2,) log det V and t from which on to solve again; NaN before the first


class State(NamedTuple):
    """What thrifty remembers."""

    ledger: Ledger
    regression: Regression
    purchase: Purchase
    noise: float


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, regression, purchase = state.ledger, state.regression, state.purchase
    look(regression, arms)
    greedy = greedy_arm(regression, arms)
    now = ledger.clock[ROUNDS] + 1.0
    in_time = regression.numbers[LOGDET] < purchase.due[0] and now < purchase.due[1]  # false before the first solve, when due is NaN
    if greedy != purchase.best[context] or not in_time:
        _plan(state, now, context, greedy)
    owed = 0.0
    for n in range(arms.size):
        if arms[n] != greedy:
            owed += purchase.pulls[arms[n]]
    chance = owed / (owed + PACE * (ledger.visits[context] + 1.0))
    if not ledger.uniforms[0] < chance:
        return Choice(greedy, EXPLOIT)
    row = _pick(purchase.pulls, arms, greedy, owed * ledger.uniforms[0] / chance)
    purchase.pulls[row] = max(0.0, purchase.pulls[row] - 1.0)
    ledger.clock[EXPLORED] += 1
    return Choice(row, BOUGHT)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)


@kernel
def _pick(pulls: Floats, arms: Ints, greedy: int, point: float) -> int:
    """The arm at a point of the cumulated pulls of the arms other than greedy."""
    row = greedy
    for n in range(arms.size):
        if arms[n] != greedy and pulls[arms[n]] > 0.0:
            row = arms[n]
            point -= pulls[row]
            if point < 0.0:
                break
    return row


@kernel
def _plan(state: State, now: float, context: int, greedy: int) -> None:
    """Solve for what remains to be bought, as seen in round now, when greedy is the best row of context."""
    ledger, regression, purchase = state.ledger, state.regression, state.purchase
    _gather(regression, purchase.base)
    widest = 0.0
    for m in range(ledger.visits.size):
        first, stop = ledger.offsets[m], ledger.offsets[m + 1]
        best = greedy if m == context else _best_row(regression, first, stop)
        purchase.best[m] = best
        _add_pulls(regression.rows, best, FORESIGHT * ledger.visits[m], purchase.base)
        for row in range(first, stop):
            widest = max(widest, _demand(state, row, best, ledger.visits[m] + 1.0))
    for m in range(ledger.visits.size):
        for row in range(ledger.offsets[m], ledger.offsets[m + 1]):
            purchase.costs[row] = max(purchase.costs[row], CHEAPEST * widest)
        purchase.costs[purchase.best[m]] = WAIT * widest * now / (ledger.visits[m] + 1.0)
    if widest > 0.0:
        _solve(state)
    else:
        for row in range(purchase.pulls.size):
            purchase.pulls[row] = 0.0
    purchase.due[0] = regression.numbers[LOGDET] + math.log1p(GROWTH)
    purchase.due[1] = now * (1.0 + GROWTH)


@kernel
def _demand(state: State, row: int, best: int, visits: float) -> float:
    """How precisely a row must be told from the best of its context, which comes the visits-th time, and what a pull of it costs; returns that."""
    rows, inverse, theta, purchase = state.regression.rows, state.regression.inverse, state.regression.theta, state.purchase
    gap, spread = 0.0, 0.0  # <x^ - x, theta_hat> and ||x^ - x||^2 in V^-1
    for i in range(theta.size):
        difference, along = rows[best, i] - rows[row, i], 0.0
        for j in range(theta.size):
            along += inverse[i, j] * (rows[best, j] - rows[row, j])
        gap += theta[i] * difference
        spread += along * difference
    spread = max(spread, 0.0)
    seen = max(gap, FLOOR * state.noise * math.sqrt(spread))
    level = 2.0 * math.log1p(EVIDENCE * visits * spread)
    purchase.rivals[row] = best
    purchase.costs[row] = seen
    purchase.scales[row] = state.noise * math.sqrt(level) / seen if seen > 0.0 and row != best else 0.0
    return seen


@kernel
def _solve(state: State) -> None:
    """Solve the program in purchase. Where it cannot be solved nothing is bought until the next solve, and the failure is counted."""
    ledger, purchase, rows = state.ledger, state.purchase, state.regression.rows
    warm = not math.isnan(purchase.due[0])
    outcome = purchase.solve(rows, purchase.costs, purchase.rivals, purchase.scales, purchase.base, purchase.pulls, purchase.prices, warm, TOLERANCE)
    excess = outcome.upper - outcome.lower
    ledger.clock[SOLVES] += 1
    if not excess <= TOLERANCE * outcome.lower:
        ledger.clock[UNSOLVED] += 1
    if not excess <= USABLE * outcome.lower:
        for row in range(purchase.pulls.size):
            purchase.pulls[row] = 0.0
            purchase.prices[row] = 0.0


@kernel
def _gather(regression: Regression, base: Floats) -> None:
    """Write V into base (d, d), from the exact counts."""
    for i in range(base.shape[0]):
        for j in range(base.shape[0]):
            base[i, j] = regression.base[i, j]
    for row in range(regression.pulls.size):
        if regression.pulls[row] > 0:
            _add_pulls(regression.rows, row, float(regression.pulls[row]), base)


@kernel
def _add_pulls(rows: Floats, row: int, pulls: float, base: Floats) -> None:
    """Add to base (d, d) what pulls of a row tell."""
    for i in range(base.shape[0]):
        for j in range(base.shape[0]):
            base[i, j] += pulls * rows[row, i] * rows[row, j]


@kernel
def _best_row(regression: Regression, first: int, stop: int) -> int:
    """The row of the highest estimated mean from first to stop - 1."""
    best, most = first, -math.inf
    for row in range(first, stop):
        mean = 0.0
        for i in range(regression.theta.size):
            mean += regression.theta[i] * regression.rows[row, i]
        if mean > most:
            best, most = row, mean
    return best


def _start_purchase(sets: ActionSets) -> Purchase:
    k, d = sets.rows.shape
    return Purchase(
        solve=_solver(),
        pulls=np.zeros(k),
        prices=np.zeros(k),
        costs=np.zeros(k),
        rivals=np.zeros(k, dtype=np.int64),
        scales=np.zeros(k),
        best=np.full(sets.contexts, -1),
        base=np.zeros((d, d)),
        due=np.full(2, np.nan),
    )


@cache
def _solver() -> Pointer:
    """Made on first use: policies that solve nothing need not wait for the solver to compile."""
    vector, matrix, places = types.float64[::1], types.float64[:, ::1], types.int64[::1]
    return Pointer(allocate_differences, (matrix, vector, places, vector, matrix, vector, vector, types.boolean, types.float64))
