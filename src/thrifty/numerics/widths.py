"""Confidence widths, one cited result each."""

import math

from thrifty.compiler.compilation import kernel
from thrifty.numerics.regression import Regression


@kernel
def level(log_n: float, log_inverse_delta: float, c: float, d: int) -> float:
    """f_{n,delta} = 2 (1 + 1/log n) log(1/delta) + c d log(d log n), at least 0.

    Hao, Lattimore and Szepesvari (2020), def:ft.
    """
    return max(0.0, 2.0 * (1.0 + 1.0 / log_n) * log_inverse_delta + c * d * math.log(d * log_n))


@kernel
def oful_width(
    regression: Regression, ridge: float, log_inverse_delta: float, noise: float, size: float
) -> float:
    """noise sqrt(2 log(1/delta) + log det V - d log ridge) + sqrt(ridge) size, ||theta|| <= size.

    Abbasi-Yadkori, Pal and Szepesvari (2011), theorem 2: with probability 1 - delta,
    |<x, theta_hat - theta>| stays below this times ||x||_{V^-1} for all x and t.
    """
    logdet, d = regression.totals[0].logdet, regression.theta.size
    radicand = 2.0 * log_inverse_delta + logdet - d * math.log(ridge)
    return noise * math.sqrt(radicand) + math.sqrt(ridge) * size
