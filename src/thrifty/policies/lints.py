"""LinTS: Thompson sampling with a Gaussian posterior (Agrawal and Goyal 2013)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thrifty.actions import ActionSets
from thrifty.arrays import Floats, Ints
from thrifty.compilation import kernel
from thrifty.policies.base import Choice, Ledger, Policy, choose, implements, learn, start_ledger
from thrifty.regression import Regression, observe, start_regression


@dataclass(frozen=True, kw_only=True)
class LinTS(Policy):
    """Draw theta~ from N(theta_hat, v^2 V^-1) and play argmax <x, theta~>.

    Parameters
    ----------
    inflation : `heuristic`, v = noise: the posterior under a Gaussian prior; or `theory`, v = noise
        sqrt(9 d log(n / delta)), which the proof asks for
    ridge : what V starts from: the prior is N(0, noise^2 / ridge I); by default noise^2, for N(0,
        I), and 1 in `theory`
    delta : the probability of failure in `theory`; 1 / horizon by default
    horizon : rounds to plan for, used by `theory`; that of the run by default
    """

    inflation: str = "heuristic"
    ridge: float | None = None
    delta: float | None = None
    horizon: float | None = None

    name: ClassVar[str] = "lints"
    labels: ClassVar[tuple[str, ...]] = ("sampled",)

    def __post_init__(self) -> None:
        self._one_of("inflation", "heuristic", "theory")
        if self.ridge is not None:
            self._above(0, "ridge")
        self._probability("delta")
        self._horizon()

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        d = sets.dimension
        ridge, inflation = noise**2, 1.0
        if self.inflation == "theory":
            ridge, n = 1.0, self._rounds(horizon)
            inflation = math.sqrt(9.0 * d * (math.log(n) - math.log(self.delta or 1.0 / n)))
        # means and norms of arms are not needed: a sample has its own; a largest set of 0 says so
        regression = start_regression(
            sets.rows, ridge=ridge if self.ridge is None else self.ridge, largest_set=0
        )
        return State(
            start_ledger(sets, normals=d),
            regression,
            np.zeros((d, d)),
            np.zeros(d),
            noise * inflation,
        )


class State(NamedTuple):
    """What Thompson sampling remembers."""

    ledger: Ledger
    regression: Regression
    root: Floats  # (d, d) work space
    sample: Floats  # (d,) theta~
    spread: float  # v


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    regression, sample = state.regression, state.sample
    _draw(regression, state.ledger.normals, state.spread, state.root, sample)
    best, most = arms[0], -math.inf
    for n in range(arms.size):
        value = 0.0
        for i in range(sample.size):
            value += regression.rows[arms[n], i] * sample[i]
        if value > most:
            best, most = arms[n], value
    return Choice(best, 0)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)


@kernel
def _draw(
    regression: Regression, normals: Floats, spread: float, root: Floats, sample: Floats
) -> None:
    """theta~ = theta_hat + spread L xi with L L^T = V^-1 (Cholesky, in root) and xi = normals, all
    of dimension d.
    """
    inverse, d = regression.inverse, sample.size
    for i in range(d):
        sample[i] = regression.theta[i]
        for j in range(i + 1):
            total = inverse[i, j]
            for l in range(j):
                total -= root[i, l] * root[j, l]
            root[i, j] = math.sqrt(max(0.0, total)) if i == j else total / root[j, j]
            sample[i] += spread * root[i, j] * normals[j]
