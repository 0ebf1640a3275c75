"""Threads, a real Dask cluster on loopback, and what happens to a study when processes are
killed.
"""

import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest

import thrifty as th
from tests.test_study import same
from thrifty.errors import Unreachable
from thrifty.studies.executors import Cluster, Threads, compute_remotely
from thrifty.studies.store import read_results
from thrifty.studies.tasks import Task, compute, installed_code

THRIFTY = [sys.executable, "-m", "thrifty"]


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


def run(folder, *options, timeout=300):
    return subprocess.run(
        [*THRIFTY, "run", *STUDY, "--out", str(folder), *options],
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


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
)


@pytest.fixture(scope="module")
def uninterrupted():
    return th.run(
        ["fixed-u0.1", "scenario-one"], ["linucb", "oam"], horizon=2e6, replications=15, seed=7
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
    assert (study.returncode, errors) == (0, "")
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


def test_an_interrupted_study_says_that_nothing_is_lost(tmp_path):
    study = subprocess.Popen(
        [*THRIFTY, "run", *STUDY, "--out", str(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: count_files(tmp_path) > 0)
    study.send_signal(signal.SIGINT)
    _, errors = study.communicate(timeout=60)
    assert study.returncode == 130
    assert (
        errors == f"thrifty: interrupted; what is done is in {tmp_path}: the same command goes "
        "on from there\n"
    )


def test_a_cluster_that_does_not_answer_is_told_within_ten_seconds(tmp_path):
    address = free_address()
    begun = time.monotonic()
    with pytest.raises(Unreachable):
        Cluster(address)
    assert time.monotonic() - begun < 10
    done = run(tmp_path, "--cluster", address)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith(f"thrifty: cluster {address}: no Dask scheduler answers there")


def test_a_scheduler_without_workers_is_told(tmp_path):
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
        "thrifty: cluster tcp://nowhere.invalid:8786: no Dask scheduler answers there"
    )


def test_a_worker_with_other_code_refuses():
    [chunk] = Task(th.instance("fixed-u0.1"), th.LinTS(), 100).chunks(range(2))
    assert np.array_equal(compute_remotely(chunk, installed_code()).regret, compute(chunk).regret)
    with pytest.raises(Unreachable, match="another version"):
        compute_remotely(chunk, "other")


def test_a_question_that_travels_takes_nothing_derived_along():
    task = Task(th.instance("fixed-u0.1"), th.LinTS(), 100)
    key, times = task.key, task.times
    arrived = pickle.loads(pickle.dumps(task))
    assert set(vars(arrived)) == {"problem", "policy", "horizon", "seed", "rewards"}
    assert arrived.key == key
    assert np.array_equal(arrived.times, times)


def test_a_port_that_keeps_silent_is_told_within_ten_seconds():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        begun = time.monotonic()
        with pytest.raises(Unreachable, match="no Dask scheduler answers there"):
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


def test_a_cluster_that_does_not_answer_changes_nothing(tmp_path):
    with pytest.raises(Unreachable):
        th.run(
            "fixed-u0.1", "lints", horizon=100, replications=3, out=tmp_path, cluster=free_address()
        )
    assert list(tmp_path.iterdir()) == []


def test_giving_up_stops_the_threads():
    task = Task(th.instance("fixed-u0.1"), th.LinUCB(), 10**9)
    task.try_out()
    answers = Threads(2).run(task.chunks(range(4)), lambda rounds: None)
    closing = time.monotonic()
    answers.close()
    assert time.monotonic() - closing < 1
    short = Task(th.instance("fixed-u0.1"), th.LinUCB(), 100)
    mixed = Threads(2).run([*short.chunks(range(1)), *task.chunks(range(4))], lambda rounds: None)
    next(mixed)  # the short one is done while the others, of minutes each, are at work
    closing = time.monotonic()
    mixed.close()
    assert time.monotonic() - closing < 5


def test_an_answer_takes_its_share_of_the_time():
    task = Task(th.instance("fixed-u0.1"), th.LinUCB(), 10**6)
    task.try_out()
    for threads in (1, 2):
        [(_, batch)] = Threads(threads).run(task.chunks(range(1)), lambda rounds: None)
        assert 0 < batch.seconds < 5 / threads
    assert Threads().count == len(os.sched_getaffinity(0))
