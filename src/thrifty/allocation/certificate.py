"""Two numbers that bracket the optimal value, whatever the point they are computed at
(docs/allocation.md derives both).

They need, at any spend a >= 0 with A positive definite and any prices w >= 0: the total spend, the
largest constraint value max g_i, the slopes der_j = sum_i w_i (z_i^T A^-1 u_j)^2, and nothing of
how the point was found.
"""

import numpy as np

from thrifty.numerics.compilation import compiled

# a constraint value up to 1 + ROUNDING counts as met where the point cannot be rescaled
ROUNDING = 1e-13


@compiled
def upper_bound(homogeneous: bool, total_spend: float, largest_value: float) -> float:
    """The cost of a feasible point: without base information g is homogeneous of degree -1, so
    scaling by max g makes any point feasible.
    """
    if homogeneous:
        return total_spend * largest_value
    return total_spend if largest_value <= 1.0 + ROUNDING else np.inf


@compiled
def lower_bound(
    homogeneous: bool, priced_value: float, total_price: float, steepest: float, earned: float
) -> float:
    """The Lagrangian bound for priced_value = sum w g, total_price = sum w, steepest = max der_j,
    earned = der . a.

    With w scaled so that der <= 1 (unit costs): sum w (g - 1) + der . a. Without base information
    the best scaling of the point is known too.
    """
    if not steepest > 0.0:
        return 0.0
    if homogeneous:
        return priced_value * priced_value / (steepest * total_price)
    return max(0.0, (priced_value - total_price + earned) / steepest)
