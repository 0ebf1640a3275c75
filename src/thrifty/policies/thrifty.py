"""Thrifty, our own policy: allocation on differences, traffic-aware, without a horizon.

It keeps the skeleton of Optimal Allocation Matching (Hao, Lattimore and Szepesvari 2020): estimate,
solve the allocation program at the estimates, play what the plan asks for, else exploit. What
differs, and why, is measured in docs/thrifty.md; none of it is proved:

1. differences: an arm x is told from the greedy arm x^ of its context by ||x - x^||, not by ||x||:
   the same in the limit, tighter before it;
2. a confidence level that shrinks with information, 2 log(1 + N(m) ||x - x^||^2 / 10) instead of
   f_n, where N(m) are the visits of context m: no horizon, and the same leading term 2 log t;
3. the residual program: information that is there already is base information, and the solution is
   how many pulls remain;
4. waiting costs: a pull costs its gap, and the expected loss of greedy play until its context
   comes. In the limit greedy arms cost nothing, as in the paper;
5. spreading: planned pulls are spread over many visits of a context, so that greedy play, which is
   free, may make some of them unnecessary;
6. information-directed sampling (Russo and Van Roy 2014) for what cannot wait: greedy play is mixed
   with the arm of the least information ratio, with theta Gaussian and arms compared with the
   greedy one in pairs. It costs of the order of sqrt(log t) in all, which the plan dominates;
7. an empirical prior: theta is N(0, I) until the data show that it is longer.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import types

from thrifty.allocation.differences import allocate_differences
from thrifty.numerics.arrays import FixedInts, Floats, Ints, Rows, WorkSpace
from thrifty.numerics.compilation import Pointer, kernel
from thrifty.numerics.dense import add_outer
from thrifty.numerics.records import Record, Records
from thrifty.numerics.regression import (
    Regression,
    observe,
    refresh,
    start_regression,
    update_arms,
)
from thrifty.policies.base import Policy
from thrifty.policies.shared.ledger import Ledger, Renumbering, start_ledger
from thrifty.policies.shared.plan import TOLERANCE, count_solve
from thrifty.policies.shared.selection import greedy_arm, highest_value_arm, least_ratio
from thrifty.policies.shared.stubs import Choice, choose, implements, learn
from thrifty.policies.shared.value_of_information import (
    expected_improvement,
    expected_squared_shift,
    quadratic_forms,
)
from thrifty.problem.action_sets import ActionSets

EXPLOIT, EXPLORE = range(2)
LEAST_COST = 1e-3  # of an arm, as a share of the largest: keeps the program well scaled
LEAST_GREEDY_COST = 1e-6  # the same for a greedy arm
UNKNOWN_RIDGE = 0.1  # the ridge at first, if the noise is to be estimated
SPREADING = 0.75  # planned pulls are spread over visits^0.75: in the limit a vanishing share
NEGLIGIBLE = 0.01  # pulls between this and 1 count as 1; fewer count in proportion
LEAST_RIDGE = 1e-13  # as a share of the longest arm squared: less would be rounding
SOLVES_PER_CONTEXTS = 10  # solves in M rounds, at most, because a best arm has changed
GROWTH = 0.1  # of det V, or of t, between two solves; and of the ridge, before it is changed
DIMENSIONS = 4  # per factor 1 + GROWTH of det V: in many dimensions it grows faster
USABLE = 1e-2  # a certified gap up to this still gives a plan worth following


@dataclass(frozen=True, kw_only=True)
class Thrifty(Policy):
    """Play, at estimated gaps, the pulls that remain of an optimal allocation on differences.

    There is nothing to tune: the parameters are the same for all problems, and exist so that they
    can be studied.

    Parameters
    ----------
    noise : `known`, or `estimate` to estimate the standard deviation of the rewards
    level : `shrinking`, or `log` for 2 log t
    shrinkage : the factor of N(m) in the shrinking level
    floor : a gap is taken to be at least so many of its standard errors
    wait : cost of a round of waiting, as a share of the expected loss of greedy play in it
    pace : planned pulls are spread over pace N(m)^(3/4) visits of a context
    urgency : expected loss of greedy play in the information ratio, relative to the largest
        expected improvement of an arm
    prior : how many dimensions of data the prior N(0, I) counts for, against a longer theta
    """

    noise: str = "known"
    level: str = "shrinking"
    shrinkage: float = 0.1
    floor: float = 0.5
    wait: float = 0.3
    pace: float = 15.0
    urgency: float = 1.5
    prior: float = 2.0

    name: ClassVar[str] = "thrifty"
    labels: ClassVar[tuple[str, ...]] = ("exploit", "explore")

    def check(self) -> None:
        self._one_of("noise", "known", "estimate")
        self._one_of("level", "shrinking", "log")
        self._above(0, "shrinkage", "floor", "pace", "prior")
        self._at_least(0, "wait", "urgency")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        known = self.noise == "known"
        least_ridge = LEAST_RIDGE * float((sets.rows**2).sum(axis=1).max())
        # the prior is N(0, I), or N(0, noise^2 / UNKNOWN_RIDGE I)
        ridge = max(noise**2 if known else UNKNOWN_RIDGE, least_ridge)
        return State(
            start_ledger(sets, uniforms=1),
            start_regression(sets.rows, ridge=ridge, largest_set=sets.largest),
            start_thrifty_plan(sets),
            model=Model.new(noise=noise, ridge=ridge, scale=1.0 if known else 0.0),
            rows=np.arange(len(sets.rows)),
            noise=noise,
            least_ridge=least_ridge,
            known=known,
            shrinking=self.level == "shrinking",
            shrinkage=float(self.shrinkage),
            floor=float(self.floor),
            wait=float(self.wait),
            pace=float(self.pace),
            urgency=float(self.urgency),
            prior=float(self.prior),
        )

    def estimates(self, state: "State", rows: Floats) -> tuple[Floats, Floats]:
        means, errors = super().estimates(state, rows)
        return means, errors * state.model[0].noise / state.noise

    def targets(self, state: "State") -> Floats:
        """Pulls of each row's vector so far, and those that remain."""
        return state.ledger.played[state.ledger.vector_ids] + state.plan.pulls

    def carry(self, old: "State", new: "State", renumbering: Renumbering) -> None:
        super().carry(old, new, renumbering)
        for field in ("squares", "rewards", "ridge", "scale"):  # the noise is estimated anew
            new.model[field] = old.model[field]

    def learn_removed(self, state: "State", features: Floats, reward: float) -> None:
        super().learn_removed(state, features, reward)
        _count_reward(state.model, reward)


class Schedule(Record):
    """When the program is to be solved again."""

    solved: bool  # whether it was solved before
    logdet: float  # from this log det V on
    next_round: float  # from this round on
    changed_round: float  # from this round on, if the best arm of a context has changed


class Model(Record):
    """Noise and prior: theta ~ N(0, noise^2 / ridge I)."""

    noise: float  # standard deviation of the rewards, known or estimated
    ridge: float
    scale: float  # the prior variance of an entry of theta at first
    squares: float  # sum of squared rewards
    rewards: float  # how many


class Plan(NamedTuple):
    """The last solution, and its input."""

    solve: Any  # allocate_differences, behind a pointer
    pulls: Floats  # (k,) that remain
    prices: Floats  # (k,) dual variables of the constraints, from which the next solve starts
    costs: Floats  # (k,) of a pull: the gap, or a share of its standard error, and waiting
    rivals: Rows  # (k,) the best row of a row's context
    scales: Floats  # (k,) 1 over the standard error to which the gap must be known
    best: Rows  # (M,) the best row of each context at the last solve
    losses: Floats  # (k,) expected loss per visit of not playing a row
    base: Floats  # (d, d) V
    directions: Floats  # (d, d) T: expected squared shift of theta_hat if arms turn out better
    along: WorkSpace  # (d,)
    information: Floats  # (k,) x^T T x: information of a pull about better arms
    schedule: Records  # (1,) of Schedule


class State(NamedTuple):
    """The state of thrifty."""

    ledger: Ledger
    regression: Regression
    plan: Plan
    model: Records  # (1,) of Model
    rows: FixedInts  # (k,) 0, 1, 2, ...
    noise: float  # as given
    least_ridge: float
    known: bool  # whether the noise is as given
    shrinking: bool
    shrinkage: float
    floor: float
    wait: float
    pace: float
    urgency: float
    prior: float


class Leaders(NamedTuple):
    """Rows with the highest estimated mean."""

    greedy: int  # of the arms on offer
    best: int  # of the context, whether on offer or not


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, plan = state.ledger, state.plan
    t = ledger.counters[0].rounds + 1.0
    leaders = _find_leaders(state, context, arms)
    if _must_solve(state, context, leaders.best, t):
        _estimate_noise(state)
        if _update_prior(state):
            leaders = _find_leaders(state, context, arms)
        _make_plan(state, t, context, leaders.best)
    greedy, uniform = leaders.greedy, ledger.uniforms[0]
    row, probability = _informative_arm(state, arms, greedy)
    if not uniform < probability:
        rest = (uniform - probability) / (1.0 - probability)
        row = _planned_arm(state, context, arms, greedy, rest)
    if row == greedy:
        return Choice(greedy, EXPLOIT)
    plan.pulls[row] = max(0.0, plan.pulls[row] - 1.0)
    ledger.counters[0].explored += 1
    return Choice(row, EXPLORE)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)
    _count_reward(state.model, reward)


@kernel
def _count_reward(model: Records, reward: float) -> None:
    model[0].squares += reward * reward
    model[0].rewards += 1.0


@kernel
def _find_leaders(state: State, context: int, arms: Ints) -> Leaders:
    """The greedy row of arms (n,), and the best row of the context."""
    offsets = state.ledger.offsets
    first, stop = offsets[context], offsets[context + 1]
    update_arms(state.regression, arms)
    greedy = greedy_arm(state.regression, arms)
    if arms.size == stop - first:
        return Leaders(greedy, greedy)
    return Leaders(greedy, highest_value_arm(state, state.rows[first:stop]))


@kernel
def _must_solve(state: State, context: int, best: int, t: float) -> bool:
    """Whether det V or t has grown enough since the last solve, or a best arm has changed."""
    schedule, logdet = state.plan.schedule, state.regression.totals[0].logdet
    if not schedule[0].solved or not (logdet < schedule[0].logdet and t < schedule[0].next_round):
        return True
    return best != state.plan.best[context] and t >= schedule[0].changed_round


@kernel
def _informative_arm(state: State, arms: Ints, greedy: int) -> tuple[int, float]:
    """The arm to mix with the greedy one, and its probability, for the least information ratio."""
    ledger, regression, plan = state.ledger, state.regression, state.plan
    losses, means, largest = plan.losses, regression.means, 0.0
    for n in range(arms.size):
        if arms[n] != greedy:
            largest = max(largest, losses[arms[n]])
    loss, row, probability, least = state.urgency * largest, greedy, 0.0, math.inf
    if loss > 0.0:
        known = _information(ledger.chosen, regression, plan.information, greedy)
        for n in range(arms.size):
            information = _information(ledger.chosen, regression, plan.information, arms[n])
            gap = means[greedy] - means[arms[n]]
            # otherwise the greedy arm alone has the least ratio
            if information > known and loss * (information - known) > 2.0 * known * gap:
                mixture = least_ratio(loss, known, loss + gap, information)
                if mixture.ratio < least:
                    row, probability, least = arms[n], mixture.probability, mixture.ratio
    return row, probability


@kernel
def _information(chosen: Ints, regression: Regression, information: Floats, row: int) -> float:
    """Information (k,) of a pull about better arms; less while rewards of the same row are late."""
    late = chosen[row] - regression.pulls[row]
    if late > 0:
        return information[row] / (1.0 + late * regression.norms[row]) ** 2
    return information[row]


@kernel
def _planned_arm(state: State, context: int, arms: Ints, greedy: int, uniform: float) -> int:
    """A row with pulls left, with probability pulls / (pulls of all arms + visits to spread over).

    Mostly the greedy arm.
    """
    pulls, total = state.plan.pulls, 0.0
    for n in range(arms.size):
        total += _pulls_left(pulls, arms[n], greedy)
    if total > 0.0:
        visits = state.pace * (state.ledger.visits[context] + 1.0) ** SPREADING
        point = uniform * (visits + total) - visits
        if point >= 0.0:
            for n in range(arms.size):
                point -= _pulls_left(pulls, arms[n], greedy)
                if point < 0.0:
                    return arms[n]
    return greedy


@kernel
def _pulls_left(pulls: Floats, row: int, greedy: int) -> float:
    """Of pulls (k,) that the plan still asks for, those of a row; part of a pull is a whole one."""
    if row == greedy or pulls[row] <= 0.0:
        return 0.0
    return max(pulls[row], min(1.0, pulls[row] / NEGLIGIBLE))


@kernel
def _make_plan(state: State, t: float, context: int, best: int) -> None:
    """Solve for the pulls that remain in round t, when best is the best row of context."""
    ledger, regression, plan = state.ledger, state.regression, state.plan
    visits, offsets = ledger.visits, ledger.offsets
    _write_information(regression, plan.base)
    plan.directions[:] = 0.0
    widest, loss = 0.0, 0.0  # loss: expected loss of greedy play per round
    for m in range(visits.size):
        first, stop = offsets[m], offsets[m + 1]
        plan.best[m] = best if m == context else highest_value_arm(state, state.rows[first:stop])
        largest = 0.0
        for row in range(first, stop):
            widest = max(widest, _evaluate_row(state, row, plan.best[m], visits[m] + 1.0, t))
            largest = max(largest, plan.losses[row])
        loss += largest * (visits[m] + 1.0) / t
    quadratic_forms(regression.rows, plan.directions, plan.information)
    if widest > 0.0:
        _add_waiting_costs(state, widest, state.wait * loss * t / math.sqrt(visits.size))
        _solve(state)
    else:
        for row in range(plan.pulls.size):
            plan.pulls[row] = 0.0
    growth = math.log1p(GROWTH) * max(1.0, regression.theta.size / DIMENSIONS)
    plan.schedule[0].solved = True
    plan.schedule[0].logdet = regression.totals[0].logdet + growth
    plan.schedule[0].next_round = t * (1.0 + GROWTH)
    plan.schedule[0].changed_round = t + visits.size / SOLVES_PER_CONTEXTS


@kernel
def _evaluate_row(state: State, row: int, best: int, visits: float, t: float) -> float:
    """Cost, scale and expected loss of a row, for the visits-th visit of its context in round t.

    Returns its gap, at least floor standard errors.
    """
    rows, inverse = state.regression.rows, state.regression.inverse
    theta, plan, noise = state.regression.theta, state.plan, state.model[0].noise
    # <x^ - x, theta_hat>, ||x^ - x||^2 in V^-1, and V^-1 (x^ - x)
    gap, distance, along = 0.0, 0.0, plan.along
    for i in range(theta.size):
        difference, along[i] = rows[best, i] - rows[row, i], 0.0
        for j in range(theta.size):
            along[i] += inverse[i, j] * (rows[best, j] - rows[row, j])
        gap += theta[i] * difference
        distance += along[i] * difference
    gap, distance = max(gap, 0.0), max(distance, 0.0)
    error = noise * math.sqrt(distance)
    cost = max(gap, state.floor * error)
    level = 2.0 * (
        math.log1p(state.shrinkage * visits * distance) if state.shrinking else math.log1p(t)
    )
    plan.rivals[row] = best
    plan.costs[row] = cost
    plan.scales[row] = noise * math.sqrt(level) / cost if cost > 0.0 and row != best else 0.0
    plan.losses[row] = expected_improvement(gap, error)
    if error > 0.0:
        weight = visits * expected_squared_shift(gap / error) / distance
        add_outer(plan.directions, weight, along)
    return cost


@kernel
def _add_waiting_costs(state: State, widest: float, wait: float) -> None:
    """Add to the cost of a pull the wait for its context; wait is that for a context seen once."""
    visits, offsets, plan = state.ledger.visits, state.ledger.offsets, state.plan
    for m in range(visits.size):
        own = wait / (visits[m] + 1.0)
        for row in range(offsets[m], offsets[m + 1]):
            plan.costs[row] = max(plan.costs[row] + own, LEAST_COST * widest)
        plan.costs[plan.best[m]] = max(own, LEAST_GREEDY_COST * widest)


@kernel
def _solve(state: State) -> None:
    """Solve the program in plan. If that fails, no pulls are planned until the next solve."""
    ledger, plan, regression = state.ledger, state.plan, state.regression
    lower, upper, _, _, _ = plan.solve(
        regression.rows,
        plan.costs,
        plan.rivals,
        plan.scales,
        plan.base,
        plan.pulls,
        plan.prices,
        plan.schedule[0].solved,
        TOLERANCE,
    )
    if not count_solve(ledger, lower, upper, USABLE):
        for row in range(plan.pulls.size):
            plan.pulls[row] = 0.0
            plan.prices[row] = 0.0
    for row in range(plan.pulls.size):  # pulls whose rewards are late count as done
        late = max(0, ledger.chosen[row] - regression.pulls[row])
        plan.pulls[row] = max(0.0, plan.pulls[row] - late)


@kernel
def _estimate_noise(state: State) -> None:
    """If the noise is unknown: noise^2 = (sum r^2 - <theta_hat, sum r x>) / number of rewards r.

    The estimate under theta ~ N(0, noise^2 / ridge I). As long as all rewards are 0, any number
    gives the same decisions.
    """
    if state.known:
        return
    regression, model = state.regression, state.model
    residual = model[0].squares
    for i in range(regression.theta.size):
        residual -= regression.base_sums[i] * regression.theta[i]
        for row in range(regression.pulls.size):
            residual -= regression.sums[row] * regression.rows[row, i] * regression.theta[i]
    model[0].noise = math.sqrt(residual / model[0].rewards) if residual > 0.0 else 1.0


@kernel
def _update_prior(state: State) -> bool:
    """Fit the prior N(0, scale I) of theta, scale = noise^2 / ridge; returns whether it changed.

    The data determine d - ridge tr V^-1 dimensions, in which |theta_hat|^2 is expected to be scale
    times as many: the fixed point of MacKay's evidence procedure, in which the prior counts for so
    many dimensions more. A shorter theta is no reason to explore less: it may be long where it was
    not looked at.
    """
    regression, model = state.regression, state.model
    length, determined = 0.0, float(regression.theta.size)
    for i in range(regression.theta.size):
        length += regression.theta[i] ** 2
        determined -= model[0].ridge * regression.inverse[i, i]
    if model[0].squares <= 0.0:
        return False
    if not state.known:  # a lower estimate of the noise is no reason to expect a shorter theta
        model[0].scale = max(model[0].scale, model[0].noise ** 2 / UNKNOWN_RIDGE)
    first, prior = model[0].scale, state.prior
    scale = max(first, (prior * first + length) / (prior + max(determined, 0.0)))
    ridge = max(model[0].noise ** 2 / scale, state.least_ridge)
    if abs(ridge - model[0].ridge) < GROWTH * model[0].ridge:
        return False
    for i in range(regression.theta.size):
        regression.base[i, i] += ridge - model[0].ridge
    model[0].ridge = ridge
    refresh(regression)
    return True


@kernel
def _write_information(regression: Regression, base: Floats) -> None:
    """Write V into base (d, d), from the exact counts."""
    for i in range(base.shape[0]):
        for j in range(base.shape[0]):
            base[i, j] = regression.base[i, j]
    for row in range(regression.pulls.size):
        if regression.pulls[row] > 0:
            add_outer(base, float(regression.pulls[row]), regression.rows[row])


def start_thrifty_plan(sets: ActionSets) -> Plan:
    """A plan before the first solve."""
    k, d = sets.rows.shape
    return Plan(
        solve=_solver(),
        pulls=np.zeros(k),
        prices=np.zeros(k),
        costs=np.zeros(k),
        rivals=np.zeros(k, dtype=np.int64),
        scales=np.zeros(k),
        best=np.zeros(sets.contexts, dtype=np.int64),
        losses=np.zeros(k),
        base=np.zeros((d, d)),
        directions=np.zeros((d, d)),
        along=np.zeros(d),
        information=np.zeros(k),
        schedule=Schedule.new(),
    )


@cache
def _solver() -> Pointer:
    """Made on first use: other policies need not wait for this solver to compile."""
    vector, matrix, indices = types.float64[::1], types.float64[:, ::1], types.int64[::1]
    flag, number = types.boolean, types.float64
    arguments = (matrix, vector, indices, vector, matrix, vector, vector, flag, number)
    return Pointer(allocate_differences, arguments)
