"""Experiments from the store: the last snapshot and the log since."""

import logging
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection

from thrifty.compiler.fingerprints import fingerprint, installed_code
from thrifty.errors import ThriftyError
from thrifty.service.server.experiment import CREATED, UPGRADED, Experiment
from thrifty.service.server.refusals import Conflict
from thrifty.service.storage import store
from thrifty.service.storage.store import EMPTY, Event, Head, Snapshot

LOG = logging.getLogger("thrifty.service")
MOST_NAMED = 100  # refused events that an event UPGRADED names


@cache
def code() -> str:
    """The fingerprint of what decides the bits of an experiment."""
    sources = [Path(__file__).with_name(name) for name in ("experiment.py", "history.py")]
    return fingerprint(sources, installed_code())


@dataclass
class Loaded:
    """An experiment in memory, and what the store has of it.

    snapshot : sequence number of its last snapshot
    upgrades : sequence numbers of snapshots that the audit needs
    head : the last event in the log
    used : when it was last asked for, on the monotonic clock
    summary : number of the last event that the list knows of without asking
    summed_up : when that was saved
    """

    experiment: Experiment
    snapshot: int = 0
    upgrades: tuple[int, ...] = ()
    head: Head = EMPTY
    used: float = field(default_factory=time.monotonic)
    summary: int = 0
    summed_up: float = field(default_factory=time.monotonic)


class Read(NamedTuple):
    """An experiment that was read.

    upgraded : an event for its log, if other code has made it: from which event on this code would
        have decided otherwise, and which events it refuses. A snapshot must follow.
    """

    loaded: Loaded
    upgraded: Event | None


def load(connection: Connection, name: str) -> Generator[None, None, Read]:
    """Read an experiment as its log has it, one event in each step. What was decided stands."""
    snapshot, experiment = _newest(connection, name)
    made_by = first_event(connection, name).body["code"] if snapshot is None else snapshot.code
    experiment, differs = yield from _replayed(connection, experiment, snapshot)
    seq = 0 if snapshot is None else snapshot.seq
    head = store.read_head(connection, name)
    loaded = Loaded(experiment, seq, upgrades_of(connection, name)[-1:], head)
    if made_by == code():
        if differs is not None:
            LOG.error("experiment %s: event %d differs: run thrifty audit", name, differs)
        return Read(loaded, None)
    body = {"from": made_by, "to": code(), "differs": differs}
    if experiment.refused:
        body["refused"] = experiment.refused[:MOST_NAMED]
    upgraded = experiment.take_over(body, store.now())
    loaded.upgrades = (upgraded.seq,)
    return Read(loaded, upgraded)


def _newest(connection: Connection, name: str) -> tuple[Snapshot | None, Experiment]:
    """The newest snapshot that can be read, with its experiment; or the experiment as it began."""
    for strange in store.strange_snapshots(connection, name):
        LOG.error("experiment %s: the snapshot after event %r is skipped: no number", name, strange)
    for snapshot in store.read_snapshots(connection, name):
        try:
            experiment = Experiment.from_bytes(snapshot.state)
        except Exception as error:  # of whatever kind: it may be damaged, or of other code
            unreadable = "experiment %s: the snapshot after event %d is skipped: unreadable (%s)"
            LOG.error(unreadable, name, snapshot.seq, type(error).__name__)
            continue
        if (last := store.last_seq(connection, name)) < snapshot.seq:
            lost = "experiment %s: its log ends at event %d, but a snapshot has seen event %d"
            LOG.error(lost, name, last, snapshot.seq)
        return snapshot, experiment
    return None, begin(first_event(connection, name), name)


def take_snapshot(experiment: Experiment) -> Snapshot:
    return Snapshot(experiment.seq, code(), experiment.to_bytes())


def _replayed(
    connection: Connection, experiment: Experiment, snapshot: Snapshot | None, first: int = 0
) -> Generator[None, None, tuple[Experiment, int | None]]:
    """The experiment after all events, and the first that differs from the log.

    first: the event that differs, if that is known; the log is followed where it differs.
    """
    name = experiment.name
    for event in store.all_events(connection, name, experiment.seq):
        try:
            difference = experiment.replay(event, follow=first > 0)
        except ThriftyError as error:
            difference = str(error)
        if difference is not None and first == 0:
            if snapshot is None:
                again = begin(first_event(connection, name), name)
            else:
                again = Experiment.from_bytes(snapshot.state)
            return (yield from _replayed(connection, again, snapshot, event.seq))
        yield
    return experiment, first or None


def first_event(connection: Connection, name: str) -> Event:
    return store.events_about_all(connection, name, CREATED)[0]


def begin(created: Event, name: str) -> Experiment:
    """The experiment as it was made."""
    try:
        return Experiment(name, created.body["settings"], created.at)
    except ThriftyError as error:
        message = f"this version of thrifty cannot continue it: {error}"
        raise Conflict("experiment", message) from None


def upgrades_of(connection: Connection, name: str) -> tuple[int, ...]:
    """The sequence numbers of all events UPGRADED."""
    return tuple(event.seq for event in store.events_about_all(connection, name, UPGRADED))
