"""Answers as JSON."""

from typing import Any

from fastapi.responses import Response
from pydantic_core import to_json

from thrifty.errors import escaped

HEADERS = {  # of answers to requests that can be made again, and to those without a token
    401: {"WWW-Authenticate": "Bearer"},
    429: {"Retry-After": "1"},
    503: {"Retry-After": "1"},
}


def answer(content: Any, status: int = 200) -> Response:
    """Content as JSON."""
    return Response(to_json(content), status, HEADERS.get(status), media_type="application/json")


def error_answer(status: int, where: str, message: str) -> Response:
    """The answer to every mistake. The place is not repeated in the message."""
    error = {"where": where, "message": escaped(message.removeprefix(f"{where}: "))}
    return answer({"error": error}, status)
