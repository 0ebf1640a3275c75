"""When a request that failed is made again: what both clients decide in the same way."""

import random
import time
from typing import TYPE_CHECKING

from thrifty.errors import ServiceError, ThriftyError

if TYPE_CHECKING:
    import httpx

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds, at most, after the first failure and after any
REFUSED = (429, 503)  # the request was not carried out
BROKEN = (502, 504)  # of a proxy, which has lost the server: as if the connection had broken


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


def failure(response: "httpx.Response") -> ServiceError | None:
    """The error in an answer; none if the request was carried out."""
    if response.is_success:
        return None
    try:
        error = response.json()["error"]
        where, message = str(error["where"]), str(error["message"])
    except (KeyError, TypeError, ValueError):
        return no_answer(response)
    if response.status_code == 401:
        message += "; pass one as token=, or to commands as --token or THRIFTY_TOKEN"
    return ServiceError(message, status=response.status_code, where=where)


def no_answer(response: "httpx.Response") -> ServiceError:
    """Something else than a service has answered."""
    message = f"not an answer of a thrifty service (status {response.status_code})"
    return ServiceError(message, status=response.status_code)


def asked_pause(response: "httpx.Response") -> float:
    """Seconds that the server asks to wait; 0 if it does not say, or gives a date."""
    try:
        return max(0.0, float(response.headers.get("Retry-After", 0)))
    except ValueError:
        return 0.0
