"""Attack: connections that are slow, silent or greedy, while others must be answered in time."""

import socket
import struct
import tempfile
import time
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from unittest import mock

from tests.service import servers
from tests.service.servers import serving
from thrifty.service.server import connections, gate
from thrifty.service.server.serving import server_config

DEADLINE = 0.3  # seconds for a header, a body, and for reading on
SOON = 5.0  # seconds in which others are answered, on a busy machine
MOST = 40  # connections of the server
STEPS = 15
POST = b"POST /v1/experiments/shop/decisions HTTP/1.1\r\nHost: localhost\r\n"
JSON = POST + b"Content-Type: application/json\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
READ = b"GET /v1/experiments/large HTTP/1.1\r\nHost: localhost\r\n\r\n"
# what is sent at once, and what again and again; nothing is ever read
KINDS = {
    "silent": (b"", b""),
    "request line": (b"G", b"E"),
    "empty lines": (b"", b"\r\n"),
    "header": (b"GET /healthz HTTP/1.1\r\nX: ", b"x"),
    "second header": (HEALTH + b"GET / HTTP/1.1\r\nX: ", b"x"),
    "long header": (b"GET /healthz HTTP/1.1\r\nX: ", b"x" * 50_000),
    "many headers": (b"GET /healthz HTTP/1.1\r\n", b"a: b\r\n" * 5_000),
    "no body": (JSON + b"Content-Length: 1000\r\n\r\n", b""),
    "body": (JSON + b"Content-Length: 1000\r\n\r\n", b" "),
    "refused body": (POST + b"Content-Length: 1000000\r\n\r\n", b"x"),
    "long body": (JSON + b"Content-Length: 900000000\r\n\r\n", b" " * 500_000),
    "chunks": (JSON + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "extension": (JSON + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x" * 50_000),
    "trailers": (JSON + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"a: b\r\n"),
    "reader": (READ, b""),
    "readers": (READ * 5, b""),
}


OPEN = ExitStack()
finish = OPEN.close  # the threads of a server would keep the process alive


@cache
def started():
    """A server with short deadlines and few places, until `finish` is called."""
    stack = OPEN
    for name in ("HEADER", "BODY", "STALLED", "UNREAD"):
        stack.enter_context(mock.patch.object(connections, name, DEADLINE))
    stack.enter_context(mock.patch.object(gate, "MOST_IN_FLIGHT", 8))

    def config(app):
        made = server_config(app)
        made.timeout_keep_alive = DEADLINE
        return made

    stack.enter_context(mock.patch.object(servers, "server_config", config))
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    server = stack.enter_context(serving(Path(folder) / "s.db"))
    server.app.state.connections.most = MOST
    server.make("shop")
    contexts = [{"name": f"c{n}", "arms": [[1.0, 0.5]] * 1_000} for n in range(60)]
    server.make("large", contexts=contexts)
    return server


class Attacker:
    """A connection that sends, and never reads."""

    def __init__(self, server, rng):
        self.kind = str(rng.choice(list(KINDS)))
        first, self.part = KINDS[self.kind]
        self.connection = socket.socket()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self.connection.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
        self.port = self.connection.getsockname()[1]
        self.connection.setblocking(False)
        self.resets = rng.random() < 0.1
        self.send(first)

    def send(self, part):
        with suppress(OSError):  # it was ended, or takes no more
            self.connection.send(part)

    def step(self, rng):
        self.send(self.part)
        if self.resets and rng.random() < 0.1:
            with suppress(OSError):  # it was closed before
                off = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, off)
            self.connection.close()


def attack(rng):
    """Some of them at once; each is ended in time, and nobody else has to wait."""
    server = started()
    attackers = [Attacker(server, rng) for _ in range(int(rng.integers(1, 2 * MOST)))]
    try:
        for _ in range(STEPS):
            for one in attackers:
                one.step(rng)
            _ask(server)
        ports = {one.port: one.kind for one in attackers}
        end = time.monotonic() + SOON
        while left := [ports[port] for port in _open(server) if port in ports]:
            assert time.monotonic() < end, left
            for one in attackers:
                one.step(rng)
            time.sleep(0.05)
    finally:
        for one in attackers:
            one.connection.close()


def _ask(server):
    """Whether it is healthy, at once; and a decision, again and again as clients ask for it."""
    end, close = time.monotonic() + SOON, {"Connection": "close"}
    healthy = server.client.get("/healthz", headers=close).status_code
    path, status = "/v1/experiments/shop/decisions", 503
    while status == 503 and time.monotonic() < end:
        asked = {"context": "phone"}
        status = server.client.post(path, json=asked, headers=close).status_code
    assert (healthy, status, time.monotonic() < end) == (200, 200, True)


def _open(server):
    """The ports of whoever is connected."""
    return [one.client[1] for one in list(server.app.state.connections._open)]
