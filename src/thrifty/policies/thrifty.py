"""Thrifty: buy what remains to be known, and no more. Our own; it keeps the skeleton of Optimal
Allocation Matching (Hao, Lattimore and Szepesvari 2020).

Estimate, solve the allocation program at the estimates, match it, exploit when the evidence is in.
What differs from the paper, and why, is measured in docs/thrifty.md; none of it is proved:

- differences: an arm is told from the best of its context by ||x - x^||, not by ||x||: the same in
  the limit, less before it;
- a level that shrinks as evidence grows, 2 log(1 + N(m) ||x - x^||^2 / 10) with N(m) the visits of
  the context, instead of f_n: no horizon, and the same leading term, 2 log t; a mistake in a rare
  context costs little, and deserves less proof;
- the residual: information that is there is base information of the program; its solution is what
  remains to be bought;
- the price of waiting: a best arm costs nothing but the rounds until its context comes, and each of
  these costs what greedy play may be losing. In the limit that is nothing, as in the paper; before
  it, neither greedy play nor a rare context is a free source;
- interleaving: purchases are spread over many visits of a context, so that greedy play may make
  them needless. Bought in one go they would leave the direction of the greedy arm unknown;
- urgency: until the plan is fulfilled, and where an arm may well be the best, greedy play is mixed
  with the arm that tells most of better ones for what it loses: information-directed sampling
  (Russo and Van Roy 2014), with theta taken for Gaussian and arms compared with the greedy one in
  pairs. It spends what may be lost, of the order of log(t)^(1/2) in all: in the limit nothing,
  beside the plan;
- a prior that learns: theta is taken for N(0, I) until the data say that it is longer.
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
from thrifty.policies.base import (
    EXPLORED,
    ROUNDS,
    SOLVES,
    UNSOLVED,
    Choice,
    Ledger,
    Moves,
    Policy,
    choose,
    implements,
    learn,
    start_ledger,
)
from thrifty.policies.hopes import add_square, expected_loss, surprise, weigh_news
from thrifty.policies.moves import greedy_arm, mix
from thrifty.regression import LOGDET, Regression, look, observe, refresh, start_regression

EXPLOIT, BOUGHT = range(2)
SOLVE_DET, SOLVE_ROUND, SOLVE_CHANGED, NOISE, RIDGE, SCALE = range(6)  # entries of Purchase.numbers
SQUARES, REWARDS = range(2)  # entries of State.energy
CHEAPEST = 1e-3  # cost of an arm, as a share of the largest: keeps the program well scaled
FREE = 1e-6  # the same of a greedy arm
UNKNOWN_RIDGE = 0.1  # of V at first, if the noise is to be estimated
# power of the visits of a context over which purchases are spread: long for a young one, and in the
# limit a vanishing share of them
SPREAD = 0.75
CRUMB = 0.01  # pulls: what is less than one but more than this is bought as if it were one
# the least ridge, as a share of the longest arm squared: less could not be told from rounding
FAINTEST = 1e-13
CHANGES = 10  # solves in M rounds, at most, for want of nothing but that best arms have changed
GROWTH = 0.1  # of det V, or of t, between two solves; and of the ridge, before it is changed
# dimensions: with more of them det V may grow by more, as it does when as much is learnt of each
SIDES = 4
TOLERANCE = 1e-6
USABLE = 1e-2  # a certified gap up to this still gives a plan worth following


@dataclass(frozen=True, kw_only=True)
class Thrifty(Policy):
    """Buy, at estimated gaps, what greedy play will not tell in time: optimal allocation on
    differences, for no horizon in particular.

    There is nothing to tune: the numbers are the same for all problems, and are parameters only so
    that they can be studied.

    Parameters
    ----------
    noise : `known`, or `estimate` to learn the standard deviation of the rewards from them
    level : `shrinking`, or `log` for 2 log t
    evidence : the share of the visits of a context that stands in the shrinking level
    floor : a gap is taken for no less than so many of its standard errors
    wait : the price of a round of waiting, as a share of what greedy play may be losing in it
    pace : over how many visits of a context its purchases are spread, relative to N(m)^(3/4) of the
        visits so far
    urgency : what greedy play loses in a visit, for the information ratio, relative to what is to
        be expected of the most promising arm alone
    prior : how many dimensions the prior N(0, I) is worth, against data that tell of a longer theta
    """

    noise: str = "known"
    level: str = "shrinking"
    evidence: float = 0.1
    floor: float = 0.5
    wait: float = 0.3
    pace: float = 15.0
    urgency: float = 1.5
    prior: float = 2.0

    name: ClassVar[str] = "thrifty"
    labels: ClassVar[tuple[str, ...]] = ("exploit", "bought")

    def __post_init__(self) -> None:
        self._one_of("noise", "known", "estimate")
        self._one_of("level", "shrinking", "log")
        self._above(0, "evidence", "floor", "pace", "prior")
        self._at_least(0, "wait", "urgency")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        known, least = self.noise == "known", FAINTEST * float((sets.rows**2).sum(axis=1).max())
        # as if theta were N(0, I), or N(0, noise^2 / UNKNOWN_RIDGE I)
        ridge = max(noise**2 if known else UNKNOWN_RIDGE, least)
        return State(
            start_ledger(sets, uniforms=1),
            start_regression(sets.rows, ridge=ridge, largest_set=sets.largest),
            _start_purchase(sets, noise, ridge, scale=1.0 if known else 0.0),
            energy=np.zeros(2),
            noise=noise,
            least_ridge=least,
            known=known,
            shrinking=self.level == "shrinking",
            evidence=float(self.evidence),
            floor=float(self.floor),
            wait=float(self.wait),
            pace=float(self.pace),
            urgency=float(self.urgency),
            prior=float(self.prior),
        )

    def estimates(self, state: "State", rows: Floats) -> tuple[Floats, Floats]:
        means, errors = super().estimates(state, rows)
        return means, errors * state.purchase.numbers[NOISE] / state.noise

    def targets(self, state: "State") -> Floats:
        """What was played of a row's vector, and what remains to be bought."""
        return state.ledger.played[state.ledger.vector_ids] + state.purchase.pulls

    def carry(self, old: "State", new: "State", moves: Moves) -> None:
        super().carry(old, new, moves)
        new.energy[:] = old.energy
        # the ridge is part of the base of the regression
        new.purchase.numbers[RIDGE:] = old.purchase.numbers[RIDGE:]

    def learn_gone(self, state: "State", features: Floats, reward: float) -> None:
        super().learn_gone(state, features, reward)
        _count(state, reward)


class Purchase(NamedTuple):
    """The last solve, and what of it remains to be bought."""

    solve: Any  # allocate_differences, behind a pointer
    pulls: Floats  # (k,) that remain
    prices: Floats  # (k,) of the constraints, for the next solve to start from
    costs: Floats  # (k,) of a pull: the gap, or what it may well be, and the wait for the context
    rivals: Ints  # (k,) the best row of a row's context
    # (k,) how precisely the difference to the rival must be known: 1 over the standard error to
    # reach
    scales: Floats
    best: Ints  # (M,) the best row of each context; -1 before the first solve
    losses: Floats  # (k,) what may be lost in a visit by not playing a row
    base: Floats  # (d, d) information that is there
    telling: Floats  # (d, d) what is to be learned, by direction
    along: Floats  # (d,) work space
    news: Floats  # (k,) what a pull tells of better arms
    # (6,) log det V, t, and t if a best arm has changed, from which on to solve again; noise;
    # ridge; the prior's |theta|^2 / d at first
    numbers: Floats


class State(NamedTuple):
    """What thrifty remembers."""

    ledger: Ledger
    regression: Regression
    purchase: Purchase
    energy: Floats  # (2,) the sum of squared rewards, and how many
    noise: float  # that is said to be there
    least_ridge: float
    known: bool  # whether noise is to be believed
    shrinking: bool
    evidence: float
    floor: float
    wait: float
    pace: float
    urgency: float
    prior: float


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, purchase = state.ledger, state.purchase
    greedy, best = _look_around(state, context, arms)
    now = ledger.clock[ROUNDS] + 1.0
    # false before the first solve: NaN
    in_time = (
        state.regression.numbers[LOGDET] < purchase.numbers[SOLVE_DET]
        and now < purchase.numbers[SOLVE_ROUND]
    )
    if not in_time or (best != purchase.best[context] and now >= purchase.numbers[SOLVE_CHANGED]):
        _settle_noise(state)
        if _settle_prior(state):
            greedy, best = _look_around(state, context, arms)
        _plan(state, now, context, best)
    row, chance = _most_telling(state, arms, greedy)
    if not ledger.uniforms[0] < chance:
        row = _owed(state, context, arms, greedy, (ledger.uniforms[0] - chance) / (1.0 - chance))
    if row == greedy:
        return Choice(greedy, EXPLOIT)
    purchase.pulls[row] = max(0.0, purchase.pulls[row] - 1.0)
    ledger.clock[EXPLORED] += 1
    return Choice(row, BOUGHT)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)
    _count(state, reward)


@kernel
def _count(state: State, reward: float) -> None:
    state.energy[SQUARES] += reward * reward
    state.energy[REWARDS] += 1.0


@kernel
def _look_around(state: State, context: int, arms: Ints) -> tuple[int, int]:
    """The greedy row of the arms on offer, and that of the context, which may not be on offer."""
    regression, first, stop = (
        state.regression,
        state.ledger.offsets[context],
        state.ledger.offsets[context + 1],
    )
    look(regression, arms)
    greedy = greedy_arm(regression, arms)
    return greedy, greedy if arms.size == stop - first else _best_row(regression, first, stop)


@kernel
def _most_telling(state: State, arms: Ints, greedy: int) -> tuple[int, float]:
    """The arm to mix with greedy play, and its chance: those of the least information ratio, what
    is lost squared over what is learned of better arms.
    """
    losses, means, lost = state.purchase.losses, state.regression.means, 0.0
    for n in range(arms.size):
        if arms[n] != greedy:
            lost = max(lost, losses[arms[n]])
    lost, row, chance, least = state.urgency * lost, greedy, 0.0, math.inf
    if lost > 0.0:
        told = _news(state, greedy)
        for n in range(arms.size):
            news, gap = _news(state, arms[n]), means[greedy] - means[arms[n]]
            # otherwise greedy play alone is better
            if news > told and lost * (news - told) > 2.0 * told * gap:
                mixture = mix(lost, told, lost + gap, news)
                if mixture.ratio < least:
                    row, chance, least = arms[n], mixture.chance, mixture.ratio
    return row, chance


@kernel
def _news(state: State, row: int) -> float:
    """What a pull tells of better arms; less, if rewards of the same arm are still to come."""
    regression, news = state.regression, state.purchase.news[row]
    waiting = state.ledger.chosen[row] - regression.pulls[row]
    return news / (1.0 + waiting * regression.norms[row]) ** 2 if waiting > 0 else news


@kernel
def _owed(state: State, context: int, arms: Ints, greedy: int, uniform: float) -> int:
    """The arm to play so that what is owed is bought over pace visits: greedy, most of the time."""
    total = 0.0
    for n in range(arms.size):
        total += _whole(state, arms[n], greedy)
    if total > 0.0:
        pace = state.pace * (state.ledger.visits[context] + 1.0) ** SPREAD
        point = uniform * (pace + total) - pace
        if point >= 0.0:
            for n in range(arms.size):
                point -= _whole(state, arms[n], greedy)
                if point < 0.0:
                    return arms[n]
    return greedy


@kernel
def _whole(state: State, row: int, greedy: int) -> float:
    """Pulls that are owed of a row."""
    pulls = state.purchase.pulls[row]
    return 0.0 if row == greedy or pulls <= 0.0 else max(pulls, min(1.0, pulls / CRUMB))


@kernel
def _plan(state: State, now: float, context: int, best: int) -> None:
    """Solve for what remains to be bought, as seen in round now, when best is the best row of
    context.
    """
    ledger, regression, purchase = state.ledger, state.regression, state.purchase
    _gather(regression, purchase.base)
    purchase.telling[:] = 0.0
    widest, lost = 0.0, 0.0  # lost: what greedy play may be losing in a round
    for m in range(ledger.visits.size):
        purchase.best[m] = (
            best
            if m == context
            else _best_row(regression, ledger.offsets[m], ledger.offsets[m + 1])
        )
        most = 0.0
        for row in range(ledger.offsets[m], ledger.offsets[m + 1]):
            widest = max(
                widest, _appraise(state, row, purchase.best[m], ledger.visits[m] + 1.0, now)
            )
            most = max(most, purchase.losses[row])
        lost += most * (ledger.visits[m] + 1.0) / now
    weigh_news(regression.rows, purchase.telling, purchase.news)
    if widest > 0.0:
        _price(state, widest, state.wait * lost * now / math.sqrt(ledger.visits.size))
        _solve(state)
    else:
        for row in range(purchase.pulls.size):
            purchase.pulls[row] = 0.0
    purchase.numbers[SOLVE_DET] = regression.numbers[LOGDET] + math.log1p(GROWTH) * max(
        1.0, regression.theta.size / SIDES
    )
    purchase.numbers[SOLVE_ROUND] = now * (1.0 + GROWTH)
    purchase.numbers[SOLVE_CHANGED] = now + ledger.visits.size / CHANGES


@kernel
def _appraise(state: State, row: int, best: int, visits: float, now: float) -> float:
    """How precisely a row must be told from the best of its context, which comes the visits-th
    time, and what not playing it may lose; returns its gap.
    """
    rows, inverse, theta, purchase = (
        state.regression.rows,
        state.regression.inverse,
        state.regression.theta,
        state.purchase,
    )
    # <x^ - x, theta_hat>, ||x^ - x||^2 in V^-1, and V^-1 (x^ - x)
    gap, spread, along = 0.0, 0.0, purchase.along
    for i in range(theta.size):
        difference, along[i] = rows[best, i] - rows[row, i], 0.0
        for j in range(theta.size):
            along[i] += inverse[i, j] * (rows[best, j] - rows[row, j])
        gap += theta[i] * difference
        spread += along[i] * difference
    gap, spread = max(gap, 0.0), max(spread, 0.0)
    error = purchase.numbers[NOISE] * math.sqrt(spread)
    seen = max(gap, state.floor * error)
    level = 2.0 * (
        math.log1p(state.evidence * visits * spread) if state.shrinking else math.log1p(now)
    )
    purchase.rivals[row] = best
    purchase.costs[row] = seen
    purchase.scales[row] = (
        purchase.numbers[NOISE] * math.sqrt(level) / seen if seen > 0.0 and row != best else 0.0
    )
    purchase.losses[row] = expected_loss(gap, error)
    if error > 0.0:
        add_square(purchase.telling, visits * surprise(gap / error) / spread, along)
    return seen


@kernel
def _price(state: State, widest: float, wait: float) -> None:
    """Add to the cost of every pull the wait for its context, which comes in N(m) of all rounds;
    wait is that for a context that has come once.
    """
    ledger, purchase = state.ledger, state.purchase
    for m in range(ledger.visits.size):
        own = wait / (ledger.visits[m] + 1.0)
        for row in range(ledger.offsets[m], ledger.offsets[m + 1]):
            purchase.costs[row] = max(purchase.costs[row] + own, CHEAPEST * widest)
        purchase.costs[purchase.best[m]] = max(own, FREE * widest)


@kernel
def _solve(state: State) -> None:
    """Solve the program in purchase. Where it cannot be solved nothing is bought until the next
    solve, and the failure is counted.
    """
    ledger, purchase, rows = state.ledger, state.purchase, state.regression.rows
    warm = not math.isnan(purchase.numbers[SOLVE_DET])
    outcome = purchase.solve(
        rows,
        purchase.costs,
        purchase.rivals,
        purchase.scales,
        purchase.base,
        purchase.pulls,
        purchase.prices,
        warm,
        TOLERANCE,
    )
    excess = outcome.upper - outcome.lower
    ledger.clock[SOLVES] += 1
    if not excess <= TOLERANCE * outcome.lower:
        ledger.clock[UNSOLVED] += 1
    if not excess <= USABLE * outcome.lower:
        for row in range(purchase.pulls.size):
            purchase.pulls[row] = 0.0
            purchase.prices[row] = 0.0
    # pulls whose rewards are still to come need not be bought again
    for row in range(purchase.pulls.size):
        purchase.pulls[row] = max(
            0.0, purchase.pulls[row] - max(0, ledger.chosen[row] - state.regression.pulls[row])
        )


@kernel
def _settle_noise(state: State) -> None:
    """If the noise is unknown, its estimate: with theta ~ N(0, noise^2 / ridge I) in mind, noise^2
    = (sum of squared rewards - <theta, b>) / their number.
    """
    if state.known:
        return
    regression, numbers = state.regression, state.purchase.numbers
    left = state.energy[SQUARES]
    for i in range(regression.theta.size):
        left -= regression.base_sums[i] * regression.theta[i]
        for row in range(regression.pulls.size):
            left -= regression.sums[row] * regression.rows[row, i] * regression.theta[i]
    # as long as all rewards are 0, any number gives the same decisions
    numbers[NOISE] = math.sqrt(left / state.energy[REWARDS]) if left > 0.0 else 1.0


@kernel
def _settle_prior(state: State) -> bool:
    """Let the prior N(0, scale I) of theta, with scale = noise^2 / ridge, follow what the data say
    of the length of theta; whether it has moved.

    The data tell of d - ridge tr V^-1 dimensions, and there |theta_hat|^2 is to be expected to be
    scale times as many: the fixed point is that of MacKay's evidence procedure, in which the first
    guess counts like so many dimensions more. A theta that looks shorter is no reason to look less:
    it may not have been looked at where it is long.
    """
    regression, numbers = state.regression, state.purchase.numbers
    length, told = 0.0, float(regression.theta.size)
    for i in range(regression.theta.size):
        length += regression.theta[i] ** 2
        told -= numbers[RIDGE] * regression.inverse[i, i]
    if state.energy[SQUARES] <= 0.0:
        return False
    # an estimate of the noise that shrinks is no reason to expect less of directions that have not
    # been tried
    if not state.known:
        numbers[SCALE] = max(numbers[SCALE], numbers[NOISE] ** 2 / UNKNOWN_RIDGE)
    scale = max(
        numbers[SCALE], (state.prior * numbers[SCALE] + length) / (state.prior + max(told, 0.0))
    )
    ridge = max(numbers[NOISE] ** 2 / scale, state.least_ridge)
    if abs(ridge - numbers[RIDGE]) < GROWTH * numbers[RIDGE]:
        return False
    for i in range(regression.theta.size):
        regression.base[i, i] += ridge - numbers[RIDGE]
    numbers[RIDGE] = ridge
    refresh(regression)
    return True


@kernel
def _gather(regression: Regression, base: Floats) -> None:
    """Write V into base (d, d), from the exact counts."""
    for i in range(base.shape[0]):
        for j in range(base.shape[0]):
            base[i, j] = regression.base[i, j]
    for row in range(regression.pulls.size):
        if regression.pulls[row] > 0:
            add_square(base, float(regression.pulls[row]), regression.rows[row])


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


def _start_purchase(sets: ActionSets, noise: float, ridge: float, *, scale: float) -> Purchase:
    k, d = sets.rows.shape
    return Purchase(
        solve=_solver(),
        pulls=np.zeros(k),
        prices=np.zeros(k),
        costs=np.zeros(k),
        rivals=np.zeros(k, dtype=np.int64),
        scales=np.zeros(k),
        best=np.full(sets.contexts, -1),
        losses=np.zeros(k),
        base=np.zeros((d, d)),
        telling=np.zeros((d, d)),
        along=np.zeros(d),
        news=np.zeros(k),
        numbers=np.array([np.nan, np.nan, np.nan, noise, ridge, scale]),
    )


@cache
def _solver() -> Pointer:
    """Made on first use: policies that solve nothing need not wait for the solver to compile."""
    vector, matrix, places = types.float64[::1], types.float64[:, ::1], types.int64[::1]
    return Pointer(
        allocate_differences,
        (matrix, vector, places, vector, matrix, vector, vector, types.boolean, types.float64),
    )
