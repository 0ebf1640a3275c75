"""The service as an ASGI application: what its routes share, and how mistakes are answered."""

import asyncio
import ipaddress
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic_core import from_json
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from thrifty import __version__
from thrifty.errors import InvalidInput, ThriftyError, shortened
from thrifty.service.addresses import checked_address
from thrifty.service.server.answers import HEADERS, error_answer
from thrifty.service.server.connections import Connections
from thrifty.service.server.gate import Gate
from thrifty.service.server.mistakes import mistake
from thrifty.service.server.page_files import page_router
from thrifty.service.server.refusals import NoAnswer, Refusal, Unavailable, place
from thrifty.service.server.routes import make_routes
from thrifty.service.server.schemas import ErrorReply
from thrifty.service.server.token_watch import TokenWatch
from thrifty.service.server.writer import Writer
from thrifty.service.storage.leases import LASTS, Elsewhere
from thrifty.service.storage.store import EventStore

LOG = logging.getLogger("thrifty.service")
FORWARDED = "x-thrifty-forwarded"
STARTING = 10.0  # seconds until the store must answer
# Seconds for a request that is passed on. A leader that is silent for longer than a lease has lost
# it, and whoever asks again is answered by the next.
HOP_TIMEOUT = httpx.Timeout(LASTS / 1e6, connect=3.0)
LONGEST_HOP = 20.0  # seconds for all of it: a leader that drips must not hold requests
NOT_CONNECTED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)  # nothing was sent
UNUSABLE = "its leader has an address that cannot be used; see the server log"
LARGEST_REPLY = 100_000_000  # bytes that are passed back
ERRORS = (400, 401, 403, 404, 409, 413, 422, 429, 503, 504)
STATUSES = (200, 201, 500, *ERRORS)  # of answers in JSON


class Service:
    """What the routes share: the store, the writer, and the way to other servers."""

    def __init__(self, store_url: str, own_url: str) -> None:
        self.store, self.own_url = EventStore(store_url), own_url
        self.writer = Writer(self.store, str(uuid4()), own_url)
        self.token_watch = TokenWatch(self.store)
        # whom it trusts may be said in the environment, but no proxy: requests carry tokens
        trusted = httpx.create_ssl_context()
        self.http = httpx.AsyncClient(timeout=HOP_TIMEOUT, verify=trusted, trust_env=False)

    async def pass_on(
        self, request: Request, leader: Elsewhere, method: str, path: str, body: bytes = b""
    ) -> httpx.Response:
        """The reply of the server that leads an experiment, to a request on behalf of another."""
        if FORWARDED in request.headers:
            raise Unavailable("experiment", "its leader is changing; try again")
        target = self._address(leader) + path
        headers = {FORWARDED: "1", "Accept-Encoding": "identity"}
        if "authorization" in request.headers:
            headers["Authorization"] = request.headers["authorization"]
        if body:
            headers["Content-Type"] = "application/json"
        checks = {"trace": _check_peer}
        try:
            hop = self.http.stream(method, target, content=body, headers=headers, extensions=checks)
            async with asyncio.timeout(LONGEST_HOP), hop as reply:
                return await _checked(reply)
        except Refusal:
            raise
        except Exception as error:  # uvloop has errors of its own for connections that have ended
            if not isinstance(error, httpx.HTTPError | TimeoutError):
                LOG.error("not passed on", exc_info=error)
            if method == "PATCH" and not isinstance(error, NOT_CONNECTED):
                message = "its leader has not answered; whether it was changed is not known"
                raise NoAnswer("experiment", message) from None
            # all other requests may be made again
            raise Unavailable("experiment", "its leader does not answer; try again") from None

    def _address(self, leader: Elsewhere) -> str:
        """Where a leader is, as the store says: whoever can write there must not get tokens."""
        try:
            address = checked_address(leader.url, "its leader")
        except InvalidInput as error:
            LOG.error("not passed on: %s", error)
            raise Unavailable("experiment", UNUSABLE) from None
        if address == self.own_url.rstrip("/"):
            message = "another server has the address of this one; see --url"
            raise Unavailable("experiment", message)
        return address


async def _check_peer(event: str, about: dict[str, Any]) -> None:
    """Refuse a connection to a link-local address before anything is sent.

    Also a name may lead to one, so the address is looked at when there is a connection.
    """
    if event == "connection.connect_tcp.complete":
        stream = about["return_value"]
        host = stream.get_extra_info("server_addr")[0]
        if is_link_local(host):
            await stream.aclose()
            LOG.error("not passed on: its leader has the link-local address %s", host)
            raise Unavailable("experiment", UNUSABLE)


def is_link_local(host: str) -> bool:
    """Whether an address is one of those where providers keep secrets of their machines."""
    address = ipaddress.ip_address(host)
    return (getattr(address, "ipv4_mapped", None) or address).is_link_local


async def _checked(reply: httpx.Response) -> httpx.Response:
    """A reply of another server, once it is read; raises ValueError if no server sends such."""
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    coding = reply.headers.get("content-encoding", "identity")
    if reply.status_code not in STATUSES or kind != "application/json" or coding != "identity":
        what = f"status {reply.status_code}, {shortened(kind)}, {shortened(coding)}"
        raise ValueError(f"its leader has sent something else than a server does: {what}")
    content = bytearray()
    async for part in reply.aiter_raw():
        content += part
        if len(content) > LARGEST_REPLY:
            raise ValueError(f"its leader has sent more than {LARGEST_REPLY:,} bytes")
    from_json(content, allow_inf_nan=False)  # raises ValueError, also for NaN
    return httpx.Response(reply.status_code, content=bytes(content))


def make_app(store_url: str, own_url: str = "", started: Service | None = None) -> FastAPI:
    """The application; own_url: where other servers reach this one; started: if it is there."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = started
        if service is None:
            service = await run_in_threadpool(Service, store_url, own_url)
        app.state.service = service
        service.writer.start()
        service.token_watch.start()
        await run_in_threadpool(service.writer.ready.wait, STARTING)
        LOG.info("started")
        yield
        await run_in_threadpool(service.writer.stop)
        await run_in_threadpool(service.token_watch.stop)
        await service.http.aclose()
        service.store.close()
        LOG.info("stopped")

    app = FastAPI(
        title="thrifty",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        responses={status: {"model": ErrorReply} for status in ERRORS},
    )
    app.state.connections = Connections()
    app.include_router(make_routes())
    app.include_router(page_router())
    app.add_middleware(Gate)
    app.add_exception_handler(Elsewhere, _pass_on)
    app.add_exception_handler(ThriftyError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(SQLAlchemyError, _no_database)
    app.add_exception_handler(Exception, _fault)
    return app


async def _pass_on(request: Request, leader: Exception) -> Response:
    """Another server leads the experiment: its answer, to the same request."""
    assert isinstance(leader, Elsewhere)
    query = f"?{request.url.query}" if request.url.query else ""
    path = request.scope["raw_path"].decode() + query
    body = b"" if request.method == "GET" else await request.body()  # which was read as JSON
    try:
        reply = await request.app.state.service.pass_on(request, leader, request.method, path, body)
    except Refusal as error:
        return _refused(request, error)
    status = reply.status_code
    return Response(reply.content, status, HEADERS.get(status), media_type="application/json")


def _refused(_: Request, error: Exception) -> Response:
    """Mistakes that thrifty has found: 422, unless they are refusals with a status of their own."""
    assert isinstance(error, ThriftyError)
    status = error.status if isinstance(error, Refusal) else 422
    return error_answer(status, place(error), str(error))


def _invalid(request: Request, error: Exception) -> Response:
    """A body or a parameter that does not fit the schema: 400 if it cannot even be parsed."""
    assert isinstance(error, RequestValidationError)
    return error_answer(*mistake(error.errors(), request.scope["endpoint"]))


def _http_error(_: Request, error: Exception) -> Response:
    """Errors of the framework: an unknown path, a wrong method."""
    assert isinstance(error, HTTPException)
    where = "body" if error.status_code in (400, 413) else "request"
    response = error_answer(error.status_code, where, str(error.detail))
    response.headers.update(error.headers or {})
    return response


def _no_database(_: Request, error: Exception) -> Response:
    LOG.error("no database", exc_info=error)
    return error_answer(503, "service", "the store does not answer; try again")


def _fault(_: Request, error: Exception) -> Response:
    """A fault of the program: the server logs it, and the answer says nothing of it."""
    return error_answer(500, "service", "internal error; see the server log")
