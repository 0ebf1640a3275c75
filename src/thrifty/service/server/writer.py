"""The writer: one thread that decides what is carried out, and commits it.

Requests wait in a queue per experiment. In each round the writer goes through the experiments in
turn, carries out what waits for each, for a short time, and commits all of it in one transaction: a
group. Answers are sent after the commit. No transaction is open while anything is computed.

What takes long goes on in threads of its own (background.py), one piece of work per experiment:
the experiment is *away* until it returns, and its requests wait. Other experiments go on.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Event as Flag
from threading import Lock, Thread
from typing import Any

from sqlalchemy.exc import DatabaseError, DataError, IntegrityError, SQLAlchemyError

from thrifty.errors import ThriftyError, first_line
from thrifty.service.server.actions import LARGE, Create, taken
from thrifty.service.server.background import Background, Steps
from thrifty.service.server.experiment import LONG
from thrifty.service.server.loading import Loaded
from thrifty.service.server.memory import Memory, complain, is_due
from thrifty.service.server.refusals import NotFound, Unavailable, Unreadable
from thrifty.service.server.turns import Action, Job, Known, Turn
from thrifty.service.storage import store
from thrifty.service.storage.leases import Elsewhere, Heartbeat
from thrifty.service.storage.store import EventStore

LOG = logging.getLogger("thrifty.service")
MOST_QUEUED = 2_000  # requests that wait; more are refused at once
MOST_OF_ONE = 1_000  # of these, about one experiment
MOST_IN_VISIT = 500  # requests
VISIT, GROUP = 0.02, 0.05  # seconds for one experiment, and for all, until a commit
SNAPSHOT_EVERY = 20_000  # events
QUICK_SNAPSHOT = 10_000  # pending decisions; with more, a snapshot is taken in the background
TICK = 0.5  # seconds between renewals of leases
EXPIRING = 0.2  # seconds of each tick for decisions that are given up: others wait meanwhile
PROBE = 5.0  # seconds without a commit after which a write is tried: the disk may be full
SILENT = 10.0  # seconds of work on one group after which the server is not ready
HUNG = 600.0  # seconds of work on one group after which leases are renewed no longer
UNREADABLE = 10.0  # seconds until an experiment that could not be read is read again
OF_REQUESTS = (IntegrityError, DataError)  # refusals by a database that is sound
LEAVING = 20  # seconds to carry out what waits and to save snapshots, at the end

Answers = list[tuple[Job, Any]]  # results, or errors


@dataclass
class _Returned:
    """What has come back from the background, and what is to be done with it."""

    name: str
    then: Callable[[Any], None]
    value: Any


class Writer(Thread):
    """The thread.

    Attributes
    ----------
    memory : the experiments that this server leads
    ready : set while commits are possible
    measured : what /metrics shows: groups, requests, those refused, and seconds for all of them
    """

    def __init__(self, store: EventStore, holder: str, url: str) -> None:
        super().__init__(name="writer", daemon=True)
        self.store, self.memory = store, Memory(store, holder, url)
        self.ready = Flag()
        self.measured = dict.fromkeys(("groups", "requests", "refused", "seconds"), 0.0)
        self._jobs: SimpleQueue[Job | _Returned | None] = SimpleQueue()
        self._waiting: dict[str, deque[Job]] = {}  # by experiment, those whose turn is next first
        self._away: set[str] = set()
        self._finished: list[Turn] = []  # in the background; to be committed
        self._unreadable: dict[str, tuple[float, Exception]] = {}  # until when, and why
        self._alone: dict[str, int] = {}  # so many requests are tried each by itself
        self._queued: dict[str, int] = {}  # requests without an answer, by experiment
        self._lock = Lock()  # of the line above
        self._background = Background()
        self._stopping = False
        self._turned = self._wrote = time.monotonic()  # the last group, the last commit
        self._heartbeat = Heartbeat(self.memory.leases, lambda: self._works_within(HUNG))

    @property
    def experiments(self) -> dict[str, Loaded]:
        """The experiments in memory, by name."""
        return self.memory.experiments

    # for other threads

    def is_ready(self) -> bool:
        """Whether requests can be carried out now."""
        return self.ready.is_set() and self._works_within(SILENT)

    def _works_within(self, seconds: float) -> bool:
        """Whether the thread is alive, and has worked on one group for less than some seconds."""
        return self.is_alive() and time.monotonic() - self._turned < seconds

    def submit(self, action: Action) -> "asyncio.Future[Any]":
        """Let an action wait for its turn; raises Unavailable at once if too many wait."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        with self._lock:
            mine = self._queued.get(action.name, 0)
            if self._stopping or mine >= MOST_OF_ONE or sum(self._queued.values()) >= MOST_QUEUED:
                message = "too many requests are waiting, or the server is stopping"
                raise Unavailable("service", message)
            self._queued[action.name] = mine + 1
        self._jobs.put(Job(action, future))
        return future

    def stop(self) -> None:
        """Carry out what waits, save snapshots, give the leases up; not longer than LEAVING."""
        self._stopping = True
        self._jobs.put(None)
        self.join(LEAVING)

    # the thread

    def run(self) -> None:
        if self.store.shared:
            self._heartbeat.start()
        self._tick()
        ticked = time.monotonic()
        while True:
            self._receive()
            if self._finished or self._waiting.keys() - self._away:
                self._carry_out()
            elif self._stopping and not self._away and self._jobs.empty():
                break
            if time.monotonic() - ticked >= TICK:
                self._tick()
                ticked = time.monotonic()
            self._turned = time.monotonic()
        self._heartbeat.stop()
        self._leave()
        self._receive()
        message = "the server is stopping"
        late = [job for jobs in self._waiting.values() for job in jobs]
        self._send([(job, Unavailable("service", message)) for job in late])

    def _receive(self) -> None:
        """Sort what has come; wait for it if there is nothing else to do."""
        idle = not (self._finished or self._waiting.keys() - self._away or self._stopping)
        with suppress(Empty):
            came = self._jobs.get(timeout=TICK) if idle else self._jobs.get_nowait()
            while True:
                if isinstance(came, Job):
                    self._waiting.setdefault(came.action.name, deque()).append(came)
                elif came is not None:
                    self._away.discard(came.name)
                    came.then(came.value)
                came = self._jobs.get_nowait()
        if self._stopping and self._away and not self._finished:
            time.sleep(0.01)

    def _send_away(self, name: str, steps: Steps, then: Callable[[Any], None]) -> None:
        """Let work go on in the background; then: called here with what it has given."""
        self._away.add(name)
        put = self._jobs.put
        self._background.submit(steps, lambda value: put(_Returned(name, then, value)))

    def _finish(self, turn: Turn) -> None:
        self._finished.append(turn)

    def _finish_some(self, name: str, carried_out: tuple[list[Turn], list[Job]]) -> None:
        """Take turns that were carried out, and the jobs of the others, which wait again."""
        turns, jobs = carried_out
        self._finished += turns
        if jobs:
            self._waiting[name] = deque(jobs) + self._waiting.pop(name, deque())

    # groups

    def _carry_out(self) -> None:
        """One group: what each experiment has waiting, as far as time permits, and a commit."""
        begun, until = time.perf_counter(), time.monotonic() + GROUP
        turns, self._finished = self._finished, []
        # what is looked up for others must have been committed
        busy = self._away | {turn.name for turn in turns}
        names = [name for name in self._waiting if name not in busy]
        answers = self._open([name for name in names if name not in self.experiments])
        for name in names:
            if name in self.experiments:
                turns += self._visit(name)
                if time.monotonic() > until:
                    break
        answers += self._commit(turns)
        if answers:
            self.measured["groups"] += 1
            self.measured["seconds"] += time.perf_counter() - begun
            self._send(answers)

    def _open(self, names: list[str]) -> Answers:
        """Begin to make or to read experiments that are not in memory."""
        answers: Answers = []
        for name in names:
            until, error = self._unreadable.pop(name, (0.0, None))
            if error is not None and time.monotonic() < until:
                self._unreadable[name] = until, error
                answers += self._refuse(name, error)
        names = [name for name in names if name in self._waiting]
        if not names:
            return answers
        try:
            with self.store.reading() as connection:
                statuses = store.statuses(connection, names)
            self.memory.check_file()  # else what is not there may be in the file that is gone
            for name in names:
                answers += self._refuse_heads(name, statuses.get(name))
            led = self.memory.lead(statuses.keys() & self._waiting.keys())
            for name, leader in led.elsewhere.items():
                answers += self._refuse(name, leader)
            for name in led.here:
                self._send_away(name, self.memory.read(name), partial(self._enter, name))
        except Exception as error:
            self._doubt(error)
            self.memory.drop(name for name in names if name not in self._away)
            refused = _refused(error)
            for name in names:
                answers += self._refuse(name, refused)
        return answers

    def _refuse_heads(self, name: str, status: str | None) -> Answers:
        """Refuse what cannot be done with an experiment that has this status, or that is none."""
        answers: Answers = []
        jobs = self._waiting[name]
        while jobs and isinstance(jobs[0].action, Create) == (status is not None):
            job = jobs.popleft()
            missing = NotFound("experiment", f"no experiment {name}")
            answers.append((job, missing if status is None else taken(name, status)))
        if jobs and status is None:
            turn = Turn(jobs.popleft(), None, store.now(), {})
            self._send_away(name, turn.steps(), self._finish)
        if not jobs:
            del self._waiting[name]
        return answers

    def _enter(self, name: str, loaded: Loaded | Exception) -> None:
        """Hold an experiment that was read, or say why it cannot be read."""
        if isinstance(loaded, Loaded):
            self.memory.enter(name, loaded)
            return
        error: Exception = loaded
        if not isinstance(error, ThriftyError | SQLAlchemyError):
            LOG.error("experiment %s cannot be read", name, exc_info=error)
            message = f"the log of {name} cannot be read: run thrifty audit"
            error = Unreadable("log", message)
        if not isinstance(error, SQLAlchemyError):
            self._unreadable[name] = time.monotonic() + UNREADABLE, error
        self.memory.drop([name])
        self._send(self._refuse(name, _refused(error)))

    def _visit(self, name: str) -> list[Turn]:
        """What waits for an experiment: the turns that end at once, for a short time."""
        jobs, loaded, turns = self._waiting.pop(name), self.experiments[name], []
        loaded.used = time.monotonic()
        at, until = store.now(), loaded.used + VISIT
        alone = self._alone.pop(name, 0)
        most = 1 if alone else min(len(jobs), MOST_IN_VISIT)
        try:
            known = self._look_up(loaded, [job.action for job in islice(jobs, most)])
        except Exception as error:
            self._doubt(error)
            self.memory.drop_all()
            self._waiting[name] = jobs
            self._send(self._refuse(name, _refused(error)))
            return []
        for left in range(most, 0, -1):
            turn = Turn(jobs.popleft(), loaded, at, known)
            if turn.job.action.is_long(loaded.experiment):
                others = [Turn(jobs.popleft(), loaded, at, known) for _ in range(left - 1)]
                self._send_away(name, _in_turn([turn, *others]), partial(self._finish_some, name))
                break
            steps = turn.steps()
            if not _ends(steps, until):
                self._send_away(name, steps, self._finish)
                break
            turns.append(turn)
            if turn.fault is not None or time.monotonic() > until:
                break
        if jobs:
            self._waiting[name] = jobs  # behind all others
            if alone > 1:
                self._alone[name] = alone - 1
        return turns

    def _look_up(self, loaded: Loaded, actions: list[Action]) -> Known:
        """The events about all decisions that actions name."""
        ids = {id for action in actions for id in action.ids(loaded.experiment)}
        if not ids:
            return {}
        with self.store.reading() as connection:
            return store.find_decisions(connection, loaded.experiment.name, ids)

    def _commit(self, turns: list[Turn]) -> Answers:
        """Write what turns have done; returns the answers to all of them."""
        answers: Answers = []
        sound: list[Turn] = []
        for turn in turns:
            if turn.fault is not None:
                answers.append((turn.job, _refused(turn.fault)))
            elif turn.made is None and self.experiments.get(turn.name) is not turn.loaded:
                message = f"{turn.name} was read again; try again"
                answers.append((turn.job, Unavailable("experiment", message)))
            else:
                sound.append(turn)
        answers += self._written(sound) if sound else []
        self.memory.drop({turn.name for turn in turns if turn.fault is not None})
        return answers

    def _written(self, turns: list[Turn]) -> Answers:
        """Write in one transaction; if that fails, find out who is to blame."""
        try:
            self.memory.write(turns)
        except Exception as error:
            return self._failed(turns, error)
        self._wrote = time.monotonic()
        self.ready.set()
        return [(turn.job, turn.answer) for turn in turns]

    def _failed(self, turns: list[Turn], error: Exception) -> Answers:
        """A transaction that failed: experiments in memory are ahead of the log.

        One that was refused by the database is tried again, each experiment by itself, and then
        each request: others must not suffer. Without an answer of the database all experiments are
        read again, since it may come back in an older state.
        """
        names = {turn.name for turn in turns}
        if self._doubt(error) or isinstance(error, ThriftyError) or len(turns) == 1:
            self.memory.drop(names)
            refused = _refused(error)
            return [(turn.job, refused) for turn in turns]
        if len(names) > 1:
            groups = [[turn for turn in turns if turn.name == name] for name in sorted(names)]
            return [answer for group in groups for answer in self._written(group)]
        [name] = names
        self.memory.drop(names)
        again = deque(turn.job for turn in turns)
        self._alone[name] = len(again)
        self._waiting[name] = again + self._waiting.pop(name, deque())
        return []

    def _doubt(self, error: Exception) -> bool:
        """Whether the database itself has failed: then the service is not ready until a probe.

        It may come back in an older state: all is read again.
        """
        failed = isinstance(error, DatabaseError) and not isinstance(error, OF_REQUESTS)
        if failed:
            self.ready.clear()
            self.memory.drop_all()
        return failed

    # answers

    def _refuse(self, name: str, error: Exception) -> Answers:
        """The same answer to all that waits for an experiment."""
        return [(job, error) for job in self._waiting.pop(name, ())]

    def _send(self, answers: Answers) -> None:
        """Hand the answers to the threads whose loops wait for them."""
        mistakes = [answer for _, answer in answers if isinstance(answer, Exception)]
        self.measured["requests"] += len(answers)
        self.measured["refused"] += sum(not isinstance(m, Elsewhere) for m in mistakes)
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Any, Any]]] = {}
        with self._lock:
            for job, answer in answers:
                self._queued[job.action.name] -= 1
                if self._queued[job.action.name] == 0:
                    del self._queued[job.action.name]
                by_loop.setdefault(job.future.get_loop(), []).append((job.future, answer))
        for loop, resolved in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, resolved)

    # regular work

    def _tick(self) -> None:
        """Renew leases; then look after each experiment that is led here."""
        probes = time.monotonic() - self._wrote > PROBE or not self.ready.is_set()
        try:
            self.memory.renew(probes=probes, busy=self._away)
        except Exception as error:  # the thread must not end: everybody waits for it
            self.ready.clear()
            self.memory.drop_all()
            complain("not ready", error)
            return
        if probes:
            self._wrote = time.monotonic()
        self.ready.set()
        led = [name for name in self.experiments if name not in self._away]
        for name in led:
            self._look_after(name, EXPIRING / len(led), SNAPSHOT_EVERY)
        until = time.monotonic() + EXPIRING
        for name in self.memory.idle(self._away | self._waiting.keys()):
            if self._look_after(name, 0.0, 1) and name not in self._away:
                self.memory.let_go(name)
            if time.monotonic() > until:
                break

    def _look_after(self, name: str, seconds: float, every: int) -> bool:
        """What is due for an experiment; if it fails, other experiments do not suffer.

        every: so many events until a snapshot is due; 1: before it leaves. Returns whether all is
        well and done.
        """
        loaded = self.experiments[name]
        experiment, steps = loaded.experiment, self.memory.expire(loaded, seconds)
        is_long = experiment.reward_work() > LONG and experiment.has_overdue(store.now())
        if not self._do(name, steps, partial(self._expired, name), is_long) or name in self._away:
            return False
        leaves = every == 1 and experiment.seq > loaded.snapshot
        return self._save(loaded) if leaves or is_due(loaded, every) else True

    def _save(self, loaded: Loaded) -> bool:
        """Take a snapshot; returns whether all is well."""
        experiment, steps = loaded.experiment, self.memory.take_snapshot(loaded)
        is_long = len(experiment.pending) > QUICK_SNAPSHOT or experiment.work > LARGE
        return self._do(experiment.name, steps, partial(self._note, loaded), is_long)

    def _do(self, name: str, steps: Steps, then: Callable[[Any], None], is_long: bool) -> bool:
        """Carry steps out, in the background if they take long; returns whether none has failed.

        then: called with the error if one fails, and at the end of the background's work.
        """
        if is_long and not self._stopping:
            self._send_away(name, steps, then)
            return True
        try:
            for _ in steps:
                pass
        except Exception as error:
            then(error)
            return False
        return True

    def _expired(self, name: str, error: Exception | None) -> None:
        """What came of expiry; if it failed, what is in memory is ahead of the log."""
        if error is not None:
            self.memory.drop([name])
            complain(f"experiment {name} is read again", error)

    def _note(self, loaded: Loaded, error: Exception | None) -> None:
        """What came of a snapshot; if nothing did, the next is due as late as after one."""
        if error is not None:
            loaded.snapshot = loaded.experiment.seq
            complain(f"experiment {loaded.experiment.name} goes on without a snapshot", error)

    def _leave(self) -> None:
        """Save snapshots, and give the leases up."""
        for loaded in list(self.experiments.values()):
            if loaded.experiment.seq > loaded.snapshot:
                self._save(loaded)
        self.memory.leave()


def _in_turn(turns: list[Turn]) -> Generator[None, None, tuple[list[Turn], list[Job]]]:
    """Carry turns out for a short time, but one whole; returns them, and the jobs of the others."""
    until, carried_out = time.monotonic() + VISIT, []
    for turn in turns:
        carried_out.append((yield from turn.steps()))
        if turn.fault is not None or time.monotonic() > until:
            break
        yield
    return carried_out, [turn.job for turn in turns[len(carried_out) :]]


def _ends(steps: Generator[None, None, Any], until: float) -> bool:
    """Carry steps out until they end, or until time is over; returns whether they have ended."""
    for _ in steps:
        if time.monotonic() > until:
            return False
    return True


def _refused(error: Exception) -> Exception:
    if isinstance(error, ThriftyError):
        return error
    if isinstance(error, IntegrityError):  # another server was faster
        LOG.warning("a group failed: %s", first_line(error))
    else:
        LOG.error("a group failed", exc_info=error)
    return Unavailable("service", "the store did not take what was asked; try again")


def _resolve(answers: list[tuple["asyncio.Future[Any]", Any]]) -> None:
    for future, answer in answers:
        if future.done():  # who asked has gone
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
