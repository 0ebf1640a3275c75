"""What a study asks, in chunks of work, and the answers.

A question is all that decides the bits of a replicate but its number: the instance, the policy, the horizon, the seed, the kind of rewards. Its identity adds
the code that computes, so that an answer from a file can be trusted to be the one that would be computed now.
"""

import hashlib
import inspect
import json
import pickle
import sys
import time
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from thrifty.answers import Batch
from thrifty.arrays import Ints
from thrifty.catalog import Ensemble, Problem
from thrifty.errors import InvalidInput
from thrifty.instances import Instance
from thrifty.policies import POLICIES, Policy
from thrifty.simulation import AnyPolicy, Replicate, Tick, checkpoints, label_names, name_of, simulate, truth_of
from thrifty.sources import PACKAGE, computing_files, fingerprint

CHUNK_SECONDS = 1.0  # of work in a chunk, roughly: enough to make its file cheap, and little to lose
_TERMS_PER_SECOND = 3e8  # of x^T V^-1 x, over all arms; and a round takes at least 1e-7 s
_PLAIN_ROUND = 3e-5  # seconds for a round of a plain policy, roughly
_NOT_COMPUTING = (PACKAGE / "online.py", PACKAGE / "policies" / "checks.py", PACKAGE / "policies" / "__init__.py")


@dataclass(frozen=True, eq=False)
class Question:
    """A policy on a problem."""

    problem: Problem
    policy: AnyPolicy
    horizon: int
    seed: int = 0
    rewards: str = "gaussian"

    def instance(self, replicate: int) -> Instance:
        """What is played in a replicate."""
        return self.problem.instance(self.seed, replicate) if isinstance(self.problem, Ensemble) else self.problem

    @cached_property
    def times(self) -> Ints:
        """(c,) the rounds at which regret is written down."""
        return checkpoints(self.horizon)

    @property
    def labels(self) -> tuple[str, ...]:
        return label_names(self.policy)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that decides the bits of an answer, as JSON."""
        return {
            "instance_name": self.problem.name,
            "instance": self.problem.name if isinstance(self.problem, Ensemble) else self.problem.to_toml(),
            "policy": name_of(self.policy),
            "content": "" if isinstance(self.policy, Policy) else _content(self.policy),
            "labels": list(self.labels),
            "horizon": self.horizon,
            "seed": self.seed,
            "rewards": self.rewards,
            "code": self.code,
        }

    @cached_property
    def key(self) -> str:
        """A hash of the identity."""
        return hashlib.sha256(json.dumps(self.identity, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def code(self) -> str:
        """A hash of the code that computes the answers: what all policies share, and the policy's own file."""
        return _code(_source_file(self.policy), isinstance(self.problem, Ensemble))

    def try_out(self, *, compiled: bool = True) -> None:
        """Let mistakes show before the work begins: play one round, which also compiles the policy, or only look."""
        problem = self.instance(0)
        truth_of(problem, self.rewards)
        if compiled or not isinstance(self.policy, Policy):
            simulate(problem, self.policy, horizon=self.horizon, rewards=self.rewards, times=self.times, rounds=1)
        else:
            self.policy.start(problem.sets, noise=problem.noise, horizon=self.horizon)

    def chunks(self, missing: range) -> "list[Chunk]":
        """Some replicates as pieces of work."""
        rows = self.instance(missing.start).sets.rows if len(missing) else np.empty((0, 0))
        a_round = max(1e-7, rows.shape[0] * rows.shape[1] ** 2 / _TERMS_PER_SECOND) if isinstance(self.policy, Policy) else _PLAIN_ROUND
        size = int(max(1, min(1000, CHUNK_SECONDS / (a_round * self.horizon))))
        return [Chunk(self, first, min(first + size, missing.stop)) for first in range(missing.start, missing.stop, size)]


@dataclass(frozen=True, eq=False)
class Chunk:
    """The replicates first to stop - 1 of a question."""

    question: Question
    first: int
    stop: int

    @property
    def rounds(self) -> int:
        return (self.stop - self.first) * self.question.horizon


def answer(chunk: Chunk, tick: Tick | None = None) -> Batch:
    """Play the replicates of a chunk."""
    begun = time.perf_counter()
    played = [_play(chunk.question, replicate, tick) for replicate in range(chunk.first, chunk.stop)]
    return Batch(
        first=chunk.first,
        regret=np.array([replicate.regret for replicate in played]),
        rounds=np.array([replicate.rounds for replicate in played]),
        solves=np.array([replicate.solves for replicate in played]),
        unsolved=np.array([replicate.unsolved for replicate in played]),
        seconds=time.perf_counter() - begun,
    )


def _play(question: Question, replicate: int, tick: Tick | None) -> Replicate:
    problem, policy, times = question.instance(replicate), question.policy, question.times
    return simulate(problem, policy, horizon=question.horizon, seed=question.seed, replicate=replicate, rewards=question.rewards, times=times, tick=tick)


@cache
def _code(own: Path, drawn: bool) -> str:
    others = {_source_file(kind) for kind in POLICIES.values()}
    shared = [path for path in computing_files() if path not in _NOT_COMPUTING and path not in others]
    catalog = [PACKAGE / "catalog.py"] if drawn else []
    return fingerprint([*shared, own, *catalog], f"numpy {version('numpy')}", f"numba {version('numba')}")


def _source_file(policy: Any) -> Path:
    """The file that a policy's class is defined in."""
    kind = policy if isinstance(policy, type) else type(policy)
    try:
        return Path(inspect.getfile(kind))
    except (OSError, TypeError):
        raise InvalidInput(f"{kind.__name__}", "a policy defined in a file, so that its results can be kept", sys.modules.get(kind.__module__)) from None


def _content(policy: Any) -> str:
    """A hash of the parameters of a plain policy."""
    try:
        return hashlib.sha256(pickle.dumps(policy)).hexdigest()
    except Exception as error:
        raise InvalidInput(name_of(policy), "a policy that can be pickled, so that its results can be kept", error) from None
