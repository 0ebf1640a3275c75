"""Information-directed sampling, asymptotically optimal (Kirschner et al. 2021).

Kirschner, Lattimore, Vernade and Szepesvari, Asymptotically Optimal Information-Directed Sampling.

Explore with the least ratio of squared regret to information. Once every alternative is ruled out,
exploit, and learn nothing from exploiting. With V = ridge I + sum of x x^T over exploration rounds,
s of them, norms in V^-1, x^ the greedy arm of a context, and z another arm of it:

    r_z = <x^ - z, theta_hat>^2 / ||x^ - z||^2                               evidence against z
    nu_z = theta_hat - slope_z V^-1 (x^ - z)        alternative: nearest parameter with z as good
    slope_z = <x^ - z, theta_hat> / ||x^ - z||^2
    q_z proportional to exp(-r_z / eta)             weights over all contexts and arms
    beta(m) = (noise sqrt(log det V - d log ridge + 2 log(m log m)) + sqrt(ridge))^2
    exploit iff min_z r_z >= beta(t)
    gap(x) = max over y of <y - x, theta_hat> + sqrt(beta(s)) ||y - x||      bound on its regret
    I(x) = 1/2 sum_z q_z (|<nu_z - theta_hat, x>| + o(x))^2                  information
    play j with probability p, else x^, where (j, p) minimise
        ((1 - p) gap(x^) + p gap(j))^2 / ((1 - p) I(x^) + p I(j))

Written from a summary of the paper, and from its authors' public code where that was silent:

- V starts from a ridge, 1 in that code and in the figures below. beta is the square of `oful_width`
  for ||theta|| <= 1: with the default, noise^2, it is noise^2 times the beta for noise 1 of the
  matrix I + sum of x x^T / noise^2;
- eta is the root of the largest min_z r_z over exploration rounds so far, at least 1, in the unit
  of rewards, and m is at least 2, both as in that code; q need not sum to one;
- p minimises the ratio also where gap(j) <= gap(x^), for which the closed form of p has no answer;
  an arm without more information than x^ gets p = 0;
- contexts, for which nothing is proved: alternatives are those of all contexts, each against the
  greedy arm of its own, and not of its vector; gaps and information are those of arms on offer;
- the late reward of a removed arm is learned from, whatever it was played for.

On the paper's own example, `thrifty run ids-eoo --policy ids:ridge=1 ids:correction=all,ridge=1
linucb:ridge=1 --replications 1000`, regret at 1e4 is 29.1 +- 0.2 with `ucb`, 38.8 +- 0.2 with `all`
and 28.2 +- 0.3 for LinUCB. Read off the authors' figure these are about 28, 40 and 28.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import kernel
from thrifty.compiler.records import Record, Records
from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.regression import Regression, observe, start_regression
from thrifty.numerics.vectors import fill
from thrifty.numerics.widths import oful_width
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, Renumbering, start_ledger
from thrifty.policies.shared.selection import (
    Mixture,
    best_row,
    greedy_arm,
    least_ratio,
    least_row,
    optimistic_arm,
)
from thrifty.policies.shared.stubs import Choice, choose, implements, learn
from thrifty.problem.action_sets import ActionSets

EXPLOIT, GREEDY, INFORMATIVE = range(3)
NEGLIGIBLE = 1e-20  # a weight below this share of the largest changes no sum of doubles


@dataclass(frozen=True, kw_only=True)
class IDS(Policy):
    """Mix the greedy arm with another so that squared regret per information is least.

    Exploit once all alternatives are ruled out.

    Parameters
    ----------
    correction : whose information is enlarged by the width of the confidence interval, o(x): `ucb`,
        that of the optimistic arm only (the paper's IDS-UCB), or `all`, that of every arm (its
        IDS). On ids-eoo `ucb` has less regret
    ridge : see Policy
    """

    correction: str = parameters.word("ucb", "all")
    ridge: float | None = parameters.ridge()

    name = "ids"
    observed_label = 1  # rewards of `exploit` are not learned from
    labels = ("exploit", "greedy", "informative")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        k, d = sets.rows.shape
        return State(
            start_ledger(sets, uniforms=1),
            start_regression(sets.rows, ridge=self._ridge(noise)),
            Alternatives(
                shifts=np.zeros((d, k)),
                slopes=np.zeros(k),
                ratios=np.full(k, np.inf),
                weights=np.zeros(k),
                moments=np.zeros((d, d)),
                shift=np.zeros(d),
                distances=np.zeros(k),
                extremes=Extremes.new(),
            ),
            Offer(*(np.zeros(k) for _ in Offer._fields)),
            noise=noise,
            all_arms=self.correction == "all",
        )

    def carry(self, old: "State", new: "State", renumbering: Renumbering) -> None:
        super().carry(old, new, renumbering)
        before, after = old.alternatives.extremes, new.alternatives.extremes
        after[0].largest_least = before[0].largest_least

    def learn_removed(self, state: "State", features: Floats, reward: float) -> None:
        super().learn_removed(state, features, reward)
        state.alternatives.extremes[0].current = False


class Extremes(Record):
    """Numbers over all alternatives."""

    current: bool  # whether the arrays are those of the present estimate
    least: float  # min_z r_z
    largest_least: float  # its maximum over exploration rounds
    total: float  # sum of q_z


class Alternatives(NamedTuple):
    """One alternative per row z; recomputed when the estimate has changed."""

    shifts: Floats  # (d, k) V^-1 (x^ - z)
    slopes: Floats  # (k,) theta_hat - nu_z is slope times shift
    ratios: Floats  # (k,) r_z; inf where z is not an alternative
    weights: Floats  # (k,) q_z, as shares of the largest
    moments: Floats  # (d, d) sum of q_z (nu_z - theta_hat)(nu_z - theta_hat)^T
    shift: Floats  # (d,) work space
    distances: Floats  # (k,) ||x^ - z||^2
    extremes: Records  # (1,) of Extremes


class Offer(NamedTuple):
    """Work space of one round, about the rows of its context."""

    near: Floats  # (k,) width times the distance from the greedy row
    far: Floats  # (k,) the same from its rival, the row with the largest upper bound on the gap
    around: Floats  # (k,) the same from the row under consideration
    moments: Floats  # (k,) sum of q_z <nu_z - theta_hat, x>^2
    bounds: Floats  # (k,) lower bounds on the information ratio
    along: Floats  # (k,)


class State(NamedTuple):
    """The state of information-directed sampling; s is in ledger.counters."""

    ledger: Ledger
    regression: Regression  # of exploration rounds only
    alternatives: Alternatives
    offer: Offer
    noise: float
    all_arms: bool


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, extremes = state.ledger, state.alternatives.extremes
    if not extremes[0].current:
        _find_alternatives(state.alternatives, ledger, state.regression)
    greedy = greedy_arm(state.regression, arms)
    if extremes[0].least >= _width(state, ledger.counters[0].rounds + 1.0) ** 2:
        return Choice(greedy, EXPLOIT)
    ledger.counters[0].explored += 1
    _weigh_alternatives(state.alternatives)
    width = _width(state, float(ledger.counters[0].explored))
    row = _draw_arm(state, context, arms, greedy, width)
    return Choice(row, GREEDY if row == greedy else INFORMATIVE)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    if label != EXPLOIT:
        observe(state.regression, row, reward)
        state.alternatives.extremes[0].current = False


@kernel
def _width(state: State, rounds: float) -> float:
    """The root of beta(rounds)."""
    rounds, ridge = max(2.0, rounds), state.regression.totals[0].ridge
    log_inverse_delta = math.log(rounds * math.log(rounds))
    return oful_width(state.regression, ridge, log_inverse_delta, state.noise, 1.0)


@kernel
def _draw_arm(state: State, context: int, arms: Ints, greedy: int, width: float) -> int:
    """Draw from the mixture of the greedy arm and another of arms (n,) with the least ratio.

    Lower bounds on the ratios are cheap. Arms are considered from the least bound on, until no
    bound is below the best ratio: a few out of many, and not all K^2 distances.
    """
    means, offer = state.regression.means, state.offer
    first, stop = state.ledger.offsets[context], state.ledger.offsets[context + 1]
    optimistic = optimistic_arm(state.regression, arms, width)
    _distances(state, first, stop, greedy, width, offer.near)
    rival = _rival(means, offer.near, arms)
    gap = means[rival] + offer.near[rival] - means[greedy]
    _distances(state, first, stop, rival, width, offer.far)
    _project_moments(state, first, stop)
    information = _information(state, greedy, _correction(state, greedy, optimistic, width))
    for n in range(arms.size):
        row = arms[n]
        least_gap = max(means[rival] + offer.far[row], means[greedy] + offer.near[row]) - means[row]
        most = _information_bound(state, row, _correction(state, row, optimistic, width))
        ratio = least_ratio(gap, information, least_gap, most).ratio
        offer.bounds[row] = math.inf if row == greedy else ratio
    other, best = greedy, Mixture(0.0, math.inf)
    while True:
        row = least_row(offer.bounds, arms)
        if not offer.bounds[row] < best.ratio:
            return other if state.ledger.uniforms[0] < best.probability else greedy
        _distances(state, first, stop, row, width, offer.around)
        upper = _rival(means, offer.around, arms)
        row_gap = means[upper] + offer.around[upper] - means[row]
        row_information = _information(state, row, _correction(state, row, optimistic, width))
        mixture = least_ratio(gap, information, row_gap, row_information)
        if mixture.ratio < best.ratio:
            other, best = row, mixture
        offer.bounds[row] = math.inf


@kernel
def _distances(state: State, first: int, stop: int, row: int, width: float, out: Floats) -> None:
    """out[y] = width ||y - x|| for a row x and the rows y from first to stop - 1 of its context."""
    columns, all_shifts = state.regression.columns, state.alternatives.shifts
    distances = out[first:stop]
    fill(distances, 0.0)
    for i in range(columns.shape[0]):
        values, shifts = columns[i, first:stop], all_shifts[i, first:stop]
        start, shift = columns[i, row], all_shifts[i, row]
        for n in range(distances.size):
            distances[n] += (values[n] - start) * (shift - shifts[n])
    for n in range(distances.size):
        distances[n] = width * math.sqrt(max(0.0, distances[n]))


@kernel
def _rival(means: Floats, distances: Floats, arms: Ints) -> int:
    """argmax of mean + distance over the rows arms (n,), for distances (k,) from some row."""
    rival = arms[0]
    for n in range(1, arms.size):
        if means[arms[n]] + distances[arms[n]] > means[rival] + distances[rival]:
            rival = arms[n]
    return rival


@kernel
def _correction(state: State, row: int, optimistic: int, width: float) -> float:
    """o(x): the width of x where it is corrected, else 0."""
    if state.all_arms or row == optimistic:
        return width * math.sqrt(max(0.0, state.regression.norms[row]))
    return 0.0


@kernel
def _project_moments(state: State, first: int, stop: int) -> None:
    """offer.moments[x] = sum of q_z <nu_z - theta_hat, x>^2 for the rows first to stop - 1."""
    columns, moments = state.regression.columns, state.alternatives.moments
    out, along = state.offer.moments[first:stop], state.offer.along[first:stop]
    fill(out, 0.0)
    for i in range(columns.shape[0]):
        fill(along, 0.0)
        for j in range(columns.shape[0]):
            _add_differences(along, moments[i, j], columns[j, first:stop], 0.0)
        for n in range(out.size):
            out[n] += along[n] * columns[i, first + n]


@kernel
def _information_bound(state: State, row: int, correction: float) -> float:
    """An upper bound on I(x), by Cauchy and Schwarz; I(x) itself where o(x) = 0."""
    root = math.sqrt(max(0.0, state.offer.moments[row]))
    total = state.alternatives.extremes[0].total
    return (root + correction * math.sqrt(total)) ** 2 / 2.0


@kernel
def _information(state: State, row: int, correction: float) -> float:
    """I(x), times the sum of q."""
    if correction == 0.0:
        return _information_bound(state, row, correction)
    columns, along, alternatives = state.regression.columns, state.offer.along, state.alternatives
    slopes, weights, total = alternatives.slopes, alternatives.weights, 0.0
    fill(along, 0.0)
    for i in range(columns.shape[0]):
        _add_differences(along, columns[i, row], alternatives.shifts[i], 0.0)
    for other in range(weights.size):
        total += weights[other] * (slopes[other] * abs(along[other]) + correction) ** 2
    return total / 2.0


@kernel
def _find_alternatives(alternatives: Alternatives, ledger: Ledger, regression: Regression) -> None:
    """Compute r_z and nu_z of all rows at the present estimate."""
    offsets, ids, means = ledger.offsets, ledger.vector_ids, regression.means
    distances, slopes, ratios = alternatives.distances, alternatives.slopes, alternatives.ratios
    least = math.inf
    for m in range(ledger.visits.size):
        best = best_row(means, offsets[m], offsets[m + 1])
        _find_shifts(alternatives, regression, offsets[m], offsets[m + 1], best)
        for row in range(offsets[m], offsets[m + 1]):
            differs = distances[row] > 0.0 and ids[row] != ids[best]
            slopes[row] = (means[best] - means[row]) / distances[row] if differs else 0.0
            ratios[row] = (means[best] - means[row]) * slopes[row] if differs else math.inf
            least = min(least, ratios[row])
    alternatives.extremes[0].least = least
    alternatives.extremes[0].current = True


@kernel
def _find_shifts(
    alternatives: Alternatives, regression: Regression, first: int, stop: int, best: int
) -> None:
    """V^-1 (x^ - z) and ||x^ - z||^2 of the rows z from first to stop - 1."""
    columns, inverse = regression.columns, regression.inverse
    distances = alternatives.distances[first:stop]
    fill(distances, 0.0)
    for i in range(columns.shape[0]):
        shifts, values = alternatives.shifts[i, first:stop], columns[i, first:stop]
        fill(shifts, 0.0)
        for j in range(columns.shape[0]):
            _add_differences(shifts, -inverse[i, j], columns[j, first:stop], columns[j, best])
        for n in range(distances.size):
            distances[n] += shifts[n] * (columns[i, best] - values[n])


@kernel
def _weigh_alternatives(alternatives: Alternatives) -> None:
    """The weights q_z, and the second moments of nu_z - theta_hat under them."""
    extremes, shift = alternatives.extremes, alternatives.shift
    ratios, slopes, shifts = alternatives.ratios, alternatives.slopes, alternatives.shifts
    weights, moments = alternatives.weights, alternatives.moments
    least = extremes[0].least
    extremes[0].largest_least = max(extremes[0].largest_least, least)
    eta, total = math.sqrt(max(1.0, extremes[0].largest_least)), 0.0
    for i in range(shift.size):
        fill(moments[i], 0.0)
    for row in range(ratios.size):
        weight = math.exp((least - ratios[row]) / eta)
        weights[row] = weight if weight > NEGLIGIBLE else 0.0
        if weights[row] > 0.0:
            total += weight
            for i in range(shift.size):
                shift[i] = shifts[i, row]
            for i in range(shift.size):
                _add_differences(moments[i], weight * slopes[row] ** 2 * shift[i], shift, 0.0)
    extremes[0].total = total


@kernel
def _add_differences(out: Floats, share: float, values: Floats, start: float) -> None:
    """out (n,) += share (values - start). Loops like this, on slices from 0 on, are vectorised."""
    for n in range(out.size):
        out[n] += share * (values[n] - start)
