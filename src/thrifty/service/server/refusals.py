"""Requests that the service refuses, each with the status of its answer.

A request that cannot be parsed is answered with 400, and InvalidInput with 422.
"""

from typing import ClassVar

from thrifty.errors import ThriftyError


class Refusal(ThriftyError):
    """A request that is refused: where the reason is, and a message that follows it in one line.

    status: of the HTTP answer. where: part of the request, such as `[3].features`.
    """

    status: ClassVar[int]

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where

    def __init_subclass__(cls, *, status: int) -> None:
        cls.status = status


def place(error: ThriftyError) -> str:
    """The part of a request that an error is about."""
    return str(getattr(error, "where", None) or getattr(error, "kind", "request"))


class Malformed(Refusal, status=400):
    """A request that is not what it should be before its content is looked at."""


class Unauthorized(Refusal, status=401):
    """No token, or none that is valid."""


class Forbidden(Refusal, status=403):
    """A token whose scopes do not include what was asked for."""


class NotFound(Refusal, status=404):
    """An experiment or a decision that does not exist."""


class Conflict(Refusal, status=409):
    """Another reward, another body under the same id, or an experiment that is paused."""


class TooMany(Refusal, status=429):
    """More decisions than may be pending."""


class Unavailable(Refusal, status=503):
    """Not now: nothing was done, or what was done is found by its id."""


class Unreadable(Unavailable, status=503):
    """An experiment whose log cannot be read: later neither, unless somebody mends it."""


class NoAnswer(Refusal, status=504):
    """Passed on to another server, which has not answered."""
