"""The gate: limits on the size of requests, and on how many are in flight."""

import asyncio

from fastapi import HTTPException
from fastapi.responses import Response
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thrifty.service.server.answers import error_answer
from thrifty.service.server.connections import Connections
from thrifty.service.server.routes import ALL

MOST_BYTES = 4_000_000  # of a body
MOST_IN_FLIGHT = 1_000  # requests
ALWAYS = ("/healthz", "/readyz")  # answered however many others there are


class Gate:
    """Middleware: 413 for a body that is too large, 503 at once for one request too many.

    Requests whose bodies are still coming give way to new ones, and so do those whose answers
    nobody reads. Those that are cancelled, since the server stops, are answered, too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.in_flight = app, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in ALWAYS:
            await self.app(scope, receive, send)
            return
        connections: Connections = scope["app"].state.connections
        asking = scope.get("state", {}).get("connection")
        if self.in_flight >= MOST_IN_FLIGHT and not connections.make_way(asking):
            answer = error_answer(503, "service", "too many requests are in flight")
            await answer(scope, receive, send)
            return
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            await send(message)
            begun = True

        self.in_flight += 1
        try:
            await self._let_in(scope, receive, noted)
        except asyncio.CancelledError:
            if not begun:
                await _stopped(scope)(scope, receive, send)
            raise
        finally:
            self.in_flight -= 1

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen, too_long = 0, f"at most {MOST_BYTES:,} bytes"

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > MOST_BYTES:
                raise HTTPException(413, too_long)  # as a refusal, which the application answers
            return message

        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > MOST_BYTES:
            await error_answer(413, "body", too_long)(scope, receive, send)
        else:
            await self.app(scope, counted, send)


def _stopped(scope: Scope) -> Response:
    """The answer to a request that may be carried out later, or never."""
    if scope["method"] == "PATCH" or (scope["method"], scope["path"]) == ("POST", ALL):
        message = "the server is stopping; whether it was made or changed is not known"
        return error_answer(504, "experiment", message)
    return error_answer(503, "service", "the server is stopping; try again")
