"""Who may use a route: checked before anything of the request's body is read."""

import ipaddress
from collections.abc import Callable, Coroutine, Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers

from thrifty.errors import shortened
from thrifty.service.server.refusals import Forbidden, Malformed, Unauthorized
from thrifty.service.storage.tokens import SCOPES, Token, find_token

WITH_BODY = ("POST", "PATCH")
NEEDED = "a token is needed, as in 'Authorization: Bearer th_...'"
UNKNOWN = "unknown or revoked token"
FOREIGN = "not a token of thrifty: these start with th_"


class Scope:
    """The scope that a route needs; its check is made by Guarded."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def __call__(self) -> None:
        """Nothing: as a dependency it would run only after the body was read and parsed."""

    def check(self, request: Request) -> None:
        """Raise Unauthorized or Forbidden unless the request may do this."""
        tokens = request.app.state.service.token_watch.tokens
        if tokens is None:
            _check_local(request.headers.get("host", ""))
            _check_origin(request.headers)
        check(tokens, request.headers.get("authorization"), self.name)


class Guarded(APIRoute):
    """A route that checks scopes and the kind of the body before it reads the body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        needed = (dependency.dependency for dependency in self.dependencies)
        scopes = [scope for scope in needed if isinstance(scope, Scope)]

        async def guarded(request: Request) -> Response:
            for scope in scopes:
                scope.check(request)
            if request.method in WITH_BODY:
                _check_json(request.headers.get("content-type", ""))
            return await handle(request)

        return guarded


def check(tokens: Mapping[str, Token] | None, header: str | None, scope: str) -> None:
    """Raise Unauthorized or Forbidden unless a header allows a scope; without tokens all may."""
    if tokens is None:
        return
    header = header or ""
    token = find_token(tokens, header)
    if token is None:
        known = UNKNOWN if "th_" in header else FOREIGN
        raise Unauthorized("Authorization", known if header else NEEDED)
    if not token.scopes & {scope, "admin"}:
        scopes = ", ".join(scope for scope in SCOPES if scope in token.scopes)
        raise Forbidden("Authorization", f"this needs scope {scope}; the token has {scopes}")


def is_loopback(host: str) -> bool:
    """Whether an address or a name is that of this machine for itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_json(header: str) -> None:
    """Refuse bodies that are not called JSON.

    Browsers send others to any host that a web page names, without asking that host.
    """
    if header.partition(";")[0].strip().lower() != "application/json":
        raise Malformed("Content-Type", "must be application/json")


def _check_origin(headers: Headers) -> None:
    """Without tokens, refuse what a browser sends for a web page of another host or port."""
    host, origin = headers.get("host", ""), headers.get("origin")
    own = (None, f"http://{host}", f"https://{host}")
    if origin not in own or headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        message = "without tokens, requests of web pages from elsewhere are not answered"
        raise Forbidden("Origin", message)


def _check_local(header: str) -> None:
    """Without tokens, refuse requests for another host.

    A web page elsewhere can point a name of its own at 127.0.0.1, and a browser then lets it read
    and write here; but the browser sends that name.
    """
    try:
        host = urlsplit(f"//{header}").hostname or ""
    except ValueError:  # brackets without an address
        host = ""
    if not is_loopback(host):
        message = "without tokens, only requests to 127.0.0.1 or localhost are answered"
        raise Forbidden("Host", f"{message}, not to {shortened(header)}")
