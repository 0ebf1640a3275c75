"""Comparisons of what a policy plays: labels and arms; and of the lower bound's allocation."""

import math
from dataclasses import dataclass

import numpy as np

from thrifty.lab.paper.evidence import (
    TINY,
    Finding,
    Missing,
    ResultTable,
    estimate,
    exceeds,
    late_share,
    negated,
    resampled,
)
from thrifty.numerics.arrays import Floats
from thrifty.report.wording import listing, plain, power, with_error
from thrifty.studies.results import Result


@dataclass(frozen=True)
class Share:
    """At least a share of the regret comes from rounds with a given label."""

    instance: str
    policy: str
    label: str
    share: float = 0.9

    def find(self, table: ResultTable) -> Finding:
        result = table.find(self.instance, self.policy)
        mine = result.regret[:, -1, result.labels.index(self.label)]
        parts = result.regret[:, -1].mean(axis=0) / max(result.mean, TINY)
        words = ", ".join(
            f"{label} {part:.1%}" for label, part in zip(result.labels, parts, strict=True)
        )
        return Finding(
            exceeds(estimate(mine - self.share * result.final)),
            f"{words} at n = {power(result.horizon)}",
        )


@dataclass(frozen=True)
class StopsPlaying:
    """The last nine tenths of a run add at most a share of all pulls of an arm."""

    instance: str
    policy: str
    arm: int
    share: float = 0.05

    def find(self, table: ResultTable) -> Finding:
        result = table.find(self.instance, self.policy)
        pulls = _pulls(result)[:, :, self.arm]
        text = f"{with_error(*estimate(pulls[:, -1]))} pulls"
        return late_share(result, pulls, self.share, text)


@dataclass(frozen=True)
class TracksAllocation:
    """Pulls of suboptimal arms grow with log n as the optimal allocation has it.

    The slopes of N_x(n) in log n over the last two decades of horizons differ from the allocation
    by at most a share of C, differences weighted by the gaps.
    """

    instance: str
    policy: str
    share: float = 0.25

    def find(self, table: ResultTable) -> Finding:
        first, last = table.last_decades(self.instance, self.policy)
        bound = table.bound(self.instance)
        worse = np.flatnonzero(~bound.instance.optimal)
        wanted, gaps = np.concatenate(bound.allocation)[worse], bound.instance.gaps[worse]
        grown = (_pulls(last)[:, -1] - _pulls(first)[:, -1])[:, worse]
        slopes = grown / math.log(last.horizon / first.horizon)

        def deviation(of: Floats) -> float:
            return float(gaps @ np.abs(of.mean(axis=0) - wanted)) / bound.constant

        off = deviation(slopes), resampled(slopes, deviation)
        arms = [
            f"{with_error(*estimate(slopes[:, i]))} for {plain(float(wanted[i]), 3)}"
            for i in range(len(worse))
        ]
        words = (
            f"pulls per log n from n = {power(first.horizon)} to {power(last.horizon)}: "
            f"{listing(arms)}; in cost they differ by {off[0]:.0%} ± {off[1]:.0%} of C"
        )
        return Finding(negated(exceeds(off, self.share)), words)


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


def _pulls(result: Result) -> Floats:
    """(R, c, k) pulls by arm; Missing if they were not kept."""
    if result.pulls.shape[2] == 0:
        raise Missing
    return result.pulls.astype(np.float64)
