"""Batches of replications: the results of chunks, and how they are combined."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from thrifty.numerics.arrays import Floats, Ints

# fields with one entry per replication
ARRAYS = ("regret", "rounds", "pulls", "solves", "unsolved")


@dataclass(frozen=True, eq=False)
class Batch:
    """Results of r consecutive replications at c checkpoints, split by L labels."""

    first: int  # number of the first replication
    regret: Floats  # (r, c, L) cumulative pseudo-regret at each checkpoint
    rounds: Ints  # (r, c, L) cumulative number of rounds at each checkpoint
    pulls: Ints  # (r, c, k) cumulative pulls by row of the action sets; k = 0 if not kept
    solves: Ints  # (r,) solves of the allocation program
    unsolved: Ints  # (r,) those of them that missed its tolerance
    seconds: float  # computing time, divided by the number of threads that worked at the same time

    @property
    def stop(self) -> int:
        """One more than the number of the last replication."""
        return self.first + len(self.solves)

    def part(self, first: int, stop: int) -> "Batch":
        """The replications first to stop - 1."""
        cut = slice(first - self.first, stop - self.first)
        share = (stop - first) / len(self.solves)
        arrays = {name: getattr(self, name)[cut] for name in ARRAYS}
        return Batch(first=first, seconds=self.seconds * share, **arrays)


def missing_ranges(batches: Iterable[Batch], replications: int) -> list[range]:
    """The ranges of replications below `replications` that no batch contains."""
    missing, reached = [], 0
    for batch in sorted(batches, key=lambda batch: batch.first):
        if batch.first > reached:
            missing.append(range(reached, min(batch.first, replications)))
        reached = max(reached, batch.stop)
    missing.append(range(reached, replications))
    return [gap for gap in missing if len(gap)]


def assemble(batches: Iterable[Batch], replications: int) -> Batch:
    """The first `replications` as one batch, from batches that cover them and may overlap."""
    parts: list[Batch] = []
    reached = 0
    for batch in sorted(batches, key=lambda batch: batch.first):
        stop = min(batch.stop, replications)
        if stop > reached:
            parts.append(batch.part(reached, stop))
            reached = stop
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS}
    return Batch(first=parts[0].first, seconds=sum(part.seconds for part in parts), **arrays)
