"""The gate: limits on the size of requests, and on how many are in flight."""

from dataclasses import dataclass
from typing import Any

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thrifty.service.server.answers import error_answer


@dataclass(frozen=True)
class Limits:
    """What a server accepts at most."""

    body: int = 4_000_000  # bytes
    in_flight: int = 1_000  # requests


class Gate:
    """Middleware: 413 for a body that is too large, 503 at once for one request too many."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits, self.in_flight = app, limits, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self.in_flight >= self.limits.in_flight:
            answer = error_answer(503, "service", "too many requests are in flight")
            await answer(scope, receive, send)
            return
        self.in_flight += 1
        try:
            await self._let_in(scope, receive, send)
        finally:
            self.in_flight -= 1

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen, most = 0, self.limits.body
        too_long = f"at most {most:,} bytes"

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most:
                raise HTTPException(413, too_long)  # as a refusal, which the application answers
            return message

        if _announced(scope) > most:
            await error_answer(413, "body", too_long)(scope, receive, send)
        else:
            await self.app(scope, counted, send)


def _announced(scope: Any) -> int:
    """The length that a request says its body has; 0 if it does not say."""
    for key, value in scope["headers"]:
        if key == b"content-length" and value.isdigit():
            return int(value)
    return 0
