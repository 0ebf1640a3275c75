"""What a study asks, in chunks of work, and the answers.

A task is all that decides the bits of a replication but its number: the instance, the policy, the
horizon, the seed, the kind of rewards. Its identity adds the code that computes, so that an answer
from a file can be trusted to be the one that would be computed now.
"""

import hashlib
import inspect
import json
import pickle
import time
from dataclasses import dataclass, fields
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Ints
from thrifty.numerics.fingerprints import compiled_files, fingerprint, result_files
from thrifty.policies import Policy
from thrifty.problem.catalog import Ensemble, Problem
from thrifty.problem.instances import Instance
from thrifty.simulation.loop import truth_of
from thrifty.simulation.replication import (
    AnyPolicy,
    Replication,
    Tick,
    checkpoints,
    label_names,
    name_of,
    simulate,
)
from thrifty.studies.batches import Batch

# of work in a chunk, roughly: enough to make its file cheap, and little to lose
CHUNK_SECONDS = 1.0
_TERMS_PER_SECOND = 3e8  # of x^T V^-1 x, over all arms; and a round takes at least 1e-7 s
_PLAIN_ROUND = 3e-5  # seconds for a round of a plain policy, roughly


@dataclass(frozen=True, eq=False)
class Task:
    """A policy on a problem."""

    problem: Problem
    policy: AnyPolicy
    horizon: int
    seed: int = 0
    rewards: str = "gaussian"

    def instance(self, replication: int) -> Instance:
        """What is played in a replication."""
        return (
            self.problem.instance(self.seed, replication)
            if isinstance(self.problem, Ensemble)
            else self.problem
        )

    @cached_property
    def times(self) -> Ints:
        """(c,) the rounds at which regret is written down."""
        return checkpoints(self.horizon)

    @property
    def labels(self) -> tuple[str, ...]:
        return label_names(self.policy)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is derived: another machine derives it anew."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name in self.__dataclass_fields__
        }

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that decides the bits of an answer, as JSON; the instance by the hash of its
        TOML text.
        """
        kind = type(self.policy)
        return {
            "instance_name": self.problem.name,
            "instance": None
            if isinstance(self.problem, Ensemble)
            else digest_of(self.problem.to_toml()),
            "policy": name_of(self.policy),
            "class": f"{kind.__module__}.{kind.__qualname__}",
            "parameters": _parameters(self.policy),
            "labels": list(self.labels),
            "horizon": self.horizon,
            "seed": self.seed,
            "rewards": self.rewards,
            "code": self.code,
        }

    @cached_property
    def key(self) -> str:
        """A hash of the identity."""
        return key_of(self.identity)

    @property
    def code(self) -> str:
        """A hash of the code that computes the answers: what all policies share, and the files that
        define this one.
        """
        return _code(_source_files(type(self.policy)))

    def try_out(self, *, compiled: bool = True) -> None:
        """Let mistakes show before the work begins: play one round, which also compiles the policy,
        or only look.
        """
        problem = self.instance(0)
        truth_of(problem, self.rewards)
        if compiled or not isinstance(self.policy, Policy):
            simulate(
                problem,
                self.policy,
                horizon=self.horizon,
                rewards=self.rewards,
                times=self.times,
                rounds=1,
            )
        else:
            self.policy.start(problem.sets, noise=problem.noise, horizon=self.horizon)

    def chunks(self, missing: range) -> "list[Chunk]":
        """Some replications as pieces of work."""
        rows = self.instance(missing.start).sets.rows if len(missing) else np.empty((0, 0))
        a_round = (
            max(1e-7, rows.shape[0] * rows.shape[1] ** 2 / _TERMS_PER_SECOND)
            if isinstance(self.policy, Policy)
            else _PLAIN_ROUND
        )
        size = int(max(1, min(1000, CHUNK_SECONDS / (a_round * self.horizon))))
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
        return (self.stop - self.first) * self.task.horizon


def compute(chunk: Chunk, tick: Tick | None = None) -> Batch:
    """Play the replications of a chunk."""
    begun = time.perf_counter()
    played = [
        _play(chunk.task, replication, tick) for replication in range(chunk.first, chunk.stop)
    ]
    return Batch(
        first=chunk.first,
        regret=np.array([replication.regret for replication in played]),
        rounds=np.array([replication.rounds for replication in played]),
        solves=np.array([replication.solves for replication in played]),
        unsolved=np.array([replication.unsolved for replication in played]),
        seconds=time.perf_counter() - begun,
    )


def _play(task: Task, replication: int, tick: Tick | None) -> Replication:
    problem, policy, times = task.instance(replication), task.policy, task.times
    return simulate(
        problem,
        policy,
        horizon=task.horizon,
        seed=task.seed,
        replication=replication,
        rewards=task.rewards,
        times=times,
        tick=tick,
    )


def key_of(identity: dict[str, Any]) -> str:
    """A hash of the identity of a task."""
    return digest_of(json.dumps(identity, sort_keys=True))[:16]


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def installed_code() -> str:
    """A hash of all code that computes: two machines that agree on it give the same results."""
    return fingerprint(compiled_files(), *_versions())


@cache
def _code(own: tuple[Path, ...]) -> str:
    return fingerprint([*result_files(), *own], *_versions())


def _versions() -> list[str]:
    return [f"{package} {version(package)}" for package in ("numpy", "numba", "scipy")]


def _source_files(kind: type) -> tuple[Path, ...]:
    """The files that define a policy's class and those it inherits from."""
    files = []
    for one in kind.__mro__:
        if one is object or one.__module__ in ("builtins", "typing", "abc"):
            continue
        try:
            path = Path(inspect.getfile(one))
        except (OSError, TypeError):
            path = Path()
        if not path.is_file():
            raise InvalidInput(
                one.__name__,
                "a policy defined in a file, so that its results can be kept",
                one.__module__,
            )
        files.append(path)
    return tuple(dict.fromkeys(files))


def _parameters(policy: AnyPolicy) -> str:
    """All parameters of a policy: its fields, or a hash of a plain one as it is pickled."""
    if isinstance(policy, Policy):
        return repr({field.name: getattr(policy, field.name) for field in fields(policy)})
    try:
        return hashlib.sha256(pickle.dumps(policy)).hexdigest()
    except Exception as error:  # whatever a user's class raises
        raise InvalidInput(
            name_of(policy), "a policy that can be pickled, so that its results can be kept", error
        ) from None
