"""How policies stand over many instances, relative to a yardstick: the geometric mean of their
regrets, the worst, the tail, and what a round costs.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from thrifty.numerics.arrays import Floats
from thrifty.problem.instances import Instance
from thrifty.studies.results import Result

YARDSTICK = "lints"  # heuristic Thompson sampling, the best performer of the paper
LAST = 0.9  # of a run: what comes after shows whether it is stuck
FEWEST = 10  # runs that have a 95th percentile worth the name


@dataclass(frozen=True)
class Standing:
    """A policy at a horizon.

    Attributes
    ----------
    instances : how many it has played
    ratio, error : the geometric mean of its mean regrets, each relative to the yardstick's on the
        same replications, and its standard error on these instances: by luck alone, not by the
        choice of instances
    worst, where : the largest of these ratios, and on which instance
    tail : the geometric mean of the ratios of 95th percentiles; NaN for few runs
    nanoseconds : a round, the median over instances
    stuck, runs : how many runs lose, in their last tenth, more than half of what the worst arms
        would; and of how many
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
        """All of it; error and tail are None where there are too few replications."""
        return {
            key: None if isinstance(value, float) and math.isnan(value) else value
            for key, value in asdict(self).items()
        }


def standings(results: Sequence[Result]) -> list[Standing]:
    """Every policy at every horizon, the best first, and last those that have not played all
    instances. What the yardstick has not played does not count.
    """
    bases = {
        (result.instance.name, result.horizon): result
        for result in results
        if result.policy == YARDSTICK
    }
    groups: dict[tuple[int, str], list[tuple[Result, Result]]] = {}
    for result in results:
        base = bases.get((result.instance.name, result.horizon))
        if base is not None:
            groups.setdefault((result.horizon, result.policy), []).append((result, base))
    found = [_stand(pairs) for pairs in groups.values()]
    all_of_them = {horizon: sum(n == horizon for _, n in bases) for _, horizon in bases}
    return sorted(
        found,
        key=lambda standing: (
            standing.horizon,
            standing.instances < all_of_them[standing.horizon],
            standing.ratio,
        ),
    )


@dataclass(frozen=True)
class Relative:
    """Regret on one instance relative to the yardstick's, on the replications that both have: of
    means, of 95th percentiles, and by luck.

    luck (R,) is what each replication adds to the logarithm of the ratio of means, to first order;
    replications share their luck across instances.
    """

    means: float
    tails: float
    luck: Floats


def relative(result: Result, base: Result) -> Relative:
    """How a result stands. No regret at all counts as one pull of the arm with the smallest gap, in
    all runs together: less could not be measured.
    """
    both = min(result.replications, base.replications)
    mine, other = result.final[:both], base.final[:both]
    least = _smallest_gap(result)
    means = max(float(mine.mean()), least / both), max(float(other.mean()), least / both)
    tails = [max(float(np.percentile(finals, 95)), least / both) for finals in (mine, other)]
    return Relative(
        means[0] / means[1],
        tails[0] / tails[1] if both >= FEWEST else math.nan,
        mine / means[0] - other / means[1],
    )


def _smallest_gap(result: Result) -> float:
    """Of an instance; of an ensemble any number that is small."""
    gaps = (
        result.instance.gaps[result.instance.gaps > 0]
        if isinstance(result.instance, Instance)
        else np.zeros(0)
    )
    return float(gaps.min()) if gaps.size else 1e-9


def stuck_runs(result: Result) -> int:
    """Runs that lose, in their last tenth, more than half of what the worst arm of each context
    would.
    """
    if not isinstance(result.instance, Instance):
        return 0
    early = int(np.searchsorted(result.times, LAST * result.horizon))
    instance = result.instance
    worst = [float(gaps.max()) for gaps in np.split(instance.gaps, instance.sets.offsets[1:-1])]
    possible = float(instance.probabilities @ worst) * (result.horizon - int(result.times[early]))
    return int(np.sum(result.final - result.curves[:, early] > 0.5 * possible))


def _stand(pairs: Sequence[tuple[Result, Result]]) -> Standing:
    found, first = [relative(result, base) for result, base in pairs], pairs[0][0]
    ratios, tails = np.array([one.means for one in found]), np.array([one.tails for one in found])
    both = min(one.luck.size for one in found)
    luck = np.mean([one.luck[:both] for one in found], axis=0)
    worst, mean = int(np.argmax(ratios)), float(np.exp(np.log(ratios).mean()))
    return Standing(
        policy=first.policy,
        horizon=first.horizon,
        instances=len(pairs),
        ratio=mean,
        error=mean * float(luck.std(ddof=1)) / math.sqrt(both) if both > 1 else math.nan,
        worst=float(ratios[worst]),
        where=pairs[worst][0].instance.name,
        tail=float(np.exp(np.log(tails).mean())),
        nanoseconds=float(np.median([1e9 / result.rounds_per_second for result, _ in pairs])),
        stuck=sum(stuck_runs(result) for result, _ in pairs),
        runs=sum(result.replications for result, _ in pairs),
    )
