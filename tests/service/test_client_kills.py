"""Kill -9 of a server under the load of both clients: nothing that they were told is lost or twice.

Every call of a client ends well here, whatever happens to the server: so each decision and each
reward that a client was told of is in the log once, and nothing else is.
"""

import json
import os
import random
import subprocess
import time
from threading import Event, Lock, Thread

import pytest

import thrifty as th
from tests import node
from tests.service.load import make_experiments
from tests.service.postgres import Postgres
from tests.service.processes import Server
from thrifty.service.server.auditing import audit
from thrifty.service.storage.store import EventStore, all_events

pytestmark = pytest.mark.kills

KILLS = int(os.environ.get("THRIFTY_KILLS", "10"))
DECIDED = ("arm", "name", "label", "probability", "gap")
ENDING = 60  # seconds in which the last calls of a client end


class Told:
    """What clients were told, by experiment and id."""

    def __init__(self):
        self.decisions, self.rewards, self.twice = {}, {}, []
        self.lock = Lock()

    def decided(self, name, decision):
        """A decision, as a dictionary."""
        with self.lock:
            if (name, decision["id"]) in self.decisions:
                self.twice.append(decision)
            self.decisions[name, decision["id"]] = decision

    def rewarded(self, name, id, reward, status):
        with self.lock:
            assert status in ("learned", "already")
            self.rewards[name, id] = reward

    def wait_for(self, more):
        """Until so many rewards more were acknowledged."""
        wanted, end = len(self.rewards) + more, time.monotonic() + 60
        while len(self.rewards) < wanted:
            assert time.monotonic() < end, "no service for a minute"
            time.sleep(0.01)


class PythonLoad:
    """Threads that share a `th.Client`."""

    def __init__(self, url, told, threads=3):
        self.told, self.stopping, self.failed = told, Event(), []
        self.client = th.Client(url, timeout=3, retries=100)
        self.threads = [Thread(target=self.run, args=[n], daemon=True) for n in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        rng = random.Random(number)
        try:
            while not self.stopping.is_set():
                self.visit(rng.choice(["listed", "open"]), rng)
        except Exception as error:
            self.failed.append(repr(error))

    def visit(self, name, rng):
        experiment = self.client.experiment(name)
        context = "b" if name == "listed" else [[rng.random() for _ in range(2)] for _ in range(3)]
        if rng.random() < 0.5:
            made = [experiment.choose(context)]
        else:
            made = experiment.choose_many([context, context])
        for decision in made:
            self.told.decided(name, decision._asdict())
        pairs = [(decision, rng.random()) for decision in made]
        for (decision, reward), said in zip(pairs, experiment.learn_many(pairs), strict=True):
            self.told.rewarded(name, decision.id, reward, said)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(ENDING)
            assert not thread.is_alive()
        self.client.close()
        assert self.failed == []


class JavaScriptLoad:
    """The client in JavaScript, in a process of Node that prints what it was told."""

    def __init__(self, url, told):
        self.told = told
        self.process = subprocess.Popen(
            ["node", node.FOLDER / "test" / "load.js", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.reader = Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            said = json.loads(line)
            if "decision" in said:
                self.told.decided(said["name"], said["decision"])
            else:
                self.told.rewarded(said["name"], said["id"], said["reward"], said["status"])

    def stop(self):
        self.process.stdin.close()
        code = self.process.wait(ENDING)
        self.reader.join(ENDING)
        with self.process.stdout, self.process.stderr as said:
            assert (code, said.read()) == (0, "")


def check(told, store_url):
    """The log has what was told, each once, and nothing else; and the audit passes."""
    store = EventStore(store_url)
    try:
        with store.reading() as connection:
            for name in ("listed", "open"):
                events = list(all_events(connection, name))
                check_log(told, name, events)
                found = audit(connection, name)
                assert (found.seq, found.unverified) == (None, 0), (name, found)
    finally:
        store.close()


def check_log(told, name, events):
    decisions = [event for event in events if event.kind == "decision"]
    rewards = [event for event in events if event.kind == "reward"]
    assert len(decisions) + len(rewards) + 1 == len(events)  # and the event created
    assert told.twice == []
    ids = [event.decision for event in decisions]
    assert sorted(ids) == sorted(id for where, id in told.decisions if where == name)
    for event in decisions:
        decision = told.decisions[name, event.decision]
        assert decision["seq"] == event.seq
        assert all(decision[key] == event.body[key] for key in DECIDED)
    learned = sorted((event.decision, event.body["reward"]) for event in rewards)
    own = {id: reward for (where, id), reward in told.rewards.items() if where == name}
    assert learned == sorted(own.items())


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store(request, tmp_path):
    if request.param == "sqlite":
        yield str(tmp_path / "store.db")
    else:
        with Postgres() as started:
            yield started.make_database("clients")


def test_what_both_clients_were_told_is_in_the_log_once(store, tmp_path):
    node.get_node()
    told, by_python, by_node, rng = Told(), Told(), Told(), random.Random(1)
    with Server(store, tmp_path) as server:
        make_experiments(server.url)
        loads = [PythonLoad(server.url, by_python), JavaScriptLoad(server.url, by_node)]
        for _ in range(KILLS):
            by_python.wait_for(10)
            by_node.wait_for(10)
            time.sleep(rng.uniform(0, 0.3))
            server.kill()
            server.start()
        by_python.wait_for(10)
        by_node.wait_for(10)
        for load in loads:
            load.stop()
    for part in (by_python, by_node):
        told.decisions |= part.decisions
        told.rewards |= part.rewards
        told.twice += part.twice
    print(f"{KILLS} kills; rewards: {len(by_python.rewards)} Python, {len(by_node.rewards)} Node")
    assert len(told.decisions) == len(by_python.decisions) + len(by_node.decisions)
    assert told.decisions.keys() == told.rewards.keys()
    check(told, store)
