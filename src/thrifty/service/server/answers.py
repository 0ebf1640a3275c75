"""Answers as JSON."""

from typing import Any

from fastapi.responses import Response
from pydantic_core import to_json

from thrifty.errors import escaped, redacted

LATER = {"Retry-After": "1"}
# of answers to requests without a token, and to those that can be made again
HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: LATER, 503: LATER}


def answer(content: Any, status: int = 200) -> Response:
    """Content as JSON."""
    return Response(to_json(content), status, HEADERS.get(status), media_type="application/json")


def error_answer(status: int, where: str, message: str) -> Response:
    """The answer to every mistake. The place is not repeated in the message, nor are secrets."""
    message = escaped(message.removeprefix(f"{where}: "))
    return answer({"error": {"where": redacted(where), "message": redacted(message)}}, status)
