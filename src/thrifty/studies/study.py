"""Studies: policies on instances over many replications, `thrifty.run`.

A study that is kept in a folder can be interrupted at any time; the next run continues it.
"""

import json
import math
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from thrifty.allocation.bound import lower_bound
from thrifty.display import frame, html
from thrifty.errors import MissingPackage, UnknownName, shortened
from thrifty.files import make_folder, write_whole
from thrifty.policies.shared.plain import AnyPolicy, name_of
from thrifty.problem.catalog import Problem
from thrifty.problem.instances import Instance
from thrifty.problem.specs import whole_number
from thrifty.studies.batches import Batch, assemble, missing_ranges
from thrifty.studies.design import MOST_THREADS, StudyDesign
from thrifty.studies.executors import Cluster, Executor, Threads
from thrifty.studies.progress import progress_bar
from thrifty.studies.results import STATISTICS, Result
from thrifty.studies.store import CHUNKS, RESULTS, ResultStore
from thrifty.studies.tasks import Chunk, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

# columns of `Study.summary`
_SUMMARY = ("instance", "policy", "horizon", "replications", *STATISTICS, "ratio")


class _UnknownResult(UnknownName, KeyError):
    """What `study[...]` raises, as other mappings do."""


@dataclass(frozen=True)
class Study:
    """The results of a study, ordered by instance, policy and horizon."""

    results: tuple[Result, ...]

    def __getitem__(self, key: tuple[str, str] | tuple[str, str, float]) -> Result:
        """The result of an instance and a policy, by name; by default at the longest horizon."""
        results, wanted = self.results, key if isinstance(key, tuple) else (key, "")
        for kind, name in zip(("instance", "policy", "horizon"), wanted, strict=False):
            known = [r.instance.name if kind == "instance" else getattr(r, kind) for r in results]
            if name not in known:
                listed = map(str, dict.fromkeys(known))
                raise _UnknownResult(f"{kind} of this study", str(name), listed)
            results = tuple(r for r, own in zip(results, known, strict=True) if own == name)
        return max(results, key=lambda result: result.horizon)

    def summary(self) -> list[dict[str, Any]]:
        """One dictionary per result: mean, standard error, quantiles, and R(n) / (C log n)."""
        return [{key: entry[key] for key in _SUMMARY} for entry in self.to_json()]

    def to_frame(self) -> "DataFrame":
        """The summary as a data frame of pandas, a row per result; NaN where nothing is known."""
        return frame("study.to_frame()", self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        rows = self.summary()
        return {
            key: [math.nan if row[key] is None else row[key] for row in rows] for key in _SUMMARY
        }

    def __repr__(self) -> str:
        parts = (
            [result.instance.name or "unnamed" for result in self.results],
            [result.policy for result in self.results],
            [f"{result.horizon:,}" for result in self.results],
        )
        words = (shortened(", ".join(dict.fromkeys(names))) for names in parts)
        return "<study: {}; {}; n = {}>".format(*words)

    def _repr_html_(self) -> str:
        return html(repr(self)[1:-1], self._columns())

    def to_json(self) -> list[dict[str, Any]]:
        """The output of `thrifty run --json`."""
        return [result.to_json() for result in self.results]

    def plot(self) -> "Figure":
        """A figure of mean regret over time with standard errors, one panel per instance."""
        MissingPackage.check("study.plot()", "matplotlib")
        # the only import of a higher layer: results do not depend on reports
        from thrifty.report.figures import regret_figure

        return regret_figure(self.results)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write results.json into a folder."""
        path = Path(folder)
        make_folder(path)
        write_whole(path / RESULTS, json.dumps(self.to_json(), indent=2) + "\n")


def run(
    instances: Problem | str | Iterable[Problem | str],
    policies: AnyPolicy | str | Iterable[AnyPolicy | str],
    *,
    horizon: float | Sequence[float],
    replications: float = 100,
    seed: int = 0,
    rewards: str = "gaussian",
    pulls: bool = False,
    threads: int | None = None,
    cluster: str | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Study:
    """Simulate policies on instances and measure their regret.

    Parameters
    ----------
    instances : one or several instances, catalog names or files; `random-theta:seed=each` draws
        another instance in each replication
    policies : one or several policies or specs such as "oam:epsilon=0.01"; or objects with the
        methods start, choose and learn (examples/plain_policy.py)
    horizon : rounds per replication; several horizons are simulated separately, since policies may
        plan for the horizon
    replications : number of replications
    seed : random seed; contexts and noise depend on the seed and the number of the replication
        alone, so all policies see the same contexts and noise
    rewards : `gaussian`; `bernoulli` where all means lie in [0, 1]; or `student`, noise with heavy
        tails, Student's t with four degrees of freedom, of the instance's standard deviation.
        `gaussian:told=2` tells policies twice the noise that there is
    pulls : whether results keep the pulls of each arm at each checkpoint: replications x
        checkpoints x arms numbers
    threads : number of threads, by default the number of cores; does not affect results
    cluster : address of a Dask scheduler, tcp://host:port, whose workers do the computing
    out : folder for the results; results that it contains are not computed again
    progress : whether to show progress bars; by default if standard error is a terminal
    """
    scale = {"horizon": horizon, "replications": replications, "seed": seed}
    design = StudyDesign.of(instances, policies, **scale, rewards=rewards, pulls=pulls)
    folder = None if out is None else Path(out)
    [study] = run_studies([(design, folder)], threads=threads, cluster=cluster, progress=progress)
    return study


def run_studies(
    studies: Sequence[tuple[StudyDesign, Path | None]],
    *,
    threads: int | None = None,
    cluster: str | None = None,
    progress: bool | None = None,
    playing: str = "playing",
) -> list[Study]:
    """Run studies as one set of tasks, each kept in its folder if any; playing: text of the bar."""
    workers = None if threads is None else whole_number(threads, "threads", MOST_THREADS)
    for _, folder in studies:
        if folder is not None:
            MissingPackage.check("run(out=...)", "pyarrow")
            make_folder(folder)
    by_study = _look_up(studies, progress)
    work = [item for of_study in by_study for item in of_study]
    constants = _constants(work, progress)
    address = cluster if any(item.chunks for item in work) else None
    with closing(Threads(workers) if address is None else Cluster(address)) as executor:
        _try_out(work, executor, progress)
        for design, folder in studies:
            if folder is not None:
                design.write(folder)
        _play(work, executor, progress, playing)
    played = []
    for items, (_, folder) in zip(by_study, studies, strict=True):
        known = (constants[item.task.problem, item.task.rewards] for item in items)
        played.append(Study(tuple(map(_Work.result, items, known))))
        if folder is not None:
            played[-1].write(folder)
    return played


class _Work:
    """A task, its batches so far, and the chunks that are missing."""

    def __init__(self, task: Task, replications: int, store: ResultStore | None) -> None:
        self.task, self.replications, self.store = task, replications, store
        self.batches: list[Batch] = [] if store is None else store.read(task)
        gaps = missing_ranges(self.batches, replications)
        self.chunks = [chunk for gap in gaps for chunk in task.chunks(gap)]

    def add(self, batch: Batch) -> None:
        """Keep the batch of a chunk."""
        if self.store is not None:
            self.store.write(self.task, batch)
        self.batches.append(batch)

    def result(self, constant: float | None) -> Result:
        """The result, once no chunk is missing."""
        chunks = None if self.store is None else f"{CHUNKS}/{self.store.home(self.task).name}"
        batch = assemble(self.batches, self.replications)
        return Result.of(self.task.problem, self.task.setting, batch, constant, chunks)


def _look_up(
    studies: Sequence[tuple[StudyDesign, Path | None]], progress: bool | None
) -> list[list[_Work]]:
    """The tasks of each study, with the batches that its folder contains."""
    tasks = [design.tasks() for design, _ in studies]
    work: list[list[_Work]] = []
    with progress_bar("reading results", sum(map(len, tasks)), show=progress) as bar:
        for (design, folder), of_study in zip(studies, tasks, strict=True):
            store = None if folder is None else ResultStore(folder / CHUNKS)
            work.append([])
            for task in of_study:
                work[-1].append(_Work(task, design.replications, store))
                bar.advance()
    return work


def _constants(
    work: Sequence[_Work], progress: bool | None
) -> dict[tuple[Problem, str], float | None]:
    """The constant C of each problem and kind of rewards.

    None for ensembles, for instances with changes, for rewards that are not Gaussian, and where the
    solve fails.
    """
    constants: dict[tuple[Problem, str], float | None]
    constants = {(item.task.problem, item.task.rewards): None for item in work}
    with progress_bar("computing lower bounds", len(constants), show=progress) as bar:
        for problem, rewards in constants:
            gaussian = rewards.partition(":")[0] == "gaussian"
            if gaussian and isinstance(problem, Instance) and not problem.changes:
                bound = lower_bound(problem)
                if bound.status != "failed":
                    constants[problem, rewards] = bound.constant
            bar.advance()
    return constants


def _try_out(work: Sequence[_Work], executor: Executor, progress: bool | None) -> None:
    """Validate and compile every policy that has missing chunks, before long work."""
    by_policy: dict[str, dict[str, Task]] = {}
    for item in work:
        if item.chunks:
            tasks = by_policy.setdefault(name_of(item.task.policy), {})
            tasks.setdefault(item.task.problem.name, item.task)
    doing = "compiling" if executor.local else "checking"
    with progress_bar(doing, len(by_policy), show=progress) as bar:
        for i, (name, tasks) in enumerate(by_policy.items(), start=1):
            bar.advance(0, text=f"{doing} {i} of {len(by_policy)}: {name}")
            for task in tasks.values():
                task.try_out(compiled=executor.local)
            bar.advance()


def _play(work: Sequence[_Work], executor: Executor, progress: bool | None, playing: str) -> None:
    """Compute and keep all missing chunks.

    In random order: those that are done are then representative, and the time left is known soon.
    """
    owners = {chunk: item for item in work for chunk in item.chunks}
    chunks = list(owners)
    Random(0).shuffle(chunks)
    rounds, started = 0, time.monotonic()
    with progress_bar(playing, sum(chunk.cost for chunk in chunks), show=progress) as bar:

        def tick(chunk: Chunk, played: int) -> None:
            bar.advance(chunk.cost * played / chunk.rounds)

        with closing(executor.run(chunks, tick)) as arriving:
            for chunk, batch in arriving:
                owners[chunk].add(batch)
                rounds += chunk.rounds
                speed = rounds / max(time.monotonic() - started, 1e-9) / 1e6
                bar.advance(0, note=f"{speed:.2f} M rounds/s")
