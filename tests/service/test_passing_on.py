"""Requests for an experiment that another server leads: where they go, and what comes back."""

import json
import time
from itertools import count, repeat

import pytest

from tests.service.fake_server import speaking
from tests.service.servers import serving
from thrifty.service.server import app
from thrifty.service.storage.tables import LEASES

TOKEN = {"Authorization": "Bearer th_secret"}
NAMES = (f"experiment {n}" for n in count())


@pytest.fixture
def led_at(server):
    """A function that makes an experiment which is led at an address; it returns its path."""
    return lambda url: lead(server, next(NAMES), url)


def lead(server, name, url):
    path, far = server.make(name), int((time.time() + 3600) * 1e6)
    with server.app.state.service.store.begin() as connection:
        taken = LEASES.update().where(LEASES.c.experiment == name)
        connection.execute(taken.values(holder="another", url=url, fence=9, until=far))
    decide(server, path)  # finds out
    return path


def decide(server, path):
    return server.client.post(f"{path}/decisions", json={"context": "phone"}, headers=TOKEN)


def refusal(response):
    error = response.json()["error"]
    return response.status_code, error["where"], error["message"]


def test_a_decision_of_another_server_is_passed_on_and_back(server, led_at):
    requests = []

    def talk(peer):
        requests.append(peer.request())
        peer.answer(b'{"a": 1}', "201 Created", X_Other="1")

    with speaking(talk) as url:
        found = decide(server, led_at(url + "/thrifty/"))
    assert (found.status_code, found.json()) == (201, {"a": 1})
    assert "X-Other" not in found.headers
    line, headers, body = requests[-1]
    assert line.startswith("POST /thrifty/v1/experiments/experiment%20")
    assert json.loads(body) == {"context": "phone"}
    kept = ("authorization", "content-type", "accept-encoding", "x-thrifty-forwarded")
    passed = [headers[name] for name in kept]
    assert passed == ["Bearer th_secret", "application/json", "identity", "1"]


@pytest.mark.parametrize("status", sorted(app.ERRORS))
def test_its_refusals_are_passed_back(server, led_at, status):
    body = json.dumps({"error": {"where": "x", "message": "no"}}).encode()

    def talk(peer):
        peer.request()
        peer.answer(body, f"{status} No", Retry_After="\u20ac")  # which no header may hold

    with speaking(talk) as url:
        found = decide(server, led_at(url))
    assert refusal(found) == (status, "x", "no")
    assert found.headers.get("retry-after") == ("1" if status in (429, 503) else None)


@pytest.mark.parametrize(
    "url",
    [
        *("", "not an address", "ftp://host", "file:///etc/passwd", "http://127.0.0.1:0"),
        *("http://user:secret@127.0.0.1:1", "http://host?a=", "http://host#"),
    ],
)
def test_nothing_is_sent_to_what_is_no_address_of_a_server(server, led_at, url, caplog):
    found = decide(server, led_at(url))
    message = "its leader has an address that cannot be used; see the server log"
    assert refusal(found) == (503, "experiment", message)
    assert "not passed on: its leader: " in caplog.text
    assert "secret" not in caplog.text


def test_a_server_does_not_ask_itself(server, led_at):
    found = decide(server, led_at(server.url + "/"))
    message = "another server has the address of this one; see --url"
    assert refusal(found) == (503, "experiment", message)


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        ("200 OK", {"Content_Type": "text/html"}, b"<script>"),
        ("200 OK", {"Content_Type": "application/jsonp"}, b"[]"),
        ("200 OK", {"Content_Encoding": "gzip"}, b"[]"),
        ("302 Found", {"Location": "/v1/experiments"}, b"[]"),
        ("307 Temporary Redirect", {"Location": "/v1/experiments"}, b"[]"),
        ("401 Unauthorized", {"Content_Type": "text/plain"}, b"no"),
        ("418 Teapot", {}, b"[]"),
        ("200 OK", {}, b"[" + 2001 * b" " + b"]"),
        *(("200 OK", {}, body) for body in (b"", b"[", b"[NaN]", b"[] []", b'"\xff"', 999 * b"[")),
    ],
)
def test_other_replies_do_not_come_back(server, led_at, monkeypatch, status, headers, body):
    monkeypatch.setattr(app, "LARGEST_REPLY", 2000)
    requests = []

    def talk(peer):
        requests.append(peer.request())
        peer.answer(body, status, Connection="close", **headers)

    with speaking(talk) as url:
        path = led_at(url)
        requests.clear()
        found = decide(server, path)
        assert refusal(found) == (503, "experiment", "its leader does not answer; try again")
        changed = server.client.patch(path, json={"status": "paused"})
        assert changed.status_code == 504  # it may have been made
    assert len(requests) == 2


def test_requests_are_not_passed_on_through_a_proxy(tmp_path, monkeypatch):
    seen = []

    def talk(peer):
        seen.append(peer.request())
        peer.answer(b"{}")

    with speaking(talk) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.setenv("no_proxy", "127.0.0.1")  # the test's own requests
        with serving(tmp_path / "store.db") as server:
            path = lead(server, "far", "http://peer.invalid:8080")
            assert decide(server, path).status_code == 503
    assert seen == []


def test_a_leader_that_drips_is_given_up(server, led_at, monkeypatch):
    def talk(peer):
        peer.request()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")
        peer.send(*repeat(b" ", 100), pause=0.05)

    monkeypatch.setattr(app, "LONGEST_HOP", 0.2)
    with speaking(talk) as url:
        path = led_at(url)
        begun = time.monotonic()
        assert refusal(decide(server, path))[::2] == (503, "its leader does not answer; try again")
        assert server.client.patch(path, json={"status": "paused"}).status_code == 504
        assert time.monotonic() - begun < 2


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_nothing_is_sent_to_link_local_addresses(server, led_at, monkeypatch, caplog, host):
    received = []

    def talk(peer):
        received.append(peer.request()[0])
        peer.answer()

    monkeypatch.setattr(app, "is_link_local", lambda address: address == "127.0.0.1")
    with speaking(talk) as url:
        path = led_at(url.replace("127.0.0.1", host))
        assert refusal(decide(server, path)) == (503, "experiment", app.UNUSABLE)
        assert server.client.patch(path, json={"status": "paused"}).status_code == 503
    assert "its leader has the link-local address 127.0.0.1" in caplog.text
    assert not any(received)


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        *[("169.254.169.254", True), ("169.254.0.1", True), ("169.253.0.1", False)],
        *[("fe80::1", True), ("febf::1%2", True), ("fec0::1", False)],
        *[("::ffff:169.254.1.1", True), ("::ffff:10.0.0.1", False)],
    ],
)
def test_link_local_addresses_are_known(host, is_one):
    assert app.is_link_local(host) == is_one
