"""Overhead of studies over bare simulation, and of a Dask cluster on this machine over threads."""

import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, redirect_stderr
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np

from thrifty.lab.paper.panels import paper_panels
from thrifty.simulation.replication import Tick
from thrifty.studies.batches import Batch
from thrifty.studies.executors import Cluster, Executor, Threads
from thrifty.studies.study import run_studies
from thrifty.studies.tasks import Chunk, Task, compute

TITLE = "Studies: overhead of chunks and files, and Dask on one machine"
FULL_SIZED = 10**6  # rounds per replication of `thrifty reproduce --full`


def measure() -> str:
    plain, kept = _overhead()
    threads, dask = _cluster()
    rows = [
        (
            "`reproduce --quick`: chunks, files and progress on two threads, against "
            "the simulations alone",
            plain,
            kept,
            kept / plain - 1,
        ),
        (
            "chunks of 1e6 rounds: two Dask workers, against two threads",
            threads,
            dask,
            dask / threads - 1,
        ),
    ]
    lines = [
        f"| {name} | {bare:.1f} | {whole:.1f} | {extra:+.1%} |" for name, bare, whole, extra in rows
    ]
    head = ["| what | without, s | with, s | overhead |", "|---|---|---|---|"]
    speed = f"Dask's speed is {threads / dask:.2f} of the threads'."
    return "\n".join(
        [
            *head,
            *lines,
            "",
            f"{speed} Seconds of processor time in the first row, of the wall clock in "
            "the second; the best of three runs each, one after the other.",
        ]
    )


def _overhead() -> tuple[float, float]:
    """Processor seconds of the quick panels: in the simulations, and in the whole study.

    The study writes its files and draws its bars (to the null device).
    """
    designs = [panel.design(full=False) for panel in paper_panels()]
    for design in designs:
        for task in design.tasks():
            task.try_out()
    inside: list[float] = []

    def timed(chunk: Chunk, tick: Tick) -> Batch:
        begun = time.thread_time()
        batch = compute(chunk, tick)
        inside.append(time.thread_time() - begun)
        return batch

    with (
        TemporaryDirectory() as folder,
        open(os.devnull, "w") as nowhere,
        redirect_stderr(nowhere),
        patch("thrifty.studies.executors.compute", timed),
    ):
        begun = time.process_time()
        run_studies(
            [(design, Path(folder) / str(i)) for i, design in enumerate(designs)],
            threads=2,
            progress=True,
        )
        return sum(inside), time.process_time() - begun


def _cluster() -> tuple[float, float]:
    """Wall clock seconds of the same chunks on two threads, and on two Dask workers."""
    from thrifty.policies import policy
    from thrifty.problem.catalog import instance

    tasks = [
        Task(instance(name), policy(spec), FULL_SIZED)
        for name in ("fixed-u0.1", "scenario-one")
        for spec in ("oam", "linucb")
    ]
    chunks = [chunk for task in tasks for chunk in task.chunks(range(40))]
    for task in tasks:
        task.try_out()
    with ExitStack() as stack:
        address = _start_cluster(stack)
        cluster = Cluster(address)
        stack.callback(cluster.close)
        cluster.client.wait_for_workers(2, timeout=60)
        for executor in (Threads(2), cluster):
            # compile on both workers
            _seconds(executor, [Chunk(task, 0, 1) for task in tasks * 4])
        pairs = [(_seconds(Threads(2), chunks), _seconds(cluster, chunks)) for _ in range(3)]
    return min(threads for threads, _ in pairs), min(dask for _, dask in pairs)


def _seconds(executor: Executor, chunks: list[Chunk]) -> float:
    begun = time.perf_counter()
    total = sum(
        np.sum(batch.solves) for _, batch in executor.run(chunks, lambda chunk, rounds: None)
    )
    assert total >= 0
    return time.perf_counter() - begun


def _start_cluster(stack: ExitStack) -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    commands = [
        ["scheduler", "--host", address, "--no-dashboard"],
        *[["worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]] * 2,
    ]
    for command in commands:
        process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        stack.callback(process.kill)
    return address
