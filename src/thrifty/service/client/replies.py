"""What the service answers, as the client gives it to its user."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from thrifty.display import frame
from thrifty.errors import shown
from thrifty.learners.decisions import ArmReport, Explanation

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow import Table

T = TypeVar("T")


class RemoteDecision(NamedTuple):
    """An arm to play, and why: as Decision, with an id that is text.

    Attributes
    ----------
    id : of the decision
    seq : its number in the log of the experiment
    context, arm, name, label, probability, gap : as those of thrifty.Decision
    """

    id: str
    seq: int
    context: str
    arm: int
    name: str
    label: str
    probability: float | None
    gap: float


class RemoteEvent(NamedTuple):
    """An entry of an experiment's log."""

    seq: int
    kind: str
    at: str  # UTC, ISO 8601
    decision: str | None  # its id
    body: dict[str, Any]


@dataclass(frozen=True, repr=False)
class RemoteExplanation(Explanation):
    """Why an arm was chosen, with the present estimates, and what became of the decision.

    Attributes
    ----------
    decision : the decision
    arms : what is known about each arm
    text : the same in words
    at, rewarded_at : times of the decision and of its reward, UTC, ISO 8601
    status : waiting (the reward is pending), rewarded or expired
    reward : None until there is one
    """

    decision: RemoteDecision  # type: ignore[assignment]  # it has the same names
    text: str
    at: str
    status: str
    reward: float | None
    rewarded_at: str | None

    def __str__(self) -> str:
        return self.text


class Mismatch(ValueError):
    """A reply to another request, as when two processes read from the same connection."""


def _is_of(what: str, asked: object, came: object) -> None:
    if asked != came:
        raise Mismatch(f"the answer is about {what} {shown(came)} instead of {shown(asked)}")


Kinds = tuple[type, ...]
_TEXT, _WHOLE, _NUMBER, _NONE = (str,), (int,), (int, float), (type(None),)
_DECISION = {
    "id": _TEXT,
    "seq": _WHOLE,
    "context": _TEXT + _NONE,
    "arm": _WHOLE,
    "name": _TEXT,
    "label": _TEXT,
    "probability": _NUMBER + _NONE,
    "gap": _NUMBER,
}
_DETAIL = {"at": _TEXT, "status": _TEXT, "reward": _NUMBER + _NONE, "rewarded_at": _TEXT + _NONE}
_ARM = {
    "name": _TEXT,
    "mean": _NUMBER,
    "gap": _NUMBER,
    "error": _NUMBER + _NONE,
    "pulls": _NUMBER + _NONE,
    "target": _NUMBER + _NONE,
}
_EVENT = {"seq": _WHOLE, "kind": _TEXT, "at": _TEXT, "decision": _TEXT + _NONE, "body": (dict,)}
_REWARD = {"decision": _TEXT, "status": _TEXT}
_EXPERIMENT = {"name": _TEXT, "status": _TEXT, "policy": _TEXT, "mean_reward": _NUMBER + _NONE}
_COUNTS = {"decisions": _WHOLE, "waiting": _WHOLE}  # of these, what commands show
_EXPLORATION = {"share": _NUMBER, "cost": _NUMBER, "expected": _NUMBER}


def _fields(reply: Any, kinds: Mapping[str, Kinds]) -> dict[str, Any]:
    """Fields of an object; raises TypeError, KeyError or ValueError if one is missing or wrong."""
    fields = {name: as_kind(dict, reply)[name] for name in kinds}
    for name, value in fields.items():
        if type(value) not in kinds[name]:
            raise TypeError(f"{name} is {shown(value)}")
        if type(value) is float and not math.isfinite(value):  # JSON may have 1e999
            raise ValueError(f"{name} is {value}")
    return fields


def as_kind(kind: type[T], reply: Any) -> T:
    """A reply of this type."""
    if not isinstance(reply, kind):
        raise TypeError(f"{kind.__name__} expected, got {shown(reply)}")
    return reply


def read_decision(reply: Any, id: str) -> RemoteDecision:
    """The decision of an id from JSON."""
    fields = _fields(reply, _DECISION)
    _is_of("decision", id, fields["id"])
    return RemoteDecision(**fields | {"context": fields["context"] or ""})


def read_decisions(reply: Any, ids: Sequence[str]) -> list[RemoteDecision]:
    """The decisions of some ids, in order."""
    return [read_decision(entry, id) for id, entry in _pairs(ids, reply)]


def read_reward(reply: Any, id: str) -> str:
    """What became of the reward of a decision."""
    fields = _fields(reply, _REWARD)
    _is_of("decision", id, fields["decision"])
    return str(fields["status"])


def read_rewards(reply: Any, ids: Sequence[str]) -> list[str]:
    """What became of the rewards of some decisions, in order."""
    return [read_reward(entry, id) for id, entry in _pairs(ids, reply)]


def _pairs(ids: Sequence[str], reply: Any) -> "zip[tuple[str, Any]]":
    """Each id with its part of a reply."""
    if len(as_kind(list, reply)) != len(ids):
        raise Mismatch(f"the answer has {len(reply):,} parts instead of {len(ids):,}")
    return zip(ids, reply, strict=True)


def read_explanation(reply: Any, id: str) -> RemoteExplanation:
    """A decision with its reason from JSON."""
    why = _fields(as_kind(dict, reply)["why"], {"text": _TEXT, "arms": (list,)})
    return RemoteExplanation(
        decision=read_decision(reply["decision"], id),
        arms=tuple(map(_arm, why["arms"])),
        text=why["text"],
        **_fields(reply, _DETAIL),
    )


def _arm(reply: Any) -> ArmReport:
    optional = {"pulls": None, "target": None}
    arm = _fields({**optional, **as_kind(dict, reply)}, _ARM)
    if arm["error"] is None:
        arm["error"] = math.inf
    return ArmReport(*arm.values())


def read_experiment(reply: Any, name: str) -> dict[str, Any]:
    """An experiment from JSON, as it is."""
    experiment = _experiment(reply)
    _is_of("experiment", name, experiment["name"])
    return experiment


def read_experiments(reply: Any) -> list[dict[str, Any]]:
    """All experiments from JSON, as they are."""
    return [_experiment(line) for line in as_kind(list, reply)]


def _experiment(reply: Any) -> dict[str, Any]:
    _fields(reply, _EXPERIMENT)
    _fields(reply["counts"], _COUNTS)
    _fields(reply["exploration"], _EXPLORATION)
    return as_kind(dict, reply)


def read_log(reply: Any, after: int) -> list[RemoteEvent]:
    """The entries of a page of the log, which come after a number."""
    page = [RemoteEvent(**_fields(entry, _EVENT)) for entry in as_kind(list, reply)]
    for event in page:
        if event.seq <= after:
            raise Mismatch(f"the answer has entry {event.seq} of the log after entry {after}")
        after = event.seq
    return page


def read_table(reply: bytes) -> "Table":
    """The table in a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pq.read_table(pa.BufferReader(reply))


def log_frame(events: Sequence[RemoteEvent]) -> "DataFrame":
    """Entries of the log as a data frame: what all have, then each key of their bodies."""
    columns = {name: [getattr(e, name) for e in events] for name in RemoteEvent._fields[:-1]}
    keys = dict.fromkeys(key for event in events for key in event.body)
    bodies = {key: [e.body.get(key) for e in events] for key in keys if key not in columns}
    return frame("experiment.to_frame()", columns | bodies)
