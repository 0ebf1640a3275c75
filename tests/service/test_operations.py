"""What whoever runs the service relies on: metrics, readiness, log lines, ends and back-ups."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import time
from contextlib import closing
from threading import Thread

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.command_line import THRIFTY, thrifty
from tests.service.servers import LISTED, audit_all, serving
from thrifty.service.storage.store import read_head, read_snapshots
from thrifty.service.storage.tables import LEASES

pytestmark = pytest.mark.slow


def test_metrics_can_be_parsed_and_count(server):
    path = server.make("measured ~name")
    ids = [f"d{n}" for n in range(3)]
    asked = [{"id": id, "context": "phone"} for id in ids]
    server.client.post(f"{path}/decisions", json=asked)
    server.client.post(f"{path}/rewards", json={"decision": "d0", "reward": 1})
    assert server.client.post(f"{path}/decisions", json={"context": "no"}).status_code == 422
    found = server.client.get("/metrics")
    assert found.headers["content-type"].startswith("text/plain")
    samples = {
        (sample.name, sample.labels.get("experiment")): sample.value
        for family in text_string_to_metric_families(found.text)
        for sample in family.samples
    }
    assert samples["thrifty_decisions_total", "measured ~name"] == 3
    assert samples["thrifty_rewards_total", "measured ~name"] == 1
    assert samples["thrifty_waiting", "measured ~name"] == 2
    with server.app.state.service.store.reading() as connection:
        seq, digest = read_head(connection, "measured ~name")
    assert seq == samples["thrifty_log_events", "measured ~name"] == 5
    head = int(samples["thrifty_log_head", "measured ~name"])
    assert f"{head:012x}" == digest[:12]  # as an audit prints it
    assert samples["thrifty_requests_total", None] >= 4
    assert samples["thrifty_requests_refused_total", None] >= 1


def _wait(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def _execute(path, statement, *values):
    """Work on a database beside the server."""
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.close()


def test_readyz_is_503_while_the_store_is_away(tmp_path):
    with serving(tmp_path / "s.db") as server:
        path = server.make("away")
        ask = lambda: server.client.get("/readyz").status_code  # noqa: E731
        assert ask() == 200
        _execute(tmp_path / "s.db", "ALTER TABLE leases RENAME TO gone")
        _wait(lambda: ask() == 503)
        refused = server.client.get("/readyz")
        assert refused.headers["retry-after"] == "1"
        assert server.client.get("/healthz").status_code == 200
        found = server.client.post(f"{path}/decisions", json={"context": "phone"})
        assert found.status_code == 503
        _execute(tmp_path / "s.db", "ALTER TABLE gone RENAME TO leases")
        _wait(lambda: ask() == 200)
        made = server.client.post(f"{path}/decisions", json={"context": "phone"})
        assert made.json()["seq"] == 2
    audit_all(tmp_path / "s.db")


class Process:
    """`thrifty serve` as a process of its own."""

    def __init__(self, store, *options):
        self.process = subprocess.Popen(
            [*THRIFTY, "serve", "--store", str(store), "--port", "0", *options],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        self.lines = []
        self.reader = Thread(target=lambda: self.lines.extend(self.process.stderr))
        self.reader.start()
        _wait(lambda: any("http://" in line for line in self.lines), 60)
        [line] = [line for line in self.lines if "http://" in line]
        self.url = "http://" + line.partition("http://")[2].partition("/")[0]
        self.client = httpx.Client(base_url=self.url, timeout=30)
        _wait(self._answers, 60)

    def _answers(self):
        try:
            return self.client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def end(self, number=signal.SIGTERM):
        """Send a signal, and return the exit code."""
        self.client.close()
        self.process.send_signal(number)
        code = self.process.wait(30)
        self.reader.join(10)
        self.process.stderr.close()
        return code


@pytest.fixture
def started():
    """Starts `thrifty serve`; whatever still runs at the end is killed."""
    running = []

    def start(*arguments):
        running.append(Process(*arguments))
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.end(signal.SIGKILL)


def test_a_server_ends_gracefully(tmp_path, started):
    path = tmp_path / "s.db"
    running = started(path, "--json-log")
    made = running.client.post("/v1/experiments", json={"name": "kept", "contexts": LISTED})
    assert made.status_code == 201
    acknowledged, ended = [], []

    def visit():
        with httpx.Client(base_url=running.url, timeout=30) as client:
            while not ended:
                try:
                    found = client.post("/v1/experiments/kept/decisions", json={"context": "phone"})
                except httpx.TransportError:
                    return
                if found.status_code == 200:
                    acknowledged.append(found.json())

    visitors = [Thread(target=visit) for _ in range(3)]
    for one in visitors:
        one.start()
    _wait(lambda: len(acknowledged) > 30)
    assert running.end() == 0
    ended.append(True)
    for one in visitors:
        one.join()
    for line in running.lines:  # all of them are JSON, those of the web server too
        assert {"at", "level", "logger", "message"} <= json.loads(line).keys()
    _check_left(path, acknowledged)
    done = thrifty("audit", "--store", path)
    assert done.returncode == 0, done.stderr
    assert "all the same" in done.stdout


def _check_left(path, acknowledged):
    """What was acknowledged is there, with a snapshot of the end, and nobody leads."""
    with serving(path) as server:
        entries = {event.decision: event for event in server.log("kept")}
        for one in acknowledged:
            assert (entries[one["id"]].seq, entries[one["id"]].body["arm"]) == (
                one["seq"],
                one["arm"],
            )
        with server.app.state.service.store.reading() as connection:
            snapshot = next(read_snapshots(connection, "kept"))
            leases = connection.execute(LEASES.select()).all()
        assert snapshot.seq == max(event.seq for event in entries.values())
        assert [lease.until for lease in leases if lease.experiment == "kept"] == [0]


def test_a_back_up_under_load_can_be_restored(tmp_path):
    with serving(tmp_path / "s.db") as server:
        path = server.make("saved", policy="lints")
        ended = []

        def visit():
            with httpx.Client(base_url=server.url, timeout=30) as client:
                while not ended:
                    made = client.post(f"{path}/decisions", json={"context": "phone"}).json()
                    reward = {"decision": made["id"], "reward": 0.5}
                    assert client.post(f"{path}/rewards", json=reward).is_success

        visitor = Thread(target=visit)
        visitor.start()
        _wait(lambda: server.experiment("saved").seq > 50)
        _execute(tmp_path / "s.db", "VACUUM INTO ?", str(tmp_path / "copy.db"))
        at_least = server.experiment("saved").seq
        _wait(lambda: server.experiment("saved").seq > at_least + 20)
        ended.append(True)
        visitor.join()
    assert audit_all(tmp_path / "copy.db") >= 25
    with serving(tmp_path / "copy.db") as restored:
        _wait(lambda: restored.client.get(path).status_code == 200)  # when the old lease has ended
        shown = restored.client.get(path).json()
        made = restored.client.post(f"{path}/decisions", json={"context": "phone"}).json()
        assert made["seq"] == shown["seq"] + 1
        assert 50 <= shown["seq"] <= at_least
    audit_all(tmp_path / "copy.db")


def make_store(path):
    """A store with a token."""
    done = thrifty("tokens", "make", "joe", "--scope", "admin", "--new", "--store", path)
    assert (done.returncode, done.stderr) == (0, f"thrifty: made the store {path}\n")


def test_a_token_is_made_in_a_store_that_is_there_unless_a_new_one_is_asked_for(tmp_path):
    make, path = ["tokens", "make", "me", "--scope", "admin"], tmp_path / "thrifty.db"
    advice = "pass --store with that of the service, or --new to make one"
    done = thrifty(*make, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"thrifty: {path}: no such file; {advice}\n"
    assert list(tmp_path.iterdir()) == []
    path.touch()
    done = thrifty(*make, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"thrifty: {path}: not a store of thrifty: it is empty; {advice}\n"
    make_store(path)
    for options in ((), ("--new",)):
        done = thrifty(*make, *options, folder=tmp_path)
        assert (done.returncode, done.stdout[:3]) == (0, "th_")
        assert done.stderr == f"thrifty: store: {path}\n"
    for command in (("tokens", "list"), ("audit",)):
        assert thrifty(*command, folder=tmp_path).stderr == f"thrifty: store: {path}\n"


def test_a_server_says_which_store_it_has_and_that_it_has_made_it(tmp_path, started):
    path = tmp_path / "s.db"
    for said in ("made the store", "store:"):
        running = started(path)
        assert running.end() == 0
        assert f"thrifty: {said} {path}\n" in running.lines


def test_commands_about_a_store_that_is_not_there(tmp_path):
    path = tmp_path / "none.db"
    for command in (("audit",), ("tokens", "list"), ("tokens", "revoke", "x")):
        done = thrifty(*command, "--store", str(path))
        assert done.returncode == 2
        assert (
            done.stderr == f"thrifty: {path}: no such file; pass --store with that of the service\n"
        )
    assert not path.exists()


@pytest.mark.parametrize(
    "command", [("serve",), ("tokens", "make", "a", "--scope", "read", "--new")]
)
def test_a_store_in_a_folder_that_does_not_exist_is_refused(tmp_path, command):
    path = tmp_path / "none" / "store.db"
    done = thrifty(*command, "--store", path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"thrifty: {path}: ")
    assert f"no folder {path.parent}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_in_use_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        done = thrifty("serve", "--store", tmp_path / "s.db", "--port", port)
    assert done.returncode == 2
    assert done.stderr.startswith(f"thrifty: --port: {port} is in use")
    assert done.stderr.count("\n") == 1


def test_a_demonstration_needs_a_store_without_tokens(tmp_path):
    path = tmp_path / "s.db"
    make_store(path)
    done = thrifty("serve", "--demo", "--store", path, "--port", 0)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("thrifty: --demo: ")


@pytest.mark.parametrize(
    ("content", "place", "word"),
    [
        ('{"name": "a",', "", "invalid JSON"),
        ("[]", "", "object"),
        ('{"dimension": 2}', ": name", "name of the experiment"),
        ('{"name": "a", "dimensions": 2}', ": dimensions", "did you mean dimension?"),
    ],
)
def test_a_file_that_makes_no_experiment_is_refused_with_its_place(tmp_path, content, place, word):
    path = tmp_path / "new.json"
    path.write_text(content)
    done = thrifty("experiments", "create", path, "--url", "http://127.0.0.1:1")
    assert done.returncode == 2
    assert done.stderr.startswith(f"thrifty: {path}{place}: ")
    assert word in done.stderr


def test_an_audit_of_a_store_without_experiments(tmp_path):
    path = str(tmp_path / "store.db")
    make_store(path)
    done = thrifty("audit", "--store", path)
    assert done.stdout == f"{path} has no experiments\n"
    assert done.stderr == f"thrifty: store: {path}\n"
    done = thrifty("audit", "shop", "--store", path)
    assert (done.returncode, done.stderr) == (
        2,
        "thrifty: unknown experiment 'shop'; known: none\n",
    )


@pytest.mark.parametrize(
    "store", ["postgres://joe:secret@nowhere/x", "mysql://joe:secret@nowhere/x"]
)
def test_passwords_are_not_shown(store):
    done = thrifty("serve", "--store", store)
    assert (done.returncode, "secret" in done.stderr) == (2, False)


def test_a_store_of_a_newer_version_is_refused_in_a_line(tmp_path):
    path = tmp_path / "store.db"
    make_store(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    done = thrifty("audit", "--store", str(path))
    assert done.returncode == 2
    assert done.stderr.endswith("store.db: a newer version of thrifty has made it\n")


def test_an_experiment_that_cannot_be_read_leaves_the_others_in_the_list(tmp_path):
    path = tmp_path / "store.db"
    with serving(path) as running:
        for name in ("good", "bad"):
            running.make(name)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM snapshots WHERE experiment = 'bad'")
        connection.execute("UPDATE events SET body = '{}' WHERE experiment = 'bad'")
        connection.execute("UPDATE experiments SET summary = NULL")  # so that they are read
    with serving(path) as running:
        found = running.client.get("/v1/experiments")
        assert (found.status_code, [one["name"] for one in found.json()]) == (200, ["good"])
        assert running.client.get("/v1/experiments/bad").status_code == 503
