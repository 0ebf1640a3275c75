"""LinTS: Thompson sampling with a Gaussian posterior (Agrawal and Goyal 2013)."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thrifty.numerics.arrays import Floats, Ints, WorkSpace
from thrifty.numerics.dense import cholesky_blocks
from thrifty.numerics.regression import Regression
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, start_ledger
from thrifty.policies.shared.stubs import Choice, choose, implements
from thrifty.problem.action_sets import ActionSets

# Of a matrix product, where probabilities are estimated. BLAS would use several threads for more,
# and on a busy machine that makes it many times slower.
MOST_TERMS = 1 << 18


@dataclass(frozen=True, kw_only=True)
class LinTS(Policy):
    """Draw theta~ from N(theta_hat, v^2 V^-1) and play argmax <x, theta~>.

    Parameters
    ----------
    inflation : `heuristic`, v = noise: the posterior under a Gaussian prior; or `theory`,
        v = noise sqrt(9 d log(n / delta)), as the proof requires
    ridge : V starts from ridge times the identity: the prior is N(0, noise^2 / ridge I). By default
        noise^2, for N(0, I), and 1 in `theory`
    scale : multiplies v; below 1 explores less
    delta : probability of failure in `theory`; 1 / horizon by default
    horizon : rounds to plan for, used by `theory`; that of the run by default
    forgetting : see Policy
    """

    inflation: str = parameters.word("heuristic", "theory")
    ridge: float | None = parameters.ridge()
    scale: float = parameters.number(1.0, above=0)
    delta: float | None = parameters.number(None, above=0, below=1)
    horizon: float | None = parameters.horizon()
    forgetting: float | None = parameters.forgetting()

    name = "lints"
    labels = ("sampled",)
    open = True

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        d = sets.dimension
        ridge, inflation = self._ridge(noise), 1.0
        if self.inflation == "theory":
            ridge, n = self._ridge(1.0), self._planned_rounds(horizon)
            inflation = math.sqrt(9.0 * d * (math.log(n) - math.log(self.delta or 1.0 / n)))
        return State(
            start_ledger(sets, normals=d),
            # estimates of single arms are not needed: largest = 0 says so
            self._regression(sets, ridge, largest=0),
            root=np.zeros((d, sets.rows.shape[1])),
            sample=np.zeros(d),
            deviation=noise * inflation * self.scale,
        )

    def estimate_probabilities(
        self, state: Any, rows: Floats, *, draws: int, rng: np.random.Generator
    ) -> Floats | None:
        """(c + 1) / (draws + 1) for rows (n, d), each best under c (n,) draws of theta~.

        The decision itself is one more draw. None if V^-1 is not positive definite, by rounding.
        """
        regression = state.regression
        d, width = regression.inverse.shape
        try:
            roots = np.linalg.cholesky(regression.inverse.reshape(-1, width, width))
        except np.linalg.LinAlgError:
            return None
        places: dict[bytes, int] = {}  # of equal rows the first is played
        for place, row in enumerate(rows + 0.0):  # -0.0 + 0.0 is 0.0
            places.setdefault(row.tobytes(), place)
        first = np.array(list(places.values()))
        n, distinct, counts = len(first), rows[first], np.ones(len(rows))
        blocks = distinct.reshape(n, -1, width).swapaxes(0, 1) @ roots
        spread = state.deviation * blocks.swapaxes(0, 1).reshape(n, d)  # v x^T L
        means, step = distinct @ regression.theta, max(1, MOST_TERMS // (n * d))
        for made in range(0, draws, step):
            normals = rng.standard_normal((min(step, draws - made), d))
            best = (means + normals @ spread.T).argmax(axis=1)
            counts[first] += np.bincount(best, minlength=n)
        return counts / (draws + 1)


class State(NamedTuple):
    """The state of Thompson sampling."""

    ledger: Ledger
    regression: Regression
    root: WorkSpace  # (d, w) L with L L^T = V^-1, in blocks
    sample: WorkSpace  # (d,) theta~
    deviation: float  # v


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    regression, root, sample = state.regression, state.root, state.sample
    width = root.shape[1]
    cholesky_blocks(regression.inverse, root)
    for i in range(sample.size):  # theta~ = theta_hat + v L xi, xi the normals of this round
        first, drawn = i - i % width, regression.theta[i]
        for j in range(i % width + 1):
            drawn += state.deviation * root[i, j] * state.ledger.normals[first + j]
        sample[i] = drawn
    best, highest = arms[0], -math.inf
    for n in range(arms.size):
        first, mean = regression.firsts[arms[n]], 0.0
        for i in range(width):
            mean += regression.rows[arms[n], i] * sample[first + i]
        if mean > highest:
            best, highest = arms[n], mean
    return Choice(best, 0)
