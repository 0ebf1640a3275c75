"""Batches of replicates: what pieces of work give, and how they are put together again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.numerics.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Batch:
    """The replicates from number `first` on: r of them, at c checkpoints, by L labels."""

    first: int
    regret: Floats  # (r, c, L) so far, at each checkpoint
    rounds: Ints  # (r, c, L) likewise
    solves: Ints  # (r,)
    unsolved: Ints  # (r,)
    seconds: float  # it took; divided by the number of threads that worked at the same time

    @property
    def stop(self) -> int:
        """The number after the last."""
        return self.first + len(self.solves)

    def part(self, first: int, stop: int) -> "Batch":
        """The replicates first to stop - 1."""
        cut = slice(first - self.first, stop - self.first)
        share = (stop - first) / len(self.solves)
        return Batch(
            first,
            self.regret[cut],
            self.rounds[cut],
            self.solves[cut],
            self.unsolved[cut],
            self.seconds * share,
        )


def missing_ranges(batches: Iterable[Batch], replications: int) -> list[range]:
    """Which of the first replications no batch has."""
    missing, reached = [], 0
    for batch in sorted(batches, key=lambda batch: batch.first):
        if batch.first > reached:
            missing.append(range(reached, min(batch.first, replications)))
        reached = max(reached, batch.stop)
    missing.append(range(reached, replications))
    return [gap for gap in missing if len(gap)]


def assemble(batches: Iterable[Batch], replications: int) -> Batch:
    """The first replications as one batch, out of batches that cover them, perhaps more than
    once.
    """
    parts: list[Batch] = []
    reached = 0
    for batch in sorted(batches, key=lambda batch: batch.first):
        stop = min(batch.stop, replications)
        if stop > reached:
            parts.append(batch.part(reached, stop))
            reached = stop
    return _join(parts)


def _join(parts: Sequence[Batch]) -> Batch:
    return Batch(
        first=parts[0].first,
        regret=np.concatenate([part.regret for part in parts]),
        rounds=np.concatenate([part.rounds for part in parts]),
        solves=np.concatenate([part.solves for part in parts]),
        unsolved=np.concatenate([part.unsolved for part in parts]),
        seconds=sum(part.seconds for part in parts),
    )
