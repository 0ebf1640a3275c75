"""Comparisons of results that decide a claim.

Differences between policies are paired by replication; a difference is clear if it exceeds CLEAR
standard errors.
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

CLEAR = 2.0  # standard errors of a clear difference
MODEST = 1.5  # the lead of the best policy is modest up to this ratio of regrets
FAR = 2.0  # a policy is far worse from this ratio of regrets on
TINY = 1e-300  # replaces a regret of zero in denominators


@dataclass(frozen=True)
class Finding:
    """The outcome of a comparison: whether the claim holds, and the numbers as text."""

    holds: bool
    measured: str


class Missing(Exception):
    """Results that a comparison needs are missing."""


class ResultTable:
    """Results by instance, policy and horizon, and the lower bounds of the instances."""

    def __init__(self, results: Sequence[Result], bound: Callable[[str], Bound]) -> None:
        self._results = {
            (result.instance.name, result.policy, result.horizon): result for result in results
        }
        self.bound = bound

    def horizons(self, instance: str, policy: str, least: int = 1) -> list[int]:
        """The horizons of a policy's results, ascending; Missing if there are fewer than least."""
        found = sorted(n for name, spec, n in self._results if (name, spec) == (instance, policy))
        if len(found) < least:
            raise Missing
        return found

    def at(self, instance: str, policy: str, horizon: int) -> Result:
        """The result at a horizon; Missing unless it has at least two replications."""
        result = self._results.get((instance, policy, horizon))
        if result is None or result.replications < 2:
            raise Missing
        return result

    def longest(self, instance: str, policy: str) -> Result:
        """The result with the longest horizon."""
        return self.at(instance, policy, self.horizons(instance, policy)[-1])


class Comparison(Protocol):
    """Decides a case of a claim."""

    def find(self, table: ResultTable) -> Finding:
        """Compare the results."""


@dataclass(frozen=True)
class Pair:
    """A policy and a rival on an instance."""

    instance: str
    policy: str
    rival: str

    def at(self, table: ResultTable, horizon: int) -> tuple[Result, Result]:
        """Their results at a horizon."""
        return (
            table.at(self.instance, self.policy, horizon),
            table.at(self.instance, self.rival, horizon),
        )

    def longest(self, table: ResultTable) -> tuple[Result, Result]:
        """Their results at the longest horizon of each."""
        return (
            table.longest(self.instance, self.policy),
            table.longest(self.instance, self.rival),
        )


@dataclass(frozen=True)
class Less(Pair):
    """A policy has less regret than a rival at the longest horizon."""

    def find(self, table: ResultTable) -> Finding:
        clear = {}
        for n in table.horizons(self.instance, self.policy):
            mine, other = self.at(table, n)
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
    """A rival has less regret than a policy after a hundredth of the run, and more at the end."""

    def find(self, table: ResultTable) -> Finding:
        mine, other = self.longest(table)
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
    """Two policies clearly differ by no more than a share of the rival's regret.

    At the given horizon, or the longest.
    """

    horizon: int | None = None
    share: float = 0.2

    def find(self, table: ResultTable) -> Finding:
        n = self.horizon or table.horizons(self.instance, self.policy)[-1]
        mine, other = self.at(table, n)
        mean, se = _estimate(other.final - mine.final)
        margin = self.share * other.mean
        words = (
            f"{_regret(mine)} against {_regret(other)} at n = {power(n)}: "
            f"{_difference(mean, se)}, the margin being {plain(margin, 3)}"
        )
        return Finding(abs(mean) + CLEAR * se <= margin, words)


@dataclass(frozen=True)
class Bounded:
    """Regret stops growing: the last nine tenths of a run add at most a share of it."""

    instance: str
    policy: str
    share: float = 0.05

    def find(self, table: ResultTable) -> Finding:
        result = table.longest(self.instance, self.policy)
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

    def find(self, table: ResultTable) -> Finding:
        worse, better = self.longest(table)
        mean, se = _estimate(worse.final - FAR * better.final)
        words = (
            f"{_regret(worse)} against {_regret(better)} at n = {power(worse.horizon)}, "
            f"{plain(_ratio(worse, better), 2)} times as much"
        )
        return Finding(mean > CLEAR * se, words)


@dataclass(frozen=True)
class Wilder(Pair):
    """The standard deviation of a policy's regret is at least FAR times a rival's."""

    def find(self, table: ResultTable) -> Finding:
        wild, calm = self.longest(table)
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
    """The ratio of a rival's regret to the policy's is smaller on one instance than on another."""

    instance: str
    other: str
    policy: str
    rival: str

    def find(self, table: ResultTable) -> Finding:
        ratios, errors, words = [], [], []
        for name in (self.instance, self.other):
            mine, other = table.longest(name, self.policy), table.longest(name, self.rival)
            ratios.append(_ratio(other, mine))
            errors.append(_resampled(np.column_stack([other.final, mine.final]), _log_ratio))
            words.append(f"{with_error(ratios[-1], ratios[-1] * errors[-1])} on {name}")
        clear = ratios[0] > 0 and math.log(ratios[1] / ratios[0]) > CLEAR * math.hypot(*errors)
        return Finding(clear, f"{self.rival}'s regret over {self.policy}'s: {', '.join(words)}")


@dataclass(frozen=True)
class BestModestly:
    """A policy has less regret than all rivals, and the second best at most MODEST times it."""

    instance: str
    policy: str
    rivals: tuple[str, ...]

    def find(self, table: ResultTable) -> Finding:
        mine = table.longest(self.instance, self.policy)
        others = [table.longest(self.instance, rival) for rival in self.rivals]
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
    """The slope of regret in log n over the last two decades of horizons, compared with C.

    `than` is `near`, `above` or `not below`; `within` is the margin, as a share of C.
    """

    instance: str
    policy: str
    than: str
    within: float = 0.25

    def find(self, table: ResultTable) -> Finding:
        horizons = table.horizons(self.instance, self.policy, least=2)
        after, before = horizons[-1], next(n for n in horizons if 100 * n >= horizons[-1])
        first, last = (
            table.at(self.instance, self.policy, before),
            table.at(self.instance, self.policy, after),
        )
        slope, se = _slope(first, last)
        constant = table.bound(self.instance).constant
        margin = self.within * constant
        holds = {
            "near": abs(slope - constant) <= margin and se <= margin,
            "above": slope - CLEAR * se > constant + margin,
            # an imprecise slope does not count
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
    """Regret grows more slowly than log n between the two longest horizons.

    The slope is at most a share of R(n) / log n.
    """

    instance: str
    policy: str
    share: float = 0.25

    def find(self, table: ResultTable) -> Finding:
        before, after = table.horizons(self.instance, self.policy, least=2)[-2:]
        first, last = (
            table.at(self.instance, self.policy, before),
            table.at(self.instance, self.policy, after),
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
    """At least a share of the regret comes from rounds with a given label."""

    instance: str
    policy: str
    label: str
    share: float = 0.9

    def find(self, table: ResultTable) -> Finding:
        result = table.longest(self.instance, self.policy)
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
    """An arm of the first context accounts for most of the constant C."""

    instance: str
    arm: int

    def find(self, table: ResultTable) -> Finding:
        bound = table.bound(self.instance)
        cost = bound.instance.gaps * np.where(
            bound.instance.optimal, 0.0, np.concatenate(bound.allocation)
        )
        share = float(cost[self.arm] / bound.constant) if bound.constant else 0.0
        return Finding(share > 0.5, f"its share of C = {plain(bound.constant, 4)} is {share:.0%}")


@dataclass(frozen=True)
class ConstantIs:
    """The constant C of an instance has a given value."""

    instance: str
    value: float

    def find(self, table: ResultTable) -> Finding:
        bound = table.bound(self.instance)
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
    """The slope of regret in log n between two horizons, paired by replication, with its error."""
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
    """A difference rival - policy as text: `less by 12 ± 3 (4.0 standard errors)`."""
    if mean == 0:
        return "equal"
    size = abs(mean) / se if se > 0 else math.inf
    return (
        f"{less if mean > 0 else more} by {with_error(abs(mean), se)} ({size:.1f} standard errors)"
    )
