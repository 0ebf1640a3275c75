"""Two ways to send the requests of a client, and to repeat them: one waits, one is for asyncio."""

import asyncio
import random
import time
from typing import Any, TypeVar

import httpx

from thrifty.errors import InvalidInput, ServiceError, ThriftyError, Unreachable
from thrifty.numerics.arrays import positive_number
from thrifty.service.addresses import checked_address
from thrifty.service.client.requests import Request

T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds, at most, after the first failure and after any
REFUSED = (429, 503)  # the request was not carried out
BROKEN = (502, 504)  # of a proxy, which has lost the server: as if the connection had broken
Outcome = httpx.Response | httpx.TransportError
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Pause(float):
    """Seconds to wait before the next attempt."""


class Attempts:
    """The attempts at one request: so many retries, and so many seconds for all together."""

    def __init__(self, retries: int, seconds: float) -> None:
        self._left, self._until = retries, time.monotonic() + seconds
        self._pause = FIRST_PAUSE

    def pause(self, error: ThriftyError, least: float = 0.0) -> Pause:
        """What to wait before the next attempt; raises the error if there is none.

        The pause doubles from failure to failure, times a random number: clients that failed
        together do not come back together. least: what the server has asked for.
        """
        wait = least + random.uniform(0.5, 1.0) * self._pause
        if self._left == 0 or time.monotonic() + wait > self._until:
            raise error
        self._left -= 1
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return Pause(wait)


class Connection:
    """What both ways share: where the service is, and what to do about each outcome."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        self.url, self.timeout = checked_address(url), positive_number(timeout, "timeout")
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
            "content": content,
            "headers": {} if content is None else {"Content-Type": "application/json"},
        }

    def after(self, attempts: Attempts, request: Request[T], outcome: Outcome) -> T | Pause:
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
            try:
                outcome: Outcome = self._http.request(**arguments)
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
            try:
                outcome: Outcome = await self._http.request(**arguments)
            except httpx.TransportError as error:
                outcome = error
            reply = self.connection.after(attempts, request, outcome)
            if not isinstance(reply, Pause):
                return reply
            await asyncio.sleep(reply)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()


def _authorization(token: object) -> dict[str, str]:
    """The header that carries a token; errors do not repeat it."""
    if token is None:
        return {}
    if not isinstance(token, str) or not (token.isascii() and token.isprintable() and token):
        raise InvalidInput.expected("token", "text such as th_...", type(token).__name__)
    return {"Authorization": f"Bearer {token}"}


def failure(response: httpx.Response) -> ServiceError | None:
    """The error in an answer; none if the request was carried out."""
    if response.is_success:
        return None
    try:
        error = response.json()["error"]
        where, message = str(error["where"]), str(error["message"])
    except (KeyError, TypeError, ValueError):
        return no_answer(response)
    if response.status_code == 401 and "is needed" in message:
        message += "; pass one as token=, or to commands as --token or THRIFTY_TOKEN"
    return ServiceError(message, status=response.status_code, where=where)


def no_answer(response: httpx.Response) -> ServiceError:
    """Something else than a service has answered."""
    message = f"not an answer of a thrifty service (status {response.status_code})"
    return ServiceError(message, status=response.status_code)


def asked_pause(response: httpx.Response) -> float:
    """Seconds that the server asks to wait; 0 if it does not say, or gives a date."""
    try:
        return max(0.0, float(response.headers.get("Retry-After", 0)))
    except ValueError:
        return 0.0
