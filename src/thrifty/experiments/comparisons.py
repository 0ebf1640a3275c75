"""Comparisons of results that can decide a claim. Differences between policies are paired,
replicate by replicate; they count from CLEAR standard errors on.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from thrifty.allocation.bound import Bound
from thrifty.numerics.arrays import Floats
from thrifty.report.wording import plain, power, with_error
from thrifty.studies.results import Result

CLEAR = 2.0  # standard errors that make a difference
MODEST = 1.5  # a margin is modest if the next is at most so many times as bad
TINY = 1e-300  # instead of no regret at all, where that would be divided by
FAR = 2.0  # far worse is at least so many times as bad


@dataclass(frozen=True)
class Finding:
    """What a comparison gave: whether it bears the claim out, and the numbers in words."""

    holds: bool
    measured: str


class Missing(Exception):
    """There are no results to decide a comparison by."""


class Evidence:
    """Results to decide claims by, and the lower bounds of their instances."""

    def __init__(self, results: Sequence[Result], bound: Callable[[str], Bound]) -> None:
        self._results = {
            (result.instance.name, result.policy, result.horizon): result for result in results
        }
        self.bound = bound

    def horizons(self, instance: str, policy: str, least: int = 1) -> list[int]:
        """The horizons that a policy was played for, from short to long: at least so many."""
        found = sorted(n for name, spec, n in self._results if (name, spec) == (instance, policy))
        if len(found) < least:
            raise Missing
        return found

    def at(self, instance: str, policy: str, horizon: int) -> Result:
        """A result, of more than one replication."""
        result = self._results.get((instance, policy, horizon))
        if result is None or result.replications < 2:
            raise Missing
        return result

    def longest(self, instance: str, policy: str) -> Result:
        """The result with the longest horizon."""
        return self.at(instance, policy, self.horizons(instance, policy)[-1])


class Comparison(Protocol):
    """Decides a case."""

    def find(self, evidence: Evidence) -> Finding:
        """Look at the evidence."""


@dataclass(frozen=True)
class Pair:
    """A policy and a rival on an instance."""

    instance: str
    policy: str
    rival: str

    def longest(self, evidence: Evidence) -> tuple[Result, Result]:
        """What both did at the longest horizon."""
        return evidence.longest(self.instance, self.policy), evidence.longest(
            self.instance, self.rival
        )


@dataclass(frozen=True)
class Less(Pair):
    """A policy has less regret than a rival, at the longest horizon."""

    def find(self, evidence: Evidence) -> Finding:
        clear = {}
        for n in evidence.horizons(self.instance, self.policy):
            mine, other = (
                evidence.at(self.instance, self.policy, n),
                evidence.at(self.instance, self.rival, n),
            )
            mean, se = _estimate(other.final - mine.final)
            clear[n] = mean > CLEAR * se
        since = next((n for n in clear if all(clear[later] for later in clear if later >= n)), None)
        until = (
            f", clearly less from n = {power(since)} on"
            if since is not None and len(clear) > 1
            else ""
        )
        return Finding(
            clear[n],
            f"{_regret(mine)} against {_regret(other)} at n = {power(n)}: "
            f"{_difference(mean, se)}{until}",
        )


@dataclass(frozen=True)
class Overtaken(Pair):
    """A rival has less regret than a policy after a hundredth of the run, and more at its end."""

    def find(self, evidence: Evidence) -> Finding:
        mine, other = self.longest(evidence)
        early = int(np.searchsorted(mine.times, mine.horizon / 100))
        lead, lead_se = _estimate(mine.curves[:, early] - other.curves[:, early])
        mean, se = _estimate(other.final - mine.final)
        begun = (
            f"at round {power(int(mine.times[early]))} the rival is "
            f"{_difference(lead, lead_se, more='behind', less='ahead')}"
        )
        ended = (
            f"at n = {power(mine.horizon)}: {_regret(mine)} against {_regret(other)}, "
            f"{_difference(mean, se)}"
        )
        return Finding(lead > CLEAR * lead_se and mean > CLEAR * se, f"{begun}; {ended}")


@dataclass(frozen=True)
class Alike(Pair):
    """Two policies differ by no more than a share of the rival's regret, for all that is known: at
    a horizon, or at the longest.
    """

    horizon: int | None = None
    share: float = 0.2

    def find(self, evidence: Evidence) -> Finding:
        n = self.horizon or evidence.horizons(self.instance, self.policy)[-1]
        mine, other = (
            evidence.at(self.instance, self.policy, n),
            evidence.at(self.instance, self.rival, n),
        )
        mean, se = _estimate(other.final - mine.final)
        margin = self.share * other.mean
        words = (
            f"{_regret(mine)} against {_regret(other)} at n = {power(n)}: "
            f"{_difference(mean, se)}, the margin being {plain(margin, 3)}"
        )
        return Finding(abs(mean) + CLEAR * se <= margin, words)


@dataclass(frozen=True)
class Bounded:
    """Regret stops growing: the last nine tenths of a run add almost nothing to it."""

    instance: str
    policy: str
    share: float = 0.05

    def find(self, evidence: Evidence) -> Finding:
        result = evidence.longest(self.instance, self.policy)
        tenth = int(np.searchsorted(result.times, result.horizon / 10))
        mean, se = _estimate(result.final - result.curves[:, tenth])
        words = (
            f"of {_regret(result)}, {with_error(mean, se)} after round "
            f"{power(int(result.times[tenth]))} of {power(result.horizon)}"
        )
        return Finding(mean + CLEAR * se <= self.share * result.mean, words)


@dataclass(frozen=True)
class FarWorse(Pair):
    """A policy has at least FAR times the regret of a rival."""

    def find(self, evidence: Evidence) -> Finding:
        worse, better = self.longest(evidence)
        mean, se = _estimate(worse.final - FAR * better.final)
        words = (
            f"{_regret(worse)} against {_regret(better)} at n = {power(worse.horizon)}, "
            f"{plain(_ratio(worse, better), 2)} times as much"
        )
        return Finding(mean > CLEAR * se, words)


@dataclass(frozen=True)
class Wilder(Pair):
    """The regret of a policy varies more from run to run than a rival's, by a factor of FAR in
    standard deviation.
    """

    def find(self, evidence: Evidence) -> Finding:
        wild, calm = self.longest(evidence)
        both = np.column_stack([wild.final, calm.final])
        excess = _log_deviations(both) - math.log(FAR)
        spread = (
            f"standard deviation {plain(float(wild.final.std(ddof=1)), 3)} against "
            f"{plain(float(calm.final.std(ddof=1)), 3)}"
        )
        holds = excess > CLEAR * _resampled(both, _log_deviations)
        return Finding(
            holds, f"{spread}, worst run {plain(wild.max, 3)} against {plain(calm.max, 3)}"
        )


@dataclass(frozen=True)
class SmallerGain:
    """The regret of a rival, in units of the policy's, is less on one instance than on another."""

    instance: str
    other: str
    policy: str
    rival: str

    def find(self, evidence: Evidence) -> Finding:
        ratios, errors, words = [], [], []
        for name in (self.instance, self.other):
            mine, other = evidence.longest(name, self.policy), evidence.longest(name, self.rival)
            ratios.append(_ratio(other, mine))
            errors.append(_resampled(np.column_stack([other.final, mine.final]), _log_ratio))
            words.append(f"{with_error(ratios[-1], ratios[-1] * errors[-1])} on {name}")
        clear = ratios[0] > 0 and math.log(ratios[1] / ratios[0]) > CLEAR * math.hypot(*errors)
        return Finding(clear, f"{self.rival}'s regret over {self.policy}'s: {', '.join(words)}")


@dataclass(frozen=True)
class BestModestly:
    """A policy has less regret than all rivals, and the next at most MODEST times as much."""

    instance: str
    policy: str
    rivals: tuple[str, ...]

    def find(self, evidence: Evidence) -> Finding:
        mine = evidence.longest(self.instance, self.policy)
        others = [evidence.longest(self.instance, rival) for rival in self.rivals]
        leads = [_estimate(other.final - mine.final) for other in others]
        next_best = min(others, key=lambda other: other.mean)
        words = (
            f"{_regret(mine)}; the best of the others is {next_best.policy} with "
            f"{_regret(next_best)}, {plain(_ratio(next_best, mine), 2)} times as much"
        )
        return Finding(
            all(mean > CLEAR * se for mean, se in leads) and next_best.mean <= MODEST * mine.mean,
            words,
        )


@dataclass(frozen=True)
class Slope:
    """How regret grows with log n over the last two decades of horizons, against C: `near` it,
    `above` it, or `not below` it.
    """

    instance: str
    policy: str
    than: str
    within: float = 0.25

    def find(self, evidence: Evidence) -> Finding:
        horizons = evidence.horizons(self.instance, self.policy, least=2)
        after, before = horizons[-1], next(n for n in horizons if 100 * n >= horizons[-1])
        first, last = (
            evidence.at(self.instance, self.policy, before),
            evidence.at(self.instance, self.policy, after),
        )
        slope, se = _slope(first, last)
        constant = evidence.bound(self.instance).constant
        margin = self.within * constant
        holds = {
            "near": abs(slope - constant) <= margin and se <= margin,
            "above": slope - CLEAR * se > constant + margin,
            # but not for want of precision
            "not below": slope >= constant
            or (slope + CLEAR * se >= constant and CLEAR * se <= 2 * margin),
        }[self.than]
        ratio = (
            "R(n)/log n is "
            f"{with_error(last.mean / math.log(after), last.se / math.log(after))} at "
            f"n = {power(after)}"
        )
        decades = f"from n = {power(before)} to {power(after)}"
        return Finding(
            holds,
            f"slope {with_error(slope, se)} {decades}, where C = {plain(constant, 4)}; {ratio}",
        )


@dataclass(frozen=True)
class Flattens:
    """Regret is sub-logarithmic in the horizon: from one horizon to the next it grows by less than
    a share of what a logarithm would.
    """

    instance: str
    policy: str
    share: float = 0.25

    def find(self, evidence: Evidence) -> Finding:
        before, after = evidence.horizons(self.instance, self.policy, least=2)[-2:]
        first, last = (
            evidence.at(self.instance, self.policy, before),
            evidence.at(self.instance, self.policy, after),
        )
        slope, se = _slope(first, last)
        ratio = last.mean / math.log(after)
        words = (
            f"{_regret(first)} at n = {power(before)}, {_regret(last)} at {power(after)}: "
            f"slope {with_error(slope, se)}"
        )
        return Finding(
            slope + CLEAR * se <= self.share * ratio,
            f"{words}, where R(n)/log n is {plain(ratio, 2)}",
        )


@dataclass(frozen=True)
class Share:
    """At least a share of the regret comes from rounds with a label."""

    instance: str
    policy: str
    label: str
    share: float = 0.9

    def find(self, evidence: Evidence) -> Finding:
        result = evidence.longest(self.instance, self.policy)
        parts = result.regret[:, -1].mean(axis=0) / max(result.mean, TINY)
        words = ", ".join(
            f"{label} {part:.1%}" for label, part in zip(result.labels, parts, strict=True)
        )
        return Finding(
            bool(parts[result.labels.index(self.label)] >= self.share),
            f"{words} at n = {power(result.horizon)}",
        )


@dataclass(frozen=True)
class Carries:
    """An arm of the first context carries most of the optimal exploration."""

    instance: str
    arm: int

    def find(self, evidence: Evidence) -> Finding:
        bound = evidence.bound(self.instance)
        cost = bound.instance.gaps * np.where(
            bound.instance.optimal, 0.0, np.concatenate(bound.allocation)
        )
        share = float(cost[self.arm] / bound.constant) if bound.constant else 0.0
        return Finding(share > 0.5, f"its share of C = {plain(bound.constant, 4)} is {share:.0%}")


@dataclass(frozen=True)
class ConstantIs:
    """The constant of an instance has a value."""

    instance: str
    value: float

    def find(self, evidence: Evidence) -> Finding:
        bound = evidence.bound(self.instance)
        certified = "exact" if bound.gap == 0 else f"certified to {bound.gap:.0e}"
        same = bound.lower <= self.value * (1 + 1e-9) and bound.upper >= self.value * (1 - 1e-9)
        return Finding(
            same and bound.status != "failed",
            f"C = {plain(bound.constant, 6)}, {certified}; expected {plain(self.value, 6)}",
        )


def _estimate(values: Floats) -> tuple[float, float]:
    """Mean and standard error."""
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))


def _slope(first: Result, last: Result) -> tuple[float, float]:
    """How regret grows with log n from one horizon to a longer one, and its standard error;
    replicates are paired.
    """
    return _estimate((last.final - first.final) / math.log(last.horizon / first.horizon))


def _resampled(values: Floats, statistic: Callable[[Floats], float]) -> float:
    """The bootstrap standard error of a statistic of independent rows."""
    rng = np.random.default_rng(0)
    return float(
        np.std([statistic(values[rng.integers(len(values), size=len(values))]) for _ in range(400)])
    )


def _log_deviations(pairs: Floats) -> float:
    """Log of the ratio of the standard deviations of two columns."""
    first, second = pairs.std(axis=0, ddof=1)
    return math.log(max(first, TINY) / max(second, TINY))


def _log_ratio(pairs: Floats) -> float:
    first, second = pairs.mean(axis=0)
    return math.log(max(first, TINY) / max(second, TINY))


def _ratio(one: Result, other: Result) -> float:
    return one.mean / max(other.mean, TINY)


def _regret(result: Result) -> str:
    return with_error(result.mean, result.se, 4)


def _difference(mean: float, se: float, *, more: str = "more", less: str = "less") -> str:
    """In words how much less it is, `less by 12 ± 3 (4.0 standard errors)`, for a difference rival
    - policy.
    """
    if mean == 0:
        return "equal"
    size = abs(mean) / se if se > 0 else math.inf
    return (
        f"{less if mean > 0 else more} by {with_error(abs(mean), se)} ({size:.1f} standard errors)"
    )
