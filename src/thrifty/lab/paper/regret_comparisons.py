"""Comparisons of the regrets of two or more policies."""

import math
from collections.abc import Sequence

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


def less(
    instance: str, policy: str, rival: str, table: ResultTable, *, horizon: int | None = None
) -> Finding:
    """A policy has less regret than a rival, at a horizon; by default at the longest."""
    mine, other = table.pair(instance, policy, rival, horizon)
    words = f"{_against(mine, other)}: {difference(*_lead(mine, other))}"
    return Finding(_less(mine, other), words)


def overtaken(
    instance: str, policy: str, rival: str, table: ResultTable, *, horizon: int | None = None
) -> Finding:
    """A rival has less regret than a policy after a hundredth of the run, and more at the end."""
    mine, other = table.pair(instance, policy, rival, horizon)
    early = int(np.searchsorted(mine.times, mine.horizon / 100))
    behind = estimate(mine.curves[:, early] - other.curves[:, early])
    words = (
        f"at round {power(int(mine.times[early]))} the rival is "
        f"{difference(*behind, more='behind', less='ahead')}; at n = {power(mine.horizon)}: "
        f"{regret(mine)} against {regret(other)}, {difference(*_lead(mine, other))}"
    )
    return Finding(all_hold([exceeds(behind), _less(mine, other)]), words)


def alike(
    instance: str,
    policy: str,
    rival: str,
    table: ResultTable,
    *,
    horizon: int | None = None,
    share: float = 0.2,
) -> Finding:
    """Two policies differ by no more than a share of the rival's regret."""
    mine, other = table.pair(instance, policy, rival, horizon)
    lead, margin = _lead(mine, other), share * other.mean
    words = f"{_against(mine, other)}: {difference(*lead)}, the margin being {plain(margin, 3)}"
    return Finding(within(lead, -margin, margin), words)


def far_worse(instance: str, policy: str, rival: str, table: ResultTable) -> Finding:
    """A policy has at least FAR times the regret of a rival."""
    mine, other = table.pair(instance, policy, rival)
    words = f"{_against(mine, other)}, {plain(_ratio(mine, other), 2)} times as much"
    return Finding(exceeds(estimate(mine.final - FAR * other.final)), words)


def wilder(instance: str, policy: str, rival: str, table: ResultTable) -> Finding:
    """The standard deviation of a policy's regret is at least FAR times a rival's."""
    mine, other = table.pair(instance, policy, rival)
    both = np.column_stack([mine.final, other.final])
    excess = _log_deviations(both) - math.log(FAR)
    wild, calm = (plain(float(result.final.std(ddof=1)), 3) for result in (mine, other))
    worst = f"worst run {plain(mine.max, 3)} against {plain(other.max, 3)}"
    words = f"standard deviation {wild} against {calm}, {worst}"
    return Finding(exceeds((excess, resampled(both, _log_deviations))), words)


def smaller_gain(instance: str, other: str, policy: str, rival: str, table: ResultTable) -> Finding:
    """The ratio of a rival's regret to the policy's is smaller on one instance than on another."""
    logs, errors, words = [], [], []
    for name in (instance, other):
        mine, against = table.pair(name, policy, rival)
        both = np.column_stack([against.final, mine.final])
        logs.append(_log_ratio(both))
        errors.append(resampled(both, _log_ratio))
        ratio = _ratio(against, mine)
        words.append(f"{with_error(ratio, ratio * errors[-1])} on {name}")
    return Finding(
        exceeds((logs[1] - logs[0], math.hypot(*errors))),
        f"{rival}'s regret over {policy}'s: {', '.join(words)}",
    )


def best(
    instance: str,
    policy: str,
    rivals: Sequence[str],
    table: ResultTable,
    *,
    horizon: int | None = None,
    modest: bool = False,
) -> Finding:
    """A policy has less regret than several rivals, at a horizon; by default at the longest.

    modest: the claim is that the best rival has more regret, but at most MODEST times as much.
    """
    mine = table.find(instance, policy, horizon)
    others = [table.find(instance, rival, horizon) for rival in rivals]
    first = min(others, key=lambda result: result.mean)
    words = (
        f"{regret(mine)} at n = {power(mine.horizon)}; the best of the others is {first.policy} "
        f"with {regret(first)}, {plain(_ratio(first, mine), 2)} times as much"
    )
    if not modest:
        return Finding(all_hold([_less(mine, other) for other in others]), words)
    excess = exceeds(estimate(first.final - MODEST * mine.final))
    return Finding(all_hold([exceeds(_lead(mine, first)), negated(excess)]), words)


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


def _log_deviations(pairs: Floats) -> float:
    """Log of the ratio of the standard deviations of two columns."""
    first, second = pairs.std(axis=0, ddof=1)
    return math.log(max(first, TINY) / max(second, TINY))


def _log_ratio(pairs: Floats) -> float:
    first, second = pairs.mean(axis=0)
    return math.log(max(first, TINY) / max(second, TINY))


def _ratio(mine: Result, other: Result) -> float:
    return mine.mean / max(other.mean, TINY)
