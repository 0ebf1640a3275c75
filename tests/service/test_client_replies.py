"""Replies that are not of a service, or not to what was asked: errors of the client, always."""

import asyncio
import gzip
import json
import random

import pytest

import thrifty as th
from tests.service.fake_server import AT, NOTHING, speaking
from thrifty.errors import ServiceError
from thrifty.service.client import outcomes
from thrifty.service.client.client import RemoteExperiment, _Client
from thrifty.service.client.outcomes import Failed, Reply, read_reply

DECISION = {"id": "a", "seq": 1, "context": "x", "arm": 0, "name": "red", "label": "greedy"}
DECISION |= {"probability": 0.5, "gap": 0.0}
REWARD = {"decision": "a", "seq": 2, "status": "learned"}
KNOWN = {"name": "red", "mean": 0.5, "gap": 0.0, "error": None, "pulls": 1, "chosen": True}
DETAIL = {"decision": DECISION, "at": AT, "status": "waiting", "reward": None, "rewarded_at": None}
DETAIL |= {"why": {"text": "because", "outcome": "", "arms": [KNOWN]}}
INFO = {"name": "shop", "status": "active", "policy": "thrifty", **NOTHING}
EVENTS = [{"seq": n, "kind": "decision", "at": AT, "decision": "a", "body": {}} for n in (8, 9)]
OTHER = "is about decision 'b' instead of 'a'"
ADS = "is about experiment 'ads' instead of 'shop'"
# by method: how it is called, and a reply that it reads
CALLS = {
    "experiments": (lambda c, e: c.experiments(), [INFO]),
    "create": (lambda c, e: c.create("shop", dimension=2), INFO),
    "choose": (lambda c, e: e.choose("x", id="a"), DECISION),
    "choose_many": (lambda c, e: e.choose_many([{"context": "x", "id": "a"}]), [DECISION]),
    "learn": (lambda c, e: e.learn("a", 1.0), REWARD),
    "learn_many": (lambda c, e: e.learn_many([("a", 1.0)]), [REWARD]),
    "explain": (lambda c, e: e.explain("a"), DETAIL),
    "info": (lambda c, e: e.info(), INFO),
    "change": (lambda c, e: e.change(policy="lints"), INFO),
    "pause": (lambda c, e: e.pause(), INFO),
    "resume": (lambda c, e: e.resume(), INFO),
    "archive": (lambda c, e: e.archive(), INFO),
    "log": (lambda c, e: list(e.log(7)), EVENTS),
}


class Unsent:
    """Instead of a transport: gives requests back."""

    def send(self, request):
        return request


class Requests(_Client):
    """A client whose methods make requests, which are not sent."""

    _experiment = RemoteExperiment

    def __init__(self):
        self._transport = Unsent()


def request_of(name):
    client = Requests()
    shop = client.experiment("shop")
    return shop._page(7) if name == "log" else CALLS[name][0](client, shop)


def read(name, reply, status=200):
    """What a client makes of a reply."""
    content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
    return read_reply(request_of(name), Reply(status, {}, content))


def test_all_methods_are_here():
    kinds = (th.Client, RemoteExperiment)
    methods = {name for kind in kinds for name in dir(kind) if not name.startswith("_")}
    assert set(CALLS) == methods - {"experiment", "close", "to_frame", "decisions"}


@pytest.mark.parametrize("name", CALLS)
def test_a_reply_of_a_service_is_read(name):
    assert not isinstance(read(name, CALLS[name][1]), Failed)


@pytest.mark.parametrize(
    ("name", "reply", "message"),
    [
        ("choose", DECISION | {"id": "b"}, OTHER),
        ("choose_many", [DECISION | {"id": "b"}], OTHER),
        ("choose_many", [DECISION] * 2, "has 2 parts instead of 1"),
        ("choose_many", [], "has 0 parts instead of 1"),
        ("learn", REWARD | {"decision": "b"}, OTHER),
        ("learn_many", [REWARD | {"decision": "b"}], OTHER),
        ("learn_many", [], "has 0 parts instead of 1"),
        ("explain", DETAIL | {"decision": DECISION | {"id": "b"}}, OTHER),
        ("create", INFO | {"name": "ads"}, ADS),
        ("info", INFO | {"name": "ads"}, ADS),
        ("change", INFO | {"name": "ads"}, ADS),
        ("pause", INFO | {"name": "ads"}, ADS),
        ("log", [EVENTS[0] | {"seq": 7}], "has entry 7 of the log after entry 7"),
        ("log", EVENTS[::-1], "has entry 8 of the log after entry 9"),
    ],
)
def test_an_answer_to_another_request_is_not_given_to_this_one(name, reply, message):
    failed = read(name, reply)
    assert str(failed.error) == f"the answer {message}; it was not used"
    assert (failed.again, failed.usable) == (False, False)


@pytest.mark.parametrize("name", CALLS)
def test_whatever_comes_is_read_or_is_an_error_of_the_client(name):
    draw, error = random.Random(7), {"error": {"where": "x", "message": "no"}}
    for n in range(400):
        good = json.loads(json.dumps(CALLS[name][1] if n % 4 else error))
        reply = changed(good, draw) if n % 2 else any_json(draw, 3)
        status = draw.choice([200, 200, 201, 204, 302, 401, 404, 422, 500, 503])
        found = read(name, json.dumps(reply).encode(), status)
        if isinstance(found, Failed):
            assert isinstance(found.error, ServiceError)
            assert found.error.status == status
            assert len(str(found.error)) < 300
        else:
            assert 200 <= status < 300


def any_json(draw, depth):
    """Something random."""
    few = range(draw.randrange(4))
    if depth > 0 and draw.random() < 0.4:
        return [any_json(draw, depth - 1) for _ in few]
    if depth > 0 and draw.random() < 0.4:
        keys = [*DETAIL, *DECISION, *KNOWN, *INFO, "error", "where", "message", "body", ""]
        return {draw.choice(keys): any_json(draw, depth - 1) for _ in few}
    numbers = (0, 1, -1, 2**70, 0.5, -0.0, 1e308, float("nan"), float("inf"), -float("inf"))
    return draw.choice([None, True, False, "", "a", "shop", "\x00\udc80", "7", *numbers])


def changed(reply, draw):
    """A reply of which one part is replaced, doubled or removed."""
    place, path = reply, []
    while isinstance(place, (dict, list)) and place and (not path or draw.random() < 0.7):
        keys = list(place) if isinstance(place, dict) else range(len(place))
        path.append((place, draw.choice(keys)))
        place = path[-1][0][path[-1][1]]
    if not path:
        return any_json(draw, 2)
    place, key = path[-1]
    if draw.random() < 0.2:
        del place[key]
    elif draw.random() < 0.2 and isinstance(place, list):
        place.append(place[key])
    else:
        place[key] = any_json(draw, 2)
    return reply


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (100_000 * b"[", "it is not JSON"),
        (100_000 * b'{"a":', "it is not JSON"),
        (b"\xff\xfe\xfd", "it is not JSON"),
        (b'"\xc3\x28"', "it is not JSON"),
        (b"", "it is not JSON"),
        (b"[NaN]", "it is not JSON"),
        (json.dumps(DECISION).replace("0.5", "Infinity").encode(), "it is not JSON"),
        (json.dumps(DECISION).replace("0.5", "1e999").encode(), "probability is inf"),
        (b"[" + 5000 * b"9" + b"]", "it is not JSON"),
        (json.dumps(DECISION | {"seq": "1"}).encode(), "seq is '1'"),
        (json.dumps(DECISION | {"arm": True}).encode(), "arm is True"),
        (json.dumps([DECISION]).encode(), "dict expected, got "),
        (b"{}", "no 'id'"),
    ],
)
@pytest.mark.parametrize("kind", [th.Client, th.AsyncClient])
def test_what_is_no_reply_of_a_service_is_said_to_be_so(kind, body, why):
    def talk(peer):
        peer.request()
        peer.answer(body)

    with speaking(talk) as url:
        said = error_of(kind, url)
    assert said.startswith(f"not an answer of a thrifty service (status 200): {why}")


def error_of(kind, url):
    """What a client says to the answer to a decision."""
    ask = waiting if kind is th.Client else awaiting
    with pytest.raises(ServiceError) as refused:
        ask(url)
    return str(refused.value)


def waiting(url):
    with th.Client(url, retries=0, token="th_secret") as client:
        client.experiment("shop").choose("x", id="a")


def awaiting(url):
    async def ask():
        async with th.AsyncClient(url, retries=0, token="th_secret") as client:
            await client.experiment("shop").choose("x", id="a")

    asyncio.run(ask())


@pytest.mark.parametrize("kind", [th.Client, th.AsyncClient])
@pytest.mark.parametrize("coding", ["gzip", "br", "nonsense", "identity, gzip"])
def test_compressed_replies_are_not_asked_for_and_not_unpacked(kind, coding):
    asked = []

    def talk(peer):
        asked.append(peer.request()[1]["accept-encoding"])
        peer.answer(gzip.compress(json.dumps(DECISION).encode()), Content_Encoding=coding)

    with speaking(talk) as url:
        assert "compressed" in error_of(kind, url)
    assert asked == ["identity"]


@pytest.mark.parametrize("kind", [th.Client, th.AsyncClient])
@pytest.mark.parametrize("announced", [True, False])
def test_a_reply_is_read_up_to_a_limit(kind, announced, monkeypatch):
    monkeypatch.setattr(outcomes, "LARGEST_REPLY", 1_000_000)

    def talk(peer):
        peer.request()
        length = b"Content-Length: 9999999999" if announced else b"Transfer-Encoding: chunked"
        peer.send(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n\r\n")
        while not peer.over.is_set():
            peer.send(b"2000\r\n" + 8192 * b" " + b"\r\n")

    with speaking(talk) as url:
        assert "it has more than 1,000,000 bytes" in error_of(kind, url)


@pytest.mark.parametrize("kind", [th.Client, th.AsyncClient])
def test_redirections_are_not_followed(kind):
    elsewhere = []

    def other(peer):
        elsewhere.append(peer.request())

    with speaking(other) as far:

        def talk(peer):
            peer.request()
            peer.answer(b"", "307 Temporary Redirect", Location=far)

        with speaking(talk) as url:
            assert error_of(kind, url).endswith(f"(status 307): it leads to {far!s}")
    assert elsewhere == []


@pytest.mark.parametrize("kind", [th.Client, th.AsyncClient])
def test_proxies_of_the_environment_are_not_used(kind, monkeypatch):
    seen = []

    def proxy(peer):
        seen.append(peer.request())

    def talk(peer):
        peer.request()
        peer.answer(b"{}")

    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with speaking(proxy) as through, speaking(talk) as url:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, through)
        assert "no 'id'" in error_of(kind, url)
    assert seen == []


def test_a_connection_that_brought_an_answer_to_something_else_is_not_used_again():
    connections = []

    def talk(peer):
        connections.append(peer)
        while not peer.over.is_set():
            peer.request()
            # the first connection lags behind by an answer
            late = len(connections) == 1
            peer.answer(json.dumps(DECISION | {"id": "other" if late else "a"}).encode())

    async def twice(url):
        async with th.AsyncClient(url, retries=0) as client:
            shop = client.experiment("shop")
            with pytest.raises(ServiceError, match="is about decision 'other' instead of 'a'"):
                await shop.choose("x", id="a")
            return await shop.choose("x", id="a")

    with speaking(talk) as url, th.Client(url, retries=0) as client:
        shop = client.experiment("shop")
        with pytest.raises(ServiceError, match="is about decision 'other' instead of 'a'"):
            shop.choose("x", id="a")
        assert shop.choose("x", id="a").id == "a"
        assert len(connections) == 2
        connections.clear()
        assert asyncio.run(twice(url)).id == "a"
        assert len(connections) == 2


def test_a_log_that_repeats_a_page_ends_with_an_error():
    def talk(peer):
        while not peer.over.is_set():
            peer.request()
            peer.answer(json.dumps(EVENTS).encode())

    with speaking(talk) as url, th.Client(url, retries=0) as client:
        entries = client.experiment("shop").log(7)
        assert [next(entries).seq for _ in EVENTS] == [8, 9]
        with pytest.raises(ServiceError, match="has entry 8 of the log after entry 9"):
            next(entries)


@pytest.mark.parametrize("asked", ["inf", "1e308", "99999999999999999999", "1e400"])
def test_a_pause_without_end_is_not_waited_for(asked):
    def talk(peer):
        peer.request()
        peer.answer(b'{"error": {"where": "", "message": "later"}}', "503 No", Retry_After=asked)

    with (
        speaking(talk) as url,
        th.Client(url, retries=1000, timeout=86_400) as client,
        pytest.raises(ServiceError, match=r"^later$"),
    ):
        client.experiments()


@pytest.mark.parametrize("asked", ["nan", "-1", "-inf", "-1e400", "soon", ""])
def test_a_pause_that_makes_no_sense_is_none(asked):
    answers = iter(
        [
            (b'{"error": {"where": "", "message": "later"}}', "503 No"),
            (json.dumps([INFO]).encode(), "200 OK"),
        ]
    )

    def talk(peer):
        peer.request()
        peer.answer(*next(answers), Retry_After=asked)

    with speaking(talk) as url, th.Client(url, retries=1, timeout=60) as client:
        assert client.experiments() == [INFO]
