"""A server process: where it listens, what it logs, how it starts and ends."""

import errno
import gc
import json
import logging
import shlex
import signal
import socket
import sys
from contextlib import suppress
from datetime import UTC, datetime

import httpx
import uvicorn
from fastapi import FastAPI
from sqlalchemy.exc import SQLAlchemyError

from thrifty.errors import InvalidInput, redacted
from thrifty.service.addresses import checked_address, is_everywhere
from thrifty.service.server.app import Service, make_app
from thrifty.service.server.connections import MOST, HttpConnection
from thrifty.service.server.demo import start_visitors
from thrifty.service.server.guard import is_loopback
from thrifty.service.storage.databases import unusable
from thrifty.service.storage.store import open_store
from thrifty.service.storage.tokens import read_tokens

if sys.platform != "win32":
    import resource

LOG = logging.getLogger("thrifty.service")
ENDING = 10  # seconds for requests in flight, at the end
OTHER_FILES = 200  # of a process with MOST connections: the store, and connections to others
# Objects that Python makes before it looks for cycles among the young, and how often it looks at
# the older ones. Its own numbers (700, 10, 10) took half of the time of decisions in batches.
YOUNG, OLDER, OLDEST = 20_000, 20, 50


def run_server(
    store: str, host: str, port: int, url: str | None, *, demo: bool, json_log: bool
) -> None:
    """Serve until a signal ends it."""
    url = None if url is None else _checked_url(url)
    address = _address_of(host)
    host = address if is_everywhere(address) else host  # which may be empty
    opened = _check_open(store, host, address, url, demo=demo)
    with _listen(host, port) as listening:
        named = f"[{host}]" if ":" in host else host
        place = f"http://{named}:{listening.getsockname()[1]}"
        service = Service(store, url or place.lower())
        _claim_address(service)
        app = make_app(store, service.own_url, service)
        app.state.connections.most = most_connections()
        config = server_config(app)
        _announce(opened, place, json_log=json_log)
        if demo:
            start_visitors(place)
        tune_collector()
        # uvicorn raises SIGTERM again after a graceful end: exit code 0, not death by a signal
        signal.signal(signal.SIGTERM, lambda *_: None)
        uvicorn.Server(config).run(sockets=[listening])


def _announce(store: str, place: str, *, json_log: bool) -> None:
    """Say which store it is and where the page, in the way of all that it says from now on."""
    if json_log:
        _log_as_json()
        LOG.info("%s", store)
        LOG.info("the page is at %s/", place)
    else:
        print(f"thrifty: {store}", file=sys.stderr)
        print(f"thrifty: the page is at {place}/  (Ctrl-C ends the service)", file=sys.stderr)


def server_config(app: FastAPI) -> uvicorn.Config:
    """How uvicorn serves an application."""
    return uvicorn.Config(
        app,
        http=HttpConnection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=ENDING,
    )


def most_connections() -> int:
    """So many connections as this process may have, some files left for others."""
    if sys.platform == "win32":
        return MOST
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        more = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):  # whoever started this may forbid it
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
            soft = more
    return MOST if soft == resource.RLIM_INFINITY else max(1, min(MOST, soft - OTHER_FILES))


def tune_collector() -> None:
    """Let the garbage collector of this process leave alone what was imported, and run rarely.

    Pending decisions are many small objects without cycles, which it would look at in vain.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, OLDER, OLDEST)


def _checked_url(url: str) -> str:
    """Where other servers reach this one."""
    url = checked_address(url, "--url")
    host = httpx.URL(url).host
    if is_everywhere(host):
        message = f"{host} means all addresses of a machine: pass the one that others reach it at"
        raise InvalidInput("--url", message)
    return url


def _claim_address(service: Service) -> None:
    """Become the only server at its address; whoever cannot write into the store cannot serve."""
    try:
        service.writer.memory.leases.claim_address()
    except SQLAlchemyError as error:
        raise unusable(service.store.url, error) from None


def _check_open(store: str, host: str, address: str, url: str | None, *, demo: bool) -> str:
    """Without tokens anybody may do anything: then only this machine may connect.

    Returns which store it is, in words, and whether it was made.
    """
    with open_store(store) as opened, opened.reading() as connection:
        open_to_all = read_tokens(connection) is None
    if opened.shared and url is None and is_everywhere(address):
        message = f"other servers of the store cannot reach this one at {host}: pass its address"
        raise InvalidInput("--url", message)
    if open_to_all and not is_loopback(address):
        where = "" if opened.shared else f" --store {shlex.quote(str(opened))}"
        first = f"thrifty tokens make NAME --scope admin{where}"
        raise InvalidInput("", f"refusing to listen on {host} without tokens; first run: {first}")
    if demo and not open_to_all:
        raise InvalidInput("--demo", "its visitors have no tokens: pass a --store without any")
    return opened.described()


def _address_of(host: str) -> str:
    """The address that listening on a host would mean; the host itself if that is not known."""
    try:
        found = socket.getaddrinfo(host or None, 0, _family(host), flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        return host
    return str(found[0][4][0])


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _listen(host: str, port: int) -> socket.socket:
    listening = socket.socket(_family(host), socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, UnicodeError) as error:  # UnicodeError: of what cannot be a name
        listening.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            message = f"{port} is in use on {host}; pass another, or 0 for any that is free"
            raise InvalidInput("--port", message) from None
        message = f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}"
        raise InvalidInput("--host", message) from None
    return listening


class _JsonLines(logging.Formatter):
    """A log record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        content = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redacted(record.getMessage()),
        }
        extra = vars(record)
        content |= {key: extra[key] for key in ("experiment", "fence") if key in extra}
        if record.exc_info:
            content["error"] = redacted(self.formatException(record.exc_info))
        return json.dumps(content)


def _log_as_json() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    logging.getLogger("thrifty").handlers.clear()
    logging.getLogger("httpx").setLevel(logging.WARNING)  # a line for each request passed on
