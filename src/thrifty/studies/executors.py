"""Executors compute chunks: in threads of this process, or on a Dask cluster, to the same bits."""

import logging
import os
import re
import socket
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from threading import Event, Thread
from typing import Any

from thrifty.compiler.fingerprints import installed_code
from thrifty.errors import InvalidInput, MissingPackage, ThriftyError, Unreachable
from thrifty.studies.batches import Batch
from thrifty.studies.tasks import Chunk, compute

# Limits in seconds. A scheduler that does not respond is reported within ten seconds.
CONNECT_TIMEOUT, RESPONSE_TIMEOUT = 3, 5
WORKERS_TIMEOUT = 8  # for the scheduler to have a first worker
POLL_INTERVAL = 2  # between two checks of the workers while no result arrives
LOST_TIMEOUT = 60  # after which a study ends when the cluster has no workers left
AGAIN = "run the same command again to continue"

ChunkTick = Callable[[Chunk, int], None]  # called with rounds of a chunk since its last call
Arriving = Generator[tuple[Chunk, Batch], None, None]  # in order of completion; closing cancels


class Threads:
    """Threads of this process; compiled policies run in them in parallel."""

    local = True  # chunks are computed in this process

    def __init__(self, count: int | None = None) -> None:
        self.count = cores() if count is None else count

    def close(self) -> None:
        """Do nothing: threads end with `run`."""

    def run(self, chunks: Sequence[Chunk], tick: ChunkTick) -> Arriving:
        """Yield each chunk with its batch, in any order."""
        cancelled = Event()

        def check(chunk: Chunk, rounds: int) -> None:
            if cancelled.is_set():
                raise _Cancelled
            tick(chunk, rounds)

        with ThreadPoolExecutor(self.count) as pool:
            try:
                pending = {pool.submit(compute, c, partial(check, c)): c for c in chunks}
                for future in as_completed(pending):
                    yield pending.pop(future), _per_thread(future.result(), self.count)
            finally:
                cancelled.set()
                pool.shutdown(cancel_futures=True)


class Cluster:
    """The workers of a Dask scheduler, `tcp://host:port`.

    Workers need the same version of thrifty; they return batches and write no files.
    """

    local = False

    def __init__(self, address: str) -> None:
        MissingPackage.check("--cluster", "Dask", extra="cluster")
        import distributed

        place = re.fullmatch(r"tcp://([^/\s]+):(\d{1,5})", address)
        if place is None:
            raise InvalidInput.expected("cluster", "an address such as tcp://host:8786", address)
        self.address = address
        # failures are reported by our own errors, in one line; Dask gives its client another level
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            socket.create_connection((place[1], int(place[2])), timeout=CONNECT_TIMEOUT).close()
            timed = {"timeout": RESPONSE_TIMEOUT, "set_as_default": False}
            connect = partial(distributed.Client, address, **timed)
            self.client: Any = _within(RESPONSE_TIMEOUT, connect)
        except Exception as error:  # Dask raises many kinds
            why = " ".join(str(error).split())[:90] or "timeout"
            raise self._failed(f"no Dask scheduler responds at this address ({why})") from None

    def close(self) -> None:
        self.client.close()

    def _failed(self, why: str) -> Unreachable:
        return Unreachable(f"cluster {self.address}: {why}")

    def run(self, chunks: Sequence[Chunk], tick: ChunkTick) -> Arriving:
        """Yield each chunk with its batch, in any order."""
        import distributed

        threads = self._threads()
        with warnings.catch_warnings():
            # an instance with very many arms
            warnings.filterwarnings("ignore", message="Sending large graph")
            remotely = partial(self.client.submit, compute_remotely, pure=False)
            futures = {remotely(chunk, installed_code()): chunk for chunk in chunks}
        try:
            loop = self.client.loop
            arriving = distributed.as_completed(list(futures), loop=loop, with_results=True)
            for future, batch in self._completed(arriving):
                chunk = futures.pop(future)
                tick(chunk, chunk.rounds)
                yield chunk, _per_thread(batch, threads)
        finally:
            self.client.cancel(list(futures), force=True)

    def _threads(self) -> int:
        """The number of threads of all workers."""
        try:
            self.client.wait_for_workers(1, timeout=WORKERS_TIMEOUT)
        except TimeoutError:
            advice = f"start some with: dask worker {self.address}"
            raise self._failed(f"the scheduler has no workers; {advice}") from None
        return sum(self.client.nthreads().values())

    def _completed(self, arriving: Any) -> Iterator[tuple[Any, Batch]]:
        """Completed futures with their batches; an error once the cluster has lost all workers."""
        seen = checked = time.monotonic()  # workers seen, workers checked
        while not arriving.is_empty():
            now = time.monotonic()
            if arriving.has_ready():
                seen = now
                yield self._next(arriving)
            elif now - checked > POLL_INTERVAL:
                checked = now
                if self.client.status == "running" and self.client.nthreads():
                    seen = now
                elif now - seen > LOST_TIMEOUT:
                    raise self._failed(f"no workers are left; {AGAIN}")
            else:
                time.sleep(0.02)

    def _next(self, arriving: Any) -> tuple[Any, Batch]:
        """The next completed future and its batch."""
        try:
            future, batch = next(arriving)
        except ThriftyError:
            raise
        except Exception as error:  # a worker may raise anything
            raise self._failed(f"a worker failed: {type(error).__name__}: {error}") from error
        if future.cancelled():
            raise self._failed(f"the scheduler lost the work; {AGAIN}")
        return future, batch


Executor = Threads | Cluster


def _within(seconds: float, make: Callable[[], Any]) -> Any:
    """The value of make(), or TimeoutError; the call then continues in a daemon thread."""
    made: Future[Any] = Future()

    def work() -> None:
        try:
            made.set_result(make())
        except BaseException as error:
            made.set_exception(error)

    Thread(target=work, daemon=True).start()
    return made.result(timeout=seconds)


class _Cancelled(Exception):
    """Raised inside threads once their work is cancelled."""


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _per_thread(batch: Batch, threads: int) -> Batch:
    """A batch whose time is divided by the number of threads that work at the same time."""
    return replace(batch, seconds=batch.seconds / threads)


def compute_remotely(chunk: Chunk, code: str) -> Batch:
    """Compute a chunk on another machine, unless its code differs from the caller's."""
    if installed_code() != code:
        why = "a worker of the cluster has another version of thrifty, NumPy or Numba"
        raise Unreachable(f"{why}: install the same versions on all machines")
    return compute(chunk)
