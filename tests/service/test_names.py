"""Hostile names: refused in one line, or kept and returned as they are."""

import pytest

HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "'; DROP TABLE events; --",
    'a"; filename="b',
    "a\r\nSet-Cookie: b=c",
    "a\nb",
    "nul\x00byte",
    "\x1b[31mred",
    "\x7f",
    "..",
    ".",
    "../../etc/passwd",
    "a/b",
    "a%2Fb",
    "a\\b",
    "{{7*7}}",
    "${HOME}",
    "имя",
    "名前",
    "🎰",
    "e\u0301",
    "\u202etxt.exe",
    "\u2028",
    "\ufeff",
    "\u0085",
    "a" * 101,
    "a" * 201,
    "",
    " ",
    "-rf",
    "NULL",
    "__proto__",
    "a ",
    "a~b.c-d_e",
]


def _checked(found):
    """The status of an answer, of which a refusal is one line about what was sent."""
    if found.status_code >= 400:
        assert found.status_code in (404, 422)
        error = found.json()["error"]
        assert error["message"].isprintable()
        assert len(error["message"]) < 300
        assert len(error["where"]) < 100
    return found.status_code


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_of_experiments(server, name):
    made = server.client.post("/v1/experiments", json={"name": name, "dimension": 1})
    if _checked(made) == 422:
        return
    assert made.json()["name"] == name
    path = f"/v1/experiments/{name}"
    assert server.client.get(path).json()["name"] == name
    table = server.client.get(f"{path}/log?format=parquet")
    assert table.headers["content-disposition"] == f'attachment; filename="{name}.parquet"'
    assert "set-cookie" not in table.headers


def test_no_experiment_has_a_name_that_is_more_than_a_part_of_a_path(server):
    names = [one["name"] for one in server.client.get("/v1/experiments").json()]
    for name in names:
        assert name.isascii()
        assert name.isprintable()
        assert not set(name) & set("/\\\"'<>%?#&;"), name


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_of_contexts_and_arms(server, name):
    """Any text without control characters."""
    number = HOSTILE.index(name)
    contexts = [{"name": name, "arms": [[1, 0], [0, 1]], "arm_names": [name, f"{name[:190]}2"]}]
    asked = {"name": f"labels-{number}", "contexts": contexts}
    made = server.client.post("/v1/experiments", json=asked)
    if _checked(made) == 422:
        return
    path = f"/v1/experiments/labels-{number}"
    shown = server.client.get(path).json()
    assert shown["contexts"] == [name]
    assert [arm["name"] for arm in shown["arms"]] == [name, f"{name[:190]}2"]
    chosen = server.client.post(f"{path}/decisions", json={"context": name, "available": [name]})
    assert (chosen.json()["context"], chosen.json()["name"]) == (name, name)
    detail = server.client.get(f"{path}/decisions/{chosen.json()['id']}").json()
    assert detail["why"]["arms"][0]["name"] == name
    gone = server.client.patch(path, json={"remove_arm": {"context": name, "name": name}})
    assert [arm["name"] for arm in gone.json()["arms"]] == [f"{name[:190]}2"]
    assert server.log(f"labels-{number}")[0].body["settings"]["contexts"] == contexts


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_ids_of_decisions(server, name):
    if "ids" not in server.writer.experiments:
        server.make("ids")
    asked = {"id": name, "context": "phone"}
    made = server.client.post("/v1/experiments/ids/decisions", json=asked)
    if _checked(made) == 422:
        reward = {"decision": name, "reward": 1}
        assert _checked(server.client.post("/v1/experiments/ids/rewards", json=reward)) == 422
        return
    assert made.json()["id"] == name
    found = server.client.get(f"/v1/experiments/ids/decisions/{name}")
    assert found.json()["decision"]["id"] == name


@pytest.mark.parametrize(
    "path",
    [
        "/v1/experiments/%00",
        "/v1/experiments/%2e%2e",
        "/v1/experiments/..%2f..%2fetc%2fpasswd",
        "/v1/experiments/a%2Fb/log",
        "/v1/experiments/%ff%fe",
        "/v1/experiments/a%0d%0aSet-Cookie:%20b=c/log?format=parquet",
        "/v1/experiments/" + "a" * 5_000,
        "/v1/experiments/<script>",
        "/v1/experiments/ids/decisions/%00",
        "/v1/experiments/ids/decisions/" + "%F0%9F%8E%B0",
        "//v1/experiments",
    ],
    ids=range(11),
)
def test_paths_that_name_nothing(server, path):
    found = server.client.get(path)
    assert _checked(found) in (404, 422)
    assert "set-cookie" not in found.headers
    assert found.headers["content-type"] == "application/json"
