"""Slow, silent and greedy connections: each is ended in time, and others do not notice."""

import asyncio
import json
import logging
import socket
import struct
import time
from contextlib import ExitStack, closing
from http.client import HTTPResponse

import pytest

from tests.service.servers import serving
from thrifty.service.server import connections, gate
from thrifty.service.server.writer import Writer

POST = b"POST /v1/experiments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
ENDED = CHUNKED + b"2\r\n{}\r\n0\r\n"  # but for its trailers
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def quick(monkeypatch):
    """Deadlines of half a second."""
    for name in ("HEADER", "BODY", "STALLED"):
        monkeypatch.setattr(connections, name, 0.5)
    return monkeypatch


@pytest.fixture
def connect(tmp_path, quick):
    """A server, and a function that connects to it."""
    with serving(tmp_path / "s.db") as server, ExitStack() as stack:

        def connect(*sent):
            port = int(server.url.rpartition(":")[2])
            made = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            for part in sent:
                made.sendall(part)
            return made

        connect.server = server
        yield connect


def ended(connection):
    """Seconds until the other side ends a connection that may answer before."""
    begun = time.monotonic()
    try:
        while connection.recv(65_536):
            pass
    except ConnectionError:
        pass
    return time.monotonic() - begun


def status(connection):
    """Of an answer, which is read whole."""
    with closing(HTTPResponse(connection)) as answer:
        answer.begin()
        answer.read()
        return answer.status


def received(connection):
    """Bytes that still come until the other side ends a connection."""
    size = 0
    try:
        while part := connection.recv(65_536):
            size += len(part)
    except ConnectionError:
        pass
    return size


def drip(connection, seconds=5.0, part=b"x"):
    """Send a byte now and then; returns the seconds until the other side has had enough."""
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        try:
            connection.sendall(part)
            connection.settimeout(0.05)
            if not connection.recv(65_536):
                break
        except TimeoutError:
            continue
        except ConnectionError:
            break
    return time.monotonic() - begun


def test_a_silent_connection_is_closed(connect):
    assert 0.4 < ended(connect()) < 2


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET /healthz HTTP/1.1\r\nX: ", b"\r\n", POST + b"Content-Length: 1000\r\n\r\n"],
    ids=["request line", "header", "empty lines", "body"],
)
def test_a_request_that_drips_is_closed(connect, begun):
    part = b"\r\n" if begun == b"\r\n" else b"x"
    assert drip(connect(begun or b"G"), part=part) < 2


def test_a_second_header_that_drips_is_closed(connect):
    connection = connect(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"200 OK" in connection.recv(1_000)
    connection.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
    assert drip(connection, 10) < 7  # uvicorn keeps it for five seconds


def accepted(connection, part):
    """Bytes that the other side takes, of a part that is sent again and again."""
    sent = 0
    try:
        while sent < 30_000_000:
            sent += connection.send(part)
    except ConnectionError:
        pass
    return sent


def test_a_long_header_is_refused_before_it_has_come(connect):
    connection = connect(b"GET /healthz HTTP/1.1\r\nX: ")
    assert accepted(connection, b"x" * 65_536) < 10_000_000
    short = connect(b"GET /healthz HTTP/1.1\r\nX: ", b"x" * 60_000, b"\r\nHost: localhost\r\n\r\n")
    assert short.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize(
    ("begun", "part"),
    [
        (ENDED, b"a:b\r\n" * 10_000),
        (ENDED + b"a:", b"x" * 65_536),
        (ENDED.replace(b"/v1/experiments", b"/nowhere"), b"a:b\r\n" * 10_000),
        (CHUNKED + b"2;", b"x" * 65_536),
        (CHUNKED, (b"1;" + 60_000 * b"x" + b"\r\n[\r\n") * 10),
        (CHUNKED, 10_000 * b"1\r\n[\r\n"),
        (POST + b"Content-Length: 900000000\r\n\r\n", b"x" * 65_536),
    ],
    ids=["trailers", "trailer", "unknown path", "extension", "extensions", "chunks", "body"],
)
def test_what_belongs_to_a_body_is_bounded(connect, quick, begun, part):
    quick.setattr(connections, "BODY", 60)
    quick.setattr(connections, "LONGEST_BODY", 2_000_000)
    assert accepted(connect(begun), part) < 15_000_000


def test_trailers_are_no_part_of_the_header(connect):
    connection = connect(ENDED, b"X-Late: 1\r\nExpect: 100-continue\r\n\r\n")
    assert status(connection) == 422
    [kept] = [one for one in connect.server.app.state.connections._open if one.cycle is not None]
    assert b"x-late" not in dict(kept.headers)
    connection.sendall(HEALTH)
    assert status(connection) == 200


def test_a_body_in_the_smallest_chunks_is_read(connect, quick):
    body = b'{"name": "slow", "dimension": 2}'
    quick.setattr(connections, "LONGEST_HEADER", 200)
    connection = connect(CHUNKED, *(b"1\r\n%c\r\n" % byte for byte in body), b"0\r\n\r\n")
    connection.settimeout(60)
    assert connection.recv(12) == b"HTTP/1.1 201"


def test_a_connection_is_closed_that_is_silent_after_a_refused_body(connect):
    refused = POST.replace(b"/v1/experiments", b"/nowhere") + b"Content-Length: 2\r\n\r\n"
    connection = connect(refused)
    assert b"404" in connection.recv(1_000)
    for one in connect.server.app.state.connections._open:
        one.timeout_keep_alive = 0.1
    connection.sendall(b"{}")
    assert ended(connection) < 2


def test_slow_bodies_give_way_to_other_requests(connect, quick):
    quick.setattr(connections, "BODY", 60)
    quick.setattr(gate, "MOST_IN_FLIGHT", 20)
    slow = [connect(POST + b"Content-Length: 1000\r\n\r\n{") for _ in range(30)]
    time.sleep(0.2)
    server = connect.server
    assert server.client.get("/healthz").status_code == 200
    path = server.make("others")
    assert server.client.post(f"{path}/decisions", json={"context": "phone"}).status_code == 200
    slow[-1].settimeout(0.1)
    with pytest.raises(TimeoutError):
        slow[-1].recv(1)  # one of the last is still there


def test_the_request_that_has_waited_longest_gives_way(connect, quick):
    """Not the connection that is the oldest."""
    quick.setattr(connections, "BODY", 60)
    quick.setattr(gate, "MOST_IN_FLIGHT", 2)
    body = b'{"dimension": 1, "name": "kept"}'
    begun = POST + b"Content-Length: %d\r\n\r\n" % len(body)
    kept = connect(HEALTH)
    assert status(kept) == 200
    slow = [connect(begun) for _ in range(2)]
    time.sleep(0.1)
    kept.sendall(begun)
    assert ended(slow[0]) < 2
    connect(begun)
    assert ended(slow[1]) < 2
    kept.sendall(body)
    kept.settimeout(60)
    assert status(kept) == 201


def test_a_request_does_not_give_way_to_itself(connect, quick):
    quick.setattr(gate, "MOST_IN_FLIGHT", 0)
    assert status(connect(POST + b"Content-Length: 1000\r\n\r\n")) == 503


def test_requests_are_given_up_whose_connection_has_ended(connect, quick, caplog):
    """All of them: the last waits for the one before, which waits for the writer."""
    waiting = []

    async def slow(_self, action):
        waiting.append(action)
        await asyncio.sleep(0.5)
        return {"name": action.name}

    quick.setattr(Writer, "submit", slow)
    asked = b"GET /v1/experiments/x HTTP/1.1\r\nHost: localhost\r\n\r\n"
    connection = connect(HEALTH + asked + asked)
    time.sleep(0.1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    time.sleep(0.6)
    assert len(waiting) == 1
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


def test_health_is_answered_however_many_requests_are_in_flight(connect, quick):
    quick.setattr(gate, "MOST_IN_FLIGHT", 0)
    for path in ("/healthz", "/readyz"):
        assert connect.server.client.get(path).status_code == 200
    assert connect.server.client.get("/v1/experiments").status_code == 503


def test_who_does_not_read_is_disconnected(connect):
    server = connect.server
    arms = [[1.0, 0.5]] * 1_000
    contexts = [{"name": f"c{n}", "arms": arms} for n in range(50)]
    server.make("large", contexts=contexts)
    connection = connect(b"GET /v1/experiments/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert connection.recv(100)
    time.sleep(2)
    assert received(connection) < 5_000_000  # what the system has buffered, and no more
    connection = connect(b"GET /v1/experiments/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
    read = 0
    for _ in range(20):  # slowly, but fast enough
        read += len(connection.recv(200_000))
        time.sleep(0.05)
    assert read > 2_000_000


def test_who_does_not_read_gives_way_to_other_requests(connect, quick):
    """Of several requests at once, the answer to the second waits until the first is read."""
    quick.setattr(connections, "STALLED", 60)
    quick.setattr(connections, "UNREAD", 0.1)
    quick.setattr(gate, "MOST_IN_FLIGHT", 3)
    server = connect.server
    contexts = [{"name": f"c{n}", "arms": [[1.0, 0.5]] * 1_000} for n in range(100)]
    server.make("large", contexts=contexts)
    ask = b"GET /v1/experiments/large HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for _ in range(5):
        connect(2 * ask).recv(100)
    time.sleep(0.3)
    assert server.client.get("/v1/experiments").status_code == 200


def test_what_waits_to_be_read_is_bounded(connect, quick):
    quick.setattr(connections, "STALLED", 60)
    quick.setattr(connections, "MOST_UNREAD", 20_000_000)
    server = connect.server
    contexts = [{"name": f"c{n}", "arms": [[1.0, 0.5]] * 1_000} for n in range(150)]
    server.make("large", contexts=contexts)
    ask = b"GET /v1/experiments/large HTTP/1.1\r\nHost: localhost\r\n\r\n"
    sockets = []
    for _ in range(8):
        sockets.append(connect(ask))
        sockets[-1].recv(100)
    time.sleep(0.3)  # what is closed is still counted for a moment
    unread = [one.transport.get_write_buffer_size() for one in server.app.state.connections._open]
    assert sum(unread) < 20_000_000
    assert max(unread) > 1_000_000


def test_connections_are_bounded_and_idle_ones_give_way(connect):
    connect.server.app.state.connections.most = 10
    kept = [connect(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(30)]
    assert b"200" in kept[-1].recv(1_000)
    assert connect.server.client.get("/healthz").status_code == 200


def test_one_address_has_a_share_of_the_connections(connect, quick):
    quick.setattr(connections, "MOST_OF_ONE", 3)
    quick.setattr(connections, "is_loopback", lambda address: False)
    kept = [connect() for _ in range(3)]
    assert ended(connect()) < 0.4
    kept.pop().close()
    time.sleep(0.1)
    ask = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert connect(ask).recv(12) == b"HTTP/1.1 200"


def test_a_body_that_comes_in_time_is_read(connect):
    body = json.dumps({"name": "slow", "dimension": 2}).encode()
    connection = connect(POST + f"Content-Length: {len(body)}\r\n\r\n".encode(), body[:5])
    time.sleep(0.3)
    connection.sendall(body[5:])
    connection.settimeout(60)
    assert connection.recv(12) == b"HTTP/1.1 201"
