"""Tasks: a policy on an instance, its identity, and its replications in chunks.

A task determines every bit of a replication except its number: the instance, the policy, the
horizon, the random seed, the kind of rewards. Its identity adds a hash of the code, so that results
read from a file are those that would be computed now.
"""

import hashlib
import inspect
import json
import pickle
import time
from dataclasses import dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thrifty.compiler.fingerprints import fingerprint, result_files, versions
from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Ints
from thrifty.policies import Policy
from thrifty.policies.shared.plain import AnyPolicy, label_names, name_of
from thrifty.problem.catalog import Ensemble, Problem, instance_of
from thrifty.problem.instances import Instance
from thrifty.simulation.loop import truth_of
from thrifty.simulation.replication import Replication, Tick, checkpoints, simulate
from thrifty.studies.batches import ARRAYS, Batch

# Approximate time of a chunk: its file then costs about a hundredth of it, and little is lost when
# a study is interrupted.
CHUNK_SECONDS = 1.0
CHUNK_REPLICATIONS = 1000  # of a chunk, at most
CHUNK_PULLS = 4e6  # numbers of pulls in a chunk's file, at most if it has several replications
_TERMS_PER_SECOND = 3e8  # products of x^T V^-1 x over all arms
_LEAST_ROUND = 1e-7  # seconds per round of a compiled policy, at least
_PLAIN_ROUND = 3e-5  # seconds per round of a policy in plain Python, approximately


@dataclass(frozen=True, eq=False)
class Task:
    """A policy on an instance or ensemble, for a horizon, a random seed and a kind of rewards."""

    problem: Problem
    policy: AnyPolicy
    horizon: int
    seed: int = 0
    rewards: str = "gaussian"
    pulls: bool = False  # whether the pulls of each arm are kept

    def instance(self, replication: int) -> Instance:
        """The instance of a replication; an ensemble draws one per replication."""
        return instance_of(self.problem, self.seed, replication)

    @cached_property
    def times(self) -> Ints:
        """(c,) checkpoints: rounds at which regret is recorded."""
        return checkpoints(self.horizon)

    @property
    def labels(self) -> tuple[str, ...]:
        return label_names(self.policy)

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone, without cached properties, which another machine computes again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def setting(self) -> dict[str, Any]:
        """What a result says about its task, as JSON: policy, labels, horizon, seed, rewards.

        `pulls` is there only if they are kept: other tasks are named as before there was the key.
        """
        return {
            "policy": name_of(self.policy),
            "labels": list(self.labels),
            "horizon": self.horizon,
            "seed": self.seed,
            "rewards": self.rewards,
        } | ({"pulls": True} if self.pulls else {})

    @cached_property
    def kept_rows(self) -> int:
        """k, the rows whose pulls are kept; 0 if none are."""
        return len(self.instance(0).sets.rows) if self.pulls else 0

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that determines the bits of the results, as JSON; of an instance a hash."""
        kind, problem = type(self.policy), self.problem
        return self.setting | {
            "instance_name": problem.name,
            "instance": None if isinstance(problem, Ensemble) else digest_of(problem.to_toml()),
            "class": f"{kind.__module__}.{kind.__qualname__}",
            "parameters": _parameters(self.policy),
            "code": self.code,
        }

    @cached_property
    def key(self) -> str:
        """A short hash of the identity."""
        return key_of(self.identity)

    @property
    def code(self) -> str:
        """A hash of the code: the sources that all policies share, and those of this policy."""
        return _code(_source_files(type(self.policy)))

    def try_out(self, *, compiled: bool = True) -> None:
        """Validate the task before long work: play one round, which also compiles the policy.

        With compiled=False a compiled policy is only started.
        """
        if compiled or not isinstance(self.policy, Policy):
            self.play(0, rounds=1)
        else:
            problem = self.instance(0)
            told = truth_of(problem, self.rewards).told
            self.policy.start(problem.sets, noise=told, horizon=self.horizon)

    def play(self, replication: int, **options: Any) -> Replication:
        """Simulate a replication; options: `rounds` and `tick` of `simulate`."""
        return simulate(
            self.instance(replication),
            self.policy,
            horizon=self.horizon,
            seed=self.seed,
            replication=replication,
            rewards=self.rewards,
            pulls=self.pulls,
            times=self.times,
            **options,
        )

    @cached_property
    def seconds_per_round(self) -> float:
        """Estimated computing time of a round, from the number and dimension of the arms."""
        if not isinstance(self.policy, Policy):
            return _PLAIN_ROUND
        arms, dimension = self.instance(0).sets.rows.shape
        return max(_LEAST_ROUND, arms * dimension**2 / _TERMS_PER_SECOND)

    def chunks(self, missing: range) -> "list[Chunk]":
        """A range of replications, split into chunks of about CHUNK_SECONDS."""
        affordable = CHUNK_SECONDS / (self.seconds_per_round * self.horizon)
        if self.kept_rows:
            numbers = len(self.times) * len(self.labels) * self.kept_rows
            affordable = min(affordable, CHUNK_PULLS / numbers)
        size = int(max(1, min(CHUNK_REPLICATIONS, affordable)))
        return [
            Chunk(self, first, min(first + size, missing.stop))
            for first in range(missing.start, missing.stop, size)
        ]


@dataclass(frozen=True, eq=False)
class Chunk:
    """The replications first to stop - 1 of a task."""

    task: Task
    first: int
    stop: int

    @property
    def rounds(self) -> int:
        """Rounds of all its replications together."""
        return (self.stop - self.first) * self.task.horizon

    @property
    def cost(self) -> float:
        """Estimated computing time in seconds."""
        return self.rounds * self.task.seconds_per_round


def compute(chunk: Chunk, tick: Tick | None = None) -> Batch:
    """Simulate the replications of a chunk; tick is called with the rounds since its last call."""
    started = time.perf_counter()
    played = [chunk.task.play(number, tick=tick) for number in range(chunk.first, chunk.stop)]
    arrays = {name: np.array([getattr(run, name) for run in played]) for name in ARRAYS}
    return Batch(first=chunk.first, seconds=time.perf_counter() - started, **arrays)


def key_of(identity: dict[str, Any]) -> str:
    """A short hash of the identity of a task."""
    return digest_of(json.dumps(identity, sort_keys=True))[:16]


def digest_of(text: str) -> str:
    """The SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _code(of_policy: tuple[Path, ...]) -> str:
    return fingerprint([*result_files(), *of_policy], *versions())


def _source_files(kind: type) -> tuple[Path, ...]:
    """The source files of a policy's class and its base classes."""
    files = []
    for base in kind.__mro__:
        if base is object or base.__module__ in ("builtins", "typing", "abc"):
            continue
        try:
            path = Path(inspect.getfile(base))
        except (OSError, TypeError):
            path = Path()
        if not path.is_file():
            advice = f"define the policy in a file, instead of in {base.__module__}"
            raise InvalidInput(base.__name__, f"its results cannot be kept: {advice}")
        files.append(path)
    return tuple(dict.fromkeys(files))


def _parameters(policy: AnyPolicy) -> str:
    """All parameters of a policy: its fields, or a hash of a pickled policy in plain Python."""
    if isinstance(policy, Policy):
        return repr({field.name: getattr(policy, field.name) for field in fields(policy)})
    try:
        return hashlib.sha256(pickle.dumps(policy)).hexdigest()
    except Exception as error:  # a user's class may raise anything
        why = f"its results cannot be kept: the policy cannot be pickled ({error})"
        raise InvalidInput(name_of(policy), why) from None
