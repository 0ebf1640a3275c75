"""Experiments from the store: the last snapshot and the log since; and the audit of a log."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection

from thrifty.compiler.fingerprints import fingerprint, installed_code
from thrifty.service.server.experiment import CREATED, DECISION, UPGRADED, Experiment
from thrifty.service.storage import store
from thrifty.service.storage.store import Event, Snapshot


@cache
def code() -> str:
    """The fingerprint of what decides the bits of an experiment."""
    sources = [Path(__file__).with_name(name) for name in ("experiment.py", "history.py")]
    return fingerprint(sources, installed_code())


class Loaded(NamedTuple):
    """An experiment, and the sequence number of its last snapshot."""

    experiment: Experiment
    snapshot: int
    upgrades: tuple[int, ...]  # sequence numbers of snapshots that are kept for the audit


def load(connection: Connection, name: str) -> Loaded:
    """The experiment as its log has it.

    Where other code made the snapshot, an event says so, and from which event on this code would
    have decided otherwise. What was decided stands.
    """
    snapshot, upgrades = store.last_snapshot(connection, name), _upgrades(connection, name)
    made_by = _first(connection, name).body["code"] if snapshot is None else snapshot.code
    if snapshot is not None and made_by != code() and not _is_readable(snapshot):
        snapshot = None  # the whole log it can read
    experiment, differs = _replayed(connection, name, snapshot)
    if made_by == code():
        return Loaded(experiment, 0 if snapshot is None else snapshot.seq, upgrades)
    body = {"from": made_by, "to": code(), "differs": differs}
    experiment.seq += 1
    store.append(connection, name, [Event(experiment.seq, UPGRADED, store.now(), None, body)])
    upgrades = (*upgrades, experiment.seq)
    store.save_snapshot(connection, name, take_snapshot(experiment), keep=upgrades)
    return Loaded(experiment, experiment.seq, upgrades)


def _is_readable(snapshot: Snapshot) -> bool:
    """Whether this code can read a snapshot that other code has made."""
    try:
        Experiment.from_bytes(snapshot.state)
    except Exception:  # of whatever kind: other code may have written anything
        return False
    return True


def take_snapshot(experiment: Experiment) -> Snapshot:
    return Snapshot(experiment.seq, code(), experiment.to_bytes())


def _replayed(
    connection: Connection, name: str, snapshot: Snapshot | None, *, follow: bool = False
) -> tuple[Experiment, int | None]:
    """The experiment after all events; and where it differs from the log, which it then follows."""
    experiment = _begun(connection, name, snapshot)
    for event in store.all_events(connection, name, experiment.seq):
        if experiment.replay(event, follow=follow) is not None and not follow:
            return _replayed(connection, name, snapshot, follow=True)[0], event.seq
    return experiment, None


def _first(connection: Connection, name: str) -> Event:
    return store.events_about_all(connection, name, CREATED)[0]


def _begun(connection: Connection, name: str, snapshot: Snapshot | None) -> Experiment:
    """The experiment of a snapshot, or as it was made."""
    if snapshot is not None:
        return Experiment.from_bytes(snapshot.state)
    created = _first(connection, name)
    return Experiment(name, created.body["settings"], created.at)


def _upgrades(connection: Connection, name: str) -> tuple[int, ...]:
    return tuple(event.seq for event in store.events_about_all(connection, name, UPGRADED))


class Audit(NamedTuple):
    """What a replay of a log has shown."""

    events: int  # that were carried out again
    decisions: int
    unverified: int  # events that other code has made
    seq: int | None = None  # of the first event that differs
    difference: str = ""


def audit(connection: Connection, name: str, tick: Callable[[], None] = lambda: None) -> Audit:
    """Replay the log of an experiment and compare every decision and snapshot, to the last bit.

    Events that were made by other code are left out: the replay begins with the snapshot that was
    taken when this code took over. tick: called after each event.
    """
    upgrades = _upgrades(connection, name)
    start = store.last_snapshot(connection, name, until=upgrades[-1]) if upgrades else None
    made_by = _first(connection, name).body["code"] if start is None else start.code
    if made_by != code():
        return Audit(0, 0, store.last_seq(connection, name))
    experiment, unverified = _begun(connection, name, start), 0 if start is None else start.seq
    events = decisions = 0
    snapshots = store.snapshots_by(connection, name, code())
    for event in store.all_events(connection, name, experiment.seq):
        difference = _difference(experiment, event, snapshots.get(event.seq))
        events, decisions = events + 1, decisions + (event.kind == DECISION)
        tick()
        if difference is not None:
            return Audit(events, decisions, unverified, event.seq, difference)
    return Audit(events, decisions, unverified)


def _difference(experiment: Experiment, event: Event, snapshot: bytes | None) -> str | None:
    """Carry an event out again; returns how the log, or a snapshot after it, differs."""
    if event.seq != experiment.seq + 1:
        return f"event {experiment.seq + 1} is missing"
    try:
        difference = experiment.replay(event)
    except Exception as error:  # of whatever kind: the log may say anything
        return f"it cannot be carried out ({type(error).__name__}: {error})"
    if difference is None and snapshot is not None and experiment.to_bytes() != snapshot:
        return "the state after it is not that of the snapshot"
    return difference
