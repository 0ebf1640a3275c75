"""Moves that policies share: ways to pick one of the offered arms. Of equals, the first."""

import math
from typing import NamedTuple

from thrifty.arrays import Floats, Ints
from thrifty.compilation import kernel
from thrifty.policies.base import Ledger
from thrifty.regression import Regression


@kernel
def greedy_arm(regression: Regression, arms: Ints) -> int:
    """argmax <x, theta_hat> over the rows arms (n,)."""
    means = regression.means
    best = arms[0]
    for n in range(1, arms.size):
        if means[arms[n]] > means[best]:
            best = arms[n]
    return best


@kernel
def optimistic_arm(regression: Regression, arms: Ints, width: float) -> int:
    """argmax <x, theta_hat> + width ||x|| over the rows arms (n,), the norm in V^-1."""
    means, norms = regression.means, regression.norms
    best, most = arms[0], -math.inf
    for n in range(arms.size):
        hope = means[arms[n]] + width * math.sqrt(max(0.0, norms[arms[n]]))
        if hope > most:
            best, most = arms[n], hope
    return best


@kernel
def least_played_arm(ledger: Ledger, arms: Ints) -> int:
    """argmin N_x over the rows arms (n,)."""
    played, ids = ledger.played, ledger.vector_ids
    least = arms[0]
    for n in range(1, arms.size):
        if played[ids[arms[n]]] < played[ids[least]]:
            least = arms[n]
    return least


@kernel
def spanning_arm(ledger: Ledger, regression: Regression, arms: Ints) -> int:
    """An arm outside the span of those whose rewards are known, the least played; where the set has
    none, the greedy arm of the estimate of least norm.

    None of them was ever played, unless its reward is late.
    """
    played, ids = ledger.played, ledger.vector_ids
    least = -1
    for n in range(arms.size):
        if regression.outside[arms[n]] and (least < 0 or played[ids[arms[n]]] < played[ids[least]]):
            least = arms[n]
    return least if least >= 0 else greedy_arm(regression, arms)


@kernel
def draw_arm(weights: Floats, arms: Ints, uniform: float) -> int:
    """An arm in proportion to its weight, by inverting the cumulated weights; where all on offer
    are as good as 0, the last.
    """
    total = 0.0
    for n in range(arms.size):
        total += weights[arms[n]]
    point, row = uniform * total, arms[arms.size - 1]
    for n in range(arms.size):
        if weights[arms[n]] > 0.0:
            row = arms[n]
            point -= weights[row]
            if point < 0.0:
                break
    return row


@kernel
def find_best_rows(means: Floats, offsets: Ints, best: Ints) -> None:
    """Write the row of the highest mean (k,) of each context into best (M,)."""
    for m in range(best.size):
        best[m] = offsets[m]
        for row in range(offsets[m] + 1, offsets[m + 1]):
            if means[row] > means[best[m]]:
                best[m] = row


class Mixture(NamedTuple):
    """The chance of another arm than the greedy one, and the information ratio that it gives."""

    chance: float
    ratio: float


@kernel
def mix(gap: float, information: float, other_gap: float, other_information: float) -> Mixture:
    """The least of ((1 - p) gap + p other gap)^2 / ((1 - p) information + p other information) over
    p, if the other has more information.
    """
    chance = 0.0
    if other_information > information:
        chance = 1.0
        if other_gap > gap:
            chance = min(
                1.0,
                max(
                    0.0,
                    gap / (other_gap - gap) - 2.0 * information / (other_information - information),
                ),
            )
    mixed = (1.0 - chance) * information + chance * other_information
    regret = (1.0 - chance) * gap + chance * other_gap
    return Mixture(chance, regret**2 / mixed if mixed > 0.0 else math.inf)
