"""Ways to select an arm that several policies share. Of equals, the first is selected."""

import math
from typing import Any, NamedTuple

from thrifty.compiler.compilation import kernel
from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.regression import Regression
from thrifty.policies.shared.ledger import Ledger
from thrifty.policies.shared.stubs import value


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
def least_row(values: Any, arms: Ints) -> int:
    """argmin of values (k,) over the rows arms (n,)."""
    least = arms[0]
    for n in range(1, arms.size):
        if values[arms[n]] < values[least]:
            least = arms[n]
    return least


@kernel
def highest_value_arm(state: Any, arms: Ints) -> int:
    """argmax of the stub `value` over the rows arms (n,): for means that are not kept current."""
    best, highest = arms[0], -math.inf
    for n in range(arms.size):
        mean = value(state, arms[n])
        if mean > highest:
            best, highest = arms[n], mean
    return best


@kernel
def optimistic_arm(regression: Regression, arms: Ints, width: float) -> int:
    """argmax <x, theta_hat> + width ||x||_{V^-1} over the rows arms (n,)."""
    means, norms = regression.means, regression.norms
    best, highest = arms[0], -math.inf
    for n in range(arms.size):
        upper = means[arms[n]] + width * math.sqrt(max(0.0, norms[arms[n]]))
        if upper > highest:
            best, highest = arms[n], upper
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
    """The least played of arms (n,) outside V's span (rewards may be late); or the greedy arm."""
    played, ids = ledger.played, ledger.vector_ids
    least = -1
    for n in range(arms.size):
        row = arms[n]
        if regression.outside[row] and (least < 0 or played[ids[row]] < played[ids[least]]):
            least = row
    return least if least >= 0 else greedy_arm(regression, arms)


@kernel
def draw_arm(weights: Floats, arms: Ints, uniform: float) -> int:
    """One of arms (n,) in proportion to weights (k,), by inversion; the last if all are 0."""
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
def best_row(means: Floats, first: int, stop: int) -> int:
    """The row with the highest of means (k,) from first to stop - 1."""
    best = first
    for row in range(first + 1, stop):
        if means[row] > means[best]:
            best = row
    return best


class Mixture(NamedTuple):
    """A probability for another arm than the greedy one, and its information ratio."""

    probability: float
    ratio: float


@kernel
def least_ratio(
    gap: float, information: float, other_gap: float, other_information: float
) -> Mixture:
    """The mixture of two arms with the least information ratio (Russo and Van Roy 2014).

    Minimises ((1 - p) gap + p other_gap)^2 / ((1 - p) information + p other_information) over p;
    p = 0 if the other arm has no more information.
    """
    p = 0.0
    if other_information > information:
        p = 1.0
        if other_gap > gap:
            extra = other_information - information
            p = min(1.0, max(0.0, gap / (other_gap - gap) - 2.0 * information / extra))
    mixed = (1.0 - p) * information + p * other_information
    regret = (1.0 - p) * gap + p * other_gap
    return Mixture(p, regret**2 / mixed if mixed > 0.0 else math.inf)
