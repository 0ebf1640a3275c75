"""Results: the regret of one policy on one instance over many replications, and its statistics."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.display import frame, html
from thrifty.errors import shortened
from thrifty.numerics.arrays import Floats, Ints
from thrifty.problem.catalog import Problem, instance_of
from thrifty.simulation.replication import checkpoints
from thrifty.studies.batches import ARRAYS, Batch

if TYPE_CHECKING:
    from pandas import DataFrame

_SETTING = ("policy", "horizon", "replications", "seed", "rewards")
STATISTICS = ("mean", "se", "median", "p95", "max")


@dataclass(frozen=True)
class Result:
    """One policy on one instance: R replications, c checkpoints, L labels.

    Attributes
    ----------
    instance : the instance, or an ensemble, which has a different instance in each replication
    policy : the policy's spec, `oam:epsilon=0.01`
    labels : (L,) reasons for which arms were played
    times : (c,) checkpoints; the last is the horizon
    regret : (R, c, L) cumulative pseudo-regret at each checkpoint, by label
    rounds : (R, c, L) cumulative number of rounds at each checkpoint, by label
    pulls : (R, c, k) cumulative pulls at each checkpoint of each arm, in the order of
        `instance.sets.rows`: context after context; k = 0 unless the study keeps pulls
    solves, unsolved : (R,) solves of the allocation program, and those that missed its tolerance
    seconds : computing time without compilation, divided by the number of threads
    constant : C of the lower bound; None for ensembles, for instances with changes, for rewards
        that are not Gaussian, and where its solve failed
    chunks : the folder of its Parquet files, relative to the study's folder; None if not kept
    """

    instance: Problem
    policy: str
    labels: tuple[str, ...]
    seed: int
    rewards: str
    times: Ints
    regret: Floats
    rounds: Ints
    pulls: Ints
    solves: Ints
    unsolved: Ints
    seconds: float
    constant: float | None
    chunks: str | None = None

    @classmethod
    def of(
        cls,
        problem: Problem,
        setting: Mapping[str, Any],
        batch: Batch,
        constant: float | None,
        chunks: str | None = None,
    ) -> "Result":
        """The result of a task, given by `Task.setting` or `Task.identity`, from its batch."""
        return cls(
            instance=problem,
            policy=setting["policy"],
            labels=tuple(setting["labels"]),
            seed=setting["seed"],
            rewards=setting["rewards"],
            times=checkpoints(setting["horizon"]),
            seconds=batch.seconds,
            constant=constant,
            chunks=chunks,
            **{name: getattr(batch, name) for name in ARRAYS},
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
        """(R, c) cumulative regret at each checkpoint, summed over labels."""
        return self.regret.sum(axis=2)

    @property
    def mean(self) -> float:
        """Mean regret at the horizon."""
        return float(self.final.mean())

    @property
    def se(self) -> float:
        """Standard error of the mean; NaN for a single replication."""
        if self.replications == 1:
            return math.nan
        return float(self.final.std(ddof=1)) / math.sqrt(self.replications)

    @property
    def median(self) -> float:
        """Median regret at the horizon."""
        return float(np.median(self.final))

    @property
    def p95(self) -> float:
        """95th percentile of the regret at the horizon."""
        return float(np.percentile(self.final, 95))

    @property
    def max(self) -> float:
        """Largest regret at the horizon."""
        return float(self.final.max())

    @property
    def ratio(self) -> float | None:
        """R(n) / (C log n); None where C is 0 or unknown."""
        if not self.constant or self.horizon == 1:
            return None
        return self.mean / (self.constant * math.log(self.horizon))

    @property
    def rounds_per_second(self) -> float:
        return self.replications * self.horizon / self.seconds if self.seconds > 0 else math.inf

    def to_frame(self) -> "DataFrame":
        """A data frame of pandas with a row per replication and checkpoint: cumulative regret.

        Columns: instance, policy, horizon, replicate, round, regret.
        """
        replications, points = self.curves.shape
        columns = {
            "replicate": np.repeat(np.arange(replications), points),
            "round": np.tile(self.times, replications),
            "regret": self.curves.ravel(),
        }
        return frame("result.to_frame()", self._values("policy", "horizon") | columns)

    def _values(self, *names: str) -> dict[str, Any]:
        """The name of the instance, and attributes by name."""
        return {"instance": self.instance.name} | {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        name = shortened(self.instance.name or "unnamed")
        error = "" if math.isnan(self.se) else f" ± {self.se:.2g}"
        return (
            f"<result: {shortened(self.policy)} on {name}, n = {self.horizon:,}, "
            f"replications {self.replications:,}, regret {self.mean:.4g}{error}>"
        )

    def _repr_html_(self) -> str:
        regret = self.regret[:, -1].mean(axis=0)
        columns = {
            "label": self.labels,
            "mean rounds": self.rounds[:, -1].mean(axis=0),
            "mean regret": regret,
        }
        spread = f"median {self.median:.4g}, 95th percentile {self.p95:.4g}, worst {self.max:.4g}"
        ratio = "" if self.ratio is None else f", R/(C log n) {self.ratio:.3g}"
        return html(repr(self)[1:-1], columns, notes=(f"regret: {spread}{ratio}",))

    def to_json(self) -> dict[str, Any]:
        """The entry of `thrifty run --json` and of results.json.

        `pulls`, mean pulls at the horizon, is there only if the study keeps pulls.
        """
        means = self.curves.mean(axis=0)
        rounds, regret = self.rounds[:, -1].mean(axis=0), self.regret[:, -1].mean(axis=0)
        entry = self._values(*_SETTING, *STATISTICS, "constant", "ratio") | {
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
        }
        if math.isnan(self.se):
            entry["se"] = None
        if self.chunks:
            entry["chunks"] = self.chunks
        if self.pulls.shape[2]:
            # the sets of an ensemble have the same sizes in all replications
            sets = instance_of(self.instance, self.seed, 0).sets
            entry["pulls"] = [arms.tolist() for arms in sets.split(self.pulls[:, -1].mean(axis=0))]
        return entry
