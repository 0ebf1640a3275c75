"""Thrifty, our own policy: information-directed sampling, one question at a time.

A question is whether another arm is better than the greedy one. One is drawn, the more often the
more greedy play may lose to that arm, and greedy play is mixed with the arm that answers it best,
so that (expected loss)^2 / information is least (Russo and Van Roy 2014): closed formulas under a
Gaussian posterior of theta, no samples, no program to solve, no horizon. The steps of a round,
numbered as in docs/thrifty.md; none of it is proved:

1. the model: theta ~ N(0, scale I), and the noise, both learned from the rewards;
2. the greedy arm x^, and for each other arm x of the set its gap and the standard error of that;
3. the expected loss of greedy play to x: the expected improvement of x over x^, and a share
   `caution` of what Thompson sampling would pay for x;
4. the question: is x better? drawn in proportion to what may be lost to it;
5. the information of a pull: how far it would move the estimated gap between x and x^, squared;
6. the mixture of x^ and one other arm with the least information ratio.

Steps 2 and 3 are repeated only when estimates have changed enough to matter.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import kernel
from thrifty.compiler.records import Record, Records
from thrifty.numerics.arrays import Floats, Ints, RowFloats, RowInts, Rows, ThetaFloats
from thrifty.numerics.regression import (
    Regression,
    observe,
    squared_distance,
    update_arms,
)
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import (
    Ledger,
    Renumbering,
    discounted_rounds,
    is_whole_set,
    start_ledger,
)
from thrifty.policies.shared.model import (
    Model,
    count_reward,
    fit_model,
    forget_blocks,
    least_ridge,
)
from thrifty.policies.shared.selection import draw_arm, greedy_arm, least_ratio
from thrifty.policies.shared.stubs import Choice, choose, implements, learn, probability
from thrifty.problem.action_sets import ActionSets

EXPLOIT, EXPLORE = range(2)
GROWTH = 0.1  # of det V, or of t, until values are computed again
DIMENSIONS = 4  # per factor 1 + GROWTH of det V: in many dimensions it grows faster


@dataclass(frozen=True, kw_only=True)
class Thrifty(Policy):
    """Mix the greedy arm with the arm that best resolves whether some other arm is better.

    There is nothing to tune. caution is a choice: more of it costs regret in most runs and makes
    bad runs rarer.

    Parameters
    ----------
    noise : `estimate`, the standard deviation of the rewards is estimated; or `known`, it is as
        given
    caution : 0 explores for what greedy play is expected to lose; 1 may spend as much on
        exploration in a round as Thompson sampling would on the most promising arm
    forgetting : see Policy
    """

    noise: str = parameters.word("estimate", "known")
    caution: float = parameters.number(0.6, at_least=0)
    forgetting: float | None = parameters.forgetting()

    name = "thrifty"
    labels = ("exploit", "explore")
    open = True

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        k, d = len(sets.rows), sets.dimension
        least = least_ridge(sets.rows)
        ridge = max(noise**2, least)  # the first prior is N(0, I)
        return State(
            start_ledger(sets, uniforms=2),
            self._regression(sets, ridge),
            model=Model.new(noise=noise, scale=1.0),
            responses=np.zeros(d),
            schedule=Schedule.new(),
            values=Values(
                best=np.zeros(sets.contexts, dtype=np.int64),
                epochs=np.zeros(sets.contexts, dtype=np.int64),
                losses=np.zeros(sets.contexts),
                improvements=np.zeros(k),
            ),
            noise=noise,
            least_ridge=least,
            known=self.noise == "known",
            caution=float(self.caution),
        )

    def estimates(self, state: "State", rows: Floats) -> tuple[Floats, Floats]:
        means, errors = super().estimates(state, rows)
        return means, errors * state.model[0].noise / state.noise

    def estimated_noise(self, state: "State") -> float | None:
        """The standard deviation of the rewards as estimated so far; None if it is not."""
        return None if state.known else float(state.model[0].noise)

    def carry(self, old: "State", new: "State", renumbering: Renumbering) -> None:
        super().carry(old, new, renumbering)
        new.model[:] = old.model
        new.responses[:] = old.responses

    def carry_blocks(self, old: "State", new: "State", origins: Ints) -> None:
        super().carry_blocks(old, new, origins)
        forget_blocks(old, new.model, origins)
        new.schedule[0].epoch = 0  # log det V has changed

    def learn_removed(self, state: "State", features: Floats, reward: float) -> None:
        super().learn_removed(state, features, reward)
        state.responses[:] += reward * features
        count_reward(state.model, reward, 1.0)


class Schedule(Record):
    """When values are to be computed again."""

    epoch: int  # values of earlier epochs are out of date
    logdet: float  # a new epoch starts from this log det V on
    next_round: float  # or from this round on


class Values(NamedTuple):
    """What was computed for the rows of a context; used again if these were all it owns."""

    best: Rows  # (M,) the greedy row that it was computed for
    epochs: RowInts  # (M,) when; 0 for never
    losses: RowFloats  # (M,) the largest of the improvements
    improvements: RowFloats  # (k,) what greedy play may lose to a row in a round


class State(NamedTuple):
    """The state of thrifty."""

    ledger: Ledger
    regression: Regression
    model: Records  # (1,) of Model
    responses: ThetaFloats  # (d,) sum of x times reward
    schedule: Records  # (1,) of Schedule
    values: Values
    noise: float  # as given
    least_ridge: float
    known: bool  # whether the noise is as given
    caution: float


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    if _is_due(state):
        fit_model(state)
        _start_epoch(state)
    update_arms(state.regression, arms)
    greedy = greedy_arm(state.regression, arms)
    if not _is_current(state, context, arms, greedy):
        _evaluate(state, context, arms, greedy)
    if _may_explore(state, context, arms, greedy):
        question = draw_arm(state.values.improvements, arms, state.ledger.uniforms[1])
        row, probability = _answer(state, context, arms, greedy, question)
        if state.ledger.uniforms[0] < probability:
            state.ledger.counters[0].explored += 1
            return Choice(row, EXPLORE)
    return Choice(greedy, EXPLOIT)


@implements(probability, State)
def _probability(state: State, context: int, arms: Ints, row: int) -> float:
    """Over all questions: what is left of each is the greedy arm's."""
    improvements, greedy = state.values.improvements, greedy_arm(state.regression, arms)
    total, played = 0.0, 0.0
    for n in range(arms.size):
        if improvements[arms[n]] > 0.0:
            other, chance = _answer(state, context, arms, greedy, arms[n])
            total += improvements[arms[n]]
            if row == greedy:
                played += improvements[arms[n]] * (1.0 - chance)
            elif row == other:
                played += improvements[arms[n]] * chance
    return played / total if total > 0.0 else 1.0


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)
    rows, first, kept = state.regression.rows, state.regression.firsts[row], state.regression.kept
    if kept < 1.0:
        for i in range(state.responses.size):
            state.responses[i] *= kept
    for i in range(rows.shape[1]):
        state.responses[first + i] += reward * rows[row, i]
    count_reward(state.model, reward, kept)


@kernel
def _is_due(state: State) -> bool:
    """Whether det V or t has grown enough for a new epoch."""
    schedule, logdet = state.schedule, state.regression.totals[0].logdet
    t = state.ledger.counters[0].rounds + 1.0
    return schedule[0].epoch == 0 or logdet >= schedule[0].logdet or t >= schedule[0].next_round


@kernel
def _start_epoch(state: State) -> None:
    """Values are out of date; schedule the next epoch."""
    schedule, regression = state.schedule, state.regression
    growth = math.log1p(GROWTH) * max(1.0, regression.theta.size / DIMENSIONS)
    schedule[0].epoch += 1
    schedule[0].logdet = regression.totals[0].logdet + growth
    t = state.ledger.counters[0].rounds + 1.0
    remembered = discounted_rounds(state.ledger, regression.kept) + 1.0
    schedule[0].next_round = t - remembered + remembered * (1.0 + GROWTH)


@kernel
def _is_current(state: State, context: int, arms: Ints, greedy: int) -> bool:
    """Whether the values of a context hold for these arms (n,): all of them, the same greedy."""
    values = state.values
    return (
        values.epochs[context] == state.schedule[0].epoch
        and values.best[context] == greedy
        and is_whole_set(state.ledger, context, arms)
    )


@kernel
def _evaluate(state: State, context: int, arms: Ints, greedy: int) -> None:
    """Steps 2 and 3 for the rows arms (n,) of a context."""
    values, regression = state.values, state.regression
    values.losses[context] = 0.0
    for n in range(arms.size):
        row = arms[n]
        error = state.model[0].noise * math.sqrt(squared_distance(regression, greedy, row))
        gap = regression.means[greedy] - regression.means[row]
        values.improvements[row] = _improvement(gap, error, state.caution)
        values.losses[context] = max(values.losses[context], values.improvements[row])
    values.best[context] = greedy
    whole = is_whole_set(state.ledger, context, arms)
    values.epochs[context] = state.schedule[0].epoch if whole else 0


@kernel
def _improvement(gap: float, error: float, caution: float) -> float:
    """Step 3: what may be lost in a round to an arm that is better by N(-gap, error^2).

    Its expected improvement E max(0, N(-gap, error^2)), and a share of gap P(it is better).
    """
    if error <= 0.0:  # the same vector
        return 0.0
    z = gap / error
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    better = 0.5 * math.erfc(z / math.sqrt(2.0))
    return max(0.0, error * (density - (1.0 - caution) * z * better))


@kernel
def _may_explore(state: State, context: int, arms: Ints, greedy: int) -> bool:
    """Whether the uniform of this round lets any arm be played: by step 6 p <= loss / gap."""
    means, loss = state.regression.means, state.values.losses[context]
    uniform = state.ledger.uniforms[0]
    for n in range(arms.size):
        gap = means[greedy] - means[arms[n]]
        if arms[n] != greedy and uniform * gap < loss:
            return True
    return False


@kernel
def _answer(
    state: State, context: int, arms: Ints, greedy: int, question: int
) -> tuple[int, float]:
    """Steps 5 and 6: the arm to mix with the greedy one for a question, and its probability."""
    means, loss = state.regression.means, state.values.losses[context]
    squared_distance(state.regression, greedy, question)  # leaves V^-1 (x^ - x) in step
    row, probability, least = greedy, 0.0, math.inf
    known = _information(state, greedy, greedy, question)
    for n in range(arms.size):
        information = _information(state, arms[n], greedy, question)
        gap = means[greedy] - means[arms[n]]
        # otherwise the greedy arm alone has the least ratio
        if information > known and loss * (information - known) > 2.0 * known * gap:
            mixture = least_ratio(loss, known, loss + gap, information)
            if mixture.ratio < least:
                row, probability, least = arms[n], mixture.probability, mixture.ratio
    return row, probability


@kernel
def _information(state: State, row: int, greedy: int, question: int) -> float:
    """Step 5: <y, V^-1 (x^ - x)>^2, by which a pull of y moves the estimated gap of x and x^.

    Less while rewards of y are late: as it will be once they have come.
    """
    regression, moved = state.regression, 0.0
    first = regression.firsts[row]
    if first != regression.firsts[greedy] and first != regression.firsts[question]:
        return 0.0  # about another block of theta
    for i in range(regression.rows.shape[1]):
        moved += regression.rows[row, i] * regression.step[first + i]
    late = state.ledger.chosen[row] - regression.pulls[row]
    if late > 0 and not regression.pooled:  # those that are pooled do not count by row
        moved /= 1.0 + late * regression.norms[row]
    return moved * moved
