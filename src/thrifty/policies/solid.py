"""SOLID, asymptotically optimal by primal and dual steps (Tirinzoni, Pirotta, Restelli and Lazaric
2020). Its structure; its constants from memory.

The lower bound asks for the exploration policy w(x, .) of least regret that tells the estimate
theta, to the level 1 / z, from every theta' under which another arm is best. Each exploration round
takes one step of its Lagrangian: exponential weights for w, a gradient step for the price lambda,
both optimistic. For W positive definite, with D the estimated gap of an arm, u = phi(x, a*) -
phi(x, a), and norms in W^-1: v(W) = min D^2 / ||u||^2, and theta' = theta - D / ||u||^2 W^-1 u at
the minimiser.

How we read what the source leaves open:

- rewards count in units of the noise, so that steps and prices do not depend on the unit of
  rewards; for noise 1 that changes nothing;
- the minimum is over all contexts and all arms, save those with the vector of the best; of nothing
  it is inf. Where estimates tie, v = 0;
- the context law is that of all rounds, this one included: whether to explore does not depend on
  the context, so that all rounds are a fair sample;
- W is singular where w is: a millionth of its trace is added to the diagonal. V starts from the
  ridge;
- theta' is not clipped to plausible parameters, of which we are told none: clipped to change no
  mean by more than the noise, it gave the same regret;
- w is kept in logarithms, and conditioned on the arms on offer. It and lambda move together, from
  where the round found them, before its reward is known. They start anew where action sets change;
  data and phase stay. log log n is no less than 0.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from thrifty.actions import ActionSets
from thrifty.arrays import Floats, Ints
from thrifty.compilation import kernel
from thrifty.dense import invert_positive
from thrifty.policies.base import (
    EXPLORED,
    ROUNDS,
    Choice,
    Ledger,
    Moves,
    Policy,
    choose,
    implements,
    learn,
    start_ledger,
)
from thrifty.policies.moves import draw_arm, find_best_rows, greedy_arm
from thrifty.regression import Regression, observe, start_regression

EXPLOIT, AGREED, DRAWN = range(3)
EVIDENCE, PRICE, PHASE, LEFT = range(4)  # entries of Saddle.numbers
HIGHEST = 10.0  # price; rarely reached
FAINT = 1e-6  # added to the diagonal of W, as a share of its trace


@dataclass(frozen=True, kw_only=True)
class SOLID(Policy):
    """Play the greedy arm once the evidence is in; until then draw from exploration weights that
    primal and dual steps improve, one each round.

    kappa = 1 keeps the price at 0 for long: arms are played for hope rather than for information.
    kappa = 0 exploits sooner.

    Parameters
    ----------
    kappa : optimism about what an arm tells, in widths of its confidence interval
    z : exploration rounds per unit of information in phase 0, and its length; phase k asks for 1 /
        (z e^k) and lasts z e^3k exploration rounds
    weight_step : of the logarithms of the weights
    price_step : of the price of information
    decay : steps shrink as p^-decay, p the length of the phase; 1/2, with both steps 1, is the
        theory's
    reset : `yes` or `no`, whether weights and price start anew with each phase
    ridge : what V starts from
    horizon : rounds to plan for; that of the run by default
    """

    kappa: float = 1.0
    z: float = 10.0
    weight_step: float = 0.5
    price_step: float = 0.1
    decay: float = 0.0
    reset: str = "yes"
    ridge: float = 1.0
    horizon: float | None = None

    name: ClassVar[str] = "solid"
    # agreed: drawn, and greedy all the same
    labels: ClassVar[tuple[str, ...]] = ("exploit", "agreed", "explored")

    def __post_init__(self) -> None:
        self._at_least(0, "kappa", "decay")
        self._at_least(1, "z")
        self._above(0, "weight_step", "price_step", "ridge")
        self._one_of("reset", "yes", "no")
        self._horizon()

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        return State(
            start_ledger(sets, uniforms=1),
            start_regression(sets.rows, ridge=self.ridge),
            _start_saddle(sets, float(self.z)),
            noise=noise,
            spare=sets.dimension * math.log(max(1.0, math.log(self._rounds(horizon)))),
            kappa=float(self.kappa),
            z=float(self.z),
            weight_step=float(self.weight_step),
            price_step=float(self.price_step),
            decay=float(self.decay),
            reset=self.reset == "yes",
        )

    def carry(self, old: Any, new: Any, moves: Moves) -> None:
        super().carry(old, new, moves)
        new.saddle.numbers[PHASE:] = old.saddle.numbers[PHASE:]

    def learn_gone(self, state: Any, features: Floats, reward: float) -> None:
        super().learn_gone(state, features, reward)
        state.saddle.numbers[EVIDENCE] = np.nan


class Saddle(NamedTuple):
    """Where the search for the saddle point of the Lagrangian is, and what its steps need."""

    logs: Floats  # (k,) logarithms of the weights, 0 for the heaviest of a context
    weights: Floats  # (k,) w, with sum 1 in each context
    best: Ints  # (M,) the greedy row of each context
    information: Floats  # (d, d) W, then its Cholesky factor: the lower triangle
    inverse: Floats  # (d, d) W^-1
    shift: Floats  # (d,) theta - theta', in units of the noise
    difference: Floats  # (d,) u
    # (4,) v(V), NaN where V has changed since; lambda; the phase k, and the exploration rounds that
    # are left of it
    numbers: Floats


class State(NamedTuple):
    """What SOLID remembers."""

    ledger: Ledger
    regression: Regression  # of exploration rounds alone
    saddle: Saddle
    noise: float
    spare: float  # d log log n
    kappa: float
    z: float
    weight_step: float
    price_step: float
    decay: float
    reset: bool


class Rival(NamedTuple):
    """The arm that is hardest to tell from the best of its context; -1 and inf where all contexts
    have but one vector.
    """

    row: int
    best: int
    value: float  # D^2 / ||u||^2


def _start_saddle(sets: ActionSets, z: float) -> Saddle:
    k, d, sizes = len(sets.rows), sets.dimension, np.diff(sets.offsets)
    return Saddle(
        logs=np.zeros(k),
        weights=np.repeat(1.0 / sizes, sizes),
        best=np.zeros(sets.contexts, dtype=np.int64),
        information=np.zeros((d, d)),
        inverse=np.zeros((d, d)),
        shift=np.zeros(d),
        difference=np.zeros(d),
        numbers=np.array([np.nan, 0.0, 0.0, z]),
    )


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, regression, saddle = state.ledger, state.regression, state.saddle
    if math.isnan(saddle.numbers[EVIDENCE]):
        find_best_rows(regression.means, ledger.offsets, saddle.best)
        saddle.numbers[EVIDENCE] = _closest(state, regression.inverse).value
    whole = arms.size == ledger.offsets[context + 1] - ledger.offsets[context]
    greedy = saddle.best[context] if whole else greedy_arm(regression, arms)
    now = ledger.clock[ROUNDS] + 1.0
    if saddle.numbers[EVIDENCE] > state.noise**2 * (math.log(now) + state.spare):  # beta_t
        return Choice(greedy, EXPLOIT)
    row = draw_arm(saddle.weights, arms, ledger.uniforms[0])
    ledger.clock[EXPLORED] += 1
    _step(state, context, now)
    return Choice(row, AGREED if row == greedy else DRAWN)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    if label != EXPLOIT:
        observe(state.regression, row, reward)
        state.saddle.numbers[EVIDENCE] = math.nan


@kernel
def _closest(state: State, inverse: Floats) -> Rival:
    """The minimiser of D^2 / ||u||^2 over all arms, the norm in inverse (d, d)."""
    rows, means, best, u = (
        state.regression.rows,
        state.regression.means,
        state.saddle.best,
        state.saddle.difference,
    )
    ids, offsets = state.ledger.vector_ids, state.ledger.offsets
    rival, rival_best, least = -1, -1, math.inf
    for m in range(best.size):
        for row in range(offsets[m], offsets[m + 1]):
            if ids[row] == ids[best[m]]:
                continue
            # ||u||^2 = sum over i of u_i (inverse_ii u_i + 2 sum over j < i of inverse_ij u_j)
            spread = 0.0
            for i in range(u.size):
                u[i] = rows[best[m], i] - rows[row, i]
                half = 0.5 * inverse[i, i] * u[i]
                for j in range(i):
                    half += inverse[i, j] * u[j]
                spread += 2.0 * half * u[i]
            value = (means[best[m]] - means[row]) ** 2 / spread
            if value < least:
                rival, rival_best, least = row, best[m], value
    return Rival(rival, rival_best, least)


@kernel
def _step(state: State, context: int, now: float) -> None:
    """One step of weights and price, at the theta' that W tells least from theta."""
    saddle = state.saddle
    _gather(state, context, now)
    invert_positive(saddle.information, saddle.inverse)
    rival = _closest(state, saddle.inverse)
    _find_shift(state, rival)
    # sqrt(gamma_t) / sigma
    root = math.sqrt(math.log(float(state.ledger.clock[EXPLORED])) + state.spare)
    pace = _length(state) ** -state.decay
    unsure = 0.0  # the mean width under w
    for m in range(saddle.best.size):
        unsure += _share(state.ledger, m, context, now) * _reweigh(
            state, m, root, pace * state.weight_step
        )
    # g
    excess = (
        rival.value / (2.0 * state.noise**2)
        + state.kappa * unsure
        - math.exp(-saddle.numbers[PHASE]) / state.z
    )
    saddle.numbers[PRICE] = min(
        max(saddle.numbers[PRICE] - pace * state.price_step * excess, 0.0), HIGHEST
    )
    saddle.numbers[LEFT] -= 1
    if saddle.numbers[LEFT] <= 0:
        _end_phase(state)


@kernel
def _find_shift(state: State, rival: Rival) -> None:
    """theta - theta' = D / ||u||^2 W^-1 u."""
    regression, inverse, shift, u = (
        state.regression,
        state.saddle.inverse,
        state.saddle.shift,
        state.saddle.difference,
    )
    for i in range(u.size):
        u[i] = regression.rows[rival.best, i] - regression.rows[rival.row, i]
    spread = 0.0
    for i in range(u.size):
        shift[i] = 0.0
        for j in range(u.size):
            shift[i] += inverse[i, j] * u[j]
        spread += shift[i] * u[i]
    for i in range(u.size):
        shift[i] *= (regression.means[rival.best] - regression.means[rival.row]) / (
            spread * state.noise
        )


@kernel
def _share(ledger: Ledger, m: int, context: int, now: float) -> float:
    """How often context m came, in round now and before, as a share."""
    return (ledger.visits[m] + (1.0 if m == context else 0.0)) / now


@kernel
def _reweigh(state: State, m: int, root: float, step: float) -> float:
    """Exponential weights: w <- w exp(step q) in context m; returns the mean width under w as it
    was.
    """
    regression, saddle, price = state.regression, state.saddle, state.saddle.numbers[PRICE]
    first, stop = state.ledger.offsets[m], state.ledger.offsets[m + 1]
    unsure, heaviest, total = 0.0, -math.inf, 0.0
    for row in range(first, stop):
        width = root * math.sqrt(max(0.0, regression.norms[row]))
        unsure += saddle.weights[row] * width
        change = 0.0  # <phi, theta - theta'>
        for i in range(saddle.shift.size):
            change += regression.rows[row, i] * saddle.shift[i]
        q = (
            regression.means[row] / state.noise
            + width
            + price * (0.5 * change * change + state.kappa * width)
        )
        saddle.logs[row] += step * q
        heaviest = max(heaviest, saddle.logs[row])
    for row in range(first, stop):
        saddle.logs[row] -= heaviest
        saddle.weights[row] = math.exp(saddle.logs[row])
        total += saddle.weights[row]
    for row in range(first, stop):
        saddle.weights[row] /= total
    return unsure


@kernel
def _length(state: State) -> float:
    """p_k = z_k e^2k with z_k = z e^k, of the phase at hand."""
    return state.z * math.exp(3.0 * state.saddle.numbers[PHASE])


@kernel
def _end_phase(state: State) -> None:
    """Ask for less information, over a longer phase."""
    offsets, saddle = state.ledger.offsets, state.saddle
    saddle.numbers[PHASE] += 1
    saddle.numbers[LEFT] = _length(state)
    if state.reset:
        saddle.numbers[PRICE] = 0.0
        saddle.logs[:] = 0.0
        for m in range(saddle.best.size):
            saddle.weights[offsets[m] : offsets[m + 1]] = 1.0 / (offsets[m + 1] - offsets[m])


@kernel
def _gather(state: State, context: int, now: float) -> None:
    """W = sum of share w phi phi^T, its lower triangle, made safe to invert."""
    ledger, rows, weights, W = (
        state.ledger,
        state.regression.rows,
        state.saddle.weights,
        state.saddle.information,
    )
    d, trace = rows.shape[1], 0.0
    W[:] = 0.0
    for m in range(ledger.visits.size):
        share = _share(ledger, m, context, now)
        for row in range(ledger.offsets[m], ledger.offsets[m + 1]):
            weight = share * weights[row]
            for i in range(d):
                trace += weight * rows[row, i] * rows[row, i]
                for j in range(i + 1):
                    W[i, j] += weight * rows[row, i] * rows[row, j]
    for i in range(d):
        W[i, i] += FAINT * trace if trace > 0.0 else 1.0
