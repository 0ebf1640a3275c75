"""Value-of-information formulas under a Gaussian posterior.

An arm that looks worse than the greedy one by `gap`, with standard error `error`, is better by
N(-gap, error^2); theta is N(theta_hat, noise^2 V^-1).
"""

import math

from thrifty.numerics.arrays import Floats
from thrifty.numerics.compilation import kernel


@kernel
def expected_improvement(gap: float, error: float) -> float:
    """E max(0, Z) for Z ~ N(-gap, error^2): expected loss per round of not playing the arm."""
    if error <= 0.0:
        return 0.0
    z = gap / error
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return error * (density - 0.5 * z * math.erfc(z / math.sqrt(2.0)))


@kernel
def expected_squared_shift(z: float) -> float:
    """P(Z > z) E[Z | Z > z]^2 for standard normal Z: squared shift of its mean if told Z > z."""
    tail = 0.5 * math.erfc(z / math.sqrt(2.0))
    return math.exp(-z * z) / (2.0 * math.pi * tail) if tail > 0.0 else 0.0


@kernel
def quadratic_forms(rows: Floats, matrix: Floats, out: Floats) -> None:
    """out (k,) = x^T matrix x for the rows x of rows (k, d)."""
    for row in range(out.size):
        out[row] = 0.0
        for i in range(matrix.shape[0]):
            along = 0.0
            for j in range(matrix.shape[0]):
                along += matrix[i, j] * rows[row, j]
            out[row] += rows[row, i] * along
