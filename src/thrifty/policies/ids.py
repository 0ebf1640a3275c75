"""Information-directed sampling, asymptotically optimal (Kirschner, Lattimore, Vernade and Szepesvari 2021).

Explore by the least ratio of squared regret to information; once every alternative is ruled out, exploit, and forget what exploiting shows. With V = I + sum of
x x^T over exploration rounds, s of them, norms in V^-1 and x^ the greedy arm:

    beta(m) = (noise sqrt(log det V + 2 log(m log m)) + 1)^2
    r_z = <x^ - z, theta>^2 / ||x^ - z||^2                                          evidence against z; exploit iff the least is at least beta(t)
    gap(x) = max over y of <y - x, theta> + sqrt(beta(s)) ||y - x||                 the regret of x, at most
    I(x) = 1/2 sum_z q_z (|<nu_z - theta, x>| + o(x))^2,  q_z ~ exp(-r_z / eta)     nu_z: the nearest parameter for which z is no worse than x^
    play j with the chance p, else x^, where (j, p) has the least ((1 - p) gap(x^) + p gap(j))^2 / ((1 - p) I(x^) + p I(j))

Read where the paper leaves room, or speaks of one action set only:

- eta is the root of the largest min_z r_z of exploration rounds so far, at least 1; m is at least 2; q need not sum to one: it scales all ratios alike;
- p is the least ratio's, also where gap(j) <= gap(x^), which the closed form of p has no answer for; an arm without more information than x^ gets p = 0;
- contexts, for which nothing is proved: alternatives are those of all contexts, each against the greedy arm of its own; gaps and information are those of the
  arms on offer. A vector equal to the greedy one is no alternative.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thrifty.actions import ActionSets
from thrifty.arrays import Floats, Ints
from thrifty.compilation import kernel
from thrifty.policies.base import EXPLORED, ROUNDS, Choice, Ledger, Moves, Policy, choose, implements, learn, start_ledger
from thrifty.policies.moves import greedy_arm, optimistic_arm
from thrifty.regression import LOGDET, Regression, observe, start_regression
from thrifty.widths import oful

EXPLOIT, GREEDY, INFORMATIVE = range(3)
LEAST, MOST, TOTAL = range(3)  # entries of Evidence.numbers
NEGLIGIBLE = 1e-20  # a weight below this share of the largest changes no sum of doubles


@dataclass(frozen=True, kw_only=True)
class IDS(Policy):
    """Play the mixture of the greedy arm and another that has the least squared regret per information; exploit once all alternatives are ruled out.

    Parameters
    ----------
    correction : whose information is taken for larger by the width of the confidence interval: `ucb`, that of the optimistic arm only, or `all`, that of every
        arm, with which the paper's proof is done. In the paper's figure, as here, `ucb` has less regret
    """

    correction: str = "ucb"

    name: ClassVar[str] = "ids"
    labels: ClassVar[tuple[str, ...]] = ("exploit", "greedy", "informative")

    def __post_init__(self) -> None:
        self._one_of("correction", "ucb", "all")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        regression = start_regression(sets.rows, ridge=1.0)
        return State(start_ledger(sets, uniforms=1), regression, _start_evidence(sets), noise=noise, all_arms=self.correction == "all")

    def carry(self, old: "State", new: "State", moves: Moves) -> None:
        super().carry(old, new, moves)
        new.evidence.numbers[MOST] = old.evidence.numbers[MOST]

    def learn_gone(self, state: "State", features: Floats, reward: float) -> None:
        super().learn_gone(state, features, reward)
        state.evidence.numbers[LEAST] = np.nan


class Evidence(NamedTuple):
    """What the exploration data say against each row z of a context with the greedy row x^; made anew when they have changed."""

    leans: Floats  # (k, d) V^-1 (x^ - z)
    slopes: Floats  # (k,) <x^ - z, theta> / ||x^ - z||^2, so that theta - nu_z is slope times lean
    ratios: Floats  # (k,) r_z; infinite where z is no alternative
    weights: Floats  # (k,) q_z, as shares of the largest
    moments: Floats  # (d, d) sum of q_z (nu_z - theta)(nu_z - theta)^T
    numbers: Floats  # (3,) the least r_z, NaN where evidence is out of date; the largest of them in exploration rounds; the sum of q


class State(NamedTuple):
    """What information-directed sampling remembers; s is in ledger.clock."""

    ledger: Ledger
    regression: Regression
    evidence: Evidence
    noise: float
    all_arms: bool


class Mixture(NamedTuple):
    """The chance of another arm than the greedy one, and the information ratio that it gives."""

    chance: float
    ratio: float


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, numbers = state.ledger, state.evidence.numbers
    if math.isnan(numbers[LEAST]):
        _weigh_evidence(state)
    greedy = greedy_arm(state.regression, arms)
    if numbers[LEAST] >= _width(state, ledger.clock[ROUNDS] + 1.0) ** 2:
        return Choice(greedy, EXPLOIT)
    ledger.clock[EXPLORED] += 1
    _weigh_alternatives(state)
    row = _draw_arm(state, arms, greedy, _width(state, float(ledger.clock[EXPLORED])))
    return Choice(row, GREEDY if row == greedy else INFORMATIVE)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    if label != EXPLOIT:
        observe(state.regression, row, reward)
        state.evidence.numbers[LEAST] = math.nan


@kernel
def _width(state: State, rounds: float) -> float:
    """The root of beta(rounds)."""
    rounds = max(2.0, rounds)
    regression = state.regression
    return oful(regression.numbers[LOGDET], regression.theta.size, 1.0, math.log(rounds * math.log(rounds)), state.noise, 1.0)


@kernel
def _weigh_evidence(state: State) -> None:
    """How far each row is from being as good as the greedy one of its context."""
    ledger, means, evidence = state.ledger, state.regression.means, state.evidence
    least = math.inf
    for m in range(ledger.visits.size):
        best = ledger.offsets[m]
        for row in range(ledger.offsets[m] + 1, ledger.offsets[m + 1]):
            if means[row] > means[best]:
                best = row
        for row in range(ledger.offsets[m], ledger.offsets[m + 1]):
            spread = _lean(state, row, best)
            alternative = spread > 0.0 and ledger.vector_ids[row] != ledger.vector_ids[best]
            evidence.slopes[row] = (means[best] - means[row]) / spread if alternative else 0.0
            evidence.ratios[row] = (means[best] - means[row]) ** 2 / spread if alternative else math.inf
            least = min(least, evidence.ratios[row])
    evidence.numbers[LEAST] = least


@kernel
def _lean(state: State, row: int, best: int) -> float:
    """Write V^-1 (x^ - z) of a row z; returns ||x^ - z||^2."""
    rows, inverse, leans = state.regression.rows, state.regression.inverse, state.evidence.leans
    spread = 0.0
    for i in range(rows.shape[1]):
        total = 0.0
        for j in range(rows.shape[1]):
            total += inverse[i, j] * (rows[best, j] - rows[row, j])
        leans[row, i] = total
        spread += total * (rows[best, i] - rows[row, i])
    return max(0.0, spread)


@kernel
def _weigh_alternatives(state: State) -> None:
    """The weights q_z, and the second moments of nu_z - theta under them."""
    evidence, numbers = state.evidence, state.evidence.numbers
    ratios, slopes, leans, weights, moments = evidence.ratios, evidence.slopes, evidence.leans, evidence.weights, evidence.moments
    numbers[MOST] = max(numbers[MOST], numbers[LEAST])
    eta, total = math.sqrt(max(1.0, numbers[MOST])), 0.0
    for i in range(moments.shape[0]):
        for j in range(moments.shape[0]):
            moments[i, j] = 0.0
    for row in range(ratios.size):
        weight = math.exp((numbers[LEAST] - ratios[row]) / eta)
        weights[row] = weight if weight > NEGLIGIBLE else 0.0
        if weights[row] > 0.0:
            total += weight
            scale = weight * slopes[row] ** 2
            for i in range(moments.shape[0]):
                for j in range(moments.shape[0]):
                    moments[i, j] += scale * leans[row, i] * leans[row, j]
    numbers[TOTAL] = total


@kernel
def _draw_arm(state: State, arms: Ints, greedy: int, width: float) -> int:
    """Draw from the best mixture of the greedy arm and another.

    The ratio rises with the gap of the other arm and falls with its information. Bounds of both, O(d^2) an arm, thus bound the ratio; O(K d) is spent only on
    arms that these leave a chance to be the best.
    """
    optimistic = optimistic_arm(state.regression, arms, width)
    rival = _rival(state, arms, greedy, width)
    gap = _regret(state, greedy, rival, width)
    information = _information(state, greedy, _optimism(state, greedy, optimistic, width))
    other, best = greedy, Mixture(0.0, math.inf)
    for n in range(arms.size):
        row = arms[n]
        if row == greedy:
            continue
        optimism = _optimism(state, row, optimistic, width)
        least_gap = max(_regret(state, row, rival, width), _regret(state, row, greedy, width))
        if _mix(gap, information, least_gap, _information_bound(state, row, optimism)).ratio < best.ratio:
            own_gap = _regret(state, row, _rival(state, arms, row, width), width)
            mixture = _mix(gap, information, own_gap, _information(state, row, optimism))
            if mixture.ratio < best.ratio:
                other, best = row, mixture
    return other if state.ledger.uniforms[0] < best.chance else greedy


@kernel
def _mix(gap: float, information: float, other_gap: float, other_information: float) -> Mixture:
    """The least of ((1 - p) gap + p other gap)^2 / ((1 - p) information + p other information) over p, if the other has more information."""
    chance = 0.0
    if other_information > information:
        chance = 1.0
        if other_gap > gap:
            chance = gap / (other_gap - gap) - 2.0 * information / (other_information - information)
            chance = min(1.0, max(0.0, chance))
    mixed = (1.0 - chance) * information + chance * other_information
    regret = (1.0 - chance) * gap + chance * other_gap
    return Mixture(chance, regret**2 / mixed if mixed > 0.0 else math.inf)


@kernel
def _regret(state: State, row: int, other: int, width: float) -> float:
    """<y - x, theta> + width ||y - x|| for two rows of a context: how much better y may be than x."""
    rows, leans, means = state.regression.rows, state.evidence.leans, state.regression.means
    spread = 0.0
    for i in range(rows.shape[1]):
        spread += (rows[other, i] - rows[row, i]) * (leans[row, i] - leans[other, i])
    return means[other] - means[row] + width * math.sqrt(max(0.0, spread))


@kernel
def _rival(state: State, arms: Ints, row: int, width: float) -> int:
    """The arm that may be better than a row by most."""
    rival, most = row, 0.0
    for n in range(arms.size):
        regret = _regret(state, row, arms[n], width)
        if regret > most:
            rival, most = arms[n], regret
    return rival


@kernel
def _optimism(state: State, row: int, optimistic: int, width: float) -> float:
    """o(x)."""
    if not state.all_arms and row != optimistic:
        return 0.0
    return width * math.sqrt(max(0.0, state.regression.norms[row]))


@kernel
def _information(state: State, row: int, optimism: float) -> float:
    """I(x), up to the sum of q."""
    if optimism == 0.0:
        return _information_bound(state, row, optimism)
    rows, leans, slopes, weights = state.regression.rows, state.evidence.leans, state.evidence.slopes, state.evidence.weights
    total = 0.0
    for other in range(weights.size):
        if weights[other] > 0.0:
            along = 0.0
            for i in range(rows.shape[1]):
                along += leans[other, i] * rows[row, i]
            total += weights[other] * (slopes[other] * abs(along) + optimism) ** 2
    return total / 2.0


@kernel
def _information_bound(state: State, row: int, optimism: float) -> float:
    """At least I(x), by the inequality of Cauchy and Schwarz; I(x) itself where o(x) = 0."""
    rows, moments = state.regression.rows, state.evidence.moments
    total = 0.0
    for i in range(rows.shape[1]):
        along = 0.0
        for j in range(rows.shape[1]):
            along += moments[i, j] * rows[row, j]
        total += along * rows[row, i]
    return (math.sqrt(max(0.0, total)) + optimism * math.sqrt(state.evidence.numbers[TOTAL])) ** 2 / 2.0


def _start_evidence(sets: ActionSets) -> Evidence:
    k, d = sets.rows.shape
    return Evidence(
        leans=np.zeros((k, d)),
        slopes=np.zeros(k),
        ratios=np.full(k, np.inf),
        weights=np.zeros(k),
        moments=np.zeros((d, d)),
        numbers=np.array([np.nan, 0.0, 0.0]),
    )
