"""Comparisons of the regrets of two or more policies."""

import math
from collections.abc import Sequence
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

    def find(self, table: ResultTable) -> Finding:
        """Compare their results."""
        mine = table.find(self.instance, self.policy, self.horizon)
        return self.compare(mine, table.find(self.instance, self.rival, self.horizon))

    def compare(self, mine: Result, other: Result) -> Finding:
        """Compare two results on the same replications."""
        raise NotImplementedError


def _against(mine: Result, other: Result) -> str:
    """Both regrets, as text."""
    return f"{regret(mine)} against {regret(other)} at n = {power(mine.horizon)}"


def _lead(mine: Result, other: Result) -> tuple[float, float]:
    """How much less regret a policy has than another, with its standard error."""
    return estimate(other.final - mine.final)


def _less(mine: Result, other: Result) -> Answer:
    """Whether a policy has less regret than another; not if it saves a trifle at most."""
    lead = _lead(mine, other)
    answer = exceeds(lead)
    return False if answer is None and exceeds(lead, TRIFLE * other.mean) is False else answer


@dataclass(frozen=True)
class Less(_Pair):
    """A policy has less regret than a rival."""

    def compare(self, mine: Result, other: Result) -> Finding:
        words = f"{_against(mine, other)}: {difference(*_lead(mine, other))}"
        return Finding(_less(mine, other), words)


@dataclass(frozen=True)
class Overtaken(_Pair):
    """A rival has less regret than a policy after a hundredth of the run, and more at the end."""

    def compare(self, mine: Result, other: Result) -> Finding:
        early = int(np.searchsorted(mine.times, mine.horizon / 100))
        behind = estimate(mine.curves[:, early] - other.curves[:, early])
        words = (
            f"at round {power(int(mine.times[early]))} the rival is "
            f"{difference(*behind, more='behind', less='ahead')}; at n = {power(mine.horizon)}: "
            f"{regret(mine)} against {regret(other)}, {difference(*_lead(mine, other))}"
        )
        return Finding(all_hold([exceeds(behind), _less(mine, other)]), words)


@dataclass(frozen=True)
class Alike(_Pair):
    """Two policies differ by no more than a share of the rival's regret."""

    share: float = 0.2

    def compare(self, mine: Result, other: Result) -> Finding:
        lead, margin = _lead(mine, other), self.share * other.mean
        words = f"{_against(mine, other)}: {difference(*lead)}, the margin being {plain(margin, 3)}"
        return Finding(within(lead, -margin, margin), words)


@dataclass(frozen=True)
class FarWorse(_Pair):
    """A policy has at least FAR times the regret of a rival."""

    def compare(self, mine: Result, other: Result) -> Finding:
        words = f"{_against(mine, other)}, {plain(_ratio(mine, other), 2)} times as much"
        return Finding(exceeds(estimate(mine.final - FAR * other.final)), words)


@dataclass(frozen=True)
class Wilder(_Pair):
    """The standard deviation of a policy's regret is at least FAR times a rival's."""

    def compare(self, mine: Result, other: Result) -> Finding:
        both = np.column_stack([mine.final, other.final])
        excess = _log_deviations(both) - math.log(FAR)
        wild, calm = (plain(float(result.final.std(ddof=1)), 3) for result in (mine, other))
        words = (
            f"standard deviation {wild} against {calm}, worst run {plain(mine.max, 3)} against "
            f"{plain(other.max, 3)}"
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
            mine, rival = table.find(name, self.policy), table.find(name, self.rival)
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
class Best:
    """A policy has less regret than several rivals, at a horizon; by default at the longest."""

    instance: str
    policy: str
    rivals: tuple[str, ...]
    horizon: int | None = None

    def find(self, table: ResultTable) -> Finding:
        mine = table.find(self.instance, self.policy, self.horizon)
        others = [table.find(self.instance, rival, self.horizon) for rival in self.rivals]
        best = min(others, key=lambda result: result.mean)
        words = (
            f"{regret(mine)} at n = {power(mine.horizon)}; the best of the others is {best.policy} "
            f"with {regret(best)}, {plain(_ratio(best, mine), 2)} times as much"
        )
        return Finding(self.answer(mine, others, best), words)

    def answer(self, mine: Result, others: Sequence[Result], best: Result) -> Answer:
        """Whether the claim holds, the best of the others being known."""
        return all_hold([_less(mine, other) for other in others])


@dataclass(frozen=True)
class ModestLead(Best):
    """The best rival has more regret than a policy, but at most MODEST times as much."""

    def answer(self, mine: Result, others: Sequence[Result], best: Result) -> Answer:
        excess = exceeds(estimate(best.final - MODEST * mine.final))
        return all_hold([exceeds(_lead(mine, best)), negated(excess)])


def _log_deviations(pairs: Floats) -> float:
    """Log of the ratio of the standard deviations of two columns."""
    first, second = pairs.std(axis=0, ddof=1)
    return math.log(max(first, TINY) / max(second, TINY))


def _log_ratio(pairs: Floats) -> float:
    first, second = pairs.mean(axis=0)
    return math.log(max(first, TINY) / max(second, TINY))


def _ratio(mine: Result, other: Result) -> float:
    return mine.mean / max(other.mean, TINY)
