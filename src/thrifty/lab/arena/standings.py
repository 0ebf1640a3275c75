"""Ranking of policies over many instances by regret relative to a baseline policy."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from thrifty.lab.arena.relative import (
    FEWEST_P95,
    contrast,
    cvar_ratio,
    quantile_ratio,
    standard_error,
)
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

    Attributes
    ----------
    instances, replications : number of instances, and of replications of each
    rank : first and last rank that the policy may have: one more than the number of policies that
        are clearly better, and the number of those that are not clearly worse. None for a policy
        that has not played all instances, or without a standard error
    ratio : ratio of mean regrets
    error : standard error of the ratio over replications of these instances
    instance_error : standard error of the ratio as if instances were drawn at random
    worst, worst_error, where : the largest ratio on one instance, its standard error over
        replications, and the instance
    cvar, cvar_error : ratio of the means of the worst runs, one in fifty, and its standard error
        over replications; NaN for fewer than 100 replications
    median : ratio of medians
    tail : ratio of 95th percentiles; NaN for few replications
    nanoseconds : time per round, the median over instances
    stuck, runs : number of runs whose last tenth costs more than half of the regret of the worst
        arms, and number of all runs
    """

    policy: str
    horizon: int
    instances: int
    replications: int
    rank: tuple[int, int] | None
    ratio: float
    error: float
    instance_error: float
    worst: float
    worst_error: float
    where: str
    cvar: float
    cvar_error: float
    median: float
    tail: float
    nanoseconds: float
    stuck: int
    runs: int

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
    horizons = sorted({result.horizon for result in results})
    return [
        standing
        for n in horizons
        for standing in _at_horizon([result for result in results if result.horizon == n])
    ]


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
    ranks = rank_ranges(
        {
            standing.policy: list(played[standing.policy].values())
            for standing in unranked
            if standing.instances == len(base)
            and not math.isnan(standing.error + standing.instance_error)
        }
    )
    ranked = [replace(standing, rank=ranks.get(standing.policy)) for standing in unranked]
    return sorted(ranked, key=lambda row: (row.rank is None, row.instances < len(base), row.ratio))


def rank_ranges(played: Mapping[str, Sequence[Result]]) -> dict[str, tuple[int, int]]:
    """The first and last rank that each policy may have.

    Parameters
    ----------
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
    relative, first = contrast(mine, others), mine[0]
    worst = int(np.argmax(relative.logs))
    largest = math.exp(relative.logs[worst])
    replications = min(result.replications for result in mine)
    tail, tail_error = cvar_ratio(mine, others)
    return Standing(
        policy=first.policy,
        horizon=first.horizon,
        instances=len(mine),
        replications=replications,
        rank=None,
        ratio=relative.ratio,
        error=relative.ratio * relative.error,
        instance_error=relative.ratio * relative.instance_error,
        worst=largest,
        worst_error=largest * standard_error(relative.influence[worst]),
        where=_place(mine[worst]),
        cvar=tail,
        cvar_error=tail_error,
        median=quantile_ratio(mine, others, 50),
        tail=quantile_ratio(mine, others, 95) if replications >= FEWEST_P95 else math.nan,
        nanoseconds=float(np.median([1e9 / result.rounds_per_second for result in mine])),
        stuck=sum(map(stuck_runs, mine)),
        runs=sum(result.replications for result in mine),
    )


def _place(result: Result) -> str:
    """The instance of a result, with its rewards if they are not the usual ones."""
    name = result.instance.name
    return name if result.rewards == GAUSSIAN else f"{name}, {result.rewards}"


def stuck_runs(result: Result) -> int:
    """The number of runs whose last tenth costs more than half of the regret of the worst arms."""
    if not isinstance(result.instance, Instance):
        return 0
    early = int(np.searchsorted(result.times, LAST * result.horizon))
    instance = result.instance
    worst = [float(gaps.max()) for gaps in np.split(instance.gaps, instance.sets.offsets[1:-1])]
    possible = float(instance.probabilities @ worst) * (result.horizon - int(result.times[early]))
    return int(np.sum(result.final - result.curves[:, early] > 0.5 * possible))
