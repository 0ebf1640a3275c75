"""How policies stand over many instances, relative to a yardstick: the geometric mean of their regrets, the worst, the tail, and what a round costs."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from thrifty.instances import Instance
from thrifty.results import Result

YARDSTICK = "lints"  # heuristic Thompson sampling, the best performer of the paper
TINY = 1e-300  # instead of no regret at all, where that would be divided by
LAST = 0.9  # of a run: what comes after shows whether it is stuck


@dataclass(frozen=True)
class Standing:
    """A policy at a horizon.

    Attributes
    ----------
    instances : how many it has played
    ratio, error : the geometric mean of its mean regrets, each relative to the yardstick's on the same replications, and its standard error
    worst, where : the largest of these ratios, and on which instance
    tail : the geometric mean of the ratios of 95th percentiles
    nanoseconds : a round, the median over instances
    stuck, runs : how many runs end on wrong arms, and of how many
    """

    policy: str
    horizon: int
    instances: int
    ratio: float
    error: float
    worst: float
    where: str
    tail: float
    nanoseconds: float
    stuck: int
    runs: int

    def to_json(self) -> dict[str, Any]:
        """All of it; the error is None where there is only one replication."""
        return asdict(self) | {"error": None if math.isnan(self.error) else self.error}


def standings(results: Sequence[Result]) -> list[Standing]:
    """Every policy at every horizon, the best first. Instances that the yardstick has not played do not count."""
    bases = {(result.instance.name, result.horizon): result for result in results if result.policy == YARDSTICK}
    groups: dict[tuple[int, str], list[tuple[Result, Result]]] = {}
    for result in results:
        base = bases.get((result.instance.name, result.horizon))
        if base is not None:
            groups.setdefault((result.horizon, result.policy), []).append((result, base))
    found = [_stand(pairs) for pairs in groups.values()]
    return sorted(found, key=lambda standing: (standing.horizon, standing.ratio))


def relative(result: Result, base: Result) -> tuple[float, float, float]:
    """Regret relative to the yardstick's on the replications that both have: of means, the standard error of its logarithm, and of 95th percentiles."""
    both = min(result.replications, base.replications)
    mine, other = result.final[:both], base.final[:both]
    means = max(float(mine.mean()), TINY), max(float(other.mean()), TINY)
    spread = mine / means[0] - other / means[1]  # replications share their luck
    error = float(spread.std(ddof=1)) / math.sqrt(both) if both > 1 else math.nan
    tails = max(float(np.percentile(mine, 95)), TINY), max(float(np.percentile(other, 95)), TINY)
    return means[0] / means[1], error, tails[0] / tails[1]


def stuck_runs(result: Result) -> int:
    """Runs whose last tenth costs more than half of the worst that it could."""
    if not isinstance(result.instance, Instance):
        return 0
    early = int(np.searchsorted(result.times, LAST * result.horizon))
    instance = result.instance
    worst = [float(gaps.max()) for gaps in np.split(instance.gaps, instance.sets.offsets[1:-1])]
    possible = float(instance.probabilities @ worst) * (result.horizon - int(result.times[early]))
    return int(np.sum(result.final - result.curves[:, early] > 0.5 * possible))


def _stand(pairs: Sequence[tuple[Result, Result]]) -> Standing:
    ratios, errors, tails = np.array([relative(result, base) for result, base in pairs]).T
    worst, first = int(np.argmax(ratios)), pairs[0][0]
    mean = float(np.exp(np.log(ratios).mean()))
    return Standing(
        policy=first.policy,
        horizon=first.horizon,
        instances=len(pairs),
        ratio=mean,
        error=mean * float(np.sqrt((errors**2).sum())) / len(pairs),
        worst=float(ratios[worst]),
        where=pairs[worst][0].instance.name,
        tail=float(np.exp(np.log(tails).mean())),
        nanoseconds=float(np.median([1e9 / result.rounds_per_second for result, _ in pairs])),
        stuck=sum(stuck_runs(result) for result, _ in pairs),
        runs=sum(result.replications for result, _ in pairs),
    )
