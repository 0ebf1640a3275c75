"""Clients that send decisions and rewards, and an account of what was acknowledged."""

import random
import time
from contextlib import contextmanager
from itertools import count, pairwise
from threading import Event, Lock, Thread

import httpx

from thrifty.service.server.auditing import audit
from thrifty.service.storage.store import EventStore, all_events

LISTED = {
    "name": "listed",
    "contexts": [
        {"name": "a", "arms": [[1, 0], [0, 1], [1, 1]], "arm_names": ["x", "y", "z"]},
        {"name": "b", "arms": [[1, -1], [0, 1]], "arm_names": ["x", "y"]},
    ],
}
OPEN = {"name": "open", "dimension": 2, "seed": 3}
PATIENCE = 0.05  # seconds between attempts
TIMEOUT = 3.0  # seconds of an attempt


class Account:
    """What clients have asked for, and what was acknowledged; by experiment and id.

    Attributes
    ----------
    asked, rewards_asked : bodies of decisions, rewards
    decided, rewarded : the first answers
    faults : answers that must not be
    times : of all acknowledgements, seconds; by experiment
    refused : answers with status 503
    numbers : of clients, whose ids are made of them
    """

    def __init__(self):
        self.asked, self.rewards_asked = {}, {}
        self.decided, self.rewarded = {}, {}
        self.faults, self.times = [], {"listed": [], "open": []}
        self.refused, self.numbers = 0, count()
        self.lock = Lock()

    def note(self, known, key, found):
        """Keep an answer; one given again must be the same."""
        with self.lock:
            self.times[key[0]].append(time.monotonic())
            before = known.setdefault(key, found)
            if {**before, "status": ""} != {**found, "status": ""}:
                self.faults.append(f"{key}: {found} after {before}")

    def wait_for(self, more, seconds=30):
        """Until so many acknowledgements more have come, of each experiment."""
        wanted = {name: len(times) + more for name, times in self.times.items()}
        end = time.monotonic() + seconds
        while any(len(self.times[name]) < number for name, number in wanted.items()):
            assert time.monotonic() < end, f"no service for {seconds} s; {self.faults}"
            time.sleep(0.01)

    def longest_gap(self, start):
        """The longest time since a moment without an acknowledgement of an experiment, seconds."""
        now = time.monotonic()
        return max(
            later - first
            for times in self.times.values()
            for first, later in pairwise([start, *sorted(t for t in times if t > start), now])
        )


class Client(Thread):
    """A client: decisions with ids of its own, and their rewards, each until acknowledged."""

    def __init__(self, number, urls, account, stopping):
        super().__init__(name=f"client {number}", daemon=True)
        self.number, self.urls, self.account, self.stopping = number, urls, account, stopping
        self.rng = random.Random(number)

    def run(self):
        n = 0
        with httpx.Client(timeout=TIMEOUT) as http:
            while not self.stopping.is_set():
                n += 1
                try:
                    self.visit(http, f"{self.number}-{n}")
                except Exception as error:  # a fault of the test, or an answer of another form
                    self.account.faults.append(repr(error))
                    raise

    def visit(self, http, id):
        """A few decisions in one request, and the rewards of most; some are sent twice."""
        name = self.rng.choice(["listed", "open"])
        bodies = [self.body(name, f"{id}-{k}") for k in range(self.rng.choice([1, 1, 3]))]
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            self.account.asked.update({(name, one["id"]): one for one in bodies})
            for found in self.ask(http, f"/v1/experiments/{name}/decisions", bodies):
                self.account.note(self.account.decided, (name, found["id"]), found)
        rewards = [
            {"decision": one["id"], "reward": self.rng.gauss(0, 1)}
            for one in bodies
            if (name, one["id"]) in self.account.decided and self.rng.random() < 0.9
        ]
        for _ in range(self.rng.choice([1, 1, 1, 2]) if rewards else 0):
            self.account.rewards_asked.update(
                {(name, one["decision"]): one["reward"] for one in rewards}
            )
            for found in self.ask(http, f"/v1/experiments/{name}/rewards", rewards):
                self.account.note(self.account.rewarded, (name, found["decision"]), found)

    def body(self, name, id):
        if name == "listed":
            return {"id": id, "context": self.rng.choice(["a", "b"])}
        return {"id": id, "features": [[self.rng.gauss(0, 1) for _ in range(2)] for _ in range(3)]}

    def ask(self, http, path, items):
        """The answers, however often it must be asked; none if the load ends before."""
        body = items if len(items) > 1 else items[0]
        while True:
            try:
                reply = http.post(self.rng.choice(self.urls) + path, json=body)
                if reply.status_code == 200:
                    found = reply.json()
                    return found if isinstance(found, list) else [found]
                if reply.status_code == 503:
                    self.account.refused += 1
                else:
                    self.account.faults.append(f"{path}: {reply.status_code} {reply.text}")
            except httpx.HTTPError:
                pass
            if self.stopping.wait(PATIENCE):
                return []


@contextmanager
def load(urls, account, clients=4):
    """Clients that ask any of the servers, until the end of the block."""
    stopping = Event()
    threads = [Client(next(account.numbers), urls, account, stopping) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        for thread in threads:
            thread.join(4 * TIMEOUT)
            assert not thread.is_alive()


def make_experiments(url):
    for experiment in (LISTED, OPEN):
        reply = httpx.post(f"{url}/v1/experiments", json=experiment, timeout=300)
        assert reply.status_code == 201, reply.text


def check(account, store_url):
    """Compare the account with the log: nothing lost, nothing twice, nothing invented; audit.

    The load may go on: what must be in the log is what was acknowledged before it is read.
    """
    with account.lock:
        decided, rewarded = dict(account.decided), dict(account.rewarded)
    assert account.faults == []
    store = EventStore(store_url)
    try:
        with store.reading() as connection:
            for name in ("listed", "open"):
                events = list(all_events(connection, name))
                _check_asked(account, name, events)
                _check_acknowledged(_own(decided, name), _own(rewarded, name), events)
                found = audit(connection, name)
                assert found.seq is None, (name, found)
                assert found.unverified == 0
    finally:
        store.close()


def _check_asked(account, name, events):
    """Each event once, and none that nobody has asked for."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    decisions, rewards = _by_id(events, "decision"), _by_id(events, "reward")
    assert len(decisions) + len(rewards) + 1 == len(events)  # and the event created
    for id, event in decisions.items():
        asked = account.asked[name, id]
        assert all(event.body[key] == asked[key] for key in asked if key != "id")
    for id, event in rewards.items():
        assert event.body["reward"] == account.rewards_asked[name, id]
        assert event.seq > decisions[id].seq


def _check_acknowledged(decided, rewarded, events):
    """Everything that was acknowledged is in the log, and as it was answered."""
    decisions, rewards = _by_id(events, "decision"), _by_id(events, "reward")
    assert decided.keys() - decisions.keys() == rewarded.keys() - rewards.keys() == set()
    for id, found in decided.items():
        event = decisions[id]
        assert found["seq"] == event.seq
        for key in ("arm", "name", "label", "probability", "gap"):
            assert found[key] == event.body[key]
    for id, found in rewarded.items():
        assert found["seq"] == rewards[id].seq


def _by_id(events, kind):
    """The events of a kind; each decision has one at most."""
    of_kind = [event for event in events if event.kind == kind]
    found = {event.decision: event for event in of_kind}
    assert len(found) == len(of_kind)
    return found


def _own(answers, name):
    return {id: found for (experiment, id), found in answers.items() if experiment == name}
