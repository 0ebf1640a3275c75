"""Comparisons of the growth of a policy's regret: within a run, and from horizon to horizon."""

import math
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Bounded:
    """Regret stops growing: the last nine tenths of a run add at most a share of it."""

    instance: str
    policy: str
    share: float = 0.05

    def find(self, table: ResultTable) -> Finding:
        result = table.find(self.instance, self.policy)
        return late_share(result, result.curves, self.share, regret(result))


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
        first, last = (table.find(self.instance, self.policy, n) for n in (before, after))
        slope, ratio = _slope(first, last), last.mean / math.log(after)
        words = (
            f"{regret(first)} at n = {power(before)}, {regret(last)} at {power(after)}: "
            f"slope {with_error(*slope)}, where R(n)/log n is {plain(ratio, 2)}"
        )
        return Finding(negated(exceeds(slope, self.share * ratio)), words)


@dataclass(frozen=True)
class Slope:
    """The slope of regret in log n over the last two decades of horizons, compared with C.

    than : `near`, within a margin of C; `above`, by more than the margin; or `not below`, which is
        contradicted by a slope clearly below C, and supported by one clearly above C less the
        margin
    margin : as a share of C
    """

    instance: str
    policy: str
    than: str
    margin: float = 0.25

    def find(self, table: ResultTable) -> Finding:
        first, last = table.last_decades(self.instance, self.policy)
        slope, constant = _slope(first, last), table.bound(self.instance).constant
        low, high = (1 - self.margin) * constant, (1 + self.margin) * constant
        if self.than == "near":
            answer = within(slope, low, high)
        elif self.than == "above":
            answer = exceeds(slope, high)
        else:
            below = exceeds(slope, constant) is False
            answer = False if below else (exceeds(slope, low) or None)
        log_n = math.log(last.horizon)
        return Finding(
            answer,
            f"slope {with_error(*slope)} from n = {power(first.horizon)} to {power(last.horizon)}, "
            f"where C = {plain(constant, 4)}; R(n)/log n is "
            f"{with_error(last.mean / log_n, last.se / log_n)} at n = {power(last.horizon)}",
        )


def _slope(first: Result, last: Result) -> tuple[float, float]:
    """The slope of regret in log n between two horizons, paired by replication, with its error."""
    return estimate((last.final - first.final) / math.log(last.horizon / first.horizon))
