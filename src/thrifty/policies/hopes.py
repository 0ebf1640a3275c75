"""What may be hoped of an arm that looks worse than the best: what is lost by not playing it, and
how far theta lies from what is believed, if it is better.

Beliefs are Gaussian: the arm is better by N(-gap, error^2), and theta is N(theta_hat, noise^2
V^-1).
"""

import math

from thrifty.arrays import Floats
from thrifty.compilation import kernel


@kernel
def expected_loss(gap: float, error: float) -> float:
    """The mean of the positive part of N(-gap, error^2)."""
    if error <= 0.0:
        return 0.0
    z = gap / error
    return error * (
        math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) - 0.5 * z * math.erfc(z / math.sqrt(2.0))
    )


@kernel
def surprise(z: float) -> float:
    """P(Z > z) E[Z | Z > z]^2 of a standard normal Z: the mean square by which Z moves when it is
    told that it exceeds z.
    """
    chance = 0.5 * math.erfc(z / math.sqrt(2.0))
    return math.exp(-z * z) / (2.0 * math.pi * chance) if chance > 0.0 else 0.0


@kernel
def add_square(matrix: Floats, weight: float, vector: Floats) -> None:
    """Add weight vector vector^T to a matrix (d, d)."""
    for i in range(vector.size):
        for j in range(vector.size):
            matrix[i, j] += weight * vector[i] * vector[j]


@kernel
def weigh_news(rows: Floats, telling: Floats, news: Floats) -> None:
    """news (k,) = x^T telling x of the rows (k, d): how far the means of arms move when better arms
    are told of.
    """
    for row in range(news.size):
        news[row] = 0.0
        for i in range(telling.shape[0]):
            along = 0.0
            for j in range(telling.shape[0]):
                along += telling[i, j] * rows[row, j]
            news[row] += rows[row, i] * along
