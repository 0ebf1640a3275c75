"""Answers as JSON."""

from typing import Any

from fastapi.responses import Response
from pydantic_core import to_json

from thrifty.errors import escaped


def answer(content: Any, status: int = 200) -> Response:
    """Content as JSON."""
    return Response(to_json(content), status, media_type="application/json")


def error_answer(
    status: int, where: str, message: str, retry_after: float | None = None
) -> Response:
    """What every mistake is answered with; retry_after: seconds.

    The place is not repeated in the message.
    """
    body = {"where": where, "message": escaped(message.removeprefix(f"{where}: "))}
    found = answer({"error": body}, status)
    if retry_after is not None:
        found.headers["Retry-After"] = f"{retry_after:g}"
    if status == 401:
        found.headers["WWW-Authenticate"] = "Bearer"
    return found
