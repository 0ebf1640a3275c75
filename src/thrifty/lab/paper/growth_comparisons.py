"""Comparisons of the growth of a policy's regret: within a run, and from horizon to horizon."""

import math

from thrifty.lab.paper.evidence import (
    Finding,
    ResultTable,
    estimate,
    exceeds,
    late_share,
    negated,
    regret,
    within,
)
from thrifty.report.wording import plain, power, with_error
from thrifty.studies.results import Result


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
    return Finding(
        answer,
        f"slope {with_error(*rise)} from n = {power(first.horizon)} to {longest}, "
        f"where C = {plain(constant, 4)}; R(n)/log n is "
        f"{with_error(last.mean / log_n, last.se / log_n)} at n = {longest}",
    )


def _slope(first: Result, last: Result) -> tuple[float, float]:
    """The slope of regret in log n between two horizons, paired by replication, with its error."""
    return estimate((last.final - first.final) / math.log(last.horizon / first.horizon))
