"""What decides a claim: results by instance and policy, and answers that may stay open.

An answer is True, False, or None where the standard error does not allow one. Differences between
policies are paired by replication; an interval is an estimate plus or minus CLEAR standard errors.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.allocation.bound import Bound
from thrifty.numerics.arrays import Floats
from thrifty.report.wording import power, with_error
from thrifty.studies.results import Result

CLEAR = 2.0  # standard errors of a clear difference
TINY = 1e-300  # replaces a regret of zero in denominators
RESAMPLES = 400  # of the bootstrap

Answer = bool | None


@dataclass(frozen=True)
class Finding:
    """The outcome of a comparison: whether the claim holds, and the numbers as text."""

    holds: Answer
    measured: str


class Missing(Exception):
    """Results that a comparison needs are missing."""


class ResultTable:
    """Results by instance, policy and horizon, and the lower bounds of the instances."""

    def __init__(self, results: Sequence[Result], bound: Callable[[str], Bound]) -> None:
        self._results = {(r.instance.name, r.policy, r.horizon): r for r in results}
        self.bound = bound

    def horizons(self, instance: str, policy: str, least: int = 1) -> list[int]:
        """The horizons of a policy's results, ascending; Missing if there are fewer than least."""
        key = (instance, policy)
        horizons = sorted(n for name, spec, n in self._results if (name, spec) == key)
        if len(horizons) < least:
            raise Missing
        return horizons

    def find(self, instance: str, policy: str, horizon: int | None = None) -> Result:
        """The result at a horizon, by default at the longest; Missing for a single replication."""
        n = self.horizons(instance, policy)[-1] if horizon is None else horizon
        result = self._results.get((instance, policy, n))
        if result is None or result.replications < 2:
            raise Missing
        return result

    def pair(
        self, instance: str, policy: str, rival: str, horizon: int | None = None
    ) -> tuple[Result, Result]:
        """The results of a policy and of a rival, as `find` has them."""
        return self.find(instance, policy, horizon), self.find(instance, rival, horizon)

    def last_decades(self, instance: str, policy: str) -> tuple[Result, Result]:
        """The results at the longest horizon and at the first one within two decades of it."""
        horizons = self.horizons(instance, policy, least=2)
        before = next(n for n in horizons if 100 * n >= horizons[-1])
        return self.find(instance, policy, before), self.find(instance, policy)


Comparison = Callable[[ResultTable], Finding]  # decides a case of a claim


def exceeds(estimate: tuple[float, float], threshold: float = 0.0) -> Answer:
    """Whether a quantity, given as estimate and standard error, exceeds a threshold."""
    mean, se = estimate
    if mean - CLEAR * se > threshold:
        return True
    return False if mean + CLEAR * se <= threshold else None


def within(estimate: tuple[float, float], low: float, high: float) -> Answer:
    """Whether a quantity, given as estimate and standard error, lies from low to high."""
    mean, se = estimate
    if low <= mean - CLEAR * se and mean + CLEAR * se <= high:
        return True
    return False if mean + CLEAR * se < low or mean - CLEAR * se > high else None


def negated(answer: Answer) -> Answer:
    """The answer to the opposite question."""
    return None if answer is None else not answer


def all_hold(answers: Iterable[Answer]) -> Answer:
    """Whether all hold: False if one does not, else None if one is open."""
    listed = list(answers)
    return False if False in listed else None if None in listed else True


def estimate(values: Floats) -> tuple[float, float]:
    """Mean and standard error."""
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))


def resampled(values: Floats, statistic: Callable[[Floats], float]) -> float:
    """The bootstrap standard error of a statistic of independent rows."""
    rng, n = np.random.default_rng(0), len(values)
    return float(np.std([statistic(values[rng.integers(n, size=n)]) for _ in range(RESAMPLES)]))


def late_share(result: Result, values: Floats, share: float, text: str) -> Finding:
    """Whether the last nine tenths of a run add at most a share to cumulative values (R, c)."""
    tenth = int(np.searchsorted(result.times, result.horizon / 10))
    late = values[:, -1] - values[:, tenth]
    rounds = f"after round {power(int(result.times[tenth]))} of {power(result.horizon)}"
    words = f"of {text}, {with_error(*estimate(late))} {rounds}"
    return Finding(negated(exceeds(estimate(late - share * values[:, -1]))), words)


def regret(result: Result) -> str:
    """Mean regret at the horizon, with its standard error."""
    return with_error(result.mean, result.se, 4)


def difference(mean: float, se: float, *, more: str = "more", less: str = "less") -> str:
    """A difference rival - policy as text: `less by 12 ± 3 (4.0 standard errors)`."""
    if mean == 0:
        return "equal"
    side, size = less if mean > 0 else more, abs(mean) / se if se > 0 else math.inf
    return f"{side} by {with_error(abs(mean), se)} ({size:.1f} standard errors)"
