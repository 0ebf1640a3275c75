"""Comparisons of what a policy plays: labels and arms; and of the lower bound's allocation."""

import math

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


def label_share(
    instance: str, policy: str, table: ResultTable, *, label: str, share: float = 0.9
) -> Finding:
    """At least a share of the regret comes from rounds with a given label."""
    result = table.find(instance, policy)
    regrets = result.regret[:, -1]
    parts = regrets.mean(axis=0) / max(result.mean, TINY)
    words = ", ".join(f"{name} {part:.1%}" for name, part in zip(result.labels, parts, strict=True))
    excess = regrets[:, result.labels.index(label)] - share * result.final
    return Finding(exceeds(estimate(excess)), f"{words} at n = {power(result.horizon)}")


def stops_playing(
    instance: str, policy: str, arm: int, table: ResultTable, *, share: float = 0.05
) -> Finding:
    """The last nine tenths of a run add at most a share of all pulls of an arm."""
    result = table.find(instance, policy)
    pulls = _pulls(result)[:, :, arm]
    return late_share(result, pulls, share, f"{with_error(*estimate(pulls[:, -1]))} pulls")


def tracks_allocation(
    instance: str, policy: str, table: ResultTable, *, share: float = 0.25
) -> Finding:
    """Pulls of suboptimal arms grow with log n as the optimal allocation has it.

    The slopes of N_x(n) in log n over the last two decades of horizons differ from the allocation
    by at most a share of C, differences weighted by the gaps.
    """
    first, last = table.last_decades(instance, policy)
    bound = table.bound(instance)
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
    return Finding(negated(exceeds(off, share)), words)


def carries(instance: str, arm: int, table: ResultTable) -> Finding:
    """An arm of the first context accounts for most of the constant C."""
    bound = table.bound(instance)
    pulls = np.where(bound.instance.optimal, 0.0, np.concatenate(bound.allocation))
    cost = bound.instance.gaps * pulls
    share = float(cost[arm] / bound.constant) if bound.constant else 0.0
    return Finding(share > 0.5, f"its share of C = {plain(bound.constant, 4)} is {share:.0%}")


def constant_is(instance: str, value: float, table: ResultTable) -> Finding:
    """The constant C of an instance has a given value."""
    bound = table.bound(instance)
    certified = "exact" if bound.gap == 0 else f"certified to {bound.gap:.0e}"
    same = bound.lower <= value * (1 + 1e-9) and bound.upper >= value * (1 - 1e-9)
    words = f"C = {plain(bound.constant, 6)}, {certified}; expected {plain(value, 6)}"
    return Finding(same and bound.status != "failed", words)


def _pulls(result: Result) -> Floats:
    """(R, c, k) pulls by arm; Missing if they were not kept."""
    if result.pulls.shape[2] == 0:
        raise Missing
    return result.pulls.astype(np.float64)
