"""What a policy did on an instance over many replications."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thrifty.numerics.arrays import Floats, Ints
from thrifty.problem.catalog import Problem
from thrifty.simulation.replication import name_of
from thrifty.studies.batches import Batch
from thrifty.studies.tasks import Task


@dataclass(frozen=True)
class Result:
    """One policy on one instance: R replications, c checkpoints, L labels.

    Attributes
    ----------
    policy : its spec, `oam:epsilon=0.01`
    labels : (L,) why arms were played
    instance : what was played; an ensemble is another instance in each replication
    times : (c,) checkpoints, the last is the horizon
    regret : (R, c, L) pseudo-regret up to each checkpoint, by label
    rounds : (R, c, L) rounds up to each checkpoint, by label
    solves, unsolved : (R,) how often the policy solved the allocation program, and how often
        without reaching its tolerance
    seconds : time it took, compilation excluded; work of several threads divided by their number
    constant : C of the instance, if it applies: for Gaussian rewards, not for ensembles
    chunks : where its Parquet files are, seen from the folder of the study; None if it is not kept
    """

    instance: Problem
    policy: str
    labels: tuple[str, ...]
    seed: int
    rewards: str
    times: Ints
    regret: Floats
    rounds: Ints
    solves: Ints
    unsolved: Ints
    seconds: float
    constant: float | None
    chunks: str | None = None

    @classmethod
    def of(
        cls, task: Task, batch: Batch, constant: float | None, chunks: str | None = None
    ) -> "Result":
        """The answer to a task."""
        return cls(
            instance=task.problem,
            policy=name_of(task.policy),
            labels=task.labels,
            seed=task.seed,
            rewards=task.rewards,
            times=task.times,
            regret=batch.regret,
            rounds=batch.rounds,
            solves=batch.solves,
            unsolved=batch.unsolved,
            seconds=batch.seconds,
            constant=constant,
            chunks=chunks,
        )

    @property
    def horizon(self) -> int:
        return int(self.times[-1])

    @property
    def replications(self) -> int:
        return len(self.regret)

    @cached_property
    def final(self) -> Floats:
        """(R,) regret at the horizon."""
        return self.curves[:, -1]

    @cached_property
    def curves(self) -> Floats:
        """(R, c) regret at each checkpoint, the sum over labels."""
        return self.regret.sum(axis=2)

    @property
    def mean(self) -> float:
        return float(self.final.mean())

    @property
    def se(self) -> float:
        """Standard error of the mean; NaN for a single replication."""
        return (
            float(self.final.std(ddof=1)) / math.sqrt(self.replications)
            if self.replications > 1
            else math.nan
        )

    @property
    def median(self) -> float:
        return float(np.median(self.final))

    @property
    def p95(self) -> float:
        """95th percentile."""
        return float(np.percentile(self.final, 95))

    @property
    def max(self) -> float:
        return float(self.final.max())

    @property
    def ratio(self) -> float | None:
        """R(n) / (C log n); None where C is 0 or does not apply."""
        return (
            self.mean / (self.constant * math.log(self.horizon))
            if self.constant and self.horizon > 1
            else None
        )

    @property
    def rounds_per_second(self) -> float:
        return self.replications * self.horizon / self.seconds if self.seconds > 0 else math.inf

    def to_json(self) -> dict[str, Any]:
        """The JSON contract of `thrifty run --json`."""
        means = self.curves.mean(axis=0)
        rounds, regret = self.rounds[:, -1].mean(axis=0), self.regret[:, -1].mean(axis=0)
        return {
            "instance": self.instance.name,
            "policy": self.policy,
            "horizon": self.horizon,
            "replications": self.replications,
            "seed": self.seed,
            "rewards": self.rewards,
            "mean": self.mean,
            "se": None if math.isnan(self.se) else self.se,
            "median": self.median,
            "p95": self.p95,
            "max": self.max,
            "constant": self.constant,
            "ratio": self.ratio,
            "checkpoints": {
                str(t): float(mean) for t, mean in zip(self.times.tolist(), means, strict=True)
            },
            "labels": {
                label: {"rounds": float(rounds[l]), "regret": float(regret[l])}
                for l, label in enumerate(self.labels)
            },
            "solves": float(self.solves.mean()),
            "unsolved": float(self.unsolved.mean()),
            "seconds": self.seconds,
            "rounds_per_second": self.rounds_per_second,
        } | ({"chunks": self.chunks} if self.chunks else {})
