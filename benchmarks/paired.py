"""Ratios of means over runs that two policies share, and their standard errors."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Ratio(NamedTuple):
    """A ratio and its standard error."""

    value: float
    error: float

    def __format__(self, spec: str) -> str:
        """Three digits of both; `bold` marks the ratio."""
        mark = "**" if spec == "bold" else ""
        return f"{mark}{self.value:.3f}{mark} ± {self.error:.3f}"


def paired(mine: Floats, other: Floats) -> Ratio:
    """mean(mine) / mean(other) of runs (n,), where run i of both had the same luck.

    error = sd(mine - ratio * other) / (sqrt(n) mean(other)), to first order.
    """
    ratio = float(mine.mean() / other.mean())
    return Ratio(ratio, standard_error(mine - ratio * other) / float(other.mean()))


def standard_error(values: Floats) -> float:
    """Standard error of the mean of values (n,)."""
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def geometric_mean(ratios: list[Ratio]) -> Ratio:
    """The geometric mean of ratios that are independent of each other."""
    value = math.exp(sum(math.log(ratio.value) for ratio in ratios) / len(ratios))
    relative = math.hypot(*(ratio.error / ratio.value for ratio in ratios)) / len(ratios)
    return Ratio(value, value * relative)
