"""Who may do what: every route refuses requests without a token of its scope, and tells nothing."""

import json
import time

import httpx
import pytest
from fastapi.routing import APIRoute

from tests.command_line import thrifty
from tests.service.servers import audit_all, serving
from thrifty.service.server.guard import Scope
from thrifty.service.storage.store import EventStore
from thrifty.service.storage.tokens import SCOPES, make_token, revoke_token

OPEN = {"/", "/page/{name}", "/healthz", "/readyz", "/openapi.json"}  # for everybody
NEEDED = {
    ("POST", "/v1/experiments"): "admin",
    ("GET", "/v1/experiments"): "read",
    ("GET", "/v1/experiments/{name}"): "read",
    ("PATCH", "/v1/experiments/{name}"): "admin",
    ("POST", "/v1/experiments/{name}/decisions"): "decide",
    ("POST", "/v1/experiments/{name}/rewards"): "reward",
    ("GET", "/v1/experiments/{name}/decisions"): "read",
    ("GET", "/v1/experiments/{name}/decisions/{id}"): "read",
    ("GET", "/v1/experiments/{name}/log"): "read",
    ("GET", "/metrics"): "read",
}
BODIES = {
    ("POST", "/v1/experiments"): {"name": "forbidden", "dimension": 2},
    ("PATCH", "/v1/experiments/{name}"): {"status": "archived"},
    ("POST", "/v1/experiments/{name}/decisions"): {"context": "phone"},
    ("POST", "/v1/experiments/{name}/rewards"): {"decision": "secret-id", "reward": 1},
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with an experiment, and a token for each scope; "revoked" was one for all."""
    path = tmp_path_factory.mktemp("store") / "store.db"
    with serving(path) as server:
        made = server.make("hidden")
        asked = {"id": "secret-id", "context": "phone"}
        assert server.client.post(f"{made}/decisions", json=asked).is_success
        store = EventStore(str(path))
        with store.begin() as connection:
            server.tokens = {one: make_token(connection, one, [one]) for one in SCOPES}
            server.tokens["revoked"] = make_token(connection, "revoked", ["admin"])
            revoke_token(connection, server.tokens["revoked"])
        store.close()
        _until(lambda: server.client.get("/v1/experiments").status_code == 401)
        yield server
    audit_all(path)


def _until(true):
    """Wait until something is true; it must be within two seconds."""
    end = time.monotonic() + 2
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def flat(routes):
    """All routes, also those of routers within."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from flat(inner.routes)
        elif hasattr(route, "routes") and route.routes:
            yield from flat(route.routes)
        else:
            yield route


def test_every_route_is_open_on_purpose_or_has_the_scope_it_should_have(guarded):
    found = {}
    for route in flat(guarded.app.routes):
        if route.path in OPEN:
            continue
        assert isinstance(route, APIRoute), route.path
        [scope] = [
            one.dependency for one in route.dependencies if isinstance(one.dependency, Scope)
        ]
        found |= {(method, route.path): scope.name for method in route.methods}
    assert found == NEEDED


@pytest.mark.parametrize("body", ["right", "broken", "none"])
@pytest.mark.parametrize(("method", "path"), NEEDED)
def test_who_may_not_is_refused_whatever_the_body_and_nothing_is_written(
    guarded, method, path, body
):
    before = guarded.log("hidden"), guarded.experiment("hidden").to_bytes()
    needed, url = NEEDED[method, path], path.format(name="hidden", id="secret-id")
    strangers = {
        "none": {},
        "empty": {"Authorization": ""},
        "other": {"Authorization": "Basic YTpi"},
        "bare": {"Authorization": guarded.tokens["admin"]},
        "wrong": bearer(guarded.tokens["admin"][:-1] + "!"),
        "made up": bearer("th_" + "0" * 12 + "_" + "A" * 43),
        "id alone": bearer(guarded.tokens["admin"][:15]),
        "revoked": bearer(guarded.tokens["revoked"]),
    }
    narrow = [one for one in SCOPES if one not in (needed, "admin")]
    for who, headers in [
        *strangers.items(),
        *((one, bearer(guarded.tokens[one])) for one in narrow),
    ]:
        found = _ask(guarded, method, url, headers, BODIES.get((method, path)), body)
        assert found.status_code == (403 if who in SCOPES else 401), who
        assert ("www-authenticate" in found.headers) == (who not in SCOPES)
        assert found.json()["error"]["where"] == "Authorization"
        for secret in ("hidden", "secret-id", "phone", guarded.tokens["admin"][16:]):
            assert secret not in found.text
    assert (guarded.log("hidden"), guarded.experiment("hidden").to_bytes()) == before


def _ask(server, method, url, headers, right, body):
    if body == "none" or right is None:
        return server.client.request(method, url, headers=headers)
    if body == "right":
        return server.client.request(method, url, headers=headers, json=right)
    kind = {"Content-Type": "application/json"}
    return server.client.request(method, url, headers=headers | kind, content="{")


@pytest.mark.parametrize(("method", "path"), NEEDED)
def test_an_unknown_experiment_looks_like_a_known_one_to_strangers(guarded, method, path):
    known, unknown = (
        guarded.client.request(method, path.format(name=name, id="secret-id"))
        for name in ("hidden", "unknown")
    )
    assert (known.status_code, known.text) == (unknown.status_code, unknown.text)


def test_each_scope_allows_its_own_and_admin_everything(guarded):
    for (method, path), needed in NEEDED.items():
        for scope in (needed, "admin"):
            if method == "GET":
                url = path.format(name="hidden", id="secret-id")
                found = guarded.client.get(url, headers=bearer(guarded.tokens[scope]))
                assert found.status_code == 200, (path, scope)
    decide, reward = (bearer(guarded.tokens[one]) for one in ("decide", "reward"))
    url = "/v1/experiments/hidden"
    made = guarded.client.post(f"{url}/decisions", json={"context": "phone"}, headers=decide)
    given = {"decision": made.json()["id"], "reward": 1}
    assert guarded.client.post(f"{url}/rewards", json=given, headers=reward).is_success


@pytest.mark.parametrize("path", sorted(OPEN - {"/", "/page/{name}"}))
def test_open_routes_need_no_token(guarded, path):
    found = guarded.client.get(path)
    assert found.status_code == 200
    assert "hidden" not in found.text


@pytest.mark.slow
def test_tokens_take_effect_while_the_server_runs(guarded):
    store = EventStore(str(guarded.store))
    with store.begin() as connection:
        token = make_token(connection, "new", ["read"])

    def ask():
        return guarded.client.get("/v1/experiments", headers=bearer(token)).status_code

    _until(lambda: ask() == 200)
    with store.begin() as connection:
        revoke_token(connection, token)
    _until(lambda: ask() == 401)
    store.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:8080", 200),
        ("127.0.0.2:80", 200),
        ("[::1]:8080", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("[", 403),
        ("10.0.0.1", 403),
    ],
)
def test_without_tokens_only_requests_for_this_machine_are_answered(server, host, status):
    """A web page could point a name of its own at 127.0.0.1 and have a browser ask."""
    found = server.client.get("/v1/experiments", headers={"Host": host})
    assert found.status_code == status
    if status == 403:
        assert found.json()["error"]["where"] == "Host"


ELSEWHERE = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


@pytest.mark.parametrize("headers", ELSEWHERE, ids=lambda headers: "-".join(*headers.items()))
def test_without_tokens_web_pages_from_elsewhere_are_not_answered(server, headers):
    """A browser sends their requests to any address, also to this machine's own."""
    if "hidden" not in server.writer.experiments:
        server.make("hidden")
    before = server.log("hidden")
    for method, path in NEEDED:
        url = path.format(name="hidden", id="secret-id")
        body = BODIES.get((method, path))
        found = server.client.request(method, url, headers=headers, json=body)
        assert (found.status_code, found.json()["error"]["where"]) == (403, "Origin")
    assert server.log("hidden") == before
    assert server.client.get("/v1/experiments/forbidden").status_code == 404


def test_without_tokens_the_service_s_own_page_is_answered(server):
    for headers in (
        {"Origin": server.url, "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},  # an address that somebody has typed
    ):
        assert server.client.get("/v1/experiments", headers=headers).status_code == 200


def test_with_tokens_pages_from_elsewhere_are_answered(guarded):
    """They have a token of their own: browsers add none."""
    for elsewhere in ELSEWHERE:
        headers = elsewhere | bearer(guarded.tokens["read"])
        assert guarded.client.get("/v1/experiments", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "kind", [None, "", "text/plain", "application/jsonx", "multipart/form-data"]
)
def test_bodies_that_are_not_called_json_are_not_read(server, kind):
    """A browser sends these, as of a Blob without a type, without asking the server before."""
    headers = {} if kind is None else {"Content-Type": kind}
    for (method, path), body in BODIES.items():
        url, content = path.format(name="unread"), json.dumps(body)
        found = server.client.request(method, url, headers=headers, content=content)
        assert (found.status_code, found.json()["error"]["where"]) == (400, "Content-Type")
    assert server.client.get("/v1/experiments/forbidden").status_code == 404


def test_with_tokens_any_host_is_answered(guarded):
    headers = {"Host": "thrifty.example", **bearer(guarded.tokens["read"])}
    assert guarded.client.get("/v1/experiments", headers=headers).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_serve_listens_elsewhere_only_with_tokens(tmp_path, host):
    done = thrifty("serve", "--store", tmp_path / "s.db", "--host", host, "--port", 0)
    assert done.returncode == 2
    assert f"refusing to listen on {host} without tokens" in done.stderr
    assert "thrifty tokens make NAME --scope admin" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_browser_elsewhere_may_not_ask(server):
    """No answer allows another origin, so that browsers keep it from its pages."""
    ask = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    found = httpx.options(f"{server.url}/v1/experiments", headers=ask)
    assert found.status_code == 405
    assert not [key for key in found.headers if key.startswith("access-control")]
