"""Bounds on the optimal value that hold at any point, however it was found.

At any spend a >= 0 with A positive definite and dual variables w >= 0 they need the total spend,
the largest value max g_i and slopes der_j = sum_i w_i (z_i^T A^-1 u_j)^2 (docs/allocation.md).
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
    """The cost of a feasible point: if F = 0, g has degree -1 and scaling by max g gives one."""
    if homogeneous:
        return total_spend * largest_value
    return total_spend if largest_value <= 1.0 + ROUNDING else np.inf


@kernel
def dual_bound(
    homogeneous: bool, value: float, weight: float, slope: float, slope_spend: float
) -> float:
    """The Lagrangian bound: a lower bound on the optimal value.

    value = sum w g, weight = sum w, slope = max der_j, slope_spend = der . a

    With w scaled so that der <= 1, the unit costs, it is sum w (g - 1) + der . a. Without base
    information the best scaling of the point is known too, and slope_spend is not used.
    """
    if not slope > 0.0:
        return 0.0
    if homogeneous:
        return value * value / (slope * weight)
    return max(0.0, (value - weight + slope_spend) / slope)


@kernel
def relative_gap(bounds: Bounds) -> float:
    """upper / lower - 1, or 1 where that would be larger or undefined."""
    return min(1.0, bounds.upper / bounds.lower - 1.0) if bounds.lower > 0.0 else 1.0
