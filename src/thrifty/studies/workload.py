"""How much of a study is done, and how long the rest will take."""

from collections import defaultdict
from collections.abc import Iterable
from threading import Lock

from thrifty.simulation.replication import name_of
from thrifty.studies.tasks import Chunk


class Workload:
    """Chunks to be computed, weighted by their estimated cost; may be used from several threads.

    The cost of a chunk is its rounds times `Task.seconds_per_round`. That estimate knows the size
    of the instance but not the policy, so costs are corrected by the policy's measured time per
    unit of cost, as soon as one of its chunks is done. The remaining time is

        elapsed time x corrected cost that remains / corrected cost that is done,

    both since the start of play: it changes slowly, unlike an estimate from the current speed.
    """

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._remaining: defaultdict[str, float] = defaultdict(float)  # cost by policy
        self._done: defaultdict[str, float] = defaultdict(float)  # cost by policy
        self._measured: defaultdict[str, float] = defaultdict(
            float
        )  # seconds of finished chunks by policy
        self._finished: defaultdict[str, float] = defaultdict(
            float
        )  # cost of finished chunks by policy
        self._lock = Lock()
        self.rounds = 0
        for chunk in chunks:
            self._add(self._remaining, chunk, self._cost(chunk, chunk.rounds))
        self.total = sum(self._remaining.values())

    def advance(self, chunk: Chunk, rounds: int) -> float:
        """Record rounds of a chunk as done; return their cost."""
        cost = self._cost(chunk, rounds)
        with self._lock:
            self.rounds += rounds
            self._add(self._done, chunk, cost)
            self._add(self._remaining, chunk, -cost)
        return cost

    def finish(self, chunk: Chunk, seconds: float) -> None:
        """Record the measured time of a chunk, all of whose rounds are done."""
        with self._lock:
            self._add(self._measured, chunk, seconds)
            self._add(self._finished, chunk, self._cost(chunk, chunk.rounds))

    def seconds_left(self, elapsed: float) -> float | None:
        """Estimated remaining time, after `elapsed` seconds of play; None before any round."""
        with self._lock:
            done = sum(cost * self._factor(policy) for policy, cost in self._done.items())
            left = sum(cost * self._factor(policy) for policy, cost in self._remaining.items())
        return elapsed * max(left, 0.0) / done if done > 0 else None

    def _factor(self, policy: str) -> float:
        """Measured seconds per unit of cost: of a policy, or else of all policies."""
        if self._finished[policy] > 0:
            return self._measured[policy] / self._finished[policy]
        finished = sum(self._finished.values())
        return sum(self._measured.values()) / finished if finished > 0 else 1.0

    @staticmethod
    def _cost(chunk: Chunk, rounds: int) -> float:
        return rounds * chunk.task.seconds_per_round

    @staticmethod
    def _add(costs: defaultdict[str, float], chunk: Chunk, cost: float) -> None:
        costs[name_of(chunk.task.policy)] += cost
