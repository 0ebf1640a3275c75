"""Clients against a server on loopback that answers, refuses, is slow, and breaks connections."""

import asyncio
import socket
import time
from hashlib import sha256

import numpy as np
import pandas as pd
import pytest

import thrifty as th
from tests.service.fake_server import AT, FakeService, make_app, serving
from thrifty.errors import InvalidInput, ServiceError, UnknownName, Unreachable
from thrifty.service.client.client import RemoteExperiment
from thrifty.service.client.outcomes import Reply, read_reply
from thrifty.service.client.replies import RemoteDecision
from thrifty.service.client.requests import Request
from thrifty.service.client.transports import Connection
from thrifty.service.server.refusals import Conflict
from thrifty.service.storage.tokens import Token

SETS = th.ActionSets(
    [[[1, 0], [0, 1]], [[1, 0], [0.8, 0.3]]],
    context_names=["mobile", "desktop"],
    arm_names=[["banner", "video"], ["banner", "small"]],
)
FEATURES = [[0.3, 1.0], [0.8, 0.2]]
TOKENS = ("", "th_secret\n", "th_secret ", " th_secret", "th_secr\u00e9t", "th_\x00secret")


@pytest.fixture(scope="module")
def running():
    """A server for all tests; its address, and the app around the service of each."""

    class Changing:
        async def __call__(self, scope, receive, send):
            await self.app(scope, receive, send)

    app = Changing()
    with serving(app) as url:
        yield app, url


@pytest.fixture
def service(running):
    app, _ = running
    service = FakeService()
    app.app = make_app(service)
    return service


@pytest.fixture
def client(service, running):
    with th.Client(running[1], timeout=5.0) as client:
        client.create("shop", dimension=2)
        service.requests.clear()
        yield client


@pytest.fixture
def shop(client):
    return client.experiment("shop")


def test_decisions_and_rewards_go_round(shop):
    decision = shop.choose(FEATURES, names=["red", "blue"])
    assert decision == RemoteDecision(decision.id, 1, "", 0, "red", "turn", 1.0, 0.5)
    assert shop.learn(decision, 0.7) == "learned"
    assert shop.learn(decision.id, np.float64(0.7)) == "already"
    first, second = shop.choose_many(["mobile", {"context": "desktop", "id": "mine"}])
    assert (first.context, second.context, second.id) == ("mobile", "desktop", "mine")
    assert shop.learn_many([(first, 1), ("mine", 0.5), (decision, 0.7)]) == [
        "learned",
        "learned",
        "already",
    ]


def test_an_experiment_is_made_from_action_sets_and_a_policy(service, client):
    made = client.create(
        "ads",
        policy=th.LinTS(scale=0.5),
        contexts=SETS,
        noise=0.5,
        seed=3,
        expire={"after_s": 60, "reward": 0},
    )
    assert made.name == "ads"
    kept = service.experiments["ads"]
    assert (kept["policy"], kept["noise"], kept["seed"]) == ("lints:scale=0.5", 0.5, 3)
    assert kept["contexts"][1] == {
        "name": "desktop",
        "arms": [[1.0, 0.0], [0.8, 0.3]],
        "arm_names": ["banner", "small"],
    }
    assert kept["expire"] == {"after_s": 60.0, "reward": 0.0}
    assert [one["name"] for one in client.experiments()] == ["shop", "ads"]


def test_an_experiment_is_paused_resumed_changed_and_archived(shop):
    assert shop.pause()["status"] == "paused"
    with pytest.raises(ServiceError, match="active expected, got paused"):
        shop.choose("mobile")
    assert shop.resume()["status"] == "active"
    assert shop.change(policy="lints", remove_context="old")["policy"] == "lints"
    assert shop.archive()["status"] == "archived"
    assert shop.info()["status"] == "archived"


@pytest.mark.parametrize(
    "features",
    [
        np.array(FEATURES),
        np.array(FEATURES, dtype=object).astype(float).tolist(),
        pd.DataFrame(FEATURES, columns=["price", "size"]),
    ],
)
def test_features_are_arrays_lists_or_data_frames(service, shop, features):
    decision = shop.choose(features)
    assert service.bodies[decision.id][0].features == FEATURES


def test_columns_of_data_frames_are_taken_by_name_and_arms_named_by_the_index(service, client):
    shop = client.experiment("shop", columns=["price", "size"])
    data = pd.DataFrame({"size": [1.0, 0.2], "price": [0.3, 0.8]}, index=["red", "blue"])
    asked = service.bodies[shop.choose(data).id][0]
    assert (asked.features, asked.names) == (FEATURES, ["red", "blue"])
    assert service.bodies[shop.choose(data, names=["a", "b"]).id][0].names == ["a", "b"]
    with pytest.raises(InvalidInput, match="features: the columns price, size expected"):
        shop.choose(data.rename(columns={"size": "weight"}))


def test_an_explanation_is_that_of_the_server(shop):
    decision = shop.choose("mobile")
    why = shop.explain(decision)
    assert why == shop.explain(decision.id)
    assert str(why) == "0 (turn)\n  0: unknown"
    assert (why.decision, why.status, why.at, why.reward) == (decision, "waiting", AT, None)
    assert (why.arms[0].mean, why.arms[0].standard_error, why.arms[0].pulls) == (0.25, np.inf, 3)
    assert list(why.to_frame()["mean"]) == [0.25]


def test_the_log_is_read_page_by_page(service, shop):
    made = shop.choose_many(["mobile"] * 7)
    shop.learn(made[2], 0.25)
    service.requests.clear()
    entries = list(shop.log())
    assert [entry.seq for entry in entries] == list(range(1, 9))
    assert (entries[-1].kind, entries[-1].body) == ("reward", {"reward": 0.25})
    assert len(service.requests) == 4
    assert [entry.seq for entry in shop.log(after=6)] == [7, 8]
    frame = shop.to_frame()
    assert list(frame.columns) == ["seq", "kind", "at", "decision", "arm", "reward"]
    assert frame["reward"].dropna().tolist() == [0.25]


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", [("answer", 503), ("answer", 429), ("answer", 502), ("drop",), ("slow", 1.5)]
)
def test_a_decision_that_got_no_answer_is_asked_for_again_and_made_once(service, running, fault):
    with th.Client(running[1], timeout=1.0, retries=3) as client:
        shop = client.create("shop", dimension=2).choose
        service.requests.clear()
        service.faults.extend([fault, fault])
        decision = shop(FEATURES)
    assert len(service.requests) == 3
    assert [entry["decision"] for entry in service.log] == [decision.id]


def test_a_reward_that_got_no_answer_is_learned_once(service, shop):
    decision = shop.choose("mobile")
    service.faults.append(("drop",))
    assert shop.learn(decision, 1.0) == "already"
    assert [entry["kind"] for entry in service.log] == ["decision", "reward"]


def test_the_pause_is_what_the_server_asks_for(service, shop):
    service.faults.append(("answer", 503, 0.7))
    start = time.monotonic()
    shop.choose("mobile")
    assert time.monotonic() - start >= 0.7


def test_pauses_grow(service, shop):
    service.faults.extend([("answer", 503)] * 3)
    start = time.monotonic()
    shop.choose("mobile")
    assert time.monotonic() - start >= 0.05 + 0.1 + 0.2


@pytest.mark.parametrize("retries", [0, 2])
def test_there_are_so_many_retries_and_then_the_servers_error(service, running, retries):
    service.faults.extend([("answer", 503)] * 5)
    with (
        th.Client(running[1], retries=retries) as client,
        pytest.raises(ServiceError, match=r"^service: told to answer 503$") as refused,
    ):
        client.experiments()
    assert (refused.value.status, refused.value.where) == (503, "service")
    assert len(service.requests) == retries + 1


def test_a_pause_beyond_the_time_of_all_attempts_is_not_waited_for(service, running):
    service.faults.append(("answer", 503, 3600))
    start = time.monotonic()
    with th.Client(running[1], timeout=100.0) as client, pytest.raises(ServiceError):
        client.experiments()
    assert time.monotonic() - start < 60
    assert len(service.requests) == 1


def test_a_change_that_may_have_been_made_is_not_made_again(service, client, shop):
    arm = {"context": "mobile", "features": [1, 2]}
    for call in (lambda: client.create("other", dimension=2), lambda: shop.change(add_arm=arm)):
        service.requests.clear()
        service.faults.append(("drop",))
        with pytest.raises(Unreachable, match="whether the change was made is not known"):
            call()
        assert len(service.requests) == 1
    service.faults.append(("drop",))
    assert shop.pause()["status"] == "paused"


def test_a_change_that_was_not_made_is_tried_again(service, client):
    service.faults.extend([("answer", 503), ("answer", 429, 0)])
    assert client.create("other", dimension=2).name == "other"
    service.faults.append(("answer", 502))
    with pytest.raises(ServiceError, match="502"):
        client.create("third", dimension=2)


def test_an_error_is_the_servers_line_and_is_not_retried(service, client, shop):
    with pytest.raises(ServiceError) as refused:
        client.experiment("shops").info()
    assert str(refused.value) == "experiment: unknown experiment 'shops'"
    assert (refused.value.status, refused.value.where) == (404, "experiment")
    decision = shop.choose("mobile", id="mine")
    service.requests.clear()
    with pytest.raises(ServiceError) as refused:
        shop.choose("desktop", id=decision.id)
    assert (refused.value.status, len(service.requests)) == (Conflict.status, 1)


def test_something_else_at_the_address_is_said_to_be_so(service, running):
    with (
        th.Client(f"{running[1]}/v1/nonsense/") as client,
        pytest.raises(ServiceError, match=r"not an answer of a thrifty service \(status 200\)"),
    ):
        client.experiments()


def test_nobody_at_the_address_is_unreachable(service):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with (
        th.Client(f"http://127.0.0.1:{port}", retries=1) as client,
        pytest.raises(Unreachable, match=f"^http://127.0.0.1:{port}: "),
    ):
        client.experiments()


def test_a_token_is_sent_and_not_shown(service, running):
    secret = 43 * "s"
    service.tokens = {}
    with (
        th.Client(running[1], token=f"th_0123456789ab_{secret}") as client,
        pytest.raises(ServiceError, match="unknown or revoked") as refused,
    ):
        client.create("shop", dimension=2)
    assert refused.value.status == 401
    assert secret not in repr(client) + str(refused.value)
    digest = sha256(secret.encode()).hexdigest()
    scopes = frozenset({"admin"})
    service.tokens = {"0123456789ab": Token("0123456789ab", "a", digest, scopes, 0, None)}
    with th.Client(running[1], token=f"th_0123456789ab_{secret}") as client:
        assert client.create("shop", dimension=2).name == "shop"


@pytest.mark.parametrize(
    ("url", "host", "target"),
    [
        ("http://[::1]:8080", "[::1]:8080", b"/v1/experiments"),
        ("https://Example.org:443/a b/;c/", "example.org", b"/a%20b/;c/v1/experiments"),
    ],
)
def test_an_address_has_its_host_and_its_path_in_each_request(url, host, target):
    _, call = Connection(url, None, 1.0, 0).start(Request("GET", "/v1/experiments", list))
    assert (call["headers"]["Host"], call["url"].target) == (host, target)


def test_names_are_quoted_in_paths(service, client):
    client.create("a b~c", dimension=2).choose(FEATURES, id="d e")
    client.experiment("a b~c").explain("d e")
    assert service.requests[-1] == ("GET", "/v1/experiments/a%20b~c/decisions/d%20e")
    with pytest.raises(ServiceError, match="404"):
        client.experiment("a/../b").info()
    assert service.requests[-1] == ("GET", "/v1/experiments/a%2F..%2Fb")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.choose(3), "features: a list of arms with finite numbers expected, got 3"),
        (lambda e: e.choose([[1, np.nan]]), "features: a list of arms with finite numbers"),
        (lambda e: e.choose_many(["mobile", [["x"]]]), r"\[1\].features: a list of arms, or the"),
        (lambda e: e.learn("id", float("nan")), "reward: a finite number expected, got nan"),
        (lambda e: e.learn_many([("id", 1), ("id", "1")]), r"\[1\].reward: a finite number"),
        (lambda e: e.explain(".."), "decision: a name expected"),
        (lambda e: e.explain("\udc80"), "decision: a name expected"),
        (lambda e: list(e.log("7&format=parquet")), "after: a whole number of at least 0 expected"),
        (lambda e: list(e.log(-1)), "after: a whole number of at least 0 expected, got -1"),
        (lambda e: e.choose("mobile", available=7), "available: a list of arms expected, got 7"),
        (lambda e: e.choose("mobile", available="ab"), "available: a list of arms expected"),
        (lambda e: e.choose(FEATURES, names=7), "names: a list of names expected, got 7"),
        (lambda e: e.choose(FEATURES, names="xy"), "names: a list of names expected, got 'xy'"),
        (lambda e: e.choose(FEATURES, names=["x", 1]), r"names\[1\]: a string expected, got 1"),
        (
            lambda e: e.choose_many([{"context": "mobile", "available": "ab"}]),
            r"\[0\].available: a list of arms expected, got 'ab'",
        ),
        (lambda e: e.choose_many(7), "contexts: a list of contexts expected, got 7"),
        (lambda e: e.choose_many("ab"), "contexts: a list of contexts expected, got 'ab'"),
        (lambda e: e.choose_many(pd.DataFrame({"a": [1.0]})), "contexts: a list of contexts"),
        (lambda e: e.learn_many(7), "rewards: a list of decisions and their rewards expected"),
        (lambda e: e.learn_many({"id": 1.0}), "rewards: a list of decisions and their rewards"),
        (lambda e: e.choose(pd.DataFrame([[1.0, 2.0]])), r"columns\[0\]: a string expected, got 0"),
        (
            lambda e: e.choose(pd.Series([1.0, 2.0], [2, 1])),
            r"index\[0\]: a string expected, got 2",
        ),
        (lambda e: e.choose("mobile", available=[b"x"]), "request: cannot be sent as JSON"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_sent(service, shop, call, message):
    with pytest.raises(InvalidInput, match=f"^{message}"):
        call(shop)
    assert service.requests == []


@pytest.mark.parametrize("columns", [7, "ab", ["a", 1], ["a", "a"]])
def test_columns_are_names(client, columns):
    with pytest.raises(InvalidInput, match=r"^columns"):
        client.experiment("shop", columns=columns)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"url": "127.0.0.1:8080"}, "url: an address such as http://127.0.0.1:8080 expected"),
        ({"url": "ftp://host"}, "url: an address such as"),
        ({"url": 7}, "url: an address such as"),
        ({"url": "http://"}, "url: an address such as"),
        ({"url": "http://user:word@host"}, "url: .* without user, query or fragment"),
        ({"timeout": 0}, "timeout: a positive number expected, got 0"),
        ({"retries": -1}, "retries: a whole number of at least 0 expected, got -1"),
        ({"token": b"th_a"}, "token: text such as th_... expected, got 'bytes'"),
        *(({"token": token}, "token: must be letters, digits and signs") for token in TOKENS),
        ({"timeout": 1e308}, "timeout: must be at most 86,400 seconds"),
        ({"retries": 10**400}, "retries: must be at most 1,000"),
    ],
)
@pytest.mark.parametrize("kind", [th.Client, th.AsyncClient])
def test_a_client_checks_what_it_is_given(kind, arguments, message):
    with pytest.raises(InvalidInput, match=f"^{message}") as refused:
        kind(**{"url": "http://127.0.0.1:8080", **arguments})
    assert "secr" not in str(refused.value)


def test_each_decision_has_an_id_of_its_own():
    class Unsent:
        def send(self, request):
            return request

    ids = [body["id"] for body in RemoteExperiment(Unsent(), "shop").choose_many(list("abc")).body]
    assert ids == sorted(set(ids))
    assert len(ids) == 3


@pytest.mark.slow
def test_the_asynchronous_client_does_the_same(service, running):
    async def play():
        async with th.AsyncClient(running[1], timeout=1.0) as client:
            shop = await client.create("shop", dimension=2)
            service.faults.extend([("drop",), ("slow", 1.5), ("answer", 503, 0.1)])
            decision = await shop.choose(FEATURES)
            made = await asyncio.gather(*(shop.choose("mobile") for _ in range(5)))
            made += await shop.choose_many(["desktop"])
            learned = [await shop.learn(decision, 1.0), *await shop.learn_many([(made[0], 0.5)])]
            why = await shop.explain(decision)
            states = [await shop.pause(), await shop.resume(), await shop.archive()]
            info, listed = await shop.info(), await client.experiments()
            entries = [entry async for entry in shop.log()]
            frame = await shop.to_frame()
        assert (learned, str(why)) == (["learned"] * 2, "0 (turn)\n  0: unknown")
        assert [state["status"] for state in states] == ["paused", "active", "archived"]
        assert listed == [info]
        assert len(entries) == len(frame) == 9
        assert {one.id for one in [decision, *made]} == {one.decision for one in entries}

    asyncio.run(play())


def test_both_clients_have_the_same_methods():
    def methods(kind):
        return {name for name in dir(kind) if not name.startswith("_")}

    assert methods(th.Client) == methods(th.AsyncClient)
    waiting, asynchronous = (
        type(kind("http://127.0.0.1:1").experiment("a")) for kind in (th.Client, th.AsyncClient)
    )
    assert methods(waiting) == methods(asynchronous)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda client, shop: client.create("x", expire=3600), "expire: a rule such as"),
        (lambda client, shop: shop.learn_many(["x"]), "[0]: a decision and its reward expected"),
        (lambda client, shop: shop.learn_many([3]), "[0]: a decision and its reward expected"),
    ],
)
def test_mistakes_that_are_not_sent(service, client, shop, call, message):
    with pytest.raises(th.InvalidInput) as refused:
        call(client, shop)
    assert str(refused.value).startswith(message)
    assert service.requests == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c, e: e.choose("x", avaliable=["a"]), "'avaliable'; did you mean 'available'?"),
        (lambda c, e: e.choose_many(context=["x"]), "'context'; did you mean 'contexts'?"),
        (lambda c, e: e.learn("x", rewrad=1), "'rewrad'; did you mean 'reward'?"),
        (lambda c, e: c.create("x", dimensions=2), "'dimensions'; did you mean 'dimension'?"),
        (lambda c, e: c.experiment("x", column=["a"]), "'column'; did you mean 'columns'?"),
        (lambda c, e: th.Client("http://a", tokn="t"), "'tokn'; did you mean 'token'?"),
        (lambda c, e: th.AsyncClient("http://a", xyz=1), "'xyz'; known: url, token, timeout, re"),
    ],
)
def test_a_keyword_that_is_not_known(service, client, shop, call, message):
    with pytest.raises(TypeError, match=r"^unknown argument of ") as refused:
        call(client, shop)
    assert isinstance(refused.value, UnknownName)
    assert message in str(refused.value)
    assert service.requests == []


def test_a_call_without_what_it_needs_is_a_type_error_as_ever(shop):
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'reward'"):
        shop.learn("x")


def test_an_attribute_that_is_not_known(client, shop):
    for call, message in (
        (lambda: client.experimnt, r"^Client has no attribute 'experimnt'; did you mean exper"),
        (lambda: shop.chose, r"^RemoteExperiment has no attribute 'chose'; did you mean choose\?$"),
        (lambda: shop.xyzzy, r"^RemoteExperiment has no attribute 'xyzzy'$"),
    ):
        with pytest.raises(AttributeError, match=message):
            call()
    assert not hasattr(client, "_xyzzy")


def test_a_click_is_a_reward(service, shop):
    for value, reward in ((True, 1.0), (np.bool_(False), 0.0), (np.float32(0.5), 0.5)):
        decision = shop.choose("mobile")
        shop.learn(decision, value)
        assert service.log[-1]["body"] == {"reward": reward}


def test_a_change_may_have_any_key(client, shop):
    with pytest.raises(ServiceError):
        shop.change(self=1)


def test_a_closed_client_says_so(running):
    client = th.Client(running[1])
    client.close()
    with pytest.raises(th.Unreachable, match="the client was closed"):
        client.experiments()


def test_where_no_service_runs():
    with (
        th.Client("http://127.0.0.1:1", retries=0) as client,
        pytest.raises(th.Unreachable, match=r"is the service running there\?"),
    ):
        client.experiments()


def test_an_error_about_a_token_says_how_to_pass_one():
    refused = b'{"error": {"where": "Authorization", "message": "a token is needed"}}'
    failed = read_reply(Request("GET", "/", list), Reply(401, {}, refused))
    assert "THRIFTY_TOKEN" in str(failed.error)
