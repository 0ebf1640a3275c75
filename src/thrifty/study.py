"""Instances x policies x replications, in threads; what `thrifty.run` and `thrifty run` do."""

import io
import json
import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.arrays import Ints, finite_number
from thrifty.bound import lower_bound
from thrifty.catalog import instance as named_instance
from thrifty.errors import InvalidInput
from thrifty.figures import regret_figure
from thrifty.files import make_folder, write_whole
from thrifty.instances import Instance
from thrifty.policies import policy as named_policy
from thrifty.progress import Tick, rounds_bar
from thrifty.results import Result
from thrifty.simulation import AnyPolicy, Replicate, checkpoints, label_names, name_of, simulate, truth_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROUNDS = 10**12  # of a run; more is taken for a mistake


@dataclass(frozen=True)
class Study:
    """The results of a run, instance after instance."""

    results: tuple[Result, ...]

    def __getitem__(self, key: tuple[str, str]) -> Result:
        """The result of an instance and a policy, by their names."""
        for result in self.results:
            if (result.instance.name, result.policy) == key:
                return result
        raise KeyError(key)

    def summary(self) -> list[dict[str, Any]]:
        """One row a result: mean, standard error, median, 95th percentile, worst, and the ratio to C log n."""
        keys = ("instance", "policy", "horizon", "replications", "mean", "se", "median", "p95", "max", "ratio")
        return [{key: entry[key] for key in keys} for entry in self.to_json()]

    def to_json(self) -> list[dict[str, Any]]:
        """The JSON contract of `thrifty run --json`."""
        return [result.to_json() for result in self.results]

    def plot(self) -> "Figure":
        """Mean regret over time with standard errors, one panel an instance; `.savefig("regret.png")` writes it."""
        return regret_figure(self.results)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write results.json, regret.svg and regret.png into a folder, which is made if need be."""
        path = Path(folder)
        make_folder(path)
        write_whole(path / "results.json", json.dumps(self.to_json(), indent=2) + "\n")
        figure = self.plot()
        for kind in ("svg", "png"):
            image = io.BytesIO()
            figure.savefig(image, format=kind, dpi=150)
            write_whole(path / f"regret.{kind}", image.getvalue())


class _Stopped(Exception):
    """Raised inside workers once the run is given up."""


def run(
    instances: Instance | str | Iterable[Instance | str],
    policies: AnyPolicy | str | Iterable[AnyPolicy | str],
    *,
    horizon: float,
    replications: float = 100,
    seed: int = 0,
    rewards: str = "gaussian",
    threads: int | None = None,
    progress: bool | None = None,
) -> Study:
    """Let policies play instances, again and again, and measure their regret.

    Parameters
    ----------
    instances : one or several, also by name or file
    policies : one or several, also by spec such as "oam:epsilon=0.01"; or objects of your own with start, choose and learn (examples/plain_policy.py)
    horizon : rounds of each replication
    replications : how many; the luck of each depends on seed and its number alone, so that policies are compared on the same luck
    rewards : `gaussian`, or `bernoulli` where all means lie between 0 and 1
    threads : as many as there are cores by default; results do not depend on it
    progress : whether to show a bar; by default where standard error is a terminal
    """
    problems = [named_instance(item) if isinstance(item, str | os.PathLike) else item for item in _listed(instances)]
    players = [named_policy(item) if isinstance(item, str) else item for item in _listed(policies)]
    n, repeats = _whole(horizon, "horizon", MOST_ROUNDS), _whole(replications, "replications", 10**7)
    start = _whole(seed, "seed", 2**63, least=0)
    workers = _cores() if threads is None else _whole(threads, "threads", 1024)
    for problem in problems:
        if not isinstance(problem, Instance):
            raise InvalidInput("instances", "thrifty.Instance, or the name of one", problem)
        truth_of(problem, rewards)
    _distinct([problem.name for problem in problems], "instances")
    _distinct([name_of(player) for player in players], "policies")
    pairs = [(problem, player) for problem in problems for player in players]
    times = checkpoints(n)
    for problem, player in pairs:  # mistakes show, and everything compiles, before the work begins
        simulate(problem, player, horizon=n, rewards=rewards, times=times, rounds=1)
    constants = {problem: lower_bound(problem).constant if rewards == "gaussian" else None for problem in problems}
    with rounds_bar(len(pairs) * repeats * n, "playing", show=progress) as tick:
        done = _play_all(pairs, n, repeats, start, rewards, times, workers, tick)
    return Study(
        tuple(
            _result(problem, player, start, rewards, times, replicates, seconds / workers, constants[problem])
            for (problem, player), (replicates, seconds) in zip(pairs, done, strict=True)
        )
    )


def _play_all(
    pairs: Sequence[tuple[Instance, AnyPolicy]], horizon: int, replications: int, seed: int, rewards: str, times: Ints, workers: int, tick: Tick
) -> list[tuple[list[Replicate], float]]:
    """All replicates of all pairs in a pool of threads: for each pair its replicates and the seconds they took."""
    stop = Event()

    def check(rounds: int) -> None:
        if stop.is_set():
            raise _Stopped
        tick(rounds)

    def work(problem: Instance, player: AnyPolicy, replicate: int) -> tuple[Replicate, float]:
        begun = time.perf_counter()
        played = simulate(problem, player, horizon=horizon, seed=seed, replicate=replicate, rewards=rewards, times=times, tick=check)
        return played, time.perf_counter() - begun

    with ThreadPoolExecutor(workers) as pool:
        futures: list[list[Future[tuple[Replicate, float]]]] = []
        try:
            futures += [[pool.submit(work, problem, player, r) for r in range(replications)] for problem, player in pairs]
            wait([future for group in futures for future in group], return_when=FIRST_EXCEPTION)
            played = [[future.result() for future in group] for group in futures]
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return [([replicate for replicate, _ in group], sum(seconds for _, seconds in group)) for group in played]


def _result(
    problem: Instance, player: AnyPolicy, seed: int, rewards: str, times: Ints, replicates: Sequence[Replicate], seconds: float, constant: float | None
) -> Result:
    return Result(
        instance=problem,
        policy=name_of(player),
        labels=label_names(player),
        seed=seed,
        rewards=rewards,
        times=times,
        regret=np.array([replicate.regret for replicate in replicates]),
        rounds=np.array([replicate.rounds for replicate in replicates]),
        solves=np.array([replicate.solves for replicate in replicates]),
        unsolved=np.array([replicate.unsolved for replicate in replicates]),
        seconds=seconds,
        constant=constant,
    )


def _distinct(names: Sequence[str], where: str) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InvalidInput(f"{where}[{i}]", "a name not used before", name)


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _listed(items: Any) -> list[Any]:
    """One item or many as a list."""
    listed = list(items) if isinstance(items, Iterable) and not isinstance(items, str) else [items]
    if not listed:
        raise InvalidInput("run", "at least one instance and one policy", listed)
    return listed


def _whole(value: float, where: str, most: int, *, least: int = 1) -> int:
    """A whole number between least and most; 1e5 is one."""
    number = finite_number(value, where)
    if not least <= number <= most or number != int(number):
        raise InvalidInput(where, f"a whole number from {least} to {most:g}", value)
    return int(value)
