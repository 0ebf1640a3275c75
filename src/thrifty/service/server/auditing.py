"""The audit of a log: every event in its place, every decision and snapshot computed again."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json
from sqlalchemy import Connection

from thrifty.service.server.experiment import (
    ACTIVE,
    CHANGED,
    CREATED,
    DECISION,
    UPGRADED,
    Experiment,
)
from thrifty.service.server.loading import begin, code
from thrifty.service.server.views import experiment_line
from thrifty.service.storage import store
from thrifty.service.storage.store import Event, Snapshot, Summary


class Audit(NamedTuple):
    """What the audit of a log has shown.

    events, decisions : that were carried out again
    unverified : events that other code has made; their order and their digests were checked
    seq : of the first event that differs
    difference : how it differs
    last, head : number and digest of the last event; "" where earlier versions have written it
    """

    events: int
    decisions: int
    unverified: int
    seq: int | None = None
    difference: str = ""
    last: int = 0
    head: str = ""


class _DifferenceError(Exception):
    """What is wrong with the log."""


def audit(
    connection: Connection,
    name: str,
    tick: Callable[[], None] = lambda: None,
    heads: Mapping[int, str] | None = None,
) -> Audit:
    """Compare the log of an experiment with itself, with its snapshots and with a replay.

    Events of other code are not carried out: the replay begins with the snapshot that was taken
    when this code took over. tick: called after each event. heads: how the digests of events
    begin, by number, as they were kept elsewhere.
    """
    return _Auditor(connection, name, heads or {}).run(tick)


class _Auditor:
    """An audit in progress; the experiment is None where the log is not carried out."""

    def __init__(self, connection: Connection, name: str, heads: Mapping[int, str]) -> None:
        self.connection, self.name, self.heads = connection, name, heads
        self.seq, self.head = 0, ""
        self.events = self.decisions = 0
        self.experiment: Experiment | None = None
        self.snapshots: dict[int, Snapshot] = {}
        self.start: Snapshot | None = None
        self.status = ACTIVE
        self.summary: Summary | None = None

    def run(self, tick: Callable[[], None]) -> Audit:
        at = 1
        try:
            self._prepare()
            for row in store.raw_events(self.connection, self.name, store.LOWEST):
                at = row.seq if isinstance(row.seq, int) else self.seq + 1
                self._check(row)
                tick()
            at = self.seq + 1
            self._check_end()
        except _DifferenceError as difference:
            return self._result(at, str(difference))
        return self._result()

    def _result(self, seq: int | None = None, difference: str = "") -> Audit:
        unverified = self.seq - self.events - (self.start is None and self.experiment is not None)
        return Audit(self.events, self.decisions, unverified, seq, difference, self.seq, self.head)

    def _prepare(self) -> None:
        """Read the snapshots, and begin with the one that was taken when this code took over."""
        snapshots = {s.seq: s for s in store.read_snapshots(self.connection, self.name)}
        self.snapshots = {seq: s for seq, s in snapshots.items() if s.code == code()}
        upgrades = store.seqs_of_kind(self.connection, self.name, UPGRADED)
        if upgrades:
            self.start = self.snapshots.get(upgrades[-1])
        if self.start is not None:
            self.experiment = self._experiment_of(self.start)
        self.summary = store.read_summary(self.connection, self.name)

    def _experiment_of(self, snapshot: Snapshot) -> Experiment:
        try:
            return Experiment.from_bytes(snapshot.state)
        except Exception as error:  # of whatever kind: it may be damaged
            message = f"the snapshot after event {snapshot.seq} cannot be read ({_named(error)})"
            raise _DifferenceError(message) from None

    def _check(self, row: Any) -> None:
        """Check an event, and carry it out again."""
        if not store.is_number(row.seq):
            raise _DifferenceError(f"its number is {row.seq!r}: a log begins with event 1")
        if row.seq != self.seq + 1:
            raise _DifferenceError(f"event {self.seq + 1} is missing")
        self._check_digest(row)
        self.seq = row.seq
        event = _event(row)
        if row.seq == 1:
            self._check_first(event)
        elif self.experiment is not None and row.seq > self.experiment.seq:
            self._replay(self.experiment, event)
        if event.kind == CHANGED:
            self.status = event.body.get("status", self.status)
        if self.experiment is not None and self.experiment.seq == row.seq:
            self._check_summary(self.experiment)

    def _check_digest(self, row: Any) -> None:
        if row.digest is None:
            if self.head:
                raise _DifferenceError("it has no digest")
        else:
            content = (row.seq, row.kind, row.at, row.decision, row.body)
            if store.chained(self.head, self.name, *content) != row.digest:
                raise _DifferenceError("it, or an event before it, was changed: its digest differs")
            self.head = row.digest
        if not (row.digest or "").startswith(self.heads.get(row.seq, "")):
            raise _DifferenceError(f"its digest does not begin with {self.heads[row.seq]}")

    def _check_first(self, created: Event) -> None:
        """Begin the experiment, if this code has made it."""
        settings, made_by = created.body.get("settings"), created.body.get("code")
        if created.kind != CREATED or not isinstance(settings, dict):
            raise _DifferenceError("the first event is not that of a new experiment")
        if self.start is None and made_by == code():
            try:
                self.experiment = begin(created, self.name)
            except Exception as error:  # of whatever kind: the log may say anything
                raise _DifferenceError(_impossible(error)) from None
        elif self.start is None and self.snapshots:
            raise _DifferenceError(
                f"it says that other code made the log, but the snapshot after event "
                f"{max(self.snapshots)} is of this code"
            )

    def _replay(self, experiment: Experiment, event: Event) -> None:
        self.events, self.decisions = self.events + 1, self.decisions + (event.kind == DECISION)
        try:
            difference = experiment.replay(event)
        except Exception as error:  # of whatever kind: the log may say anything
            raise _DifferenceError(_impossible(error)) from None
        if difference is not None:
            raise _DifferenceError(difference)
        snapshot = self.snapshots.get(event.seq)
        if snapshot is not None and experiment.to_bytes() != snapshot.state:
            raise _DifferenceError("the state after it is not that of the snapshot")

    def _check_summary(self, experiment: Experiment) -> None:
        """What the list shows must be what it would show of this replay."""
        if self.summary is None or self.summary.seq != experiment.seq:
            return
        if to_json(self.summary.line) != to_json(experiment_line(experiment)):  # nan is not itself
            raise _DifferenceError("what the list shows after it is something else")

    def _check_end(self) -> None:
        """Nothing may know of later events than the last of the log, or of others."""
        if self.seq == 0:
            raise _DifferenceError("there is no event")
        for strange in store.strange_snapshots(self.connection, self.name):
            raise _DifferenceError(f"there is a snapshot after event {strange!r}")
        if store.has_damaged_summary(self.connection, self.name):
            raise _DifferenceError("what the list shows cannot be read")
        seen = store.last_seen(self.connection, self.name)
        if (last := max([seen, *self.heads])) > self.seq:
            raise _DifferenceError(f"it is missing, and so is all up to {last}, known elsewhere")
        listed = store.statuses(self.connection, [self.name]).get(self.name, self.status)
        if listed != self.status:
            message = f"it is missing: the list says {listed}, the log {self.status}"
            raise _DifferenceError(message)


def _event(row: Any) -> Event:
    try:
        body = from_json(row.body)
    except (TypeError, ValueError):
        raise _DifferenceError("its body is not JSON") from None
    if not isinstance(body, dict):
        raise _DifferenceError("its body is not an object")
    return Event(row.seq, row.kind, row.at, row.decision, body)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _impossible(error: Exception) -> str:
    return f"it cannot be carried out ({_named(error)})"
