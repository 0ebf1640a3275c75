"""Thrifty, our own policy: pairwise information-directed sampling in feature space.

Greedy play is mixed with one other arm, so that (expected loss)^2 / (information about better arms)
is least (Russo and Van Roy 2014), under a Gaussian posterior of theta and with each arm compared
with the greedy one alone: closed formulas, no samples, no program to solve, no horizon. The steps
of a round, numbered as in docs/thrifty.md; none of it is proved:

1. the model: theta ~ N(0, scale I), and the noise, both learned from the rewards;
2. the greedy arm x^, and for each other arm x of the set its gap and the standard error of that;
3. what greedy play may lose, D: the expected improvements of other arms over x^, and a share
   `caution` of what Thompson sampling would pay; arms that go together count once;
4. the information of a pull: how far it would move estimates if other arms were better than x^;
5. the mixture of x^ and one other arm with the least information ratio.

Steps 3 and 4 are repeated only when estimates have changed enough to matter.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thrifty.numerics.arrays import Floats, Ints, Rows, WorkSpace
from thrifty.numerics.compilation import kernel
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
from thrifty.policies.shared.selection import greedy_arm, least_ratio
from thrifty.policies.shared.stubs import Choice, choose, implements, learn
from thrifty.policies.shared.value_of_information import (
    expected_improvement,
    expected_squared_shift,
    quadratic_forms,
)
from thrifty.problem.action_sets import ActionSets

EXPLOIT, EXPLORE = range(2)
UNKNOWN_RIDGE = 1.0  # the ridge at first, if the noise is estimated: theta ~ N(0, noise^2 I)
PRIOR_DIMENSIONS = 2.0  # how many dimensions of data the first prior counts for
LEAST_RIDGE = 1e-13  # as a share of the longest arm squared: less would be rounding
GROWTH = 0.1  # of det V, or of t, until values are computed again; of the ridge, until it changes
DIMENSIONS = 4  # per factor 1 + GROWTH of det V: in many dimensions it grows faster


@dataclass(frozen=True, kw_only=True)
class Thrifty(Policy):
    """Mix the greedy arm with another one for the least information ratio.

    There is nothing to tune. caution is a choice: more of it costs regret in most runs and makes
    bad runs rarer.

    Parameters
    ----------
    noise : `estimate`, the standard deviation of the rewards is estimated; or `known`, it is as
        given
    caution : 0 explores for what greedy play is expected to lose; 1 may spend as much on
        exploration in a round as Thompson sampling would
    """

    noise: str = "estimate"
    caution: float = 0.4

    name: ClassVar[str] = "thrifty"
    labels: ClassVar[tuple[str, ...]] = ("exploit", "explore")

    def check(self) -> None:
        self._one_of("noise", "estimate", "known")
        self._at_least(0, "caution")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        (k, d), known = sets.rows.shape, self.noise == "known"
        least_ridge = LEAST_RIDGE * float((sets.rows**2).sum(axis=1).max())
        # the prior is N(0, I), or N(0, noise^2 / UNKNOWN_RIDGE I)
        ridge = max(noise**2 if known else UNKNOWN_RIDGE, least_ridge)
        return State(
            start_ledger(sets, uniforms=1),
            start_regression(sets.rows, ridge=ridge, largest_set=sets.largest),
            model=Model.new(noise=noise, ridge=ridge, scale=1.0 if known else 0.0),
            responses=np.zeros(d),
            schedule=Schedule.new(),
            values=Values(
                best=np.zeros(sets.contexts, dtype=np.int64),
                epochs=np.zeros(sets.contexts, dtype=np.int64),
                losses=np.zeros(sets.contexts),
                information=np.zeros(k),
                improvements=np.zeros(k),
                shifts=np.zeros(k),
                directions=np.zeros((d, d)),
                along=np.zeros(d),
            ),
            noise=noise,
            least_ridge=least_ridge,
            known=known,
            caution=float(self.caution),
        )

    def estimates(self, state: "State", rows: Floats) -> tuple[Floats, Floats]:
        means, errors = super().estimates(state, rows)
        return means, errors * state.model[0].noise / state.noise

    def carry(self, old: "State", new: "State", renumbering: Renumbering) -> None:
        super().carry(old, new, renumbering)
        new.model[:] = old.model
        new.responses[:] = old.responses

    def learn_removed(self, state: "State", features: Floats, reward: float) -> None:
        super().learn_removed(state, features, reward)
        state.responses[:] += reward * features
        _count_reward(state.model, reward)


class Model(Record):
    """Noise and prior: theta ~ N(0, noise^2 / ridge I)."""

    noise: float  # standard deviation of the rewards, known or estimated
    ridge: float
    scale: float  # the prior variance of an entry of theta at first
    squares: float  # sum of squared rewards
    rewards: float  # how many


class Schedule(Record):
    """When values are to be computed again."""

    epoch: int  # values of earlier epochs are out of date
    logdet: float  # a new epoch starts from this log det V on
    next_round: float  # or from this round on


class Values(NamedTuple):
    """What was computed for whole action sets, one context at a time."""

    best: Rows  # (M,) the greedy row that it was computed for
    epochs: Ints  # (M,) when; 0 for never
    losses: Floats  # (M,) D: what greedy play may lose in a round
    information: Floats  # (k,) x^T T x: information of a pull about better arms
    improvements: WorkSpace  # (k,) what greedy play may lose to a row alone
    shifts: WorkSpace  # (k,) expected squared shift of <x^ - x, theta_hat> if x turns out better
    directions: WorkSpace  # (d, d) T: that of theta_hat, summed over arms
    along: WorkSpace  # (d,) V^-1 (x^ - x)


class State(NamedTuple):
    """The state of thrifty."""

    ledger: Ledger
    regression: Regression
    model: Records  # (1,) of Model
    responses: Floats  # (d,) sum of x times reward
    schedule: Records  # (1,) of Schedule
    values: Values
    noise: float  # as given
    least_ridge: float
    known: bool  # whether the noise is as given
    caution: float


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    if _starts_epoch(state):
        _estimate_noise(state)
        _update_prior(state)
    update_arms(state.regression, arms)
    greedy = greedy_arm(state.regression, arms)
    if not _is_current(state, context, arms, greedy):
        _evaluate(state, context, arms, greedy)
    row, probability = _informative_arm(state, context, arms, greedy)
    if row != greedy and state.ledger.uniforms[0] < probability:
        state.ledger.counters[0].explored += 1
        return Choice(row, EXPLORE)
    return Choice(greedy, EXPLOIT)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)
    for i in range(state.responses.size):
        state.responses[i] += reward * state.regression.rows[row, i]
    _count_reward(state.model, reward)


@kernel
def _count_reward(model: Records, reward: float) -> None:
    model[0].squares += reward * reward
    model[0].rewards += 1.0


@kernel
def _starts_epoch(state: State) -> bool:
    """Whether det V or t has grown enough; then the next epoch is scheduled."""
    schedule, regression = state.schedule, state.regression
    t, logdet = state.ledger.counters[0].rounds + 1.0, regression.totals[0].logdet
    if schedule[0].epoch > 0 and logdet < schedule[0].logdet and t < schedule[0].next_round:
        return False
    growth = math.log1p(GROWTH) * max(1.0, regression.theta.size / DIMENSIONS)
    schedule[0].epoch += 1
    schedule[0].logdet = logdet + growth
    schedule[0].next_round = t * (1.0 + GROWTH)
    return True


@kernel
def _estimate_noise(state: State) -> None:
    """Step 1, if the noise is unknown: noise^2 = (sum r^2 - <theta_hat, sum r x>) / rewards r.

    The estimate under theta ~ N(0, noise^2 / ridge I). As long as all rewards are 0, any number
    gives the same decisions.
    """
    if state.known:
        return
    theta, model = state.regression.theta, state.model
    residual = model[0].squares
    for i in range(theta.size):
        residual -= state.responses[i] * theta[i]
    model[0].noise = math.sqrt(residual / model[0].rewards) if residual > 0.0 else 1.0


@kernel
def _update_prior(state: State) -> None:
    """Step 1: fit the prior N(0, scale I) of theta, scale = noise^2 / ridge.

    The data determine d - ridge tr V^-1 dimensions, in which |theta_hat|^2 is expected to be scale
    times as many: the fixed point of MacKay's evidence procedure, in which the prior counts for so
    many dimensions more. A shorter theta is no reason to explore less: it may be long where it was
    not looked at.
    """
    regression, model = state.regression, state.model
    if model[0].squares <= 0.0:
        return
    length, determined = 0.0, float(regression.theta.size)
    for i in range(regression.theta.size):
        length += regression.theta[i] ** 2
        determined -= model[0].ridge * regression.inverse[i, i]
    if not state.known:  # a lower estimate of the noise is no reason to expect a shorter theta
        model[0].scale = max(model[0].scale, model[0].noise ** 2 / UNKNOWN_RIDGE)
    first, prior = model[0].scale, PRIOR_DIMENSIONS
    scale = max(first, (prior * first + length) / (prior + max(determined, 0.0)))
    ridge = max(model[0].noise ** 2 / scale, state.least_ridge)
    if abs(ridge - model[0].ridge) >= GROWTH * model[0].ridge:
        for i in range(regression.theta.size):
            regression.base[i, i] += ridge - model[0].ridge
        model[0].ridge = ridge
        refresh(regression)


@kernel
def _is_current(state: State, context: int, arms: Ints, greedy: int) -> bool:
    """Whether the values of a context hold for these arms (n,): all of them, the same greedy."""
    offsets, values = state.ledger.offsets, state.values
    return (
        values.epochs[context] == state.schedule[0].epoch
        and values.best[context] == greedy
        and arms.size == offsets[context + 1] - offsets[context]
    )


@kernel
def _evaluate(state: State, context: int, arms: Ints, greedy: int) -> None:
    """Steps 2 to 4 for the rows arms (n,) of a context: D, T, and information."""
    offsets, values, rows = state.ledger.offsets, state.values, state.regression.rows
    first, stop = offsets[context], offsets[context + 1]
    values.directions[:] = 0.0
    for n in range(arms.size):
        _compare(state, arms[n], greedy)
    values.losses[context] = _loss(state, arms, greedy)
    quadratic_forms(rows[first:stop], values.directions, values.information[first:stop])
    values.best[context] = greedy
    # only values for all arms are used again
    values.epochs[context] = state.schedule[0].epoch if arms.size == stop - first else 0


@kernel
def _compare(state: State, row: int, greedy: int) -> None:
    """Steps 2 and 4: compare an arm x with the greedy one, and add it to T."""
    rows, inverse = state.regression.rows, state.regression.inverse
    theta, values, along = state.regression.theta, state.values, state.values.along
    # <x^ - x, theta_hat>, ||x^ - x||^2 in V^-1, and V^-1 (x^ - x)
    gap, distance = 0.0, 0.0
    for i in range(theta.size):
        difference, along[i] = rows[greedy, i] - rows[row, i], 0.0
        for j in range(theta.size):
            along[i] += inverse[i, j] * (rows[greedy, j] - rows[row, j])
        gap += theta[i] * difference
        distance += along[i] * difference
    values.improvements[row], values.shifts[row] = 0.0, 0.0
    if distance > 0.0:  # else it is the same vector
        gap, error = max(gap, 0.0), state.model[0].noise * math.sqrt(distance)
        better = 0.5 * math.erfc(gap / error / math.sqrt(2.0))  # probability
        values.improvements[row] = expected_improvement(gap, error) + state.caution * gap * better
        values.shifts[row] = distance * expected_squared_shift(gap / error)
        add_outer(values.directions, values.shifts[row] / distance**2, along)


@kernel
def _loss(state: State, arms: Ints, greedy: int) -> float:
    """Step 3: what greedy play may lose to the rows arms (n,), D.

    The largest improvement at least. All of them count to the extent that they are not about the
    same: x by its share of (x^ - x)^T T (x^ - x), the shifts of <x^ - x, theta_hat> by all arms.
    """
    values, rows = state.values, state.regression.rows
    total, largest = 0.0, 0.0
    for n in range(arms.size):
        row = arms[n]
        if values.shifts[row] > 0.0:
            all_shifts = 0.0
            for i in range(rows.shape[1]):
                moved = 0.0
                for j in range(rows.shape[1]):
                    moved += values.directions[i, j] * (rows[greedy, j] - rows[row, j])
                all_shifts += moved * (rows[greedy, i] - rows[row, i])
            if all_shifts > 0.0:
                share = min(1.0, values.shifts[row] / all_shifts)
                total += share * values.improvements[row]
        largest = max(largest, values.improvements[row])
    return max(largest, total)


@kernel
def _informative_arm(state: State, context: int, arms: Ints, greedy: int) -> tuple[int, float]:
    """Step 5: the arm to mix with the greedy one, and its probability."""
    means, loss = state.regression.means, state.values.losses[context]
    row, probability, least = greedy, 0.0, math.inf
    if loss > 0.0:
        known = _information(state, greedy)
        for n in range(arms.size):
            information = _information(state, arms[n])
            gap = means[greedy] - means[arms[n]]
            # otherwise the greedy arm alone has the least ratio
            if information > known and loss * (information - known) > 2.0 * known * gap:
                mixture = least_ratio(loss, known, loss + gap, information)
                if mixture.ratio < least:
                    row, probability, least = arms[n], mixture.probability, mixture.ratio
    return row, probability


@kernel
def _information(state: State, row: int) -> float:
    """Information of a pull about better arms; less while rewards of the same row are late."""
    information = state.values.information[row]
    late = state.ledger.chosen[row] - state.regression.pulls[row]
    if late > 0:
        return information / (1.0 + late * state.regression.norms[row]) ** 2
    return information
