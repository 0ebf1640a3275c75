"""SOLID: primal and dual steps towards the optimal allocation (Tirinzoni et al. 2020).

Tirinzoni, Pirotta, Restelli and Lazaric. Experimental: structure, phases and step sizes agree with
an independent implementation (github.com/kirschnj/pm-ids). The level of confidence, z_0, the
constant of the optimism and the treatment of contexts could not be checked against the paper.

The lower bound asks for the exploration weights w(x, .) of least regret that tell the estimate
theta, to the level 1 / z, from every theta' under which another arm is best. Each exploration round
takes one step on its Lagrangian: exponential weights for w, a gradient step for the dual variable
lambda, both optimistic. For W positive definite, D the estimated gap of an arm,
u = phi(x, a*) - phi(x, a), norms in W^-1: v(W) = min D^2 / ||u||^2, and there
theta' = theta - D / ||u||^2 W^-1 u.

It exploits once v(V) > beta_t = level sigma^2 (log t + d log log n); confidence intervals have the
width sqrt(gamma_t) ||x||_{V^-1}, gamma_t = sigma^2 (log S + d log log n), S the exploration rounds.
The lower bound asks for v(V) near 2 sigma^2 log t: with level = 1, as here by default, the policy
stops at half of that and is not asymptotically optimal; level = 2 asks for as much as the bound.

What the source leaves open, and how it is done here:

- rewards are in units of the noise, so that steps do not depend on the unit of rewards;
- the minimum is over all arms of all contexts without the vector of the best; over no arm it is
  inf. Where estimates tie, v = 0;
- context frequencies are those of all rounds, this one included: a fair sample, for whether to
  explore does not depend on the context;
- W is singular where w is: a millionth of its trace is added to the diagonal. V starts from the
  ridge, and log log n is at least 0;
- theta' is not clipped to plausible parameters, as none are given: clipped to change no mean by
  more than the noise, it gave the same regret;
- w is stored in logarithms, and conditioned on the arms on offer. It and lambda move together, from
  their values at the start of the round, before its reward is known. They start anew when action
  sets change; data and phase stay.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thrifty.compiler.compilation import kernel
from thrifty.compiler.records import Record, Records
from thrifty.numerics.arrays import Floats, Ints, Rows
from thrifty.numerics.dense import add_outer, invert_regularised
from thrifty.numerics.regression import Regression, observe, start_regression
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, Renumbering, is_whole_set, start_ledger
from thrifty.policies.shared.selection import best_row, draw_arm, greedy_arm
from thrifty.policies.shared.stubs import Choice, choose, implements, learn
from thrifty.problem.action_sets import ActionSets

EXPLOIT, AGREED, DRAWN = range(3)
HIGHEST_PRICE = 10.0  # of lambda; rarely reached


@dataclass(frozen=True, kw_only=True)
class SOLID(Policy):
    """Draw arms from exploration weights that primal and dual steps improve in each round.

    Play the greedy arm once the estimate is told from its alternatives. kappa = 1 keeps lambda at 0
    for long, so that arms are played for their upper confidence bounds rather than for information;
    kappa = 0 exploits sooner.

    Parameters
    ----------
    kappa : optimism about the information of an arm, in widths of its confidence interval
    z : exploration rounds per unit of information in phase 0, and its length; phase k asks for
        1 / (z e^k) and lasts z e^3k exploration rounds
    weight_step : step size of the logarithms of the weights
    price_step : step size of lambda
    decay : steps shrink as p^-decay, p the length of the phase; 1/2, with both steps 1, is the
        theory's
    reset : `yes` or `no`, whether weights and lambda start anew with each phase
    level : factor of beta_t, the level at which alternatives count as ruled out; 2 is what the
        lower bound asks for
    ridge, horizon : see Policy
    """

    kappa: float = parameters.number(1.0, at_least=0)
    z: float = parameters.number(10.0, at_least=1)
    weight_step: float = parameters.number(0.5, above=0)
    price_step: float = parameters.number(0.1, above=0)
    decay: float = parameters.number(0.0, at_least=0)
    reset: str = parameters.word("yes", "no")
    level: float = parameters.number(1.0, above=0)
    ridge: float | None = parameters.ridge()
    horizon: float | None = parameters.horizon()

    name = "solid"
    experimental = True
    # agreed: drawn from the weights, and the greedy arm
    observed_label = 1  # rewards of `exploit` are not learned from
    labels = ("exploit", "agreed", "explored")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        log_n, sizes = math.log(self._planned_rounds(horizon)), np.diff(sets.offsets)
        k, d = sets.rows.shape
        return State(
            start_ledger(sets, uniforms=1),
            start_regression(sets.rows, ridge=self._ridge(noise)),
            Saddle(
                logs=np.zeros(k),
                weights=np.repeat(1.0 / sizes, sizes),
                best=np.zeros(sets.contexts, dtype=np.int64),
                information=np.zeros((d, d)),
                inverse=np.zeros((d, d)),
                shift=np.zeros(d),
                difference=np.zeros(d),
                progress=Progress.new(rounds_left=float(self.z)),
            ),
            noise=noise,
            d_log_log_n=d * math.log(max(1.0, log_n)),
            kappa=float(self.kappa),
            z=float(self.z),
            weight_step=float(self.weight_step),
            price_step=float(self.price_step),
            decay=float(self.decay),
            reset=self.reset == "yes",
            level=float(self.level),
        )

    def carry(self, old: Any, new: Any, renumbering: Renumbering) -> None:
        super().carry(old, new, renumbering)
        before, after = old.saddle.progress, new.saddle.progress
        after[0].phase, after[0].rounds_left = before[0].phase, before[0].rounds_left

    def learn_removed(self, state: Any, features: Floats, reward: float) -> None:
        super().learn_removed(state, features, reward)
        state.saddle.progress[0].current = False


class Progress(Record):
    """Where the search for the saddle point of the Lagrangian is."""

    current: bool  # whether evidence and greedy rows are those of the present estimate
    evidence: float  # v(V)
    price: float  # lambda, the dual variable of the information constraint
    phase: float  # k
    rounds_left: float  # exploration rounds of the phase


class Saddle(NamedTuple):
    """Primal and dual variables, and work space for their steps."""

    logs: Floats  # (k,) logarithms of the weights, 0 for the heaviest of a context
    weights: Floats  # (k,) w, with sum 1 in each context
    best: Rows  # (M,) the greedy row of each context
    information: Floats  # (d, d) W, then its Cholesky factor: the lower triangle
    inverse: Floats  # (d, d) W^-1
    shift: Floats  # (d,) theta - theta', in units of the noise
    difference: Floats  # (d,) u
    progress: Records  # (1,) of Progress


class State(NamedTuple):
    """The state of SOLID."""

    ledger: Ledger
    regression: Regression  # of exploration rounds only
    saddle: Saddle
    noise: float
    d_log_log_n: float
    kappa: float
    z: float
    weight_step: float
    price_step: float
    decay: float
    reset: bool
    level: float


class Rival(NamedTuple):
    """The arm that is hardest to tell from the best of its context; inf if there is none."""

    row: int
    best: int
    value: float  # D^2 / ||u||^2


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, regression, saddle = state.ledger, state.regression, state.saddle
    progress, offsets = saddle.progress, ledger.offsets
    if not progress[0].current:
        for m in range(saddle.best.size):
            saddle.best[m] = best_row(regression.means, offsets[m], offsets[m + 1])
        progress[0].evidence = _hardest_rival(state, regression.inverse).value
        progress[0].current = True
    whole = is_whole_set(ledger, context, arms)
    greedy = saddle.best[context] if whole else greedy_arm(regression, arms)
    t = ledger.counters[0].rounds + 1.0
    beta_t = state.level * state.noise**2 * (math.log(t) + state.d_log_log_n)
    if progress[0].evidence > beta_t:
        return Choice(greedy, EXPLOIT)
    row = draw_arm(saddle.weights, arms, ledger.uniforms[0])
    ledger.counters[0].explored += 1
    _step(state, context, t)
    return Choice(row, AGREED if row == greedy else DRAWN)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    if label != EXPLOIT:
        observe(state.regression, row, reward)
        state.saddle.progress[0].current = False


@kernel
def _hardest_rival(state: State, inverse: Floats) -> Rival:
    """The minimiser of D^2 / ||u||^2 over all arms, the norm in inverse (d, d)."""
    rows, means = state.regression.rows, state.regression.means
    best, u = state.saddle.best, state.saddle.difference
    ids, offsets = state.ledger.vector_ids, state.ledger.offsets
    rival, rival_best, least = 0, 0, math.inf
    for m in range(best.size):
        for row in range(offsets[m], offsets[m + 1]):
            if ids[row] == ids[best[m]]:
                continue
            # ||u||^2 = sum over i of u_i (inverse_ii u_i + 2 sum over j < i of inverse_ij u_j)
            distance = 0.0
            for i in range(u.size):
                u[i] = rows[best[m], i] - rows[row, i]
                half = 0.5 * inverse[i, i] * u[i]
                for j in range(i):
                    half += inverse[i, j] * u[j]
                distance += 2.0 * half * u[i]
            value = (means[best[m]] - means[row]) ** 2 / distance
            if value < least:
                rival, rival_best, least = row, best[m], value
    return Rival(rival, rival_best, least)


@kernel
def _step(state: State, context: int, t: float) -> None:
    """One step of w and lambda, at the theta' that W tells least from theta."""
    saddle, progress = state.saddle, state.saddle.progress
    _invert_information(state, context, t)
    rival = _hardest_rival(state, saddle.inverse)
    _find_shift(state, rival)
    # sqrt(gamma_t) / sigma
    root = math.sqrt(math.log(float(state.ledger.counters[0].explored)) + state.d_log_log_n)
    step, mean_width = _phase_length(state) ** -state.decay, 0.0  # under w
    for m in range(saddle.best.size):
        width = _update_weights(state, m, root, step * state.weight_step)
        mean_width += _frequency(state.ledger, m, context, t) * width
    information = rival.value / (2.0 * state.noise**2)
    wanted = math.exp(-progress[0].phase) / state.z
    gradient = information + state.kappa * mean_width - wanted  # g
    price = progress[0].price - step * state.price_step * gradient
    progress[0].price = min(max(price, 0.0), HIGHEST_PRICE)
    progress[0].rounds_left -= 1
    if progress[0].rounds_left <= 0:
        _end_phase(state)


@kernel
def _find_shift(state: State, rival: Rival) -> None:
    """theta - theta' = D / ||u||^2 W^-1 u."""
    rows, means = state.regression.rows, state.regression.means
    inverse, shift, u = state.saddle.inverse, state.saddle.shift, state.saddle.difference
    for i in range(u.size):
        u[i] = rows[rival.best, i] - rows[rival.row, i]
    distance = 0.0
    for i in range(u.size):
        shift[i] = 0.0
        for j in range(u.size):
            shift[i] += inverse[i, j] * u[j]
        distance += shift[i] * u[i]
    for i in range(u.size):
        shift[i] *= (means[rival.best] - means[rival.row]) / (distance * state.noise)


@kernel
def _frequency(ledger: Ledger, m: int, context: int, t: float) -> float:
    """The share of context m in the rounds up to t, in which context came."""
    return (ledger.visits[m] + (1.0 if m == context else 0.0)) / t


@kernel
def _update_weights(state: State, m: int, root: float, step: float) -> float:
    """Exponential weights: w <- w exp(step q) in context m; returns the mean width before."""
    regression, saddle, price = state.regression, state.saddle, state.saddle.progress[0].price
    first, stop = state.ledger.offsets[m], state.ledger.offsets[m + 1]
    mean_width, heaviest, total = 0.0, -math.inf, 0.0
    for row in range(first, stop):
        width = root * math.sqrt(max(0.0, regression.norms[row]))
        mean_width += saddle.weights[row] * width
        change = 0.0  # <phi, theta - theta'>
        for i in range(saddle.shift.size):
            change += regression.rows[row, i] * saddle.shift[i]
        information = 0.5 * change * change + state.kappa * width
        q = regression.means[row] / state.noise + width + price * information
        saddle.logs[row] += step * q
        heaviest = max(heaviest, saddle.logs[row])
    for row in range(first, stop):
        saddle.logs[row] -= heaviest
        saddle.weights[row] = math.exp(saddle.logs[row])
        total += saddle.weights[row]
    for row in range(first, stop):
        saddle.weights[row] /= total
    return mean_width


@kernel
def _phase_length(state: State) -> float:
    """p_k = z_k e^2k with z_k = z e^k."""
    return state.z * math.exp(3.0 * state.saddle.progress[0].phase)


@kernel
def _end_phase(state: State) -> None:
    """Begin the next phase, which is longer and asks for less information per round."""
    offsets, saddle, progress = state.ledger.offsets, state.saddle, state.saddle.progress
    progress[0].phase += 1
    progress[0].rounds_left = _phase_length(state)
    if state.reset:
        progress[0].price = 0.0
        saddle.logs[:] = 0.0
        for m in range(saddle.best.size):
            saddle.weights[offsets[m] : offsets[m + 1]] = 1.0 / (offsets[m + 1] - offsets[m])


@kernel
def _invert_information(state: State, context: int, t: float) -> None:
    """W^-1 for W = sum of frequency w phi phi^T, regularised."""
    ledger, rows = state.ledger, state.regression.rows
    weights, W = state.saddle.weights, state.saddle.information
    trace = 0.0
    W[:] = 0.0
    for m in range(ledger.visits.size):
        frequency = _frequency(ledger, m, context, t)
        for row in range(ledger.offsets[m], ledger.offsets[m + 1]):
            trace = add_outer(W, frequency * weights[row], rows[row], trace)
    invert_regularised(W, trace, state.saddle.inverse)
