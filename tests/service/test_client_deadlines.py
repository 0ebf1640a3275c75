"""`timeout` bounds an attempt as a whole, whatever a server does with its connection."""

import asyncio
import socket
import time

import httpcore
import pytest

import thrifty as th
from tests.service.fake_server import speaking
from thrifty.errors import Unreachable
from thrifty.service.client import deadlines

pytestmark = pytest.mark.slow
TIMEOUT, PAUSE = 0.3, 0.05  # seconds: of an attempt, and between the bytes of a server
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
LARGE = [[0.123456789] * 1000] * 500  # features that do not fit into buffers of the system


def drip(text):
    return [text[n : n + 1] for n in range(len(text))]


def answer_slowly(peer, *parts):
    peer.request()
    peer.send(*parts, pause=PAUSE)


def silent(peer):
    peer.over.wait()


def status_line(peer):
    answer_slowly(peer, *drip(b"HTTP/1.1 200 " + 1000 * b"O"))


def headers(peer):
    answer_slowly(peer, HEAD, *drip(b"X: " + 1000 * b"x"))


def body(peer):
    answer_slowly(peer, HEAD + b"Content-Length: 1000\r\n\r\n", *drip(1000 * b" "))


def chunks(peer):
    answer_slowly(peer, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *1000 * [b"1\r\n \r\n"])


def forerunners(peer):
    """Replies before the reply, as fast as they can be sent."""
    peer.request()
    while not peer.over.is_set():
        peer.send(1000 * b"HTTP/1.1 100 Continue\r\n\r\n")


def slow_reader(peer):
    while not peer.over.wait(PAUSE):
        peer.connection.recv(1000)


TALKS = [silent, status_line, headers, body, chunks, forerunners, slow_reader]


def waiting(url, features):
    with th.Client(url, timeout=TIMEOUT, retries=0) as client:
        client.experiment("shop").choose(features)


def awaiting(url, features):
    async def ask():
        async with th.AsyncClient(url, timeout=TIMEOUT, retries=0) as client:
            await client.experiment("shop").choose(features)

    asyncio.run(ask())


def ends_in_time(ask, url, features=((1, 2),)):
    begun = time.monotonic()
    with pytest.raises(Unreachable, match=f": no answer within {TIMEOUT} s"):
        ask(url, features)
    assert 0.9 * TIMEOUT < time.monotonic() - begun < 20 * TIMEOUT  # dripping takes 50 s


@pytest.mark.parametrize("ask", [waiting, awaiting])
@pytest.mark.parametrize("talk", TALKS)
def test_an_attempt_ends_in_time(ask, talk):
    features = LARGE if talk is slow_reader else [[1, 2]]
    with speaking(talk) as url:
        ends_in_time(ask, url, features)


def handshake(peer):
    peer.send(b"\x16\x03\x03\x40\x00", *drip(1000 * b"x"), pause=PAUSE)


@pytest.mark.parametrize("ask", [waiting, awaiting])
@pytest.mark.parametrize("talk", [silent, handshake])
def test_so_does_one_that_waits_for_tls(ask, talk):
    with speaking(talk) as url:
        ends_in_time(ask, url.replace("http:", "https:"))


def test_a_change_that_got_no_answer_in_time_may_have_been_made():
    with (
        speaking(silent) as url,
        th.Client(url, timeout=TIMEOUT, retries=2) as client,
        pytest.raises(Unreachable, match="whether the change was made is not known"),
    ):
        client.create("shop", dimension=2)


def test_a_host_with_several_addresses_is_tried_at_each(monkeypatch):
    """The first one answers nothing, and leaves time for the second."""
    listener = socket.create_server(("127.0.0.1", 0))
    port, tried = listener.getsockname()[1], []

    class Inner(httpcore.SyncBackend):
        def connect_tcp(self, host, port, timeout=None, *more):
            tried.append(host)
            if host == "192.0.2.1":
                time.sleep(timeout)
                raise httpcore.ConnectTimeout("timed out")
            return super().connect_tcp(host, port, timeout, *more)

    found = [(2, 1, 6, "", (host, port)) for host in ("192.0.2.1", "127.0.0.1")]
    monkeypatch.setattr(deadlines.socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(deadlines.httpcore, "SyncBackend", Inner)
    begun = time.monotonic()
    stream = deadlines.Backend().connect_tcp("both", port, begun + TIMEOUT)
    assert tried == ["192.0.2.1", "127.0.0.1"]
    assert time.monotonic() - begun < TIMEOUT
    stream.close()
    listener.close()


@pytest.mark.parametrize("ask", [waiting, awaiting])
def test_a_name_without_an_address_is_unreachable(ask, monkeypatch):
    def look_up(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(Unreachable, match=r"is the service running there\?"):
        ask("http://nobody.invalid:1", [[1, 2]])
