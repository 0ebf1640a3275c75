"""Random histories of a service against a model: requests, restarts, kills, clocks, leaders.

The model knows what was acknowledged, and with it what must be true of every later answer.
"""

import asyncio
import os
import tempfile
import time
from itertools import count
from pathlib import Path
from unittest import mock

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sqlalchemy.exc import OperationalError

from tests.service.load import LISTED, OPEN
from tests.service.test_auditing import loaded
from thrifty.service.server import memory, writer
from thrifty.service.server.actions import Alter, Ask, Create, Decide, Learn
from thrifty.service.server.auditing import audit
from thrifty.service.server.refusals import Conflict, NotFound, Unavailable
from thrifty.service.server.writer import Writer
from thrifty.service.storage import leases, store
from thrifty.service.storage.leases import Elsewhere
from thrifty.service.storage.store import EventStore, statuses

CASES = int(os.environ.get("THRIFTY_CASES", "30"))
EPSILON, EXPIRES = 0.3, 100.0  # seconds
COMMON = {"policy": f"egreedy:epsilon={EPSILON},decay=0", "rewards": "gaussian", "seed": 1}
SETTINGS = {
    kind["name"]: COMMON | {key: value for key, value in kind.items() if key != "name"}
    for kind in (LISTED, OPEN)
}
ARMS = {"a": 3, "b": 2}
BODIES = {
    "listed": [{"context": "a"}, {"context": "b"}, {"context": "a", "available": ["y", "z"]}],
    "open": [{"features": [[1.0, 0.0], [0.5, 0.5]]}, {"features": [[0.0, 1.0]] * 3}],
}
NAMES, IDS = st.sampled_from(sorted(BODIES)), st.sampled_from([f"d{n}" for n in range(12)])
SERVERS = st.sampled_from([0, 1])


class Model:
    """What was acknowledged of an experiment."""

    def __init__(self):
        self.decisions, self.rewards, self.paused = {}, {}, False

    def check_decision(self, id, body, answer):
        if id in self.decisions:
            before, known = self.decisions[id]
            assert answer == known if body == before else isinstance(answer, Conflict), answer
        elif self.paused:
            assert isinstance(answer, Conflict), answer
        else:
            offered = body.get("available") or body.get("features") or [0] * ARMS[body["context"]]
            greedy = 1 - EPSILON + EPSILON / len(offered)
            chances = [EPSILON / len(offered)] if answer["gap"] > 0 else [greedy, greedy - 0.7]
            assert any(abs(answer["probability"] - p) < 1e-12 for p in chances), answer
            assert all(answer["seq"] != known["seq"] for _, known in self.decisions.values())
            self.decisions[id] = body, answer

    def check_reward(self, id, reward, answer):
        if id not in self.decisions:
            assert isinstance(answer, NotFound), answer
        elif isinstance(answer, Conflict) and "expired" in str(answer):
            assert id not in self.rewards
        elif id in self.rewards and self.rewards[id] != reward:
            assert isinstance(answer, Conflict), answer
        else:
            assert answer["status"] == ("already" if id in self.rewards else "learned")
            self.rewards[id] = reward


class Service(RuleBasedStateMachine):
    """Two servers of one store, each of which may be away, and a clock that jumps."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path, self.ahead = Path(self.folder.name) / "s.db", 0
        self.patches = [
            mock.patch.object(place, "now", lambda kept=store.now: kept() + self.ahead)
            for place in (store, leases)
        ]
        self.patches.append(mock.patch.object(writer, "TICK", 0.02))
        for patch in self.patches:
            patch.start()
        self.stores = [EventStore(str(self.path)) for _ in range(2)]
        self.numbers, self.servers = count(), [None, None]
        self.models = {name: Model() for name in SETTINGS}
        self.start(0)
        for name, its in SETTINGS.items():
            expire = {"expire": {"after_s": EXPIRES, "reward": 0.0}} if name == "open" else {}
            assert not isinstance(self.ask(0, Create(name, its | expire)), Exception)

    def start(self, number):
        url = f"http://{'ab'[number]}"
        started = Writer(self.stores[number], f"holder {next(self.numbers)}", url)
        started.start()
        assert started.ready.wait(20)
        self.servers[number] = started

    def ask(self, number, action):
        """The answer of a server, or of whoever leads, once one does."""

        async def answer(writer):
            try:
                return await asyncio.wait_for(writer.submit(action), 20)
            except (Conflict, NotFound, Unavailable, Elsewhere) as error:
                return error

        for _ in range(10):
            if self.servers[number] is None:
                self.start(number)
            answered = asyncio.run(answer(self.servers[number]))
            if isinstance(answered, Elsewhere):
                if self.servers[1 - number] is None:
                    self.ahead += leases.LASTS  # whoever has led is gone: the lease ends
                number = 1 - number if self.servers[1 - number] is not None else number
            elif not isinstance(answered, Unavailable):
                return answered
        raise AssertionError(f"no answer but {answered}")

    @rule(name=NAMES, id=IDS, kind=st.integers(0, 2), server=SERVERS)
    def decide(self, name, id, kind, server):
        body = BODIES[name][kind % len(BODIES[name])]
        answer = self.ask(server, Decide(name, [(id, body)], [id], many=False))
        answer = answer[0] if isinstance(answer, list) else answer
        self.models[name].check_decision(id, body, answer)

    @rule(name=NAMES, ids=st.lists(IDS, min_size=1, max_size=5), server=SERVERS)
    def decide_many(self, name, ids, server):
        body, model = BODIES[name][0], self.models[name]
        answer = self.ask(server, Decide(name, [(id, body) for id in ids], ids))
        other = any(model.decisions[id][0] != body for id in ids if id in model.decisions)
        fresh = any(id not in model.decisions for id in ids)
        if other or (fresh and model.paused):
            assert isinstance(answer, Conflict), answer  # all or none
        else:
            for id, one in zip(ids, answer, strict=True):
                model.check_decision(id, body, one)

    @rule(name=NAMES, ids=st.lists(IDS, min_size=2, max_size=6), visit=st.sampled_from([0.0, 1.0]))
    def decide_together(self, name, ids, visit):
        """Requests that wait together; without time for a visit each goes to the background."""
        body, running = BODIES[name][0], self.servers[0]

        async def answers():
            asked = [running.submit(Decide(name, [(id, body)], [id])) for id in ids]
            return await asyncio.gather(*asked, return_exceptions=True)

        with mock.patch.object(writer, "VISIT", visit):
            found = [] if running is None else asyncio.run(answers())
        for id, answer in zip(ids, found, strict=False):
            if not isinstance(answer, Unavailable | Elsewhere):
                one = answer[0] if isinstance(answer, list) else answer
                self.models[name].check_decision(id, body, one)

    @rule(name=NAMES, id=IDS, reward=st.sampled_from([0.0, 1.0]), server=SERVERS)
    def learn(self, name, id, reward, server):
        answer = self.ask(server, Learn(name, [(id, reward)], many=False))
        answer = answer[0] if isinstance(answer, list) else answer
        model = self.models[name]
        if name == "open" and isinstance(answer, dict) and answer["status"] == "already":
            model.rewards.setdefault(id, reward)  # it has expired with this reward
        model.check_reward(id, reward, answer)

    @rule(name=NAMES, paused=st.booleans(), server=SERVERS)
    def pause(self, name, paused, server):
        changed = self.ask(server, Alter(name, {"status": "paused" if paused else "active"}))
        assert changed["status"] == ("paused" if paused else "active")
        self.models[name].paused = paused

    @rule(server=SERVERS)
    def stop(self, server):
        if self.servers[server] is not None:
            self.servers[server].stop()
            self.servers[server] = None

    @rule(server=SERVERS)
    def kill(self, server):
        """It neither saves a snapshot nor gives a lease up."""
        if self.servers[server] is not None:
            self.servers[server]._leave = lambda: None
            self.stop(server)

    @rule(seconds=st.sampled_from([-1000.0, -1.0, 3.0, 1000.0]))
    def jump(self, seconds):
        self.ahead += int(seconds * 1e6)

    @rule(server=SERVERS, name=NAMES, id=IDS)
    def fail(self, server, name, id):
        """The database fails in the middle of a request: nothing of it has happened."""
        running = self.servers[server]
        if running is not None:
            lost = OperationalError("", None, Exception("the disk is gone"))
            with mock.patch.object(store, "append", side_effect=lost):
                body = BODIES[name][0]
                asyncio.run(_ignored(running, Decide(name, [(id, body)], [id])))

    @rule(server=SERVERS)
    def forget(self, server):
        """Experiments leave memory."""
        if self.servers[server] is not None:
            with mock.patch.object(memory, "IDLE", -1.0):
                time.sleep(0.1)

    @invariant()
    def counts_are_those_of_the_model(self):
        for name, model in self.models.items():
            decisions = self.ask(0, Ask(name, lambda one: one.counts["decisions"]))
            assert decisions >= len(model.decisions)

    def teardown(self):
        for server in (0, 1):
            self.stop(server)
        with self.stores[0].reading() as connection:
            for name in statuses(connection):
                found = audit(connection, name)
                assert (found.seq, found.unverified) == (None, 0), found
                times = [event.at for event in store.all_events(connection, name)]
                assert times == sorted(times)
                decided = loaded(connection, name).counts["decisions"]
                assert decided == len(self.models[name].decisions)
        for kept in self.stores:
            kept.close()
        for patch in self.patches:
            patch.stop()
        self.folder.cleanup()


async def _ignored(writer, action):
    await asyncio.gather(writer.submit(action), return_exceptions=True)


TestService = Service.TestCase
TestService.settings = settings(
    max_examples=CASES,
    stateful_step_count=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # without minutes of shrinking
    suppress_health_check=list(HealthCheck),
)
