"""Instances x policies x replications: what `thrifty.run` and `thrifty run` do.

A study that is kept in a folder can be stopped at any moment, and goes on where it was.
"""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thrifty.allocation.bound import lower_bound
from thrifty.errors import InvalidInput
from thrifty.files import make_folder, write_whole
from thrifty.numerics.arrays import finite_number
from thrifty.policies import POLICIES
from thrifty.policies import policy as named_policy
from thrifty.problem.catalog import Ensemble, Problem
from thrifty.problem.catalog import problem as named_problem
from thrifty.problem.instances import Instance
from thrifty.report.figures import regret_figure, save_figure
from thrifty.simulation.loop import truth_of
from thrifty.simulation.replication import AnyPolicy, name_of
from thrifty.studies.batches import Batch, assemble, missing_ranges
from thrifty.studies.executors import Cluster, Executor, Threads
from thrifty.studies.progress import rounds_bar
from thrifty.studies.results import Result
from thrifty.studies.store import CHUNKS, RESULTS, Store
from thrifty.studies.study_files import STUDY, StudyFile, write_study
from thrifty.studies.tasks import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROUNDS = 10**12  # of a replication; more is taken for a mistake


@dataclass(frozen=True)
class Study:
    """The results of a run, instance after instance."""

    results: tuple[Result, ...]

    def __getitem__(self, key: tuple[str, str] | tuple[str, str, float]) -> Result:
        """The result of an instance and a policy, by their names; at a horizon, or else at the
        longest.
        """
        named = [
            result for result in self.results if (result.instance.name, result.policy) == key[:2]
        ]
        found = [result for result in named if len(key) == 2 or result.horizon == key[2]]
        if not found:
            raise KeyError(key)
        return max(found, key=lambda result: result.horizon)

    def summary(self) -> list[dict[str, Any]]:
        """One row a result: mean, standard error, median, 95th percentile, worst, and the ratio to
        C log n.
        """
        keys = (
            "instance",
            "policy",
            "horizon",
            "replications",
            "mean",
            "se",
            "median",
            "p95",
            "max",
            "ratio",
        )
        return [{key: entry[key] for key in keys} for entry in self.to_json()]

    def to_json(self) -> list[dict[str, Any]]:
        """The JSON contract of `thrifty run --json`."""
        return [result.to_json() for result in self.results]

    def plot(self) -> "Figure":
        """Mean regret over time with standard errors, one panel an instance;
        `.savefig("regret.png")` writes it.
        """
        return regret_figure(self.results)

    def write(self, folder: str | os.PathLike[str], *, figure: bool = True) -> None:
        """Write results.json, regret.svg and regret.png into a folder, which is made if need be."""
        path = Path(folder)
        make_folder(path)
        write_whole(path / RESULTS, json.dumps(self.to_json(), indent=2) + "\n")
        if figure:
            save_figure(self.plot(), path / "regret")


def run(
    instances: Problem | str | Iterable[Problem | str],
    policies: AnyPolicy | str | Iterable[AnyPolicy | str],
    *,
    horizon: float | Sequence[float],
    replications: float = 100,
    seed: int = 0,
    rewards: str = "gaussian",
    threads: int | None = None,
    cluster: str | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Study:
    """Let policies play instances, again and again, and measure their regret.

    Parameters
    ----------
    instances : one or several, also by name or file; `random-theta:seed=each` is another instance
        in each replication
    policies : one or several, also by spec such as "oam:epsilon=0.01"; or objects of your own with
        start, choose and learn (examples/plain_policy.py)
    horizon : rounds of each replication; of several horizons, each is played on its own, as
        policies may plan for it
    replications : how many; the luck of each depends on seed and its number alone, so that policies
        are compared on the same luck
    rewards : `gaussian`, or `bernoulli` where all means lie between 0 and 1
    threads : as many as there are cores by default; results do not depend on it
    cluster : the address of a Dask scheduler, tcp://host:port, to work there instead
    out : a folder to keep results in; what is there already is not computed again
    progress : whether to show a bar; by default where standard error is a terminal
    """
    asked = ask(
        instances, policies, horizon=horizon, replications=replications, seed=seed, rewards=rewards
    )
    return run_together(
        [(asked, None if out is None else Path(out))],
        threads=threads,
        cluster=cluster,
        progress=progress,
    )[0]


@dataclass(frozen=True, eq=False)
class Asked:
    """What a study is asked, checked."""

    problems: tuple[Problem, ...]
    policies: tuple[AnyPolicy, ...]
    horizons: tuple[int, ...]
    replications: int
    seed: int
    rewards: str

    def tasks(self) -> list[Task]:
        """Every policy on every problem, at every horizon."""
        return [
            Task(*one, self.seed, self.rewards)
            for one in product(self.problems, self.policies, self.horizons)
        ]

    def write(self, folder: Path) -> None:
        """Write a study file that asks the same. Policies of your own cannot be written down: then
        a file of another study goes aside.
        """
        if all(type(policy) in POLICIES.values() for policy in self.policies):
            horizon = self.horizons if len(self.horizons) > 1 else self.horizons[0]
            specs = tuple(name_of(policy) for policy in self.policies)
            write_study(
                folder,
                self.problems,
                StudyFile((), specs, horizon, self.replications, self.seed, self.rewards),
            )
        elif (folder / STUDY).exists():
            (folder / STUDY).replace(folder / f"_{STUDY}.aside")


def ask(
    instances: Any,
    policies: Any,
    *,
    horizon: Any,
    replications: float = 100,
    seed: int = 0,
    rewards: str = "gaussian",
) -> Asked:
    """Check what `run` is asked; see there."""
    asked = Asked(
        problems=tuple(
            named_problem(item) if isinstance(item, str | os.PathLike) else item
            for item in _listed(instances, "instances")
        ),
        policies=tuple(
            named_policy(item) if isinstance(item, str) else item
            for item in _listed(policies, "policies")
        ),
        horizons=tuple(_whole(n, "horizon", MOST_ROUNDS) for n in _listed(horizon, "horizon")),
        replications=_whole(replications, "replications", 10**7),
        seed=_whole(seed, "seed", 2**63, least=0),
        rewards=rewards,
    )
    for item in asked.problems:
        if not isinstance(item, Instance | Ensemble):
            raise InvalidInput("instances", "thrifty.Instance, or the name of one", item)
        truth_of(item.instance(asked.seed, 0) if isinstance(item, Ensemble) else item, rewards)
    _distinct([item.name for item in asked.problems], "instances")
    _distinct([name_of(policy) for policy in asked.policies], "policies")
    _distinct([str(n) for n in asked.horizons], "horizon")
    return asked


def run_together(
    studies: Sequence[tuple[Asked, Path | None]],
    *,
    threads: int | None = None,
    cluster: str | None = None,
    progress: bool | None = None,
    figures: bool = True,
) -> list[Study]:
    """Run studies as one pile of work, each kept in its folder if it has one."""
    workers = None if threads is None else _whole(threads, "threads", 1024)
    for _, folder in studies:
        if folder is not None:
            make_folder(folder)
    pieces = _look_up(studies, progress)
    constants = _constants(pieces)
    missing = any(piece.chunks for piece in pieces)
    with closing(
        Cluster(cluster) if cluster is not None and missing else Threads(workers)
    ) as executor:
        _try_out(pieces, executor)
        for asked, folder in studies:
            if folder is not None:
                asked.write(folder)
        _answer(pieces, executor, progress)
    done = (piece.result(constants[piece.task.problem]) for piece in pieces)
    found = [Study(tuple(next(done) for _ in asked.tasks())) for asked, _ in studies]
    for study, (_, folder) in zip(found, studies, strict=True):
        if folder is not None:
            study.write(folder, figure=figures)
    return found


def _look_up(studies: Sequence[tuple[Asked, Path | None]], progress: bool | None) -> "list[_Piece]":
    """All tasks with the answers that are kept."""
    asked = [(task, one.replications, folder) for one, folder in studies for task in one.tasks()]
    pieces = []
    with rounds_bar(
        sum(replications * task.horizon for task, replications, _ in asked),
        "reading",
        show=progress,
    ) as tick:
        for task, replications, folder in asked:
            pieces.append(
                _Piece(task, replications, None if folder is None else Store(folder / CHUNKS))
            )
            tick(replications * task.horizon)
    return pieces


class _Piece:
    """A task, how often to answer it, where answers are kept, and those that there are."""

    def __init__(self, task: Task, replications: int, store: Store | None) -> None:
        self.task, self.replications, self.store = task, replications, store
        self.batches: list[Batch] = [] if store is None else store.read(task)
        self.chunks = [
            chunk
            for gap in missing_ranges(self.batches, replications)
            for chunk in task.chunks(gap)
        ]

    def take(self, batch: Batch) -> None:
        """Keep an answer."""
        if self.store is not None:
            self.store.write(self.task, batch)
        self.batches.append(batch)

    def result(self, constant: float | None) -> Result:
        """The result, once everything is answered."""
        chunks = None if self.store is None else f"{CHUNKS}/{self.store.home(self.task).name}"
        return Result.of(self.task, assemble(self.batches, self.replications), constant, chunks)


def _constants(pieces: Sequence[_Piece]) -> dict[Problem, float | None]:
    """C of every problem that has one."""
    problems = {piece.task.problem: piece.task.rewards for piece in pieces}
    return {
        problem: lower_bound(problem).constant
        if rewards == "gaussian" and isinstance(problem, Instance)
        else None
        for problem, rewards in problems.items()
    }


def _try_out(pieces: Sequence[_Piece], executor: Executor) -> None:
    """Let mistakes show, and everything compile, before the work begins."""
    new = {
        (piece.task.problem.name, name_of(piece.task.policy)): piece.task
        for piece in pieces
        if piece.chunks
    }
    for task in new.values():
        task.try_out(compiled=executor.local)


def _answer(pieces: Sequence[_Piece], executor: Executor, progress: bool | None) -> None:
    """Have what is missing computed, and keep it."""
    owners = {chunk: piece for piece in pieces for chunk in piece.chunks}
    total = sum(piece.replications * piece.task.horizon for piece in pieces)
    missing = sum(chunk.rounds for chunk in owners)
    with (
        rounds_bar(total, "playing", done=total - missing, show=progress) as tick,
        closing(executor.run(list(owners), tick)) as arriving,
    ):
        for chunk, batch in arriving:
            owners[chunk].take(batch)


def _distinct(names: Sequence[str], where: str) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InvalidInput(
                f"{where}[{i}]",
                "a name not used before" if where != "horizon" else "each horizon once",
                name,
            )


def _listed(items: Any, where: str) -> list[Any]:
    """One item or many as a list."""
    listed = list(items) if isinstance(items, Iterable) and not isinstance(items, str) else [items]
    if not listed:
        raise InvalidInput(where, "at least one", listed)
    return listed


def _whole(value: float, where: str, most: int, *, least: int = 1) -> int:
    """A whole number between least and most; 1e5 is one."""
    number = finite_number(value, where)
    if not least <= number <= most or number != int(number):
        raise InvalidInput(where, f"a whole number from {least} to {most:g}", value)
    return int(value)
