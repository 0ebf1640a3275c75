"""The writer: one thread that carries out all requests about the experiments that are led here.

Requests that have come meanwhile are carried out in one transaction, a group. Answers are sent when
it is committed. If it cannot be, each is tried alone, unless the database does not answer, and the
experiments that it touched are read again from the log.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event as Flag
from threading import Thread
from typing import Any, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, OperationalError, SQLAlchemyError

from thrifty.errors import ThriftyError, first_line
from thrifty.service.server.experiment import Experiment
from thrifty.service.server.loading import Loaded, load, take_snapshot
from thrifty.service.server.refusals import NotFound, Unavailable
from thrifty.service.storage import store
from thrifty.service.storage.leases import Elsewhere, Heartbeat, Leases
from thrifty.service.storage.store import Event, EventStore
from thrifty.service.storage.tokens import Token, read_tokens

LOG = logging.getLogger("thrifty.service")
MOST_QUEUED = 2_000  # requests that wait; more are refused at once
MOST_IN_GROUP = 500  # requests
SNAPSHOT_EVERY = 20_000  # events
LONGEST_REPLAY = 200_000  # events since the last snapshot: they are carried out again at a start
TICK = 0.5  # seconds between renewals of leases
EXPIRING = 0.2  # seconds of each tick for decisions that are given up: others wait meanwhile
SILENT = 10.0  # seconds of work on one group after which the server is not ready
HUNG = 600.0  # seconds of work on one group after which leases are renewed no longer
LEAVING = 20  # seconds to carry out what waits and to save snapshots, at the end


@dataclass
class Action:
    """What the writer carries out; name: of the experiment."""

    name: str

    def ids(self) -> list[str]:
        """Decisions whose events must be known."""
        return []

    def run(self, group: "Group") -> Any:
        """The answer; raises a ThriftyError before anything is changed."""
        raise NotImplementedError


class Job(NamedTuple):
    """An action, and who waits for the answer."""

    action: Action
    future: "asyncio.Future[Any]"


class Group:
    """The requests of one transaction; elsewhere: experiments that others lead, and their urls."""

    def __init__(self, writer: "Writer", connection: Connection, elsewhere: dict[str, str]) -> None:
        self.writer, self.connection, self.elsewhere = writer, connection, elsewhere
        self.at = store.now()
        self.events: dict[str, list[Event]] = {}
        self.known: dict[str, dict[str, dict[str, Event]]] = {}
        self.statuses: dict[str, str] = {}
        self.used: set[str] = set()  # experiments
        self.loads = False  # whether some of them were read in this group

    def look_up(self, actions: list[Action]) -> None:
        """Read the events about all decisions that actions name."""
        asked: dict[str, set[str]] = {}
        for action in actions:
            asked.setdefault(action.name, set()).update(action.ids())
        for name, ids in asked.items():
            self.known[name] = store.find_decisions(self.connection, name, ids) if ids else {}

    def lead(self, name: str) -> Experiment:
        """The experiment; raises Elsewhere if another server leads it."""
        if name in self.elsewhere:
            raise Elsewhere(self.elsewhere[name])
        self.used.add(name)
        experiments, fences = self.writer.experiments, self.writer.leases.fences
        if name not in experiments:
            if name not in fences:
                raise NotFound("experiment", f"no experiment {name}")
            self.loads = True
            logged = {"experiment": name, "fence": fences[name]}
            LOG.info("leading experiment %s", name, extra=logged)
            experiments[name] = load(self.connection, name)
        return experiments[name].experiment

    def add(self, name: str, event: Event) -> None:
        """Add an event of an experiment; it is committed with the group."""
        self.used.add(name)
        self.events.setdefault(name, []).append(event)
        if event.decision is not None:
            self.known.setdefault(name, {}).setdefault(event.decision, {})[event.kind] = event

    def write(self) -> None:
        """Add all events to their logs, if this server still leads the experiments."""
        leases = self.writer.leases
        if lost := leases.lost(self.connection, self.writer.experiments.keys() & self.used):
            raise Unavailable("experiment", f"{lost[0]} has another leader now")
        if self.loads:  # which may have taken as long as a lease lasts
            leases.renew(self.connection)
        for name, events in self.events.items():
            store.append(self.connection, name, events)
        for name, status in self.statuses.items():
            store.set_status(self.connection, name, status)


class Writer(Thread):
    """The thread, and the experiments that this server leads.

    Attributes
    ----------
    tokens : as read_tokens gives them, at most TICK seconds ago
    ready : set while leases can be renewed
    measured : what /metrics shows: groups, requests, those refused, and seconds for all of them
    """

    def __init__(self, store: EventStore, holder: str, url: str) -> None:
        super().__init__(name="writer", daemon=True)
        self.store, self.leases = store, Leases(store, holder, url)
        self.experiments: dict[str, Loaded] = {}
        self.tokens: dict[str, Token] | None = {}
        self.ready = Flag()
        self.measured = dict.fromkeys(("groups", "requests", "refused", "seconds"), 0.0)
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._stopping = False
        self._turned = time.monotonic()  # when the last group was done
        self._heartbeat = Heartbeat(self.leases, lambda: self._works_within(HUNG))

    def is_ready(self) -> bool:
        """Whether requests can be carried out now."""
        return self.ready.is_set() and self._works_within(SILENT)

    def _works_within(self, seconds: float) -> bool:
        """Whether the thread is alive, and has worked on one group for less than some seconds."""
        return self.is_alive() and time.monotonic() - self._turned < seconds

    def submit(self, action: Action) -> "asyncio.Future[Any]":
        """Let an action wait for its turn; raises Unavailable at once if too many wait."""
        if self._stopping or self._jobs.qsize() >= MOST_QUEUED:
            raise Unavailable("service", "too many requests are waiting, or the server is stopping")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._jobs.put(Job(action, future))
        return future

    def stop(self) -> None:
        """Carry out what waits, save snapshots, give the leases up; not longer than LEAVING."""
        self._stopping = True
        self._jobs.put(None)
        self.join(LEAVING)

    def run(self) -> None:
        if self.store.shared:
            self._heartbeat.start()
        self._tick()
        ticked = time.monotonic()
        while True:
            jobs = self._take()
            if jobs:
                self._carry_out(jobs)
            elif self._stopping:
                break
            if time.monotonic() - ticked >= TICK:
                self._tick()
                ticked = time.monotonic()
            self._turned = time.monotonic()
        self._heartbeat.stop()
        self._leave()
        late = [job for _ in range(self._jobs.qsize()) if (job := self._jobs.get()) is not None]
        _send(late, [Unavailable("service", "the server is stopping")] * len(late))

    def _lead(self, names: set[str]) -> dict[str, str]:
        """Become the leader of experiments; returns those that others lead, with their urls.

        In a transaction of its own: what is looked up afterwards has all that an earlier leader
        has written.
        """
        fresh, elsewhere = names - self.experiments.keys(), {}
        if fresh:
            with self.store.begin() as connection:
                for name in sorted(fresh & store.statuses(connection).keys()):
                    try:
                        self.leases.acquire(connection, name)
                    except Elsewhere as leader:
                        elsewhere[name] = leader.url
        return elsewhere

    def _take(self) -> list[Job]:
        """The requests that wait; after a while none."""
        jobs: list[Job] = []
        with suppress(Empty):
            job = self._jobs.get(timeout=TICK)
            while job is not None:
                jobs.append(job)
                job = self._jobs.get_nowait() if len(jobs) < MOST_IN_GROUP else None
        return jobs

    def _carry_out(self, jobs: list[Job]) -> None:
        """One group: answers are sent after the commit."""
        begun, group = time.perf_counter(), None
        answers: list[Any]
        try:
            elsewhere = self._lead({job.action.name for job in jobs})
            with self.store.begin() as connection:
                group = Group(self, connection, elsewhere)
                group.look_up([job.action for job in jobs])
                answers = [_answer(job.action, group) for job in jobs]
                group.write()
        except Exception as error:
            # experiments in memory are ahead of the log; without an answer of the database all of
            # them are read again, since it may come back in an older state
            self._drop(self.experiments if group is None else group.used)
            if len(jobs) > 1 and not isinstance(error, OperationalError):
                for job in jobs:  # one of them is to blame: the others must not suffer
                    self._carry_out([job])
                return
            answers = [_refused(error)] * len(jobs)
        mistakes = [answer for answer in answers if isinstance(answer, Exception)]
        self.measured["groups"] += 1
        self.measured["requests"] += len(jobs)
        self.measured["refused"] += sum(not isinstance(error, Elsewhere) for error in mistakes)
        self.measured["seconds"] += time.perf_counter() - begun
        _send(jobs, answers)

    def _drop(self, names: Iterable[str]) -> None:
        """Lead experiments no longer; each is read again when it is asked for."""
        for name in list(names):
            self.experiments.pop(name, None)
            self.leases.fences.pop(name, None)

    def _tick(self) -> None:
        """Renew leases and read tokens; then look after each experiment that is led here."""
        try:
            with self.store.begin() as connection:
                lost = self.leases.lost(connection, self.experiments.keys())
                for name in lost:
                    logged = {"experiment": name}
                    LOG.warning("experiment %s has another leader", name, extra=logged)
                self._drop(lost)
                self.leases.renew(connection)
                self.tokens = read_tokens(connection)
            self.ready.set()
        except Exception as error:  # the thread must not end: everybody waits for it
            self.ready.clear()
            self._drop(self.experiments)
            _complain("the store does not answer", error)
            return
        led = list(self.experiments)
        for name in led:
            self._look_after(name, EXPIRING / len(led))

    def _look_after(self, name: str, seconds: float) -> None:
        """What is due for an experiment; if it fails, other experiments do not suffer."""
        try:
            self._expire(name, seconds)
        except Exception as error:  # what is in memory is ahead of the log
            self._drop([name])
            _complain(f"experiment {name} is read again", error)
            return
        try:
            self._take_snapshot(name, SNAPSHOT_EVERY)
        except Exception as error:
            loaded = self.experiments[name]
            self.experiments[name] = loaded._replace(snapshot=loaded.experiment.seq)  # later
            _complain(f"experiment {name} goes on without a snapshot", error)

    def _expire(self, name: str, seconds: float) -> None:
        """Give up decisions that are pending for too long, for so many seconds."""
        events, until = [], time.monotonic() + seconds
        for event in self.experiments[name].experiment.expire(store.now()):
            events.append(event)
            if time.monotonic() > until:
                break
        if events:
            with self._leading(name) as connection:
                store.append(connection, name, events)

    def _take_snapshot(self, name: str, every: int) -> None:
        """Save a snapshot of an experiment with so many events since the last.

        It takes time in proportion to the pending decisions: with many of them it is rarer.
        """
        loaded = self.experiments[name]
        rarer = min(4 * len(loaded.experiment.pending), LONGEST_REPLAY) if every > 1 else 1
        if loaded.experiment.seq - loaded.snapshot >= max(every, rarer):
            snapshot = take_snapshot(loaded.experiment)
            with self._leading(name) as connection:
                store.save_snapshot(connection, name, snapshot, keep=loaded.upgrades)
            self.experiments[name] = loaded._replace(snapshot=snapshot.seq)

    @contextmanager
    def _leading(self, name: str) -> Iterator[Connection]:
        """A transaction about an experiment that is led here."""
        with self.store.begin() as connection:
            if self.leases.lost(connection, [name]):
                raise Unavailable("experiment", f"{name} has another leader now")
            yield connection

    def _leave(self) -> None:
        """Save snapshots, and give the leases up."""
        for name in list(self.experiments):
            try:
                self._take_snapshot(name, 1)
            except Exception as error:
                _complain(f"left experiment {name} without a snapshot", error)
        try:
            with self.store.begin() as connection:
                self.leases.release(connection)
        except Exception as error:
            _complain("left without giving leases up", error)


def _answer(action: Action, group: Group) -> Any:
    """The answer, or the mistake in the request."""
    try:
        return action.run(group)
    except ThriftyError as error:
        return error


def _refused(error: Exception) -> Exception:
    if isinstance(error, ThriftyError):
        return error
    if isinstance(error, IntegrityError):  # another server was faster
        LOG.warning("a group failed: %s", first_line(error))
    else:
        LOG.error("a group failed", exc_info=error)
    return Unavailable("service", "the store did not take what was asked; try again")


def _complain(what: str, error: Exception) -> None:
    """A line for what may happen; more for a fault of the program."""
    if isinstance(error, SQLAlchemyError | ThriftyError):
        LOG.warning("%s: %s", what, first_line(error))
    else:
        LOG.error(what, exc_info=error)


def _send(jobs: list[Job], answers: list[Any]) -> None:
    """Hand the answers to the threads whose loops wait for them."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Any, Any]]] = {}
    for job, answer in zip(jobs, answers, strict=True):
        by_loop.setdefault(job.future.get_loop(), []).append((job.future, answer))
    for loop, resolved in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, resolved)


def _resolve(answers: list[tuple["asyncio.Future[Any]", Any]]) -> None:
    for future, answer in answers:
        if future.done():  # who asked has gone
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
