"""The HTTP API: what each endpoint answers, and what it changes."""

import io
import re
import time
from uuid import UUID

import httpx
import pyarrow.parquet as pq
import pytest

from tests.service.servers import LISTED, serving
from thrifty.policies import POLICIES
from thrifty.service.storage import store

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")
JSON = {"Content-Type": "application/json"}
NEED_HORIZON = ("oam", "endoa", "solid", "linucb")


def refusal(response):
    """Status, place and message of an answer to a mistake."""
    error = response.json()["error"]
    assert set(error) == {"where", "message"}
    assert error["message"].isprintable()
    return response.status_code, error["where"], error["message"]


def decide(server, path, **asked):
    made = server.client.post(f"{path}/decisions", json=asked)
    assert made.status_code == 200, made.text
    return made.json()


def give(server, path, decision, reward):
    return server.client.post(f"{path}/rewards", json={"decision": decision, "reward": reward})


def state_of(server, name):
    """Everything that must not change by a mistake: the state's bytes, and the log."""
    return server.experiment(name).to_bytes(), server.log(name)


# experiments


def test_an_experiment_is_made_and_shown(server):
    made = server.client.post(
        "/v1/experiments",
        json={
            "name": "made",
            "policy": "lints:scale=0.5",
            "noise": 0.5,
            "seed": 3,
            "contexts": [{"name": "all", "arms": [[1, 0], [0, 1]]}],
            "expire": {"after_s": 3600},
        },
    )
    assert made.status_code == 201
    found = made.json()
    assert server.client.get("/v1/experiments/made").json() == found
    assert (found["name"], found["status"], found["seq"]) == ("made", "active", 1)
    assert (found["policy"], found["noise"], found["noise_estimated"]) == (
        "lints:scale=0.5",
        0.5,
        False,
    )
    assert (found["rewards"], found["seed"], found["dimension"]) == ("gaussian", 3, 2)
    assert (found["contexts"], found["expire"]) == (["all"], {"after_s": 3600, "reward": None})
    assert (found["mean_reward"], found["history"], found["leader"]) == (None, [], server.url)
    assert [arm["name"] for arm in found["arms"]] == ["0", "1"]
    assert TIME.fullmatch(found["created"])
    [line] = [one for one in server.client.get("/v1/experiments").json() if one["name"] == "made"]
    assert line == {key: found[key] for key in line}


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_can_be_an_experiment(server, name):
    spec = f"{name}:horizon=1000" if name in NEED_HORIZON else name
    path = server.make(
        f"policy-{name}", policy=spec, contexts=LISTED[:1]
    )  # endoa takes one context
    for _ in range(3):
        made = decide(server, path, context="phone")
        assert give(server, path, made["id"], 0.5).status_code == 200
    assert server.client.get(path).json()["counts"]["rewards"] == 3


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({}, "contexts"),
        ({"dimension": 2, "contexts": [{"name": "a", "arms": [[1]]}]}, "contexts"),
        ({"dimension": 0}, "dimension"),
        ({"dimension": True}, "dimension"),
        ({"dimension": "2"}, "dimension"),
        ({"dimension": 2, "seed": -1}, "seed"),
        ({"dimension": 2, "noise": 0}, "noise"),
        ({"dimension": 2, "unknown": 1}, "unknown"),
        ({"dimension": 2, "policy": "nothing"}, "policy"),
        ({"dimension": 2, "policy": "vids:samples=100000000000"}, "policy"),  # 745 GiB
        ({"dimension": 2, "expire": {"after_s": 0}}, "expire.after_s"),
        (
            {"dimension": 2, "rewards": "bernoulli", "expire": {"after_s": 1, "reward": 0.5}},
            "expire.reward",
        ),
        ({"contexts": [{"name": "a", "arms": [[1, 2], [3]]}]}, "contexts[0].arms[1]"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_with_their_place(server, settings, where):
    asked = {"name": "refused", **settings}
    status, found, _ = refusal(server.client.post("/v1/experiments", json=asked))
    assert (status, found) == (422, where)
    assert server.client.get("/v1/experiments/refused").status_code == 404


def test_a_name_is_given_once(server):
    server.make("once")
    again = server.client.post("/v1/experiments", json={"name": "once", "dimension": 1})
    assert refusal(again) == (409, "name", "there is an experiment once already")


def test_an_unknown_experiment_is_not_found(server):
    ask = server.client.request
    for method, rest, body in [
        ("GET", "", None),
        ("PATCH", "", {"status": "paused"}),
        ("POST", "/decisions", {"context": "a"}),
        ("POST", "/rewards", {"decision": "a", "reward": 1}),
        ("GET", "/decisions", None),
        ("GET", "/decisions/some", None),
        ("GET", "/log", None),
        ("GET", "/log?format=parquet", None),
    ]:
        found = ask(method, f"/v1/experiments/none{rest}", json=body)
        assert refusal(found) == (404, "experiment", "no experiment none"), (method, rest)


# what cannot be read


@pytest.mark.parametrize(
    ("body", "headers", "where"),
    [
        (b"{", JSON, "body"),
        (b'{"context": NaN', JSON, "body"),
        (b"\xff\xfe", JSON, "body"),
        (b"[" * 100_000, JSON, "body"),
        (b'{"context": "phone"}', {}, "Content-Type"),
        (b'{"context": "phone"}', {"Content-Type": "text/plain"}, "Content-Type"),
        (b"x=1", {"Content-Type": "application/x-www-form-urlencoded"}, "Content-Type"),
    ],
    ids=range(7),
)
def test_what_is_not_json_is_400(server, body, headers, where):
    path = ensure(server, "unread")
    before = state_of(server, "unread")
    found = server.client.post(f"{path}/decisions", content=body, headers=headers)
    assert refusal(found)[:2] == (400, where)
    assert state_of(server, "unread") == before


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"context" "phone"}', "invalid JSON: Expecting ':' delimiter at character 11"),
        ('{"contxt": "phone"}', "unknown key; did you mean context?"),
        ('[{"context": "phone"}, {"avaliable": ["a"]}]', "unknown key; did you mean available?"),
        ('{"context": "phone", "xyzzy": 1}', "unknown key"),
        ('{"context": 3}', "must be text"),
        ('{"context": "phone", "id": "a/b"}', "must be letters, digits, spaces and _.~-"),
        ('{"context": "a\\u0007"}', "without control characters"),
        ("3", "must be an object {...}"),
        ('{"features": 3}', "must be a list [...]"),
        ('{"features": []}', "must not be empty"),
        ('{"features": [["x"]]}', "must be a number"),
        ('{"features": [[1e999]]}', "must be a finite number"),
        ('{"context": ""}', "must not be empty"),
        ('{"context": "%s"}' % ("x" * 201), "must have at most 200 characters"),
        ('{"context": "\\ud800"}', "must be valid Unicode"),
    ],
)
def test_mistakes_are_told_without_words_of_python(server, body, message):
    path = ensure(server, "unread")
    found = server.client.post(f"{path}/decisions", content=body, headers=JSON)
    assert message in found.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("POST", "/v1/experiments", {}, "is missing"),
        ("POST", "/v1/experiments", {"name": "a", "dimension": 0}, "must be at least 1"),
        ("POST", "/v1/experiments", {"name": "a", "dimension": 2000}, "must be at most 1000"),
        ("POST", "/v1/experiments", {"name": "a", "dimension": "2"}, "must be a whole number"),
        ("POST", "/v1/experiments", {"name": "a", "noise": 0}, "must be above 0"),
        ("POST", "/v1/experiments", {"name": "a", "seed": 2**63}, "must be below"),
        ("POST", "/v1/experiments", {"name": "a", "polcy": "x"}, "did you mean policy?"),
        (
            "POST",
            "/v1/experiments",
            {"name": "a", "contexts": [{"name": "b", "arms": [[1]], "arms_names": ["c"]}]},
            "unknown key; did you mean arm_names?",
        ),
        ("PATCH", "/v1/experiments/unread", {"expire": {"after": 3}}, "did you mean after_s?"),
        ("POST", "/v1/experiments", {"name": "a", "rewards": "x"}, "'gaussian' or 'bernoulli'"),
        ("GET", "/v1/experiments/unread/log?after=x", None, "must be a whole number"),
        ("GET", "/v1/experiments/unread/log?format=x", None, "'json' or 'parquet'"),
    ],
)
def test_settings_and_parameters_have_plain_sentences_too(server, method, path, body, message):
    status, _, text = refusal(server.client.request(method, path, json=body))
    assert (status, message in text) == (422, True), text


def test_lists_of_nothing_are_answered_with_nothing(server):
    path = ensure(server, "nothing")
    before = state_of(server, "nothing")
    for what in ("decisions", "rewards"):
        found = server.client.post(f"{path}/{what}", json=[])
        assert (found.status_code, found.json()) == (200, [])
    assert state_of(server, "nothing") == before


def ensure(server, name, **settings):
    """The path of an experiment that several tests share."""
    if name not in server.writer.experiments:
        server.make(name, **settings)
    return f"/v1/experiments/{name}"


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("", "body"),
        ("null", "body"),
        ("3", "body"),
        ('{"context": 3}', "context"),
        ('{"context": "no such"}', "context"),
        ('{"context": "\\ud800"}', "context"),
        ('{"Context": "phone"}', "Context"),
        ("{}", "context"),
        ('{"context": "phone", "features": [[1, 0]]}', "features"),
        ('{"context": "phone", "names": ["a"]}', "names"),
        ('{"context": "phone", "available": []}', "available"),
        ('{"context": "phone", "available": ["z"]}', "arm"),
        ('{"context": "phone", "id": "a/b"}', "id"),
        ('[{"context": "phone"}, {"context": 3}]', "[1].context"),
        ('[{"context": "phone"}, {"context": "no such"}]', "[1].context"),
        ('[{"context": "phone"}, {"context": "phone", "features": [[1, 0]]}]', "[1].features"),
    ],
)
def test_a_decision_that_cannot_be_taken_is_422_with_its_place(server, body, where):
    path = ensure(server, "unusable")
    before = state_of(server, "unusable")
    found = server.client.post(f"{path}/decisions", content=body, headers=JSON)
    assert refusal(found)[:2] == (422, where)
    assert state_of(server, "unusable") == before


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ({}, "features"),
        ({"context": "a", "features": [[1, 2]]}, "context"),
        ({"features": [[1, 2]], "available": ["0"]}, "available"),
        ({"features": [[1, 2, 3]]}, "features"),
        ({"features": [[1, 2], [1]]}, "features"),
        ({"features": [[1e200, 0]]}, "features[0][0]"),
        ({"features": [[1, "x"]]}, "features[0][1]"),
        ({"features": []}, "features"),
        ({"features": [[1, 2]], "names": ["a", "b"]}, "names"),
        ({"features": [[1, 2], [2, 1]], "names": ["a", "a"]}, "names[1]"),
    ],
)
def test_open_decisions_that_cannot_be_taken_are_422(server, asked, where):
    path = ensure(server, "unusable-open", dimension=2)
    before = state_of(server, "unusable-open")
    found = server.client.post(f"{path}/decisions", json=asked)
    assert refusal(found)[:2] == (422, where)
    assert state_of(server, "unusable-open") == before


# decisions and rewards


def test_a_decision_has_an_arm_and_an_id_of_version_7(server):
    path = server.make("plainly")
    made = decide(server, path, context="phone")
    assert UUID(made["id"]).version == 7
    assert (made["seq"], made["context"]) == (2, "phone")
    assert made["name"] == ["a", "b", "c"][made["arm"]]
    assert 0 < made["probability"] <= 1
    assert made["gap"] >= 0
    given = give(server, path, made["id"], 0.7)
    assert given.json() == {"decision": made["id"], "seq": 3, "status": "learned"}


def test_open_contexts_take_features_and_names(server):
    path = server.make("openly", dimension=2)
    made = decide(server, path, features=[[1, 0], [0, 1]], names=["red", "blue"])
    assert made["context"] is None
    assert made["name"] == ["red", "blue"][made["arm"]]
    assert decide(server, path, features=[[1, 0]])["name"] == "0"
    shown = server.client.get(path).json()
    assert shown["contexts"] is None
    assert [(arm["context"], arm["pulls"]) for arm in shown["arms"]] == [(None, None)] * 2


def test_only_available_arms_are_chosen(server):
    path = server.make("offered")
    chosen = {decide(server, path, context="phone", available=["b"])["name"] for _ in range(5)}
    assert chosen == {"b"}


def test_an_id_is_decided_once(server):
    path = server.make("repeated")
    first = decide(server, path, id="visit 1", context="phone")
    before = state_of(server, "repeated")
    assert decide(server, path, id="visit 1", context="phone") == first
    other = server.client.post(f"{path}/decisions", json={"id": "visit 1", "context": "desk"})
    assert refusal(other)[:2] == (409, "id")
    assert state_of(server, "repeated") == before
    both = [{"id": "visit 2", "context": "phone"}] * 2 + [{"id": "visit 1", "context": "phone"}]
    twice = server.client.post(f"{path}/decisions", json=both).json()
    assert twice[0] == twice[1]
    assert twice[2] == first
    assert server.client.get(path).json()["counts"]["decisions"] == 2


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"context": "no such"}, (422, "[2].context")),
        ({"id": "known", "context": "desk"}, (409, "[2].id")),
        ({"id": "new", "context": "desk"}, (409, "[2].id")),
    ],
)
def test_a_batch_of_decisions_is_taken_whole_or_not_at_all(server, wrong, expected):
    path = ensure(server, "whole")
    decide(server, path, id="known", context="phone")
    before = state_of(server, "whole")
    items = [{"id": "new", "context": "phone"}, {"context": "desk"}, wrong, {"context": "phone"}]
    found = server.client.post(f"{path}/decisions", json=items)
    assert refusal(found)[:2] == expected
    assert state_of(server, "whole") == before


def test_a_batch_is_answered_in_order(server):
    path = server.make("ordered")
    asked = [{"id": f"n{n}", "context": ["phone", "desk"][n % 2]} for n in range(10)]
    made = server.client.post(f"{path}/decisions", json=asked).json()
    assert [one["id"] for one in made] == [one["id"] for one in asked]
    assert [one["seq"] for one in made] == list(range(2, 12))
    rewards = [{"decision": f"n{n}", "reward": n / 10} for n in (7, 3, 9, 7)]
    given = server.client.post(f"{path}/rewards", json=rewards).json()
    assert [one["seq"] for one in given] == [12, 13, 14, 12]


def test_rewards_come_late_in_any_order_and_twice(server):
    path = server.make("late")
    ids = [decide(server, path, context="phone")["id"] for _ in range(4)]
    for id, reward in zip(reversed(ids), (0.1, 0.2, 0.3), strict=False):
        assert give(server, path, id, reward).json()["status"] == "learned"
    before = state_of(server, "late")
    again = give(server, path, ids[-1], 0.1)
    assert (again.status_code, again.json()["status"]) == (200, "already")
    other = give(server, path, ids[-1], 0.2)
    assert refusal(other)[:2] == (409, "reward")
    assert state_of(server, "late") == before
    counts = server.client.get(path).json()["counts"]
    assert counts == {"decisions": 4, "rewards": 3, "waiting": 1, "expired": 0}


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"decision": "never made", "reward": 1}, (404, "[1].decision")),
        ({"decision": "first", "reward": 0.5}, (422, "[1].reward")),
        ({"decision": "second", "reward": 0}, (409, "[1].reward")),
        ({"decision": "first", "reward": "much"}, (422, "[1].reward")),
        ({"decision": "first", "reward": 1e999}, (422, "[1].reward")),
    ],
)
def test_a_batch_of_rewards_is_learned_whole_or_not_at_all(server, wrong, expected):
    path = ensure(server, "clicks", rewards="bernoulli")
    for id in ("first", "second"):
        decide(server, path, id=id, context="phone")
    before = state_of(server, "clicks")
    items = [{"decision": "second", "reward": 1}, wrong, {"decision": "first", "reward": 1}]
    body = str(items).replace("'", '"').replace("inf", "1e999")
    found = server.client.post(f"{path}/rewards", content=body, headers=JSON)
    assert refusal(found)[:2] == expected
    assert state_of(server, "clicks") == before


@pytest.mark.slow
@pytest.mark.parametrize(("reward", "mean"), [(0.25, 0.25), (None, None)])
def test_decisions_expire_with_their_reward(server, reward, mean):
    name = f"expiring-{mean}"
    path = server.make(name, expire={"after_s": 0.05, "reward": reward})
    made = decide(server, path, context="phone")
    shown = _until(server, path, lambda shown: shown["counts"]["expired"] == 1)
    assert (shown["counts"]["waiting"], shown["mean_reward"]) == (0, mean)
    detail = server.client.get(f"{path}/decisions/{made['id']}").json()
    assert (detail["status"], detail["reward"]) == ("expired", reward)
    assert refusal(give(server, path, made["id"], 1.0))[:2] == (409, "reward")
    assert server.client.get("/readyz").status_code == 200
    server.client.patch(path, json={"expire": None})
    decide(server, path, context="phone")
    time.sleep(0.7)  # longer than the writer waits between two looks at the clock
    assert server.client.get(path).json()["counts"]["waiting"] == 1


def _until(server, path, done):
    for _ in range(100):
        shown = server.client.get(path).json()
        if done(shown):
            return shown
        time.sleep(0.05)
    raise AssertionError(shown)


# changes


def test_arms_and_contexts_change(server):
    path = server.make("changing")
    arm = {"context": "desk", "features": [0.1, 0.9], "name": "big"}
    change = {"add_context": {"name": "tv", "arms": [[1, 1]]}, "add_arm": arm}
    shown = server.client.patch(path, json=change).json()
    assert shown["contexts"] == ["phone", "desk", "tv"]
    assert [one["name"] for one in shown["arms"] if one["context"] == "desk"] == [
        "a",
        "small",
        "big",
    ]
    late = decide(server, path, context="desk", available=["big"])
    gone = {"remove_context": "phone", "remove_arm": {"context": "desk", "name": "big"}}
    assert server.client.patch(path, json=gone).json()["contexts"] == ["desk", "tv"]
    assert give(server, path, late["id"], 1.0).status_code == 200
    assert server.client.get(f"{path}/decisions/{late['id']}").status_code == 200


def test_the_policy_gets_other_parameters(server):
    path = server.make("tuned", policy="lints")
    shown = server.client.patch(path, json={"policy": "lints:scale=0.5"}).json()
    assert shown["policy"] == "lints:scale=0.5"
    other = server.client.patch(path, json={"policy": "thrifty"})
    assert refusal(other)[0] == 422
    assert server.client.get(path).json()["policy"] == "lints:scale=0.5"


def test_a_change_is_made_whole_or_not_at_all(server):
    path = server.make("unchanged")
    before = state_of(server, "unchanged")
    for change, where in [
        ({}, "body"),
        ({"status": "gone"}, "status"),
        ({"status": "paused", "remove_context": "no such"}, "context"),
        ({"add_context": {"name": "new", "arms": [[1, 2, 3]]}}, "contexts[2].arms[0]"),
        ({"remove_context": "desk", "add_arm": {"context": "desk", "features": [1, 2]}}, "context"),
        ({"expire": {"after_s": -1}}, "expire.after_s"),
    ]:
        status, found, _ = refusal(server.client.patch(path, json=change))
        assert (status, found) == (422, where), change
        assert state_of(server, "unchanged") == before
    path = ensure(server, "unusable-open", dimension=2)
    found = server.client.patch(path, json={"remove_context": "a"})
    assert refusal(found)[:2] == (422, "remove_context")


def test_a_paused_experiment_takes_no_decisions_but_learns(server):
    path = server.make("pausing")
    early = decide(server, path, id="early", context="phone")
    for status in ("paused", "archived"):
        assert server.client.patch(path, json={"status": status}).json()["status"] == status
        for body in ({"context": "phone"}, [{"context": "phone"}]):
            found = server.client.post(f"{path}/decisions", json=body)
            assert refusal(found) == (409, "experiment", f"pausing is {status}")
        assert decide(server, path, id="early", context="phone") == early
    assert "pausing" not in [one["name"] for one in server.client.get("/v1/experiments").json()]
    assert give(server, path, "early", 1.0).status_code == 200
    server.client.patch(path, json={"status": "active"})
    assert (
        decide(server, path, context="phone")["seq"] == 7
    )  # created, early, three changes, a reward


# what happened


def test_decisions_are_shown_with_their_reasons_the_newest_first(server):
    path = server.make("explained")
    ids = [decide(server, path, context="phone", available=["a", "c"])["id"] for _ in range(4)]
    give(server, path, ids[0], 0.5)
    shown = server.client.get(f"{path}/decisions?last=3").json()
    assert [one["decision"]["id"] for one in shown] == ids[:0:-1]
    detail = server.client.get(f"{path}/decisions/{ids[0]}").json()
    assert (detail["status"], detail["reward"]) == ("rewarded", 0.5)
    assert TIME.fullmatch(detail["at"])
    assert TIME.fullmatch(detail["rewarded_at"])
    arms = detail["why"]["arms"]
    assert [arm["name"] for arm in arms] == ["a", "c"]
    assert [arm["name"] for arm in arms if arm["chosen"]] == [detail["decision"]["name"]]
    assert detail["why"]["text"].startswith(detail["decision"]["name"])
    assert "Its reward was 0.5" in detail["why"]["outcome"]
    assert "not come yet" in shown[0]["why"]["outcome"]
    unknown = server.client.get(f"{path}/decisions/none")
    assert refusal(unknown) == (404, "decision", "no decision none")
    for last in (0, 101, "many"):
        found = server.client.get(f"{path}/decisions", params={"last": last})
        assert refusal(found)[:2] == (422, "last")


def test_the_log_is_read_by_pages(server, monkeypatch):
    path = server.make("logged")
    for n in range(6):
        decide(server, path, id=f"d{n}", context="desk")
    give(server, path, "d3", 0.5)
    monkeypatch.setattr(store, "PAGE", 3)
    entries, after = [], 0
    while page := server.client.get(f"{path}/log", params={"after": after}).json():
        assert len(page) <= 3
        entries += page
        after = page[-1]["seq"]
    assert [one["seq"] for one in entries] == list(range(1, 9))
    assert [one["kind"] for one in entries] == ["created"] + ["decision"] * 6 + ["reward"]
    assert (entries[-1]["decision"], entries[-1]["body"]) == ("d3", {"reward": 0.5})
    assert all(TIME.fullmatch(one["at"]) for one in entries)
    found = server.client.get(f"{path}/log", params={"after": 2})
    assert found.headers["thrifty-complete"] == "no, until 5 of 8"
    assert found.links["next"]["url"] == "?after=5&format=json"
    found = server.client.get(httpx.URL(found.url).join(found.links["next"]["url"]))
    assert [one["seq"] for one in found.json()] == [6, 7, 8]
    assert (found.headers["thrifty-complete"], found.links) == ("yes", {})
    for query in ({"after": -1}, {"after": 2**63}, {"format": "xml"}):
        assert server.client.get(f"{path}/log", params=query).status_code == 422


def test_the_log_is_a_table(server):
    path = server.make("tabled", dimension=2)
    made = [decide(server, path, features=[[1, 0], [0, 1]], names=["x", "y"]) for _ in range(3)]
    give(server, path, made[1]["id"], 0.5)
    found = server.client.get(f"{path}/log?format=parquet")
    assert found.headers["content-disposition"] == 'attachment; filename="tabled.parquet"'
    rows = pq.read_table(io.BytesIO(found.content)).to_pylist()
    assert [row["decision"] for row in rows] == [one["id"] for one in made]
    assert [row["reward"] for row in rows] == [None, 0.5, None]
    assert [row["gap"] for row in rows] == [one["gap"] for one in made]
    assert rows[0]["features"] == [[1, 0], [0, 1]]
    later = server.client.get(f"{path}/log?format=parquet&after={made[0]['seq']}")
    assert len(pq.read_table(io.BytesIO(later.content))) == 2


def test_the_history_is_bounded(server):
    path = server.make("long")
    for _ in range(3):
        made = server.client.post(f"{path}/decisions", json=[{"context": "phone"}] * 100).json()
        rewards = [{"decision": one["id"], "reward": 1.0} for one in made]
        server.client.post(f"{path}/rewards", json=rewards)
    shown = server.client.get(path).json()
    assert len(shown["history"]) <= 120
    assert sum(one["decisions"] for one in shown["history"]) == 300
    assert sum(one["reward_sum"] for one in shown["history"]) == 300
    assert shown["mean_reward"] == 1.0
    assert all(TIME.fullmatch(one["start"]) for one in shown["history"])
    starts = [one["start"] for one in shown["history"]]
    assert starts == sorted(starts)


def test_a_server_goes_on_where_another_one_ended(tmp_path):
    with serving(tmp_path / "store.db") as first:
        path = first.make("kept")
        made = [decide(first, path, context="phone") for _ in range(5)]
        give(first, path, made[2]["id"], 0.5)
        before = first.experiment("kept").to_bytes()
    with serving(tmp_path / "store.db") as second:
        assert second.client.get(path).json()["counts"]["waiting"] == 4
        assert second.experiment("kept").to_bytes() == before
        assert give(second, path, made[0]["id"], 0.5).json()["status"] == "learned"


def test_an_unknown_path_and_a_wrong_method_are_answered_alike(server):
    assert refusal(server.client.get("/v1/nothing"))[:2] == (404, "request")
    found = server.client.delete("/v1/experiments")
    assert refusal(found)[:2] == (405, "request")
    assert "allow" in found.headers
