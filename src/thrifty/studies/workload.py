"""How much of a study is done, and how long the rest will take."""

from collections import defaultdict
from collections.abc import Iterable
from threading import Lock

from thrifty.policies.shared.plain import name_of
from thrifty.studies.tasks import Chunk

Kind = tuple[str, int]  # policy and horizon


class Workload:
    """Chunks to be computed, weighted by their estimated cost; may be used from several threads.

    The cost of a chunk is its rounds times `Task.seconds_per_round`. That estimate knows the size
    of the instance but not the policy, nor that short runs spend more time per round on solves. So
    costs are corrected by the measured time per unit of cost for the same policy and horizon, once
    such a chunk is done. The remaining time is

        elapsed time x corrected cost that remains / corrected cost that is done,

    both since the start of play: it changes slowly, unlike an estimate from the current speed. It
    needs chunks in random order: then those that are done are representative.
    """

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._remaining: defaultdict[Kind, float] = defaultdict(float)  # cost
        self._done: defaultdict[Kind, float] = defaultdict(float)  # cost
        self._finished: defaultdict[Kind, float] = defaultdict(float)  # cost of whole chunks
        self._measured: defaultdict[Kind, float] = defaultdict(float)  # their seconds
        self._lock = Lock()
        self.rounds = 0
        for chunk in chunks:
            self._remaining[_kind(chunk)] += _cost(chunk, chunk.rounds)
        self.total = sum(self._remaining.values())

    def advance(self, chunk: Chunk, rounds: int) -> float:
        """Record rounds of a chunk as done; return their cost."""
        cost = _cost(chunk, rounds)
        with self._lock:
            self.rounds += rounds
            self._done[_kind(chunk)] += cost
            self._remaining[_kind(chunk)] -= cost
        return cost

    def finish(self, chunk: Chunk, seconds: float) -> None:
        """Record the measured time of a chunk, all of whose rounds are done."""
        with self._lock:
            self._measured[_kind(chunk)] += seconds
            self._finished[_kind(chunk)] += _cost(chunk, chunk.rounds)

    def seconds_left(self, elapsed: float) -> float | None:
        """Estimated remaining time, after `elapsed` seconds of play; None before any round."""
        with self._lock:
            done = sum(cost * self._factor(kind) for kind, cost in self._done.items())
            left = sum(cost * self._factor(kind) for kind, cost in self._remaining.items())
        return elapsed * max(left, 0.0) / done if done > 0 else None

    def _factor(self, kind: Kind) -> float:
        """Measured seconds per unit of cost: of one kind of chunks, or else of all."""
        if self._finished[kind] > 0:
            return self._measured[kind] / self._finished[kind]
        finished = sum(self._finished.values())
        return sum(self._measured.values()) / finished if finished > 0 else 1.0


def _kind(chunk: Chunk) -> Kind:
    return name_of(chunk.task.policy), chunk.task.horizon


def _cost(chunk: Chunk, rounds: int) -> float:
    return rounds * chunk.task.seconds_per_round
