"""Two ways to send the requests of a client, and to repeat them: one waits, one is for asyncio."""

import asyncio
import random
import re
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, TypeVar, cast

import httpcore
import httpx

from thrifty import __version__
from thrifty.errors import InvalidInput, Unreachable
from thrifty.service.addresses import checked_address
from thrifty.service.client.arguments import positive_number
from thrifty.service.client.outcomes import Failed, Reply, is_too_large, read_reply
from thrifty.service.client.pools import AsyncPool, Pool
from thrifty.service.client.requests import Request

T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds, at most, after the first failure and after any
LONGEST_TIMEOUT, MOST_RETRIES = 86_400.0, 1_000  # seconds
FOR_A_TABLE = 600.0  # seconds that an attempt to get one has at least
_VISIBLE = re.compile("[!-~]+")
NOT_SENT = (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout)
ERRORS = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)


class Attempts:
    """The attempts at one request: so many retries, and so many seconds for all together."""

    def __init__(self, retries: int, seconds: float) -> None:
        self._left, self._until = retries, time.monotonic() + seconds
        self._pause = FIRST_PAUSE

    def pause(self, failed: Failed) -> float:
        """Seconds to wait before the next attempt; raises the error if there is none.

        The pause doubles from failure to failure, times a random number: clients that failed
        together do not come back together.
        """
        wait = failed.least + random.uniform(0.5, 1.0) * self._pause
        if not failed.again or self._left == 0 or time.monotonic() + wait > self._until:
            raise failed.error
        self._left -= 1
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return wait


class Connection:
    """What both ways share: where the service is, and what to do about each outcome."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        self.url, self.timeout = checked_address(url), positive_number(timeout, "timeout")
        if self.timeout > LONGEST_TIMEOUT:
            raise InvalidInput("timeout", f"must be at most {LONGEST_TIMEOUT:,.0f} seconds")
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise InvalidInput.expected("retries", "a whole number of at least 0", retries)
        if retries > MOST_RETRIES:
            raise InvalidInput("retries", f"must be at most {MOST_RETRIES:,}")
        self._retries, self._seconds = retries, (retries + 1) * self.timeout
        self._base, self._authorization = httpx.URL(self.url), _authorization(token)
        self.scheme = self._base.scheme

    def start(self, request: Request[Any]) -> tuple[Attempts, dict[str, Any]]:
        """The attempts at a request, and the request as httpcore takes it."""
        base, content = self._base, request.content
        target = base.raw_path.rstrip(b"/") + request.path.encode("ascii")
        url = httpcore.URL(
            scheme=base.raw_scheme, host=base.raw_host, port=base.port, target=target
        )
        headers = {
            "Host": base.netloc.decode("ascii"),
            "Accept": "*/*" if request.table else "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"thrifty/{__version__}",
            **self._authorization,
        }
        if content is not None:
            headers["Content-Type"] = "application/json"
        call = {"method": request.method, "url": url, "headers": headers, "content": content}
        return Attempts(self._retries, self._seconds), call

    def seconds(self, request: Request[Any]) -> float:
        """How long an attempt may take."""
        return max(self.timeout, FOR_A_TABLE) if request.table else self.timeout

    def limits(self, request: Request[Any], *, closed: bool) -> dict[str, Any]:
        """Until when an attempt that begins now must have a reply; see deadlines.py."""
        if closed:
            raise self.was_closed()
        until = time.monotonic() + self.seconds(request)
        steps = dict.fromkeys(("connect", "read", "write"), until)
        return {"timeout": {**steps, "pool": self.timeout}}

    def was_closed(self) -> Unreachable:
        """The error of attempts that a closed client can no longer make."""
        return Unreachable(f"{self.url}: the client was closed")

    def failed(self, request: Request[Any], error: Exception) -> Failed:
        """An attempt that got no reply; it is the last where a repetition could do harm."""
        what, sent = str(error) or type(error).__name__, not isinstance(error, NOT_SENT)
        if isinstance(error, httpcore.TimeoutException):
            what = f"no answer within {self.seconds(request):g} s"
        if sent and not request.repeatable:
            message = f"{self.url}: {what}; whether the change was made is not known"
            return Failed(Unreachable(message), again=False)
        hint = "" if sent else "; is the service running there?"
        return Failed(Unreachable(f"{self.url}: {what}{hint}"), again=True)


class Transport:
    """Sends requests and waits; for several threads."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._pool, self._closed = Pool(connection.scheme), False

    def send(self, request: Request[T]) -> T:
        """Send a request, perhaps several times, and read the reply."""
        attempts, call = self.connection.start(request)
        while True:
            outcome = self._attempt(request, call)
            if not isinstance(outcome, Failed):
                return outcome
            time.sleep(attempts.pause(outcome))

    def _attempt(self, request: Request[T], call: dict[str, Any]) -> T | Failed:
        limits, content = self.connection.limits(request, closed=self._closed), bytearray()
        try:
            with self._pool.get().stream(**call, extensions=limits) as response:
                for part in response.iter_stream():
                    content += part
                    if is_too_large(request, content):
                        break
                outcome = read_reply(request, _reply(response, content))
                if isinstance(outcome, Failed) and not outcome.usable:
                    response.extensions["network_stream"].close()
                return outcome
        except ERRORS as error:
            return self.connection.failed(request, error)

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        self._pool.close()


class AsyncTransport:
    """The same for asyncio."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._pool, self._closed = AsyncPool(connection.scheme), False

    async def send(self, request: Request[T]) -> T:
        """Send a request, perhaps several times, and read the reply."""
        attempts, call = self.connection.start(request)
        while True:
            outcome = await self._attempt(request, call)
            if not isinstance(outcome, Failed):
                return outcome
            await asyncio.sleep(attempts.pause(outcome))

    async def _attempt(self, request: Request[T], call: dict[str, Any]) -> T | Failed:
        """An attempt in a task of its own, which goes on if who asks is cancelled.

        httpcore loses connections where requests are cancelled. The deadline ends all attempts.
        """
        limits = self.connection.limits(request, closed=self._closed)
        here = await self._pool.get()
        exchange = self._exchange(here.pool, request, call | {"extensions": limits})
        task = here.start(exchange)
        await asyncio.wait([task])
        if task.cancelled():
            raise self.connection.was_closed()
        return task.result()

    async def _exchange(
        self, pool: httpcore.AsyncConnectionPool, request: Request[T], call: dict[str, Any]
    ) -> T | Failed:
        content = bytearray()
        try:
            async with pool.stream(**call) as response:
                reading = cast(AsyncGenerator[bytes, None], response.aiter_stream())
                async with aclosing(reading) as parts:  # now, not when it is collected
                    async for part in parts:
                        content += part
                        if is_too_large(request, content):
                            break
                outcome = read_reply(request, _reply(response, content))
                if isinstance(outcome, Failed) and not outcome.usable:
                    await response.extensions["network_stream"].aclose()
                return outcome
        except ERRORS as error:
            return self.connection.failed(request, error)

    async def close(self) -> None:
        """Close all connections."""
        self._closed = True
        await self._pool.close()


def _reply(response: httpcore.Response, content: bytearray) -> Reply:
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
    }
    return Reply(response.status, headers, bytes(content))


def _authorization(token: object) -> dict[str, str]:
    """The header that carries a token; errors do not repeat it."""
    if token is None:
        return {}
    if not isinstance(token, str):
        raise InvalidInput.expected("token", "text such as th_...", type(token).__name__)
    if not _VISIBLE.fullmatch(token):
        raise InvalidInput("token", "must be letters, digits and signs, without spaces")
    return {"Authorization": f"Bearer {token}"}
