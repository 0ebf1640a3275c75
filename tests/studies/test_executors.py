"""Threads, a Dask cluster on this machine, and studies whose processes are killed."""

import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import thrifty as th
from tests.agreement import same
from tests.command_line import THRIFTY, thrifty, without_compiling
from thrifty.compiler.fingerprints import installed_code
from thrifty.errors import Unreachable
from thrifty.studies.executors import Cluster, Threads, compute_remotely
from thrifty.studies.store import read_results
from thrifty.studies.tasks import Task, compute

pytestmark = pytest.mark.slow


@contextmanager
def started(*command):
    """A process of our own, gone at the end."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture(scope="module")
def scheduler():
    address = free_address()
    with started(sys.executable, "-m", "dask", "scheduler", "--host", address, "--no-dashboard"):
        yield address


def worker(address):
    return started(
        sys.executable,
        "-m",
        "dask",
        "worker",
        address,
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
        "--death-timeout",
        "60",
    )


def wait_for(condition, *, seconds=240):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def count_files(folder):
    return len(list(folder.rglob("*.parquet")))


def run(folder, *options):
    return thrifty("run", *STUDY, "--out", folder, *options)


STUDY = (
    "fixed-u0.1",
    "scenario-one",
    "--policy",
    "linucb",
    "--policy",
    "oam",
    "--horizon",
    "2e6",
    "--replications",
    "15",
    "--seed",
    "7",
    "--pulls",
)


@pytest.fixture(scope="module")
def uninterrupted():
    return th.run(
        ["fixed-u0.1", "scenario-one"],
        ["linucb", "oam"],
        horizon=2e6,
        replications=15,
        seed=7,
        pulls=True,
    )


def test_a_cluster_that_loses_a_worker_gives_the_bits_of_the_local_run(
    tmp_path, scheduler, uninterrupted
):
    with worker(scheduler) as doomed, worker(scheduler):
        study = subprocess.Popen(
            [*THRIFTY, "run", *STUDY, "--out", str(tmp_path), "--cluster", scheduler],
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for(lambda: count_files(tmp_path) > 2)
        assert study.poll() is None
        doomed.send_signal(signal.SIGKILL)
        _, errors = study.communicate(timeout=240)
    assert (study.returncode, without_compiling(errors)) == (0, "")
    assert same(th.Study(read_results(tmp_path)), uninterrupted)


def test_a_study_killed_five_times_ends_with_the_bits_of_an_uninterrupted_one(
    tmp_path, uninterrupted
):
    moments, kept = random.Random(1), [0]
    for _ in range(5):
        study = subprocess.Popen(
            [*THRIFTY, "run", *STUDY, "--out", str(tmp_path), "--threads", "1"],
            stdout=subprocess.DEVNULL,
        )
        wait_for(lambda: count_files(tmp_path) > kept[-1])
        time.sleep(moments.uniform(0, 0.5))
        study.kill()
        study.wait()
        kept.append(count_files(tmp_path))
    assert all(before < after for before, after in pairwise(kept))
    assert not (tmp_path / "results.json").exists()
    assert run(tmp_path).returncode == 0
    assert same(th.Study(read_results(tmp_path)), uninterrupted)


# Ctrl-C means an interrupt, also where a shell has started the tests in the background and had it
# ignored.
HEEDING = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from thrifty.cli.app import main; main()"
)


def test_an_interrupted_study_says_how_to_continue(tmp_path):
    study = subprocess.Popen(
        [sys.executable, "-c", HEEDING, "run", *STUDY, "--out", str(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: count_files(tmp_path) > 0)
    study.send_signal(signal.SIGINT)
    _, errors = study.communicate(timeout=60)
    assert study.returncode == 130, errors
    assert without_compiling(errors) == (
        f"thrifty: interrupted; results so far are in {tmp_path}: run the same command again to "
        "continue\n"
    )


def test_a_cluster_that_does_not_respond_is_reported_within_ten_seconds(tmp_path):
    address = free_address()
    begun = time.monotonic()
    with pytest.raises(Unreachable):
        Cluster(address)
    assert time.monotonic() - begun < 10
    done = run(tmp_path, "--cluster", address)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith(
        f"thrifty: cluster {address}: no Dask scheduler responds at this address"
    )


def test_a_scheduler_without_workers_is_reported(tmp_path):
    address = free_address()
    with started(sys.executable, "-m", "dask", "scheduler", "--host", address, "--no-dashboard"):
        wait_for(lambda: listens(address))
        done = run(tmp_path, "--cluster", address)
    assert done.returncode == 2
    assert (
        done.stderr
        == f"thrifty: cluster {address}: the scheduler has no workers; start some with: "
        f"dask worker {address}\n"
    )


def listens(address):
    host, port = address.removeprefix("tcp://").split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


@pytest.mark.parametrize("address", ["nonsense", "http://127.0.0.1:1", "tcp://127.0.0.1"])
def test_an_address_that_is_none(address):
    with pytest.raises(
        th.InvalidInput,
        match=f"cluster: an address such as tcp://host:8786 expected, got '{address}'",
    ):
        th.run("fixed-u0.1", "lints", horizon=10, cluster=address)


def test_a_host_that_does_not_exist(tmp_path):
    done = run(tmp_path, "--cluster", "tcp://nowhere.invalid:8786")
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith(
        "thrifty: cluster tcp://nowhere.invalid:8786: no Dask scheduler responds at this address"
    )


def test_a_worker_with_other_code_refuses():
    [chunk] = Task(th.instance("fixed-u0.1"), th.LinTS(), 100).chunks(range(2))
    assert np.array_equal(compute_remotely(chunk, installed_code()).regret, compute(chunk).regret)
    with pytest.raises(Unreachable, match="another version"):
        compute_remotely(chunk, "other")


def test_a_pickled_task_has_no_cached_properties():
    task = Task(th.instance("fixed-u0.1"), th.LinTS(), 100)
    key, times = task.key, task.times
    arrived = pickle.loads(pickle.dumps(task))
    assert set(vars(arrived)) == {"problem", "policy", "horizon", "seed", "rewards", "pulls"}
    assert arrived.key == key
    assert np.array_equal(arrived.times, times)


def test_a_port_that_keeps_silent_is_reported_within_ten_seconds():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        begun = time.monotonic()
        with pytest.raises(Unreachable, match="no Dask scheduler responds at this address"):
            Cluster(f"tcp://127.0.0.1:{silent.getsockname()[1]}")
        assert time.monotonic() - begun < 10


def test_a_study_that_is_done_needs_no_cluster(tmp_path):
    done = th.run("fixed-u0.1", "lints", horizon=100, replications=3, out=tmp_path)
    assert same(
        done,
        th.run(
            "fixed-u0.1", "lints", horizon=100, replications=3, out=tmp_path, cluster=free_address()
        ),
    )


def test_a_cluster_that_does_not_respond_changes_nothing(tmp_path):
    with pytest.raises(Unreachable):
        th.run(
            "fixed-u0.1", "lints", horizon=100, replications=3, out=tmp_path, cluster=free_address()
        )
    assert list(tmp_path.iterdir()) == []


def test_closing_the_generator_cancels_what_is_at_work_and_what_waits():
    long = Task(th.instance("fixed-u0.1"), th.LinUCB(), 10**8)
    short = Task(th.instance("fixed-u0.1"), th.LinUCB(), 100)
    long.try_out()
    chunks, ticks = long.chunks(range(3)), Counter()
    running = Threads(2).run(
        [*short.chunks(range(1)), *chunks],
        lambda chunk, rounds: ticks.update({chunk.task: rounds}),
    )
    next(running)  # the short chunk
    wait_for(lambda: ticks[long] > 0)
    running.close()
    assert ticks[long] < 0.5 * sum(chunk.rounds for chunk in chunks)


def test_the_time_of_a_batch_is_divided_by_the_number_of_threads(monkeypatch):
    task = Task(th.instance("fixed-u0.1"), th.Greedy(), 100)
    [chunk] = task.chunks(range(1))
    batch = replace(compute(chunk), seconds=6.0)
    monkeypatch.setattr("thrifty.studies.executors.compute", lambda chunk, tick: batch)
    for threads in (1, 2, 3):
        [(_, found)] = Threads(threads).run([chunk], lambda chunk, rounds: None)
        assert found.seconds == 6.0 / threads


def test_the_time_of_a_chunk_is_measured(monkeypatch):
    clock = iter([10.0, 12.5])
    monkeypatch.setattr("thrifty.studies.tasks.time.perf_counter", lambda: next(clock))
    [chunk] = Task(th.instance("fixed-u0.1"), th.Greedy(), 100).chunks(range(1))
    assert compute(chunk).seconds == 2.5


def test_ticks_add_up_to_all_rounds():
    tasks = [Task(th.instance("fixed-u0.1"), th.Greedy(), n) for n in (100, 3_000_000)]
    chunks = [chunk for task in tasks for chunk in task.chunks(range(2))]
    ticks = Counter()
    list(Threads(1).run(chunks, lambda chunk, rounds: ticks.update({chunk: rounds})))
    assert ticks == {chunk: chunk.rounds for chunk in chunks}


def test_by_default_there_is_a_thread_per_core():
    assert Threads().count == len(os.sched_getaffinity(0))
