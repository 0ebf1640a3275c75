"""Bounds on the optimal value that hold at any point, however it was found.

At any spend a >= 0 with A positive definite and any dual variables w >= 0 they need the total
spend, the largest constraint value max g_i, the slopes der_j = sum_i w_i (z_i^T A^-1 u_j)^2, and
nothing else. docs/allocation.md derives both.
"""

from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import kernel

# a constraint value up to 1 + ROUNDING counts as feasible where the point cannot be rescaled
ROUNDING = 1e-13


class Bounds(NamedTuple):
    """lower <= optimal value <= upper."""

    lower: float
    upper: float


@kernel
def primal_bound(homogeneous: bool, total_spend: float, largest_value: float) -> float:
    """The cost of a feasible point: an upper bound on the optimal value.

    Without base information g is homogeneous of degree -1, so that scaling by max g makes any
    point feasible.
    """
    if homogeneous:
        return total_spend * largest_value
    return total_spend if largest_value <= 1.0 + ROUNDING else np.inf


@kernel
def dual_bound(
    homogeneous: bool,
    weighted_value: float,
    total_weight: float,
    largest_slope: float,
    slope_spend: float,
) -> float:
    """The Lagrangian bound: a lower bound on the optimal value.

    weighted_value = sum w g, total_weight = sum w, largest_slope = max der_j, slope_spend = der . a

    With w scaled so that der <= 1, the unit costs, it is sum w (g - 1) + der . a. Without base
    information the best scaling of the point is known too, and slope_spend is not used.
    """
    if not largest_slope > 0.0:
        return 0.0
    if homogeneous:
        return weighted_value * weighted_value / (largest_slope * total_weight)
    return max(0.0, (weighted_value - total_weight + slope_spend) / largest_slope)


@kernel
def relative_gap(bounds: Bounds) -> float:
    """upper / lower - 1, or 1 where that would be larger or undefined."""
    return min(1.0, bounds.upper / bounds.lower - 1.0) if bounds.lower > 0.0 else 1.0
