"""Who does the work: threads of this machine, or a Dask cluster. What they answer does not depend
on it.
"""

import logging
import os
import re
import socket
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace
from threading import Event, Thread
from typing import Any, Protocol

from thrifty.errors import InvalidInput, ThriftyError, Unreachable
from thrifty.simulation.replication import Tick
from thrifty.studies.batches import Batch
from thrifty.studies.tasks import Chunk, compute, installed_code

# seconds that a scheduler has to be reached, and to answer: less than ten together
REACH, ANSWER = 3, 5
PATIENCE = 8  # seconds that it has to find a worker
LOOK = 2  # seconds between two looks at a cluster that is silent
LOST = 60  # seconds that a study waits for a worker once the cluster has none


class Executor(Protocol):
    """Answers chunks in any order."""

    local: bool  # whether policies are compiled here

    def run(
        self, chunks: Sequence[Chunk], tick: Tick
    ) -> Generator[tuple[Chunk, Batch], None, None]:
        """Yield each chunk with its answer, as they come; closing the generator gives up the
        rest.
        """

    def close(self) -> None:
        """Let go of what it holds."""


class Threads:
    """Threads of this process; compiled code runs in them side by side."""

    local = True

    def __init__(self, count: int | None = None) -> None:
        self.count = cores() if count is None else count

    def close(self) -> None:
        """Nothing to close: threads end with the answers."""

    def run(
        self, chunks: Sequence[Chunk], tick: Tick
    ) -> Generator[tuple[Chunk, Batch], None, None]:
        """Yield each chunk with its answer, as they come; closing the generator gives up the
        rest.
        """
        given_up = Event()

        def check(rounds: int) -> None:
            if given_up.is_set():
                raise _GivenUp
            tick(rounds)

        with ThreadPoolExecutor(self.count) as pool:
            try:
                pending = {pool.submit(compute, chunk, check): chunk for chunk in chunks}
                for future in as_completed(pending):
                    yield pending.pop(future), _shared(future.result(), self.count)
            finally:
                given_up.set()
                pool.shutdown(cancel_futures=True)


class Cluster:
    """The workers of a Dask scheduler, `tcp://host:port`. They need thrifty, the same version;
    files stay here.
    """

    local = False

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError:
            raise InvalidInput(
                "cluster", "Dask, pip install 'thrifty[cluster]',", "no module named distributed"
            ) from None
        place = re.fullmatch(r"tcp://([^/\s]+):(\d{1,5})", address)
        if place is None:
            raise InvalidInput("cluster", "an address such as tcp://host:8786", address)
        self.address = address
        # what goes wrong is told by our own errors, in one line
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            socket.create_connection((place[1], int(place[2])), timeout=REACH).close()
            self.client: Any = _within(
                ANSWER, lambda: distributed.Client(address, timeout=ANSWER, set_as_default=False)
            )
        except Exception as error:  # whatever Dask makes of an answer that is none
            raise Unreachable(
                f"cluster {address}: no Dask scheduler answers there "
                f"({' '.join(str(error).split())[:90] or 'it keeps silent'})"
            ) from None

    def close(self) -> None:
        """Leave the cluster."""
        self.client.close()

    def run(
        self, chunks: Sequence[Chunk], tick: Tick
    ) -> Generator[tuple[Chunk, Batch], None, None]:
        """Yield each chunk with its answer, as they come; closing the generator gives up the
        rest.
        """
        import distributed

        threads = self._threads()
        with warnings.catch_warnings():
            # an instance of very many arms
            warnings.filterwarnings("ignore", message="Sending large graph")
            futures = {
                self.client.submit(compute_remotely, chunk, installed_code(), pure=False): chunk
                for chunk in chunks
            }
        try:
            arriving = distributed.as_completed(
                list(futures), loop=self.client.loop, with_results=True
            )
            for future, batch in self._patiently(arriving):
                chunk = futures.pop(future)
                tick(chunk.rounds)
                yield chunk, _shared(batch, threads)
        finally:
            self.client.cancel(list(futures), force=True)

    def _threads(self) -> int:
        """How many chunks the cluster works on at a time."""
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise Unreachable(
                f"cluster {self.address}: the scheduler has no workers; start some "
                f"with: dask worker {self.address}"
            ) from None
        return sum(self.client.nthreads().values())

    def _patiently(self, arriving: Any) -> Iterator[tuple[Any, Batch]]:
        """What arrives, as long as there is somebody to wait for."""
        seen = asked = time.monotonic()
        while not arriving.is_empty():
            now = time.monotonic()
            if arriving.has_ready():
                seen = now
                yield self._next(arriving)
            elif now - asked > LOOK:
                asked = now
                if self.client.status == "running" and self.client.nthreads():
                    seen = now
                elif now - seen > LOST:
                    raise Unreachable(
                        f"cluster {self.address}: no worker is left; run the study again to go on"
                    )
            else:
                time.sleep(0.02)

    def _next(self, arriving: Any) -> tuple[Any, Batch]:
        """The next answer, or why there is none."""
        try:
            future, batch = next(arriving)
        except ThriftyError:
            raise
        except Exception as error:  # whatever was raised there
            raise Unreachable(
                f"cluster {self.address}: a chunk could not be computed there: "
                f"{type(error).__name__}: {error}"
            ) from error
        if future.cancelled():
            raise Unreachable(
                f"cluster {self.address}: the scheduler has forgotten the work; run "
                "the study again to go on"
            )
        return future, batch


def _within(seconds: float, make: Callable[[], Any]) -> Any:
    """What make gives, unless it takes longer; then it is left to itself."""
    made: Future[Any] = Future()

    def work() -> None:
        try:
            made.set_result(make())
        except BaseException as error:
            made.set_exception(error)

    Thread(target=work, daemon=True).start()
    return made.result(timeout=seconds)


class _GivenUp(Exception):
    """Raised inside threads once their work is not wanted any more."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _shared(batch: Batch, threads: int) -> Batch:
    """A batch that was worked on beside others: its share of the time."""
    return replace(batch, seconds=batch.seconds / threads)


def compute_remotely(chunk: Chunk, code: str) -> Batch:
    """Answer a chunk on another machine, if it would compute the same."""
    if installed_code() != code:
        raise Unreachable(
            "a worker of the cluster has another version of thrifty, NumPy or Numba: "
            "install the same on all machines"
        )
    return compute(chunk)
