"""V-IDS: information-directed sampling by variances (Russo and Van Roy 2018).

Russo and Van Roy, Learning to Optimize via Information-Directed Sampling. The posterior of theta is
N(theta_hat, noise^2 V^-1) with V = ridge I + sum x x^T. With x* the best of the arms on offer:

    Delta(x) = E[max over y of <y, theta>] - <x, theta_hat>                      expected regret
    v(x) = sum over y of P(x* = y) <x, E[theta | x* = y] - theta_hat>^2          variance explained
    draw x from the distribution p with the least Delta(p)^2 / v(p)

v is the variance of the mean of x that knowing x* would explain, a lower bound on the information
about x* that x yields. Some distribution on two arms has the least ratio: all pairs are compared.

Expectations are means over S samples theta_hat +- noise L xi_s, with L L^T = V^-1 and S / 2 vectors
xi_s of standard normals; in pairs, they have the mean theta_hat. The source draws them in each
round; here they are drawn once, the same in every run, unless `draws=anew`. Where no sample has
another best arm than theta_hat, v is 0 and the greedy arm is played: arms that are best with a
probability far below 1 / S get no pulls, and with samples that are drawn once that may last.

With contexts, which the source does not have, x* and v are those of the arms on offer.

On the source's linear example, theta ~ N(0, 10 I) in 5 dimensions, 30 arms uniform in a cube, its
mean regret in 250 rounds over 400 draws is 30.3 +- 1.1, and 29.1 +- 1.1 with `draws=anew`; that of
LinTS with the same prior is 37.0 +- 0.7 (tests/policies/test_sampling.py).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import kernel
from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import FixedFloats, Floats, Ints, WorkSpace, finite_number
from thrifty.numerics.dense import cholesky_blocks
from thrifty.numerics.regression import Regression, squared_distance, update_arms
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, start_ledger
from thrifty.policies.shared.selection import greedy_arm, least_ratio
from thrifty.policies.shared.stubs import Choice, choose, implements, probability
from thrifty.problem.action_sets import ActionSets

EXPLOIT, EXPLORE = range(2)
SEED = 2018  # of the vectors xi_s
MOST_SAMPLES = 100_000
MOST_WORK = 2e10  # multiplications of a decision among MANY arms: some ten seconds
MANY = 1_000
ROUNDING = 1e-9  # relative, of the shortest vector xi_s that can matter


@dataclass(frozen=True, kw_only=True)
class VIDS(Policy):
    """Draw from two arms so that squared regret per variance that the best arm explains is least.

    Parameters
    ----------
    samples : S, how many samples of theta stand for its posterior; an even number, 100,000 at most,
        and fewer in more than 300 dimensions
    draws : `once`, samples are made from the same normals in every round; or `anew`, from others in
        each round, as in the source, which takes longer
    ridge, forgetting : see Policy
    """

    samples: float = 200.0
    draws: str = parameters.word("once", "anew")
    ridge: float | None = parameters.ridge()
    forgetting: float | None = parameters.forgetting()

    name = "vids"
    labels = ("exploit", "explore")
    open = True

    def check(self) -> None:
        samples = finite_number(self.samples, "vids: samples")
        if not 2 <= samples <= MOST_SAMPLES or samples % 2 != 0:
            expected = f"an even number from 2 to {MOST_SAMPLES:,}"
            raise InvalidInput.expected("vids: samples", expected, samples)

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        k, d, width = len(sets.rows), sets.dimension, sets.rows.shape[1]
        size, once = int(self.samples) // 2 * d, self.draws == "once"
        if size * (d + MANY) > MOST_WORK:
            expected = f"at most {2 * int(MOST_WORK / (d + MANY) / d):,} for {d:,} dimensions"
            raise InvalidInput.expected("vids: samples", expected, self.samples)
        return State(
            start_ledger(sets, uniforms=1, normals=0 if once else size),
            self._regression(sets, self._ridge(noise)),
            Posterior(
                normals=np.random.default_rng(SEED).standard_normal(size if once else 0),
                root=np.zeros((d, width)),
                shift=np.zeros(d),
                chances=np.zeros(k),
                shifts=np.zeros((k, d)),
            ),
            regrets=np.zeros(k),
            variances=np.zeros(k),
            noise=noise,
            once=once,
        )


class Posterior(NamedTuple):
    """Samples of theta, and what they say about the best of the arms on offer."""

    normals: FixedFloats  # (S / 2 d,) xi_s one after another, if drawn once; else in the ledger
    root: WorkSpace  # (d, w) L, in blocks
    shift: WorkSpace  # (d,) noise L xi_s
    chances: WorkSpace  # (k,) P(x* = y)
    shifts: WorkSpace  # (k, d) P(x* = y) (E[theta | x* = y] - theta_hat)


class State(NamedTuple):
    """The state of V-IDS."""

    ledger: Ledger
    regression: Regression
    posterior: Posterior
    regrets: WorkSpace  # (k,) Delta
    variances: WorkSpace  # (k,) v
    noise: float
    once: bool  # whether normals are drawn once


class Pair(NamedTuple):
    """The first row, or with a probability the second."""

    first: int
    second: int
    probability: float


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    update_arms(state.regression, arms)
    greedy = greedy_arm(state.regression, arms)
    _weigh(state, arms, greedy)
    if not _explained(state, arms) > 0.0:  # no sample has another best arm
        return Choice(greedy, EXPLOIT)
    pair = _least_pair(state.regrets, state.variances, arms)
    row = pair.second if state.ledger.uniforms[0] < pair.probability else pair.first
    return Choice(row, EXPLOIT if row == greedy else EXPLORE)


@kernel
def _weigh(state: State, arms: Ints, greedy: int) -> None:
    """Regrets and variances of the rows arms (n,); variances 0 if no other arm is ever best."""
    regression, posterior = state.regression, state.posterior
    normals = posterior.normals if state.once else state.ledger.normals
    lost = _sample_best_arms(state, arms, greedy, normals)
    for n in range(arms.size):
        row = arms[n]
        state.regrets[row] = lost + regression.means[greedy] - regression.means[row]
        state.variances[row] = _variance(posterior, regression, arms, row) if lost > 0.0 else 0.0


@kernel
def _explained(state: State, arms: Ints) -> float:
    """The largest variance of the rows arms (n,)."""
    largest = 0.0
    for n in range(arms.size):
        largest = max(largest, state.variances[arms[n]])
    return largest


@implements(probability, State)
def _probability(state: State, context: int, arms: Ints, row: int) -> float:
    """Given the samples of this round, by the regrets and variances that choose has left."""
    if not _explained(state, arms) > 0.0:
        return 1.0  # of the greedy arm
    pair = _least_pair(state.regrets, state.variances, arms)
    second = pair.probability if row == pair.second else 0.0
    return second + (1.0 - pair.probability if row == pair.first else 0.0)


@kernel
def _reach(regression: Regression, arms: Ints, greedy: int, noise: float) -> float:
    """The least |xi|^2 for which another of the rows arms (n,) can be best: min (gap / error)^2.

    theta_hat + noise L xi moves the difference of two means by at most noise ||x - y|| |xi|.
    """
    least = math.inf
    for n in range(arms.size):
        gap = regression.means[greedy] - regression.means[arms[n]]
        variance = noise**2 * squared_distance(regression, greedy, arms[n])
        if variance * least > gap * gap:
            least = gap * gap / variance
    return least * (1.0 - ROUNDING)


@kernel
def _sample_best_arms(state: State, arms: Ints, greedy: int, normals: Floats) -> float:
    """How often each of the rows arms (n,) is best, and where theta is then.

    Returns E max of their means, less that of the greedy one. Of normals, those shorter than
    _reach have no other best arm and need not be looked at.
    """
    regression, posterior, noise = state.regression, state.posterior, state.noise
    chances, shifts, shift = posterior.chances, posterior.shifts, posterior.shift
    reach = _reach(regression, arms, greedy, noise)
    share = 0.5 * shift.size / normals.size  # of a sample: 1 / S
    for n in range(arms.size):
        chances[arms[n]] = 0.0
        for i in range(shift.size):
            shifts[arms[n], i] = 0.0
    total, decomposed = 0.0, False
    for start in range(0, normals.size, shift.size):
        length = 0.0
        for i in range(start, start + shift.size):
            length += normals[i] * normals[i]
        if length < reach:
            chances[greedy] += 2.0 * share
            continue
        if not decomposed:
            cholesky_blocks(regression.inverse, posterior.root)
            decomposed = True
        _find_shift(posterior, normals, start, noise)
        pair = _best_arms(regression, arms, shift)
        if pair.plus != greedy or pair.minus != greedy:  # the shifts of the greedy arm cancel
            greedy_means = 2.0 * regression.means[greedy]
            total += share * (pair.highest_plus + pair.highest_minus - greedy_means)
        chances[pair.plus] += share
        chances[pair.minus] += share
        if pair.plus != pair.minus:  # else the shifts cancel, without rounding errors
            for i in range(shift.size):
                shifts[pair.plus, i] += share * shift[i]
                shifts[pair.minus, i] -= share * shift[i]
    return total


@kernel
def _find_shift(posterior: Posterior, normals: Floats, start: int, noise: float) -> None:
    """posterior.shift = noise L xi, xi = normals from start on."""
    root, shift, width = posterior.root, posterior.shift, posterior.root.shape[1]
    for i in range(shift.size):
        first, total = i - i % width, 0.0
        for j in range(i % width + 1):
            total += root[i, j] * normals[start + first + j]
        shift[i] = noise * total


class BestArms(NamedTuple):
    """The best rows under theta_hat + shift and theta_hat - shift, and their means there."""

    plus: int
    highest_plus: float
    minus: int
    highest_minus: float


@kernel
def _best_arms(regression: Regression, arms: Ints, shift: Floats) -> BestArms:
    """The best of the rows arms (n,) under two samples of theta."""
    rows, means = regression.rows, regression.means
    plus, minus, highest_plus, highest_minus = arms[0], arms[0], -math.inf, -math.inf
    for n in range(arms.size):
        row, moved = arms[n], 0.0
        first = regression.firsts[row]
        for i in range(rows.shape[1]):
            moved += rows[row, i] * shift[first + i]
        if means[row] + moved > highest_plus:
            plus, highest_plus = row, means[row] + moved
        if means[row] - moved > highest_minus:
            minus, highest_minus = row, means[row] - moved
    return BestArms(plus, highest_plus, minus, highest_minus)


@kernel
def _variance(posterior: Posterior, regression: Regression, arms: Ints, row: int) -> float:
    """v of a row, over the rows arms (n,) that may be best."""
    rows, first, total = regression.rows, regression.firsts[row], 0.0
    for n in range(arms.size):
        best = arms[n]
        if posterior.chances[best] > 0.0:
            along = 0.0
            for i in range(rows.shape[1]):
                along += rows[row, i] * posterior.shifts[best, first + i]
            total += along * along / posterior.chances[best]
    return total


@kernel
def _least_pair(regrets: Floats, variances: Floats, arms: Ints) -> Pair:
    """The distribution on two of the rows arms (n,) with the least ratio.

    An arm that another one beats needs no probability. Of two that remain, one has more regret and
    more variance: it is the second, or p = 0 where it is the same arm.
    """
    best, least = Pair(arms[0], arms[0], 0.0), math.inf
    for n in range(arms.size):
        row, regret, variance = arms[n], regrets[arms[n]], variances[arms[n]]
        if _is_beaten(regrets, variances, arms, row):
            continue
        for m in range(arms.size):
            other = arms[m]
            if m == n or (regrets[other] > regret and variances[other] > variance):
                mixture = least_ratio(regret, variance, regrets[other], variances[other])
                if mixture.ratio < least:
                    best, least = Pair(row, other, mixture.probability), mixture.ratio
    return best


@kernel
def _is_beaten(regrets: Floats, variances: Floats, arms: Ints, row: int) -> bool:
    """Whether one of the rows arms (n,) has less regret and no less variance, or vice versa."""
    for n in range(arms.size):
        regret, variance = regrets[arms[n]] - regrets[row], variances[arms[n]] - variances[row]
        if regret <= 0.0 <= variance and regret < variance:
            return True
    return False
