"""Comparisons, each of which decides a case of a claim: of regrets, of their growth, of play.

Regrets of two or more policies; the growth of regret within a run and from horizon to horizon; what
a policy plays, labels and arms; and the lower bound's allocation.
"""

import math
from collections.abc import Sequence

import numpy as np

from thrifty.lab.paper.evidence import (
    TINY,
    Answer,
    Finding,
    Missing,
    ResultTable,
    all_hold,
    difference,
    estimate,
    exceeds,
    late_share,
    negated,
    regret,
    resampled,
    within,
)
from thrifty.numerics.arrays import Floats
from thrifty.report.wording import listing, plain, power, with_error
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
    gain = (logs[1] - logs[0], math.hypot(*errors))
    return Finding(exceeds(gain), f"{rival}'s regret over {policy}'s: {', '.join(words)}")


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


def bounded(instance: str, policy: str, table: ResultTable, *, share: float = 0.05) -> Finding:
    """Regret stops growing: the last nine tenths of a run add at most a share of it."""
    result = table.find(instance, policy)
    return late_share(result, result.curves, share, regret(result))


def flattens(instance: str, policy: str, table: ResultTable, *, share: float = 0.25) -> Finding:
    """Regret grows more slowly than log n between the two longest horizons.

    The slope is at most a share of R(n) / log n.
    """
    before, after = table.horizons(instance, policy, least=2)[-2:]
    first, last = (table.find(instance, policy, n) for n in (before, after))
    rise, ratio = _slope(first, last), last.mean / math.log(after)
    words = (
        f"{regret(first)} at n = {power(before)}, {regret(last)} at {power(after)}: "
        f"slope {with_error(*rise)}, where R(n)/log n is {plain(ratio, 2)}"
    )
    return Finding(negated(exceeds(rise, share * ratio)), words)


def slope(
    instance: str, policy: str, table: ResultTable, *, than: str, margin: float = 0.25
) -> Finding:
    """The slope of regret in log n over the last two decades of horizons, compared with C.

    than : `near`, within a margin of C; `above`, by more than the margin; or `not below`, which is
        contradicted by a slope clearly below C, and supported by one clearly above C less the
        margin
    margin : as a share of C
    """
    first, last = table.last_decades(instance, policy)
    rise, constant = _slope(first, last), table.bound(instance).constant
    low, high = (1 - margin) * constant, (1 + margin) * constant
    if than == "near":
        answer = within(rise, low, high)
    elif than == "above":
        answer = exceeds(rise, high)
    else:
        answer = False if exceeds(rise, constant) is False else (exceeds(rise, low) or None)
    log_n, longest = math.log(last.horizon), power(last.horizon)
    ratio = with_error(last.mean / log_n, last.se / log_n)
    words = (
        f"slope {with_error(*rise)} from n = {power(first.horizon)} to {longest}, "
        f"where C = {plain(constant, 4)}; R(n)/log n is {ratio} at n = {longest}"
    )
    return Finding(answer, words)


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


def _slope(first: Result, last: Result) -> tuple[float, float]:
    """The slope of regret in log n between two horizons, paired by replication, with its error."""
    return estimate((last.final - first.final) / math.log(last.horizon / first.horizon))


def _pulls(result: Result) -> Floats:
    """(R, c, k) pulls by arm; Missing if they were not kept."""
    if result.pulls.shape[2] == 0:
        raise Missing
    return result.pulls.astype(np.float64)
