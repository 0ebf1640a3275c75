"""Two ways to send the requests of a client: one waits, one is for asyncio. Both use httpx."""

import asyncio
import time
from typing import Any, TypeVar

import httpx

from thrifty.errors import InvalidInput, Unreachable
from thrifty.numerics.arrays import positive_number
from thrifty.service.client.requests import Request
from thrifty.service.client.retries import (
    BROKEN,
    REFUSED,
    Attempts,
    Pause,
    asked_pause,
    failure,
    no_answer,
)

T = TypeVar("T")
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Connection:
    """What both ways share: where the service is, and what to do about each outcome."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        self.url, self.timeout = _checked_url(url), positive_number(timeout, "timeout")
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise InvalidInput.expected("retries", "a whole number of at least 0", retries)
        self._retries, self._seconds = retries, (retries + 1) * self.timeout
        self.headers = {"Accept": "application/json", **_authorization(token)}

    def start(self, request: Request[Any], *, closed: bool) -> tuple[Attempts, dict[str, Any]]:
        """The attempts at a request, and the request as httpx takes it."""
        if closed:
            raise Unreachable(f"{self.url}: the client was closed")
        content = request.content
        return Attempts(self._retries, self._seconds), {
            "method": request.method,
            "url": self.url + request.path,
            "params": dict(request.query) or None,
            "content": content,
            "headers": {} if content is None else {"Content-Type": "application/json"},
        }

    def after(
        self,
        attempts: Attempts,
        request: Request[T],
        outcome: httpx.Response | httpx.TransportError,
    ) -> T | Pause:
        """The reply to a request, or a pause before the next attempt; raises what ends it."""
        if isinstance(outcome, httpx.TransportError):
            return attempts.pause(self._unreachable(request, outcome))
        error = failure(outcome)
        if error is None:
            try:
                return request.read(outcome.json())
            except (KeyError, TypeError, ValueError) as fault:
                raise no_answer(outcome) from fault
        if error.status in REFUSED or (error.status in BROKEN and request.repeatable):
            return attempts.pause(error, asked_pause(outcome))
        raise error

    def _unreachable(self, request: Request[Any], error: httpx.TransportError) -> Unreachable:
        """What to say if a connection goes on failing; raised where a repetition could do harm."""
        what, sent = str(error) or type(error).__name__, not isinstance(error, NOT_SENT)
        if sent and not request.repeatable:
            raise Unreachable(f"{self.url}: {what}; whether the change was made is not known")
        hint = "" if sent else "; is the service running there?"
        return Unreachable(f"{self.url}: {what}{hint}")


class Transport:
    """Sends requests and waits; for several threads."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._http = httpx.Client(headers=connection.headers, timeout=connection.timeout)

    def send(self, request: Request[T]) -> T:
        """Send a request, perhaps several times, and read the reply."""
        attempts, arguments = self.connection.start(request, closed=self._http.is_closed)
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = self._http.request(**arguments)
            except httpx.TransportError as error:
                outcome = error
            reply = self.connection.after(attempts, request, outcome)
            if not isinstance(reply, Pause):
                return reply
            time.sleep(reply)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()


class AsyncTransport:
    """The same for asyncio."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._http = httpx.AsyncClient(headers=connection.headers, timeout=connection.timeout)

    async def send(self, request: Request[T]) -> T:
        """Send a request, perhaps several times, and read the reply."""
        attempts, arguments = self.connection.start(request, closed=self._http.is_closed)
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = await self._http.request(**arguments)
            except httpx.TransportError as error:
                outcome = error
            reply = self.connection.after(attempts, request, outcome)
            if not isinstance(reply, Pause):
                return reply
            await asyncio.sleep(reply)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()


def _checked_url(url: object) -> str:
    expected = "an address such as http://127.0.0.1:8080"
    try:
        parsed = httpx.URL(url) if isinstance(url, str) else None
    except httpx.InvalidURL:
        parsed = None
    if parsed is None or parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidInput.expected("url", expected, url)
    if parsed.query or parsed.fragment or parsed.userinfo:
        raise InvalidInput("url", f"pass {expected}, without user, query or fragment")
    return str(parsed).rstrip("/")


def _authorization(token: object) -> dict[str, str]:
    """The header that carries a token; errors do not repeat it."""
    if token is None:
        return {}
    if not isinstance(token, str) or not (token.isascii() and token.isprintable() and token):
        raise InvalidInput.expected("token", "text such as th_...", type(token).__name__)
    return {"Authorization": f"Bearer {token}"}
