"""The experiments that this server leads, in memory: how they are read, saved and let go.

Nothing here waits for a turn: the writer decides when each is done, and in which thread.
"""

import logging
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from thrifty.errors import ThriftyError, first_line
from thrifty.service.server.background import Steps
from thrifty.service.server.experiment import Experiment
from thrifty.service.server.loading import Loaded, Read, load, take_snapshot
from thrifty.service.server.refusals import Conflict, Unavailable
from thrifty.service.server.turns import Turn
from thrifty.service.server.views import experiment_line
from thrifty.service.storage import store
from thrifty.service.storage.file_watch import FileWatch
from thrifty.service.storage.leases import AddressTaken, Elsewhere, Leases
from thrifty.service.storage.store import EMPTY, Event, EventStore, Snapshot

LOG = logging.getLogger("thrifty.service")
SUMMED_UP = 10.0  # seconds until the store has a new line for the list: after a crash it shows it
MOST_SUMMARIES = 100  # at a time
LONGEST_REPLAY = 200_000  # events since the last snapshot: they are carried out again at a start
IDLE = 600.0  # seconds without a request after which an experiment leaves memory
SOON = 30.0  # the same if there are more than
MOST_IN_MEMORY = 1_000  # experiments; those that were idle for longest leave first


@dataclass
class Led:
    """Experiments that were asked for: those that are led here now, and who leads the others."""

    here: list[str]
    elsewhere: dict[str, Elsewhere]


class Memory:
    """The experiments in memory by name, and the leases of this server.

    Attributes
    ----------
    experiments : that are in memory
    renewing : whether the next commit renews all leases
    """

    def __init__(self, store: EventStore, holder: str, url: str) -> None:
        self.store, self.leases = store, Leases(store, holder, url)
        self.experiments: dict[str, Loaded] = {}
        self.renewing = False
        self._file = FileWatch(store)

    # coming and going

    def lead(self, names: Collection[str]) -> Led:
        """Become the leader of experiments.

        In a transaction of its own: what is read afterwards has all that an earlier leader has
        written.
        """
        led = Led([], {})
        with self.store.begin() as connection:
            for name in sorted(names):
                try:
                    self.leases.acquire(connection, name)
                    led.here.append(name)
                except Elsewhere as leader:
                    led.elsewhere[name] = leader
        for name in led.here:
            logged = {"experiment": name, "fence": self.leases.fences[name]}
            LOG.info("leading experiment %s", name, extra=logged)
        return led

    def read(self, name: str) -> Steps:
        """Read an experiment that is led here; if other code has made its log, say so there."""
        with self.store.reading() as connection:
            read: Read = yield from load(connection, name)
        loaded = read.loaded
        if read.upgraded is not None:
            snapshot = take_snapshot(loaded.experiment)
            with self.leading(name) as connection:
                loaded.head = store.append(connection, name, [read.upgraded], loaded.head)
                _save(connection, loaded, snapshot)
            loaded.snapshot = snapshot.seq
        return loaded

    def enter(self, name: str, loaded: Loaded) -> None:
        """Hold an experiment that was read, unless the lease was lost meanwhile."""
        if name in self.leases.fences:
            self.experiments[name] = loaded
            self.renewing = True  # reading may have taken as long as a lease lasts

    def drop(self, names: Iterable[str]) -> None:
        """Lead experiments no longer; each is read again when it is asked for."""
        for name in list(names):
            self.experiments.pop(name, None)
            self.leases.fences.pop(name, None)

    def drop_all(self) -> None:
        """The same for all that are in memory."""
        self.drop(self.experiments)

    def idle(self, busy: Collection[str]) -> list[str]:
        """Experiments that may leave memory, those that were idle for longest first."""
        by_use = sorted(
            (loaded.used, name) for name, loaded in self.experiments.items() if name not in busy
        )
        too_many, now = len(self.experiments) - MOST_IN_MEMORY, time.monotonic()
        unused = [(now - used, name) for used, name in by_use if not self._will_expire(name)]
        return [
            name for n, (idle, name) in enumerate(unused) if idle > (SOON if n < too_many else IDLE)
        ]

    def _will_expire(self, name: str) -> bool:
        """Whether pending decisions of an experiment wait to be given up."""
        experiment = self.experiments[name].experiment
        return bool(experiment.pending) and experiment.settings.get("expire") is not None

    def let_go(self, name: str) -> None:
        """Give an experiment up that is idle and saved."""
        try:
            with self.store.begin() as connection:
                self.leases.release(connection, name)
        except SQLAlchemyError as error:  # the lease ends by itself
            complain(f"experiment {name} was let go without its lease", error)
        self.drop([name])

    # transactions

    @contextmanager
    def leading(self, *names: str) -> Iterator[Connection]:
        """A transaction about experiments that are led here."""
        with self.store.begin() as connection:
            if lost := self.leases.lost(connection, names):
                raise Unavailable("experiment", f"{lost[0]} has another leader now")
            yield connection
        self.check_file()

    def check_file(self) -> None:
        """Raise Unavailable if what was written is in no file that a restart would find."""
        if self._file.is_lost():
            message = "the file of the store was deleted, replaced or cut: restart the service"
            raise Unavailable("service", message)

    def renew(self, *, probes: bool, busy: Collection[str]) -> None:
        """Renew all leases, and lines for the list, but for experiments that are busy.

        probes: write something even if there is nothing, and read as requests do.
        """
        due = self._sums(busy)
        with self.store.begin() as connection:
            lost = self.leases.lost(connection, self.experiments.keys())
            self.leases.renew(connection)
            for name, (seq, line) in due.items():
                if name not in lost:
                    store.set_summary(connection, name, seq, line)
            if probes:
                self.leases.probe(connection)
        if probes:  # connections that read may fail where one that writes has pages in memory
            with self.store.reading() as connection:
                store.statuses(connection, [""])
        for name, (seq, _) in due.items():
            self.experiments[name].summary = seq
        for name in lost:
            LOG.warning("experiment %s has another leader", name, extra={"experiment": name})
        self.drop(lost)
        self.check_file()

    def _sums(self, busy: Collection[str]) -> dict[str, store.Summary]:
        """New lines for the list where they are old, at most MOST_SUMMARIES."""
        now, found = time.monotonic(), {}
        old = (
            (name, loaded)
            for name, loaded in self.experiments.items()
            if loaded.experiment.seq > loaded.summary
            and now - loaded.summed_up >= SUMMED_UP
            and name not in busy
        )
        for name, loaded in islice(old, MOST_SUMMARIES):
            loaded.summed_up = now
            try:
                line = experiment_line(loaded.experiment)
            except Exception as error:  # others must not suffer
                complain(f"experiment {name} has no new line in the list", error)
            else:
                found[name] = store.Summary(loaded.experiment.seq, line)
        return found

    def write(self, turns: list[Turn]) -> None:
        """Write what turns have done, in one transaction, if this server still leads."""
        events: dict[str, list[Event]] = {}
        for turn in turns:
            events.setdefault(turn.name, []).extend(turn.events)
        made = {turn.name: turn.made for turn in turns if turn.made is not None}
        led = [name for name in events if name not in made]
        heads = {name: self.experiments[name].head for name in led} | dict.fromkeys(made, EMPTY)
        with self.leading(*led) as connection:
            if self.renewing:
                self.leases.renew(connection)
                self.renewing = False
            for experiment in made.values():
                self._make(connection, experiment)
            for name, new in events.items():
                if new:
                    heads[name] = store.append(connection, name, new, heads[name])
            for turn in turns:
                if turn.status is not None:
                    store.set_status(connection, turn.name, turn.status)
        self.experiments |= {name: Loaded(experiment) for name, experiment in made.items()}
        for name, head in heads.items():
            self.experiments[name].head = head

    def _make(self, connection: Connection, made: Experiment) -> None:
        try:  # first: from then on the database does not wait for a server that stands still
            self.leases.acquire(connection, made.name)
        except AddressTaken:
            raise
        except Elsewhere:
            message = f"another server is making an experiment {made.name}"
            raise Conflict("name", message) from None
        store.add_experiment(connection, made.name, made.created)
        _sum_up(connection, made)

    # regular work

    def expire(self, loaded: Loaded, seconds: float) -> Steps:
        """Give up decisions that are pending for too long, for so many seconds."""
        name, events, until = loaded.experiment.name, [], time.monotonic() + seconds
        for event in loaded.experiment.expire(store.now()):
            events.append(event)
            if time.monotonic() > until:
                break
            yield
        if events:
            with self.leading(name) as connection:
                head = store.append(connection, name, events, loaded.head)
            loaded.head = head

    def take_snapshot(self, loaded: Loaded) -> Steps:
        """Save a snapshot: it takes time in proportion to the pending decisions."""
        snapshot = take_snapshot(loaded.experiment)
        yield
        with self.leading(loaded.experiment.name) as connection:
            _save(connection, loaded, snapshot)
        loaded.snapshot = snapshot.seq

    def leave(self) -> None:
        """Give all leases up."""
        try:
            with self.store.begin() as connection:
                self.leases.release(connection)
        except SQLAlchemyError as error:
            complain("left without giving leases up", error)
        self._file.close()


def is_due(loaded: Loaded, every: int) -> bool:
    """Whether a snapshot is due: with many pending decisions it is rarer."""
    rarer = min(4 * len(loaded.experiment.pending), LONGEST_REPLAY)
    return loaded.experiment.seq - loaded.snapshot >= max(every, rarer)


def _save(connection: Connection, loaded: Loaded, snapshot: Snapshot) -> None:
    """Save a snapshot, and what the list shows."""
    store.save_snapshot(connection, loaded.experiment.name, snapshot, keep=loaded.upgrades)
    _sum_up(connection, loaded.experiment)


def _sum_up(connection: Connection, experiment: Experiment) -> None:
    """Save what the list shows of an experiment."""
    store.set_summary(connection, experiment.name, experiment.seq, experiment_line(experiment))


def complain(what: str, error: Exception) -> None:
    """A line in the log for what may happen; more for a fault of the program."""
    if isinstance(error, SQLAlchemyError | ThriftyError):
        LOG.warning("%s: %s", what, first_line(error))
    else:
        LOG.error(what, exc_info=error)
