"""Ranking of policies over many instances by regret relative to a baseline policy."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from thrifty.numerics.arrays import Floats
from thrifty.problem.instances import Instance
from thrifty.studies.results import Result

BASELINE = "lints"  # heuristic Thompson sampling, the best performer of the paper
LEADERS = ("thrifty", BASELINE)  # simulated with more replications than the other policies
LAST = 0.9  # share of a run after which its regret shows whether it is stuck
FEWEST = 10  # replications for which a 95th percentile is computed
TINY_GAP = 1e-9  # replaces the smallest gap of an ensemble, which has none


@dataclass(frozen=True)
class Standing:
    """The standing of a policy at a horizon.

    Attributes
    ----------
    instances : number of instances
    ratio : geometric mean over instances of mean regret relative to the baseline's on the same
        replications
    error : standard error of the ratio, over replications of these instances; it does not include
        the choice of instances
    worst, where : the largest relative regret, and its instance
    tail : geometric mean of the ratios of 95th percentiles; NaN for few replications
    nanoseconds : time per round, the median over instances
    stuck, runs : number of runs whose last tenth costs more than half of the regret of the worst
        arms, and number of all runs
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
        """The entry of standings.json; None instead of NaN."""
        return {
            key: None if isinstance(value, float) and math.isnan(value) else value
            for key, value in asdict(self).items()
        }


def standings(results: Sequence[Result]) -> list[Standing]:
    """The standing of every policy at every horizon, by ratio.

    Policies without results on some instance come last. Instances without the baseline are ignored.
    """
    bases = {
        (result.instance.name, result.horizon): result
        for result in results
        if result.policy == BASELINE
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
    """Regret on one instance relative to the baseline's, on the replications that both have.

    Attributes
    ----------
    means : ratio of mean regrets
    tails : ratio of 95th percentiles; NaN for few replications
    influence : (R,) first-order contribution of each replication to the logarithm of `means`;
        replications are paired across instances
    """

    means: float
    tails: float
    influence: Floats


def relative(result: Result, base: Result) -> Relative:
    """Compare a result with the baseline's.

    A mean below one pull of the arm with the smallest gap, in all replications together, counts as
    that much: less cannot be measured.
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
    """The smallest positive gap of an instance; TINY_GAP for an ensemble."""
    gaps = (
        result.instance.gaps[result.instance.gaps > 0]
        if isinstance(result.instance, Instance)
        else np.zeros(0)
    )
    return float(gaps.min()) if gaps.size else TINY_GAP


def stuck_runs(result: Result) -> int:
    """The number of runs whose last tenth costs more than half of the regret of the worst arms."""
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
    both = min(one.influence.size for one in found)
    influence = np.mean([one.influence[:both] for one in found], axis=0)
    worst, mean = int(np.argmax(ratios)), float(np.exp(np.log(ratios).mean()))
    return Standing(
        policy=first.policy,
        horizon=first.horizon,
        instances=len(pairs),
        ratio=mean,
        error=mean * float(influence.std(ddof=1)) / math.sqrt(both) if both > 1 else math.nan,
        worst=float(ratios[worst]),
        where=pairs[worst][0].instance.name,
        tail=float(np.exp(np.log(tails).mean())),
        nanoseconds=float(np.median([1e9 / result.rounds_per_second for result, _ in pairs])),
        stuck=sum(stuck_runs(result) for result, _ in pairs),
        runs=sum(result.replications for result, _ in pairs),
    )
