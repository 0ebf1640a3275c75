"""Ranking of policies over many instances by regret relative to a baseline policy."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from thrifty.lab.arena import relative
from thrifty.lab.arena.relative import contrast, quantile_ratio
from thrifty.lab.arena.suite import GAUSSIAN
from thrifty.problem.instances import Instance
from thrifty.studies.results import Result

BASELINE = "lints"  # heuristic Thompson sampling, the best performer of the paper
LEADERS = ("thrifty", BASELINE)  # always simulated with most replications
LAST = 0.9  # share of a run after which its regret shows whether it is stuck

Key = tuple[str, str]  # name of the instance, rewards


@dataclass(frozen=True)
class Standing:
    """The standing of a policy at a horizon.

    All ratios are relative to the baseline on the same replications; those over several instances
    are geometric means.
    """

    policy: str
    horizon: int
    instances: int
    replications: int  # of each instance
    # first and last rank that the policy may have: one more than the number of policies that are
    # clearly better, and the number of those that are not clearly worse. None for a policy that has
    # not played all instances, or without a standard error
    rank: tuple[int, int] | None
    ratio: float  # of mean regrets
    error: float  # standard error of the ratio over replications of these instances
    instance_error: float  # standard error as if instances were drawn at random
    worst: float  # the largest ratio on one instance
    worst_error: float  # its standard error over replications
    where: str  # its instance
    cvar: float  # ratio of the means of the worst runs, one in fifty; NaN for < 100 replications
    cvar_error: float  # its standard error over replications
    median: float  # ratio of medians
    tail: float  # ratio of 95th percentiles; NaN for few replications
    nanoseconds: float  # per round, the median over instances
    stuck: int  # runs whose last tenth costs more than half of the regret of the worst arms
    runs: int  # all of them

    def to_json(self) -> dict[str, Any]:
        """The entry of standings.json; None instead of NaN."""
        entry = {
            key: None if isinstance(value, float) and math.isnan(value) else value
            for key, value in asdict(self).items()
        }
        return entry | {"rank": None if self.rank is None else list(self.rank)}


def standings(results: Sequence[Result]) -> list[Standing]:
    """The standing of every policy at every horizon, by ratio; policies without a rank come last.

    Instances without the baseline are ignored.
    """
    by_horizon: dict[int, list[Result]] = {}
    for result in results:
        by_horizon.setdefault(result.horizon, []).append(result)
    return [standing for n in sorted(by_horizon) for standing in _at_horizon(by_horizon[n])]


def _at_horizon(results: Sequence[Result]) -> list[Standing]:
    by_policy: dict[str, dict[Key, Result]] = {}
    for result in results:
        by_policy.setdefault(result.policy, {})[result.instance.name, result.rewards] = result
    base = by_policy.get(BASELINE, {})
    played = {
        policy: {key: results_of[key] for key in base if key in results_of}
        for policy, results_of in by_policy.items()
    }
    unranked = [_stand(results_of, base) for results_of in played.values() if results_of]
    comparable = {
        row.policy: list(played[row.policy].values())
        for row in unranked
        if row.instances == len(base) and not math.isnan(row.error + row.instance_error)
    }
    ranks = rank_ranges(comparable)
    ranked = [replace(row, rank=ranks.get(row.policy)) for row in unranked]
    return sorted(ranked, key=lambda row: (row.rank is None, row.instances < len(base), row.ratio))


def rank_ranges(played: Mapping[str, Sequence[Result]]) -> dict[str, tuple[int, int]]:
    """The first and last rank that each policy may have.

    played : results by policy, all on the same instances in the same order
    """
    better = dict.fromkeys(played, 0)  # policies that are clearly better
    worse = dict.fromkeys(played, 0)
    policies = list(played)
    for i, policy in enumerate(policies):
        for other in policies[:i]:
            difference = contrast(played[policy], played[other])
            if difference.clear:
                loser, winner = (policy, other) if difference.log > 0 else (other, policy)
                better[loser] += 1
                worse[winner] += 1
    return {policy: (1 + better[policy], len(played) - worse[policy]) for policy in played}


def _stand(results: Mapping[Key, Result], base: Mapping[Key, Result]) -> Standing:
    """The standing of a policy, not yet ranked."""
    mine, others = list(results.values()), [base[key] for key in results]
    means = contrast(mine, others)
    worst = int(np.argmax(means.logs))
    largest, where = math.exp(means.logs[worst]), mine[worst]
    replications = min(result.replications for result in mine)
    fewest = relative.FEWEST_P95
    cvar, cvar_error = relative.cvar_ratio(mine, others)
    return Standing(
        policy=where.policy,
        horizon=where.horizon,
        instances=len(mine),
        replications=replications,
        rank=None,
        ratio=means.ratio,
        error=means.ratio * means.error,
        instance_error=means.ratio * means.instance_error,
        worst=largest,
        worst_error=largest * relative.standard_error(means.influence[worst]),
        # with its rewards if they are not the usual ones
        where=where.instance.name + (f", {where.rewards}" if where.rewards != GAUSSIAN else ""),
        cvar=cvar,
        cvar_error=cvar_error,
        median=quantile_ratio(mine, others, 50),
        tail=quantile_ratio(mine, others, 95) if replications >= fewest else math.nan,
        nanoseconds=float(np.median([1e9 / result.rounds_per_second for result in mine])),
        stuck=sum(map(stuck_runs, mine)),
        runs=sum(result.replications for result in mine),
    )


def stuck_runs(result: Result) -> int:
    """The number of runs whose last tenth costs more than half of the regret of the worst arms."""
    instance = result.instance
    if not isinstance(instance, Instance):
        return 0
    early = int(np.searchsorted(result.times, LAST * result.horizon))
    worst = [float(gaps.max()) for gaps in np.split(instance.gaps, instance.sets.offsets[1:-1])]
    possible = float(instance.probabilities @ worst) * (result.horizon - int(result.times[early]))
    return int(np.sum(result.final - result.curves[:, early] > 0.5 * possible))
