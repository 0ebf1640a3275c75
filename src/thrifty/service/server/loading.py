"""Experiments from the store: the last snapshot and the log since; and the audit of a log."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection

from thrifty.compiler.fingerprints import fingerprint
from thrifty.report.wording import count
from thrifty.service.server.experiment import CREATED, DECISION, UPGRADED, Experiment
from thrifty.service.storage.store import (
    Event,
    Snapshot,
    all_events,
    append,
    events_about_all,
    last_seq,
    last_snapshot,
    now,
    read_events,
    save_snapshot,
    snapshots_by,
)
from thrifty.studies.tasks import installed_code


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
    snapshot = last_snapshot(connection, name)
    made_by = _first(connection, name).body["code"] if snapshot is None else snapshot.code
    if snapshot is not None and made_by != code() and not _is_readable(snapshot):
        snapshot = None
    experiment, differs = _replayed(connection, name, snapshot, follow=False)
    if differs is not None:
        experiment, _ = _replayed(connection, name, snapshot, follow=True)
    upgrades = _upgrades(connection, name)
    seq = 0 if snapshot is None else snapshot.seq
    if made_by == code():
        return Loaded(experiment, seq, upgrades)
    body = {"from": made_by, "to": code(), "differs": differs}
    experiment.seq += 1
    append(connection, name, [Event(experiment.seq, UPGRADED, now(), None, body)])
    upgrades = (*upgrades, experiment.seq)
    save_snapshot(connection, name, take_snapshot(experiment), keep=upgrades)
    return Loaded(experiment, experiment.seq, upgrades)


def _is_readable(snapshot: Snapshot) -> bool:
    """Whether this code can read a snapshot that other code has made; the whole log it can."""
    try:
        _restored(snapshot)
    except Exception:
        return False
    return True


def take_snapshot(experiment: Experiment) -> Snapshot:
    return Snapshot(experiment.seq, code(), experiment.to_bytes())


def _replayed(
    connection: Connection, name: str, snapshot: Snapshot | None, *, follow: bool
) -> tuple[Experiment, int | None]:
    """The experiment after all events; and, unless the log is followed, where it differs."""
    experiment = _begun(connection, name) if snapshot is None else _restored(snapshot)
    for event in all_events(connection, name, experiment.seq):
        if experiment.replay(event, follow=follow) is not None and not follow:
            return experiment, event.seq
    return experiment, None


def _first(connection: Connection, name: str) -> Event:
    return read_events(connection, name, most=1)[0]


def _begun(connection: Connection, name: str) -> Experiment:
    first = _first(connection, name)
    assert first.kind == CREATED
    return Experiment(name, first.body["settings"], first.at)


def _restored(snapshot: Snapshot) -> Experiment:
    return Experiment.from_bytes(snapshot.state)


def _upgrades(connection: Connection, name: str) -> tuple[int, ...]:
    return tuple(event.seq for event in events_about_all(connection, name, UPGRADED))


class Audit(NamedTuple):
    """What a replay of a log has shown."""

    events: int  # that were carried out again
    decisions: int
    unverified: int  # events that other code has made
    seq: int | None  # of the first event that differs
    difference: str

    def sentence(self, name: str) -> str:
        """The result in a line."""
        checked = (
            f"{count(self.decisions, 'decision')}, {count(self.events, 'event')} computed again"
        )
        unverified = count(self.unverified, "event")
        left = f"; {unverified} of other versions left out" if self.unverified else ""
        if self.seq is None:
            return f"{name}: {checked}, all the same{left}"
        return f"{name}: event {self.seq} differs: {self.difference}{left}"


def audit(connection: Connection, name: str, tick: Callable[[], None] = lambda: None) -> Audit:
    """Replay the log of an experiment and compare every decision and snapshot, to the last bit.

    Events that were made by other code are left out: the replay begins with the snapshot that was
    taken when this code took over. tick: called after each event.
    """
    upgrades = _upgrades(connection, name)
    made_by = _first(connection, name).body["code"]
    experiment, unverified = _begun(connection, name), 0
    if upgrades:
        snapshot = last_snapshot(connection, name, until=upgrades[-1])
        assert snapshot is not None
        made_by, experiment, unverified = snapshot.code, _restored(snapshot), snapshot.seq
    if made_by != code():
        return Audit(0, 0, last_seq(connection, name), None, "")
    events = decisions = 0
    snapshots = snapshots_by(connection, name, code())
    for event in all_events(connection, name, experiment.seq):
        difference = _difference(experiment, event, snapshots.get(event.seq))
        events, decisions = events + 1, decisions + (event.kind == DECISION)
        tick()
        if difference is not None:
            return Audit(events, decisions, unverified, event.seq, difference)
    return Audit(events, decisions, unverified, None, "")


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
