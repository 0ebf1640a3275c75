"""Requests that the service refuses, each with the status of its answer.

A request that cannot be parsed is answered with 400, and InvalidInput with 422.
"""

from typing import ClassVar

from thrifty.errors import ThriftyError


class Refusal(ThriftyError):
    """A request that is refused: where the reason is, and a message that follows it in one line.

    Attributes
    ----------
    status : of the HTTP answer
    where : part of the request, such as `[3].features`
    """

    status: ClassVar[int]

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where


def place(error: ThriftyError) -> str:
    """The part of a request that an error is about."""
    return str(getattr(error, "where", None) or getattr(error, "kind", "request"))


class Unauthorized(Refusal):
    """No token, or none that is valid."""

    status = 401


class Forbidden(Refusal):
    """A token whose scopes do not include what was asked for."""

    status = 403


class NotFound(Refusal):
    """An experiment or a decision that does not exist."""

    status = 404


class Conflict(Refusal):
    """Another reward, another body under the same id, or an experiment that is paused."""

    status = 409


class TooLarge(Refusal):
    """A request of too many bytes."""

    status = 413


class Unusable(Refusal):
    """A request that was parsed, but cannot be used."""

    status = 422


class Later(Refusal):
    """A request that may be made again; retry_after: seconds after which."""

    def __init__(self, where: str, message: str, *, retry_after: float = 1) -> None:
        super().__init__(where, message)
        self.retry_after = retry_after


class TooMany(Later):
    """More than may wait."""

    status = 429


class Unavailable(Later):
    """Not now: nothing was done, or what was done is found by its id."""

    status = 503


class NoAnswer(Refusal):
    """Passed on to another server, which has not answered."""

    status = 504
