"""Penalty: the paper's program as a penalty, one step of it in each round. On trial.

The third edition of the policy thrifty, which takes that name once the arena and the reproduction
are played with it.

A question is whether another arm of a context is better than its greedy arm. Playing greedily while
questions are open costs something in later rounds: the penalty. A pull of an arm reduces it, by the
information that the arm has for all questions of all contexts. The policy plays the arm whose mean
and whose reduction of the penalty are largest together. The steps of a round:

1. the model: theta ~ N(0, scale I), and the noise, both learned from the rewards;
2. what is known once all pending rewards have come: the standard errors in V with these pulls;
3. questions: the arms of each context whose upper bound is above that of its greedy arm;
4. the price of information: how fast the penalty of all questions falls with their variances;
5. the arm with the largest sum of its mean and the worth of its information, among those that are
   not far better known than the greedy arm.

Steps 3 and 4 are repeated only when estimates have changed enough to matter, a few contexts per
round, so that no round takes long.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import kernel
from thrifty.compiler.records import Record, Records
from thrifty.numerics.arrays import (
    Floats,
    Ints,
    RowFloats,
    RowInts,
    Rows,
    ThetaFloats,
    WorkSpace,
)
from thrifty.numerics.regression import Regression, observe, update_arms
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.expected import (
    ExpectedInformation,
    await_reward,
    carry_expected,
    forget_share,
    give_up_reward,
    look_ahead,
    start_expected,
    take_reward,
)
from thrifty.policies.shared.ledger import Ledger, Renumbering, discounted_rounds, start_ledger
from thrifty.policies.shared.model import (
    Model,
    count_reward,
    fit_model,
    forget_blocks,
    least_ridge,
)
from thrifty.policies.shared.selection import greedy_arm
from thrifty.policies.shared.stubs import (
    Choice,
    choose,
    expect,
    implements,
    learn,
    probability,
    withdraw,
)
from thrifty.problem.action_sets import ActionSets

EXPLOIT, EXPLORE = range(2)
LEVEL = 6.25  # of the upper bounds, squared: 2.5 standard errors at first
STAKES = 1e3  # rounds per pull after which the level grows with the logarithm of their number
GROWTH = 0.03  # of log det V until questions are asked again
DIMENSIONS = 4  # per GROWTH of log det V: in many dimensions it grows faster
LATER = 0.02  # the same of t, as a share
WORK = 8192.0  # multiplications for steps 3 and 4 in a round, but at least one context
CONTEXTS, ARMS = 32, 8  # of recent open contexts that stand for all; of each the likeliest arms


@dataclass(frozen=True, kw_only=True)
class Penalty(Policy):
    """Play the arm whose mean and whose information about all open questions are worth most.

    No parameter must be set.

    Parameters
    ----------
    noise : `estimate`, the standard deviation of the rewards is estimated; or `known`, it is as
        given
    forgetting : see Policy
    """

    noise: str = parameters.word("estimate", "known")
    forgetting: float | None = parameters.forgetting()

    name = "penalty"
    labels = ("exploit", "explore")
    open = True

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        least = least_ridge(sets.rows)
        ridge = max(noise**2, least)  # the first prior is N(0, I)
        regression = self._regression(sets, ridge)
        return State(
            start_ledger(sets, uniforms=1),
            regression,
            start_expected(regression),
            model=Model.new(noise=noise, scale=1.0),
            responses=np.zeros(sets.dimension),
            sweep=Sweep.new(due=True),
            questions=start_questions(regression, sets),
            noise=noise,
            least_ridge=least,
            known=self.noise == "known",
            opened=sets.open,
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
        new.questions.price[:] = old.questions.price
        carry_expected(old.expected, new.expected)

    def carry_blocks(self, old: "State", new: "State", origins: Ints) -> None:
        super().carry_blocks(old, new, origins)
        forget_blocks(old, new.model, origins)
        carry_expected(old.expected, new.expected, origins)
        _forget_contexts(new.questions, origins)
        new.sweep[0].due, new.sweep[0].place = True, new.sweep[0].places

    def learn_removed(self, state: "State", features: Floats, reward: float) -> None:
        super().learn_removed(state, features, reward)
        take_reward(state.expected, features, 0)
        state.responses[:] += reward * features
        count_reward(state.model, reward, 1.0)


class Sweep(Record):
    """Steps 3 and 4 for all contexts, one after the other: when to begin, and how far they are."""

    due: bool  # whether to begin again as soon as this one is complete
    place: int  # the next context
    places: int  # how many there are; fewer than place + 1 if the sweep is complete
    epoch: int  # complete sweeps
    gained: float  # growth of log det V since the last one began
    next_round: float  # one begins at this round at the latest
    equals: int  # how many arms were equally good in the last decision


class Questions(NamedTuple):
    """What steps 3 and 4 have found."""

    best: Rows  # (M,) the greedy arm of each listed context in the last sweep
    price: ThetaFloats  # (d, w) A of the last complete sweep: y is worth y^T A y
    next_price: ThetaFloats  # (d, w) of the contexts that were swept since
    worth: RowFloats  # (k,) y^T A y of each row
    epochs: RowInts  # (k,) of which sweep
    norms: WorkSpace  # (k,) squared standard errors of arms on offer, without the noise
    recent: Floats  # (CONTEXTS * ARMS, w) arms of recent open contexts
    blocks: Ints  # (CONTEXTS * ARMS,) the block of theta of each
    counts: Ints  # (CONTEXTS,) how many arms there are of each
    difference: WorkSpace  # (w,) of two arms
    along: WorkSpace  # (2 w,) V^-1 times it: in the block of the greedy arm, and in the other's


class State(NamedTuple):
    """The state of penalty."""

    ledger: Ledger
    regression: Regression
    expected: ExpectedInformation
    model: Records  # (1,) of Model
    responses: ThetaFloats  # (d,) sum of x times reward
    sweep: Records  # (1,) of Sweep
    questions: Questions
    noise: float  # as given
    least_ridge: float
    known: bool  # whether the noise is as given
    opened: bool  # whether contexts are open


def start_questions(regression: Regression, sets: ActionSets) -> Questions:
    """Before the first sweep."""
    k, (d, width) = len(sets.rows), regression.inverse.shape
    contexts = CONTEXTS if sets.open else 1
    return Questions(
        best=sets.offsets[:-1].copy(),
        price=np.zeros((d, width)),
        next_price=np.zeros((d, width)),
        worth=np.zeros(k),
        epochs=np.zeros(k, dtype=np.int64),
        norms=np.zeros(k),
        recent=np.zeros((contexts * ARMS, width)),
        blocks=np.zeros(contexts * ARMS, dtype=np.int64),
        counts=np.zeros(contexts, dtype=np.int64),
        difference=np.zeros(width),
        along=np.zeros(2 * width),
    )


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    t = discounted_rounds(state.ledger, state.regression.kept) + 1.0
    if _is_due(state, t):
        if fit_model(state):
            state.expected.awaited[0].current = False
        _schedule(state, t)
    update_arms(state.regression, arms)
    greedy = greedy_arm(state.regression, arms)
    _find_norms(state, arms)
    if state.opened:
        _remember(state, arms, greedy, t)
    _continue_sweep(state, context, t)
    row = _best_arm(state, context, arms, greedy, t)
    state.sweep[0].gained += math.log1p(state.questions.norms[row])
    if state.regression.means[row] < state.regression.means[greedy]:
        state.ledger.counters[0].explored += 1
        return Choice(row, EXPLORE)
    return Choice(row, EXPLOIT)


@implements(probability, State)
def _probability(state: State, context: int, arms: Ints, row: int) -> float:
    """Equal arms are drawn at random; otherwise the choice is certain."""
    return 1.0 / state.sweep[0].equals


@implements(expect, State)
def _expect(state: State, row: int) -> None:
    regression = state.regression
    await_reward(state.expected, regression.rows[row], regression.firsts[row])


@implements(withdraw, State)
def _withdraw(state: State, features: Floats, first: int) -> None:
    give_up_reward(state.expected, features, first)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    regression = state.regression
    observe(regression, row, reward)
    rows, first, kept = regression.rows, regression.firsts[row], regression.kept
    take_reward(state.expected, rows[row], first)
    forget_share(state.expected, regression)
    if kept < 1.0:
        for i in range(state.responses.size):
            state.responses[i] *= kept
    for i in range(rows.shape[1]):
        state.responses[first + i] += reward * rows[row, i]
    count_reward(state.model, reward, kept)


def _forget_contexts(questions: Questions, origins: Ints) -> None:
    """Recent contexts have their arms where blocks of theta are now; arms that are gone leave."""
    width = questions.recent.shape[1]
    now = {old * width: new * width for new, old in enumerate(origins.tolist()) if old >= 0}
    for slot in range(CONTEXTS):
        places = range(slot * ARMS, slot * ARMS + questions.counts[slot])
        kept = [(questions.recent[at].copy(), questions.blocks[at]) for at in places]
        kept = [(features, now[first]) for features, first in kept if first in now]
        questions.counts[slot] = len(kept)
        for at, (features, first) in zip(places, kept, strict=False):
            questions.recent[at], questions.blocks[at] = features, first


@kernel
def _is_due(state: State, t: float) -> bool:
    """Whether V or t has grown enough for another sweep."""
    sweep = state.sweep
    return sweep[0].epoch == 0 or t >= sweep[0].next_round or sweep[0].gained >= _growth(state)


@kernel
def _growth(state: State) -> float:
    """Of log det V until questions are asked again."""
    return GROWTH * max(1.0, state.regression.theta.size / DIMENSIONS)


@kernel
def _schedule(state: State, t: float) -> None:
    """A sweep begins as soon as the one before is complete; schedule the next."""
    state.sweep[0].due = True
    state.sweep[0].gained, state.sweep[0].next_round = 0.0, t * (1.0 + LATER)


@kernel
def _find_norms(state: State, arms: Ints) -> None:
    """Step 2: ||x||^2 of the rows arms (n,), with pending decisions as if rewarded."""
    regression, norms = state.regression, state.questions.norms
    if look_ahead(state.expected, regression):
        for n in range(arms.size):
            row = arms[n]
            first = regression.firsts[row]
            norms[row] = _quadratic(state.expected.inverse, regression.rows, row, first)
    else:
        for n in range(arms.size):
            norms[arms[n]] = max(0.0, regression.norms[arms[n]])


@kernel
def _quadratic(matrix: Floats, rows: Floats, row: int, first: int) -> float:
    """x^T M x, at least 0, for row x of rows (n, w) and the block of M (d, w) from first on."""
    total, width = 0.0, rows.shape[1]
    for i in range(width):
        along = 0.0
        for j in range(width):
            along += matrix[first + i, j] * rows[row, j]
        total += along * rows[row, i]
    return max(0.0, total)


@kernel
def _upper(state: State, mean: float, norm: float, rounds: float) -> float:
    """Step 3: the upper bound of an arm in a context that has come up for so many rounds.

    A level that grows with stakes s = rounds ||x||^2, the rounds per pull: LEVEL + 2 log(1 + s /
    STAKES).
    """
    level = LEVEL + 2.0 * math.log1p(rounds * norm / STAKES)
    return mean + state.model[0].noise * math.sqrt(level * norm)


@kernel
def _remember(state: State, arms: Ints, greedy: int, t: float) -> None:
    """Keep the likeliest of the rows arms (n,) of an open context: those with the highest bounds.

    They take the place of the oldest context.
    """
    questions, regression, bounds = state.questions, state.regression, state.questions.worth
    slot = int(state.ledger.counters[0].rounds % CONTEXTS)
    for n in range(arms.size):
        row = arms[n]
        bounds[row] = _upper(state, regression.means[row], questions.norms[row], t)
    bounds[greedy] = math.inf
    questions.counts[slot] = min(ARMS, arms.size)
    for place in range(slot * ARMS, slot * ARMS + questions.counts[slot]):
        likeliest = arms[0]
        for n in range(1, arms.size):
            if bounds[arms[n]] > bounds[likeliest]:
                likeliest = arms[n]
        bounds[likeliest] = -math.inf
        questions.blocks[place] = regression.firsts[likeliest]
        for i in range(regression.rows.shape[1]):
            questions.recent[place, i] = regression.rows[likeliest, i]


@kernel
def _continue_sweep(state: State, context: int, t: float) -> None:
    """Steps 3 and 4 for some contexts: at least one, and more of them as long as they take little.

    Begins again if that is due.
    """
    sweep, questions, work = state.sweep, state.questions, 0.0
    if sweep[0].place >= sweep[0].places:
        if not sweep[0].due:
            return
        rounds, contexts = state.ledger.counters[0].rounds + 1, state.ledger.visits.size
        sweep[0].due, sweep[0].place = False, 0
        sweep[0].places = int(min(rounds, CONTEXTS)) if state.opened else contexts
    most = questions.counts.size if state.opened else state.ledger.visits.size
    sweep[0].places = min(sweep[0].places, most)  # whatever a file says
    while sweep[0].place < sweep[0].places and work < WORK:
        work += _ask(state, sweep[0].place, context, t)
        sweep[0].place += 1
    if sweep[0].place >= sweep[0].places:
        sweep[0].epoch += 1
        for i in range(questions.price.shape[0]):
            for j in range(questions.price.shape[1]):
                questions.price[i, j] = questions.next_price[i, j]
                questions.next_price[i, j] = 0.0


@kernel
def _ask(state: State, place: int, context: int, t: float) -> float:
    """Steps 3 and 4 for one context: a listed one, or a recent one; context: that of the round.

    Returns how many multiplications that took.
    """
    questions, ledger, regression = state.questions, state.ledger, state.regression
    rows, firsts, share, rounds = regression.rows, regression.firsts, 1.0, t
    if state.opened:
        rows, firsts = questions.recent, questions.blocks
        begin = place * ARMS
        stop = begin + min(ARMS, questions.counts[place])
        share = 1.0 / state.sweep[0].places
        for row in range(begin, stop):  # whatever a file says
            firsts[row] = min(firsts[row], regression.theta.size - rows.shape[1])
    else:
        begin, stop = ledger.offsets[place], ledger.offsets[place + 1]
        visits = ledger.visits[place] + (1.0 if place == context else 0.0)
        share = visits / (ledger.counters[0].rounds + 1.0)
        rounds = share * t
    if share == 0.0 or stop <= begin:
        return 1.0
    ahead, width = look_ahead(state.expected, regression), rows.shape[1]
    inverse = state.expected.inverse if ahead else regression.inverse
    greedy, highest = begin, -math.inf
    for row in range(begin, stop):
        mean = _mean(regression.theta, rows, row, firsts[row])
        if mean > highest:
            greedy, highest = row, mean
    if not state.opened:
        questions.best[place] = greedy
    norm = _quadratic(inverse, rows, greedy, firsts[greedy])
    bound, work = _upper(state, highest, norm, rounds), 1.0 + (stop - begin) * width * width
    for row in range(begin, stop):
        norm = _quadratic(inverse, rows, row, firsts[row])
        mean = _mean(regression.theta, rows, row, firsts[row])
        if row != greedy and _upper(state, mean, norm, rounds) > bound:
            _add_question(state, inverse, rows, firsts, greedy, row, highest - mean, share)
            work += 4.0 * width * width
    return work


@kernel
def _mean(theta: Floats, rows: Floats, row: int, first: int) -> float:
    """<x, theta_hat> for row x of rows (n, w) about entries of theta (d,) from first on."""
    total = 0.0
    for i in range(rows.shape[1]):
        total += theta[first + i] * rows[row, i]
    return total


@kernel
def _add_question(
    state: State,
    inverse: Floats,
    rows: Floats,
    firsts: Ints,
    greedy: int,
    row: int,
    gap: float,
    share: float,
) -> None:
    """Step 4 for one question: add its share of the price of information.

    The expected loss of committing to x^ is e (phi(z) - z Phi(-z)), z = gap / e. Its derivative by
    e^2 is phi(z) / (2 e). A pull of y takes sigma^2 <y, V^-1 (x^ - x)>^2 / (1 + ||y||^2) from e^2.
    """
    price, along = state.questions.next_price, state.questions.along
    difference, width = state.questions.difference, rows.shape[1]
    ours, theirs = firsts[greedy], firsts[row]
    variance = 0.0
    for i in range(width):
        difference[i] = rows[greedy, i] - (rows[row, i] if ours == theirs else 0.0)
    for i in range(width):
        along[i] = 0.0
        for j in range(width):
            along[i] += inverse[ours + i, j] * difference[j]
        variance += along[i] * difference[i]
    if ours != theirs:
        for i in range(width):
            along[width + i] = 0.0
            for j in range(width):
                along[width + i] += inverse[theirs + i, j] * rows[row, j]
            variance += along[width + i] * rows[row, i]
    variance *= state.model[0].noise ** 2
    if variance <= 0.0:  # the same vector
        return
    error = math.sqrt(variance)
    density = math.exp(-0.5 * (gap / error) ** 2) / math.sqrt(2.0 * math.pi)
    weight = share * state.model[0].noise ** 2 * density / (2.0 * error)
    for i in range(width):
        for j in range(width):
            price[ours + i, j] += weight * along[i] * along[j]
    if ours != theirs:
        for i in range(width):
            for j in range(width):
                price[theirs + i, j] += weight * along[width + i] * along[width + j]


@kernel
def _best_arm(state: State, context: int, arms: Ints, greedy: int, t: float) -> int:
    """Step 5: one of the rows arms (n,) with the highest value; equal ones at random.

    If the greedy arm is another than in the last sweep, the less known of the two.
    """
    questions, sweep = state.questions, state.sweep
    before = greedy if state.opened else questions.best[context]
    sweep[0].equals = 1
    if before != greedy:
        for n in range(arms.size):
            if arms[n] == before:  # it is on offer
                return before if questions.norms[before] > questions.norms[greedy] else greedy
    least = questions.norms[greedy] / (9.0 * math.exp(_growth(state)))
    highest, equals = -math.inf, 0
    for n in range(arms.size):
        if questions.norms[arms[n]] >= least:
            _update_worth(state, arms[n])
            value = _value(state, arms[n], t)
            if value > highest:
                highest, equals = value, 0
            if value == highest:
                equals += 1
    drawn, best = int(state.ledger.uniforms[0] * equals), greedy
    for n in range(arms.size):
        if questions.norms[arms[n]] >= least and _value(state, arms[n], t) == highest:
            if drawn == 0:
                best = arms[n]
            drawn -= 1
    sweep[0].equals = equals
    return best


@kernel
def _update_worth(state: State, row: int) -> None:
    """y^T A y of a row, if it is not that of the last sweep."""
    questions, regression, epoch = state.questions, state.regression, state.sweep[0].epoch
    if state.opened or questions.epochs[row] != epoch:
        first = regression.firsts[row]
        questions.worth[row] = _quadratic(questions.price, regression.rows, row, first)
        questions.epochs[row] = epoch


@kernel
def _value(state: State, row: int, t: float) -> float:
    """Step 5: the mean of an arm, and what a pull of it saves in t rounds to come."""
    questions = state.questions
    saved = t * questions.worth[row] / (1.0 + questions.norms[row])
    return state.regression.means[row] + saved
