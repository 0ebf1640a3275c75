"""Comparisons of the regrets of two or more policies."""

import math
from dataclasses import dataclass

import numpy as np

from thrifty.lab.paper.evidence import (
    TINY,
    Answer,
    Finding,
    ResultTable,
    all_hold,
    difference,
    estimate,
    exceeds,
    negated,
    regret,
    resampled,
    within,
)
from thrifty.numerics.arrays import Floats
from thrifty.report.wording import plain, power, with_error
from thrifty.studies.results import Result

TRIFLE = 0.05  # a difference below this share of the rival's regret is none
MODEST = 1.5  # the lead of the best policy is modest up to this ratio of regrets
FAR = 2.0  # a policy is far worse from this ratio of regrets on


@dataclass(frozen=True)
class _Pair:
    """A policy and a rival on an instance, at a horizon; by default at the longest."""

    instance: str
    policy: str
    rival: str
    horizon: int | None = None

    def results(self, table: ResultTable) -> tuple[Result, Result]:
        """Their results."""
        return (
            table.found(self.instance, self.policy, self.horizon),
            table.found(self.instance, self.rival, self.horizon),
        )


def _less(mine: Result, other: Result) -> Answer:
    """Whether a policy has less regret than another; not if it saves a trifle at most."""
    lead = estimate(other.final - mine.final)
    answer = exceeds(lead)
    return False if answer is None and exceeds(lead, TRIFLE * other.mean) is False else answer


@dataclass(frozen=True)
class Less(_Pair):
    """A policy has less regret than a rival."""

    def find(self, table: ResultTable) -> Finding:
        mine, other = self.results(table)
        return Finding(
            _less(mine, other),
            f"{regret(mine)} against {regret(other)} at n = {power(mine.horizon)}: "
            f"{difference(*estimate(other.final - mine.final))}",
        )


@dataclass(frozen=True)
class Overtaken(_Pair):
    """A rival has less regret than a policy after a hundredth of the run, and more at the end."""

    def find(self, table: ResultTable) -> Finding:
        mine, other = self.results(table)
        early = int(np.searchsorted(mine.times, mine.horizon / 100))
        lead = estimate(mine.curves[:, early] - other.curves[:, early])
        begun = (
            f"at round {power(int(mine.times[early]))} the rival is "
            f"{difference(*lead, more='behind', less='ahead')}"
        )
        ended = (
            f"at n = {power(mine.horizon)}: {regret(mine)} against {regret(other)}, "
            f"{difference(*estimate(other.final - mine.final))}"
        )
        return Finding(all_hold([exceeds(lead), _less(mine, other)]), f"{begun}; {ended}")


@dataclass(frozen=True)
class Alike(_Pair):
    """Two policies differ by no more than a share of the rival's regret."""

    share: float = 0.2

    def find(self, table: ResultTable) -> Finding:
        mine, other = self.results(table)
        lead, margin = estimate(other.final - mine.final), self.share * other.mean
        words = (
            f"{regret(mine)} against {regret(other)} at n = {power(mine.horizon)}: "
            f"{difference(*lead)}, the margin being {plain(margin, 3)}"
        )
        return Finding(within(lead, -margin, margin), words)


@dataclass(frozen=True)
class FarWorse(_Pair):
    """A policy has at least FAR times the regret of a rival."""

    def find(self, table: ResultTable) -> Finding:
        worse, better = self.results(table)
        words = (
            f"{regret(worse)} against {regret(better)} at n = {power(worse.horizon)}, "
            f"{plain(_ratio(worse, better), 2)} times as much"
        )
        return Finding(exceeds(estimate(worse.final - FAR * better.final)), words)


@dataclass(frozen=True)
class Wilder(_Pair):
    """The standard deviation of a policy's regret is at least FAR times a rival's."""

    def find(self, table: ResultTable) -> Finding:
        wild, calm = self.results(table)
        both = np.column_stack([wild.final, calm.final])
        excess = _log_deviations(both) - math.log(FAR)
        words = (
            f"standard deviation {plain(float(wild.final.std(ddof=1)), 3)} against "
            f"{plain(float(calm.final.std(ddof=1)), 3)}, worst run {plain(wild.max, 3)} against "
            f"{plain(calm.max, 3)}"
        )
        return Finding(exceeds((excess, resampled(both, _log_deviations))), words)


@dataclass(frozen=True)
class SmallerGain:
    """The ratio of a rival's regret to the policy's is smaller on one instance than on another."""

    instance: str
    other: str
    policy: str
    rival: str

    def find(self, table: ResultTable) -> Finding:
        logs, errors, words = [], [], []
        for name in (self.instance, self.other):
            mine, rival = table.longest(name, self.policy), table.longest(name, self.rival)
            both = np.column_stack([rival.final, mine.final])
            logs.append(_log_ratio(both))
            errors.append(resampled(both, _log_ratio))
            ratio = _ratio(rival, mine)
            words.append(f"{with_error(ratio, ratio * errors[-1])} on {name}")
        return Finding(
            exceeds((logs[1] - logs[0], math.hypot(*errors))),
            f"{self.rival}'s regret over {self.policy}'s: {', '.join(words)}",
        )


@dataclass(frozen=True)
class _Field:
    """A policy and several rivals on an instance, at a horizon; by default at the longest."""

    instance: str
    policy: str
    rivals: tuple[str, ...]
    horizon: int | None = None

    def results(self, table: ResultTable) -> tuple[Result, list[Result]]:
        """The result of the policy, and those of the rivals, the best first."""
        others = [table.found(self.instance, rival, self.horizon) for rival in self.rivals]
        mine = table.found(self.instance, self.policy, self.horizon)
        return mine, sorted(others, key=lambda one: one.mean)

    def words(self, mine: Result, best: Result) -> str:
        """The regrets of the policy and of the best rival."""
        return (
            f"{regret(mine)} at n = {power(mine.horizon)}; the best of the others is {best.policy} "
            f"with {regret(best)}, {plain(_ratio(best, mine), 2)} times as much"
        )


@dataclass(frozen=True)
class Best(_Field):
    """A policy has less regret than all rivals."""

    def find(self, table: ResultTable) -> Finding:
        mine, others = self.results(table)
        return Finding(
            all_hold([_less(mine, other) for other in others]), self.words(mine, others[0])
        )


@dataclass(frozen=True)
class ModestLead(_Field):
    """The best rival has more regret than a policy, but at most MODEST times as much."""

    def find(self, table: ResultTable) -> Finding:
        mine, others = self.results(table)
        excess = exceeds(estimate(others[0].final - MODEST * mine.final))
        return Finding(
            all_hold([exceeds(estimate(others[0].final - mine.final)), negated(excess)]),
            self.words(mine, others[0]),
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
