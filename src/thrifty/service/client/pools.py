"""Pools of connections: each process has its own, and each event loop."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any, Generic, NamedTuple, TypeVar

import httpcore
import httpx

from thrifty.service.client.deadlines import AsyncBackend, Backend

T = TypeVar("T")
LIMITS: dict[str, Any] = {
    "max_connections": 100,
    "max_keepalive_connections": 20,
    "keepalive_expiry": 4.0,  # seconds: sooner than servers do, which wait for 5 or more
}
# What belongs to the process that this one was forked from: neither used nor closed nor collected,
# since that process goes on using the same sockets.
_INHERITED: list[object] = []


class PerProcess(Generic[T]):
    """Something that each process makes for itself.

    There is no lock: another thread could hold it when the process is forked. The first process
    makes it at once: OpenSSL has locks while it reads certificates.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made = {os.getpid(): make()}  # by process

    def get(self) -> T:
        """That of this process."""
        process = os.getpid()  # not all who fork run the hooks of os.register_at_fork
        if process not in self._made:
            _INHERITED.append(self._made)
            self._made.setdefault(process, self._make())  # if two threads make one, the first stays
        return self._made[process]


class Pool:
    """The connections of a process, for several threads."""

    def __init__(self, scheme: str) -> None:
        def make() -> httpcore.ConnectionPool:
            backend = Backend()
            return httpcore.ConnectionPool(_trusted(scheme), network_backend=backend, **LIMITS)

        self._pools = PerProcess(make)

    def get(self) -> httpcore.ConnectionPool:
        """That of this process."""
        return self._pools.get()

    def close(self) -> None:
        """Close the connections of this process."""
        self.get().close()


@dataclass(eq=False)
class Open:
    """The connections of an event loop, and the tasks that use them."""

    pool: httpcore.AsyncConnectionPool
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Let work go on in a task of its own, which nobody else has to keep."""
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            task.exception()  # seen: asyncio logs it otherwise, though who asked has given up

    async def close(self) -> None:
        """End the tasks, and close the connections."""
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.pool.aclose()


class _Opened(NamedTuple):
    """What a loop has opened, and what closes it when the loop ends."""

    here: Open
    end: AsyncGenerator[None, None]


Opened = dict[asyncio.AbstractEventLoop, _Opened]


class _Process(NamedTuple):
    """What the loops of a process have: whom they trust, and what each has opened."""

    trusted: SSLContext | None
    opened: Opened


class AsyncPool:
    """The connections of each event loop of a process."""

    def __init__(self, scheme: str) -> None:
        self._processes = PerProcess(lambda: _Process(_trusted(scheme), {}))

    async def get(self) -> Open:
        """Those of the running loop."""
        loop, (trusted, opened) = asyncio.get_running_loop(), self._processes.get()
        if loop not in opened:
            _forget_closed(opened)
            backend = AsyncBackend()
            pool = httpcore.AsyncConnectionPool(trusted, network_backend=backend, **LIMITS)
            here = Open(pool)
            opened[loop] = _Opened(here, _until_the_end(opened, loop, here))
            await anext(opened[loop].end)  # begins it: the loop knows it from now on
        return opened[loop].here

    async def close(self) -> None:
        """Close the connections of the running loop; other loops close theirs when they end."""
        if found := self._processes.get().opened.get(asyncio.get_running_loop()):
            await found.end.aclose()


async def _until_the_end(
    opened: Opened, loop: asyncio.AbstractEventLoop, here: Open
) -> AsyncGenerator[None, None]:
    """Close a pool in its own loop: asyncio.run ends all generators before it closes the loop."""
    try:
        yield
    finally:
        opened.pop(loop, None)
        await here.close()


def _forget_closed(opened: Opened) -> None:
    """Let go what loops have opened that were closed without an end to their generators."""
    for loop in list(opened):
        if loop.is_closed():
            opened.pop(loop, None)


def _trusted(scheme: str) -> SSLContext | None:
    """Whose certificates are believed: those of certifi, or what SSL_CERT_FILE names."""
    return httpx.create_ssl_context() if scheme == "https" else None
