"""Information-directed sampling, asymptotically optimal (Kirschner, Lattimore, Vernade and
Szepesvari 2021).

Explore by the least ratio of squared regret to information; once every alternative is ruled out,
exploit, and forget what exploiting shows. With V = I + sum of x x^T over exploration rounds, s of
them, norms in V^-1 and x^ the greedy arm:

    beta(m) = (noise sqrt(log det V + 2 log(m log m)) + 1)^2 r_z = <x^ - z, theta>^2 / ||x^ - z||^2
    evidence against z; exploit iff the least is at least beta(t) gap(x) = max over y of <y - x,
    theta> + sqrt(beta(s)) ||y - x||                 the regret of x, at most I(x) = 1/2 sum_z q_z
    (|<nu_z - theta, x>| + o(x))^2,  q_z ~ exp(-r_z / eta)     nu_z: the nearest parameter for which
    z is no worse than x^ play j with the chance p, else x^, where (j, p) has the least ((1 - p)
    gap(x^) + p gap(j))^2 / ((1 - p) I(x^) + p I(j))

Written from a summary of the paper, and from its authors' public code where that was silent; how it
was read:

- eta is the root of the largest min_z r_z of exploration rounds so far, at least 1, and m is at
  least 2, both as in that code; q need not sum to one: it scales all ratios alike;
- p is the least ratio's, also where gap(j) <= gap(x^), which the closed form of p has no answer
  for; an arm without more information than x^ gets p = 0;
- contexts, for which nothing is proved: alternatives are those of all contexts, each against the
  greedy arm of its own; gaps and information are those of the arms on offer. A vector equal to the
  greedy one is no alternative;
- the late reward of an arm that is gone is taken in, whatever it was played for.

On the paper's own example, `thrifty run ids-eoo --policy ids ids:correction=all linucb
--replications 1000`, regret at 1e4 is 29.1 +- 0.2 with `ucb`, 38.8 +- 0.2 with `all` and 28.2 +-
0.3 for LinUCB. The paper's figure is on record as 25, 42 and 27: `all` is the worst in both, but
`ucb` does not beat LinUCB here.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thrifty.actions import ActionSets
from thrifty.arrays import Floats, Ints
from thrifty.compilation import kernel
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
from thrifty.policies.evidence import (
    LEAST,
    MOST,
    TOTAL,
    Evidence,
    add,
    fill,
    start_evidence,
    weigh_alternatives,
    weigh_evidence,
)
from thrifty.policies.moves import Mixture, greedy_arm, mix, optimistic_arm
from thrifty.regression import LOGDET, Regression, observe, start_regression
from thrifty.widths import oful

EXPLOIT, GREEDY, INFORMATIVE = range(3)


@dataclass(frozen=True, kw_only=True)
class IDS(Policy):
    """Play the mixture of the greedy arm and another that has the least squared regret per
    information; exploit once all alternatives are ruled out.

    Parameters
    ----------
    correction : whose information is taken for larger by the width of the confidence interval:
        `ucb`, that of the optimistic arm only (the paper's IDS-UCB), or `all`, that of every arm
        (its IDS). On ids-eoo `ucb` has less regret
    """

    correction: str = "ucb"

    name: ClassVar[str] = "ids"
    labels: ClassVar[tuple[str, ...]] = ("exploit", "greedy", "informative")

    def __post_init__(self) -> None:
        self._one_of("correction", "ucb", "all")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        regression, offer = (
            start_regression(sets.rows, ridge=1.0),
            Offer(*(np.zeros(len(sets.rows)) for _ in Offer._fields)),
        )
        return State(
            start_ledger(sets, uniforms=1),
            regression,
            start_evidence(sets),
            offer,
            noise=noise,
            all_arms=self.correction == "all",
        )

    def carry(self, old: "State", new: "State", moves: Moves) -> None:
        super().carry(old, new, moves)
        new.evidence.numbers[MOST] = old.evidence.numbers[MOST]

    def learn_gone(self, state: "State", features: Floats, reward: float) -> None:
        super().learn_gone(state, features, reward)
        state.evidence.numbers[LEAST] = np.nan


class Offer(NamedTuple):
    """What a round works out about the rows of its context; work space."""

    near: Floats  # (k,) width times the distance from the greedy row
    far: Floats  # (k,) the same from its rival, the row that may be better by most
    own: Floats  # (k,) the same from the row that is looked at
    moments: Floats  # (k,) sum of q_z <nu_z - theta, x>^2
    bounds: Floats  # (k,) on the information ratio, from below
    along: Floats  # (k,)


class State(NamedTuple):
    """What information-directed sampling remembers; s is in ledger.clock."""

    ledger: Ledger
    regression: Regression
    evidence: Evidence
    offer: Offer
    noise: float
    all_arms: bool


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, numbers = state.ledger, state.evidence.numbers
    if math.isnan(numbers[LEAST]):
        weigh_evidence(state.evidence, ledger, state.regression)
    greedy = greedy_arm(state.regression, arms)
    if numbers[LEAST] >= _width(state, ledger.clock[ROUNDS] + 1.0) ** 2:
        return Choice(greedy, EXPLOIT)
    ledger.clock[EXPLORED] += 1
    weigh_alternatives(state.evidence)
    row = _draw_arm(state, context, arms, greedy, _width(state, float(ledger.clock[EXPLORED])))
    return Choice(row, GREEDY if row == greedy else INFORMATIVE)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    if label != EXPLOIT:
        observe(state.regression, row, reward)
        state.evidence.numbers[LEAST] = math.nan


@kernel
def _width(state: State, rounds: float) -> float:
    """The root of beta(rounds)."""
    rounds, regression = max(2.0, rounds), state.regression
    return oful(
        regression.numbers[LOGDET],
        regression.theta.size,
        1.0,
        math.log(rounds * math.log(rounds)),
        state.noise,
        1.0,
    )


@kernel
def _draw_arm(state: State, context: int, arms: Ints, greedy: int, width: float) -> int:
    """Draw from the best mixture of the greedy arm and another.

    The ratio rises with the gap of the other arm and falls with its information. Bounds of both,
    cheap to have, thus bound the ratio; arms are looked at from the least bound on, until no bound
    is below the best ratio: a few out of many, and no K^2 distances.
    """
    means, offer = state.regression.means, state.offer
    first, stop = state.ledger.offsets[context], state.ledger.offsets[context + 1]
    optimistic = optimistic_arm(state.regression, arms, width)
    _stretch(state, first, stop, greedy, width, offer.near)
    rival = _rival(means, offer.near, arms)
    gap = means[rival] + offer.near[rival] - means[greedy]
    _stretch(state, first, stop, rival, width, offer.far)
    _spread_moments(state, first, stop)
    information = _information(state, greedy, _optimism(state, greedy, optimistic, width))
    for n in range(arms.size):
        row = arms[n]
        own_gap = max(means[rival] + offer.far[row], means[greedy] + offer.near[row]) - means[row]
        most = _information_bound(state, row, _optimism(state, row, optimistic, width))
        offer.bounds[row] = (
            math.inf if row == greedy else mix(gap, information, own_gap, most).ratio
        )
    other, best = greedy, Mixture(0.0, math.inf)
    while True:
        row = _least(offer.bounds, arms)
        if not offer.bounds[row] < best.ratio:
            return other if state.ledger.uniforms[0] < best.chance else greedy
        _stretch(state, first, stop, row, width, offer.own)
        own_rival = _rival(means, offer.own, arms)
        own_gap = means[own_rival] + offer.own[own_rival] - means[row]
        mixture = mix(
            gap,
            information,
            own_gap,
            _information(state, row, _optimism(state, row, optimistic, width)),
        )
        if mixture.ratio < best.ratio:
            other, best = row, mixture
        offer.bounds[row] = math.inf


@kernel
def _stretch(state: State, first: int, stop: int, row: int, width: float, out: Floats) -> None:
    """out[y] = width ||y - x|| for one row x and the rows y from first to stop - 1, all of one
    context.
    """
    stretches = out[first:stop]
    fill(stretches, 0.0)
    for i in range(state.regression.columns.shape[0]):
        values, leans = state.regression.columns[i, first:stop], state.evidence.leans[i, first:stop]
        start, lean = state.regression.columns[i, row], state.evidence.leans[i, row]
        for n in range(stretches.size):
            stretches[n] += (values[n] - start) * (lean - leans[n])
    for n in range(stretches.size):
        stretches[n] = width * math.sqrt(max(0.0, stretches[n]))


@kernel
def _rival(means: Floats, stretches: Floats, arms: Ints) -> int:
    """The arm that may be better than another by most, given stretches (k,) from that."""
    rival = arms[0]
    for n in range(1, arms.size):
        if means[arms[n]] + stretches[arms[n]] > means[rival] + stretches[rival]:
            rival = arms[n]
    return rival


@kernel
def _least(values: Floats, arms: Ints) -> int:
    """The arm of the least of values (k,)."""
    least = arms[0]
    for n in range(1, arms.size):
        if values[arms[n]] < values[least]:
            least = arms[n]
    return least


@kernel
def _optimism(state: State, row: int, optimistic: int, width: float) -> float:
    """o(x)."""
    return (
        width * math.sqrt(max(0.0, state.regression.norms[row]))
        if state.all_arms or row == optimistic
        else 0.0
    )


@kernel
def _spread_moments(state: State, first: int, stop: int) -> None:
    """offer.moments[x] = sum of q_z <nu_z - theta, x>^2 for the rows x from first to stop - 1."""
    columns, moments, out, along = (
        state.regression.columns,
        state.evidence.moments,
        state.offer.moments[first:stop],
        state.offer.along[first:stop],
    )
    fill(out, 0.0)
    for i in range(columns.shape[0]):
        fill(along, 0.0)
        for j in range(columns.shape[0]):
            add(along, moments[i, j], columns[j, first:stop], 0.0)
        values = columns[i, first:stop]
        for n in range(out.size):
            out[n] += along[n] * values[n]


@kernel
def _information_bound(state: State, row: int, optimism: float) -> float:
    """At least I(x), by the inequality of Cauchy and Schwarz; I(x) itself where o(x) = 0."""
    return (
        math.sqrt(max(0.0, state.offer.moments[row]))
        + optimism * math.sqrt(state.evidence.numbers[TOTAL])
    ) ** 2 / 2.0


@kernel
def _information(state: State, row: int, optimism: float) -> float:
    """I(x), times the sum of q."""
    if optimism == 0.0:
        return _information_bound(state, row, optimism)
    columns, leans, slopes, weights, along = (
        state.regression.columns,
        state.evidence.leans,
        state.evidence.slopes,
        state.evidence.weights,
        state.offer.along,
    )
    total = 0.0
    fill(along, 0.0)
    for i in range(columns.shape[0]):
        add(along, columns[i, row], leans[i], 0.0)
    for other in range(weights.size):
        total += weights[other] * (slopes[other] * abs(along[other]) + optimism) ** 2
    return total / 2.0
