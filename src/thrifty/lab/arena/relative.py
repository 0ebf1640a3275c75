"""Regret of one policy relative to another's on the same instances and the same replications.

Replications are paired: all policies see the same contexts and noise, on every instance. A mean,
median or other statistic below one pull of the arm with the smallest gap, in all replications
together, counts as that much: less cannot be measured.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.numerics.arrays import Floats, Ints
from thrifty.problem.instances import Instance
from thrifty.studies.results import Result

TINY_GAP = 1e-9  # replaces the smallest gap of an ensemble, which has none
WORST_OF = 50  # one run in so many is in the tail
FEWEST_P95 = 10  # replications for which a 95th percentile is computed
FEWEST_CVAR = 100  # replications for which the mean of the worst runs is computed
RESAMPLES = 200  # of the bootstrap


@dataclass(frozen=True)
class Contrast:
    """Mean regret relative to another policy's on several instances."""

    logs: Floats  # (I,) logarithm of the ratio of mean regrets on each instance
    influence: Floats  # (I, R) first-order contribution of each replication to logs

    @property
    def ratio(self) -> float:
        """Geometric mean of the ratios."""
        return math.exp(self.log)

    @property
    def log(self) -> float:
        """Mean logarithm of the ratios."""
        return float(self.logs.mean())

    @property
    def error(self) -> float:
        """Standard error of `log` over replications of these instances; NaN for a single one."""
        return standard_error(self.influence.mean(axis=0))

    @property
    def instance_error(self) -> float:
        """Standard error of `log` as if instances were drawn at random; NaN for a single one."""
        return standard_error(self.logs)

    @property
    def clear(self) -> bool:
        """Whether `log` is more than two standard errors from 0, of both sources together.

        The logarithms of single instances scatter by replications, too, so that the sum of both
        variances is rather too large. False for a single replication or instance.
        """
        return abs(self.log) > 2 * math.hypot(self.error, self.instance_error)


def contrast(mine: Sequence[Result], others: Sequence[Result]) -> Contrast:
    """Compare two policies on instances in the same order, on the replications that all have."""
    both = min(result.replications for result in (*mine, *others))
    logs, influence = [], []
    for result, other in zip(mine, others, strict=True):
        least = least_regret(result, both)
        top, bottom = result.final[:both], other.final[:both]
        top_mean, bottom_mean = max(top.mean(), least), max(bottom.mean(), least)
        logs.append(math.log(top_mean / bottom_mean))
        influence.append(top / top_mean - bottom / bottom_mean)
    return Contrast(np.array(logs), np.array(influence))


def standard_error(values: Floats) -> float:
    """Standard error of the mean of values (n,); NaN for a single one."""
    return float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.nan


def least_regret(result: Result, replications: int) -> float:
    """One pull of the arm with the smallest gap, in all replications together."""
    gaps = result.instance.gaps if isinstance(result.instance, Instance) else np.zeros(0)
    positive = gaps[gaps > 0]
    return (float(positive.min()) if positive.size else TINY_GAP) / replications


def quantile_ratio(mine: Sequence[Result], others: Sequence[Result], percent: float) -> float:
    """Geometric mean over instances of the ratio of percentiles."""
    both = min(result.replications for result in (*mine, *others))
    logs = []
    for result, other in zip(mine, others, strict=True):
        least = least_regret(result, both)
        top, bottom = (np.percentile(of.final[:both], percent) for of in (result, other))
        logs.append(math.log(max(top, least) / max(bottom, least)))
    return math.exp(np.mean(logs))


def cvar(finals: Floats) -> Floats:
    """(...) CVaR of regrets (..., R): the mean of the R / 50 largest, rounded up."""
    count = -(-finals.shape[-1] // WORST_OF)
    return np.asarray(np.partition(finals, -count, axis=-1)[..., -count:].mean(axis=-1))


def cvar_ratio(mine: Sequence[Result], others: Sequence[Result]) -> tuple[float, float]:
    """Geometric mean over instances of the ratio of CVaRs, and its standard error.

    The standard error is that of a bootstrap over replications, the same ones on all instances for
    both policies. Both numbers are NaN for few replications.
    """
    both = min(result.replications for result in (*mine, *others))
    if both < FEWEST_CVAR:
        return math.nan, math.nan
    draws = np.random.default_rng(0).integers(both, size=(RESAMPLES, both))
    logs = np.zeros(1 + RESAMPLES)
    for result, other in zip(mine, others, strict=True):
        least = least_regret(result, both)
        logs += _log_cvars(result, draws, least)
        logs -= _log_cvars(other, draws, least)
    means = logs / len(mine)
    ratio = math.exp(means[0])
    return ratio, ratio * float(means[1:].std(ddof=1))


def _log_cvars(result: Result, draws: Ints, least: float) -> Floats:
    """Logarithm of the CVaR of the first replications, then of each of their resamples."""
    finals = result.final[: draws.shape[1]]
    return np.asarray(np.log(np.maximum(np.append(cvar(finals), cvar(finals[draws])), least)))
