"""Connections whose timeouts are points in time: all steps of an attempt share what is left.

httpcore gives each step a timeout: each read, each write. A server that sends a byte per second
would hold a request for ever. Here a timeout is a value of time.monotonic() instead.
"""

import codecs
import socket
import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore

# now: sockets would import it when they look up a host, and a process that is forked from another
# thread meanwhile would wait for that import without end
codecs.lookup("idna")

PIECE = 2**14  # bytes that are written at once; a server that reads slowly cannot stretch one


def _left(until: float | None, late: type[httpcore.TimeoutException]) -> float:
    """Seconds that are left; raises an error if there are none."""
    assert until is not None  # the client always sets one
    left = until - time.monotonic()
    if left <= 0:
        raise late("timed out")
    return left


class Stream(httpcore.NetworkStream):
    """A connection of a thread that waits."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what comes next."""
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it."""
        for first in range(0, len(buffer), PIECE):
            piece = buffer[first : first + PIECE]
            self._stream.write(piece, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "Stream":
        """The same connection, encrypted."""
        left = _left(timeout, httpcore.ConnectTimeout)
        return Stream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks about the socket."""
        return self._stream.get_extra_info(info)


class Backend(httpcore.NetworkBackend):
    """Makes such connections."""

    def __init__(self) -> None:
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> Stream:
        """Connect to the first address of a host that answers; each gets its share of the time."""
        failed: Exception = httpcore.ConnectError(f"no address of {host} is known")
        addresses = _addresses(host, port)
        for tried, address in enumerate(addresses):
            share = _left(timeout, httpcore.ConnectTimeout) / (len(addresses) - tried)
            try:
                found = self._backend.connect_tcp(
                    address, port, share, local_address, socket_options
                )
                return Stream(found)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed


def _addresses(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order of the system. Only the system limits the time."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore.ConnectError(error) from error
    return [str(place[0]) for *_, place in found]


class AsyncStream(httpcore.AsyncNetworkStream):
    """A connection of an event loop."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what comes next."""
        left = _left(timeout, httpcore.ReadTimeout)
        try:
            return await self._stream.read(max_bytes, left)
        except OSError as error:  # of TLS
            raise httpcore.ReadError(error) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it."""
        left = _left(timeout, httpcore.WriteTimeout)
        try:
            await self._stream.write(buffer, left)
        except OSError as error:
            raise httpcore.WriteError(error) from error

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "AsyncStream":
        """The same connection, encrypted."""
        left = _left(timeout, httpcore.ConnectTimeout)
        return AsyncStream(await self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks about the socket."""
        return self._stream.get_extra_info(info)


class AsyncBackend(httpcore.AsyncNetworkBackend):
    """Makes such connections for asyncio."""

    def __init__(self) -> None:
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> AsyncStream:
        """Connect to a host."""
        left = _left(timeout, httpcore.ConnectTimeout)
        return AsyncStream(
            await self._backend.connect_tcp(host, port, left, local_address, socket_options)
        )
