"""What the service answers, as the client gives it to its user."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from thrifty.display import frame
from thrifty.learners.decisions import ArmReport, Explanation

if TYPE_CHECKING:
    from pandas import DataFrame


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


def read_decision(reply: Mapping[str, Any]) -> RemoteDecision:
    """A decision from JSON."""
    fields = {name: reply[name] for name in RemoteDecision._fields}
    return RemoteDecision(**fields | {"context": reply["context"] or ""})


def read_explanation(reply: Mapping[str, Any]) -> RemoteExplanation:
    """A decision with its reason from JSON."""
    return RemoteExplanation(
        decision=read_decision(reply["decision"]),
        arms=tuple(map(_arm, reply["why"]["arms"])),
        text=reply["why"]["text"],
        **{name: reply[name] for name in ("at", "status", "reward", "rewarded_at")},
    )


def _arm(arm: Mapping[str, Any]) -> ArmReport:
    error = math.inf if arm["error"] is None else arm["error"]
    pulls, target = arm.get("pulls"), arm.get("target")
    return ArmReport(arm["name"], arm["mean"], arm["gap"], error, pulls, target)


def read_log(reply: Sequence[Mapping[str, Any]]) -> list[RemoteEvent]:
    """A page of the log from JSON."""
    return [RemoteEvent(**{name: e[name] for name in RemoteEvent._fields}) for e in reply]


def log_frame(events: Sequence[RemoteEvent]) -> "DataFrame":
    """Entries of the log as a data frame: what all have, then each key of their bodies."""
    columns = {name: [getattr(e, name) for e in events] for name in RemoteEvent._fields[:-1]}
    keys = dict.fromkeys(key for event in events for key in event.body)
    bodies = {key: [e.body.get(key) for e in events] for key in keys if key not in columns}
    return frame("experiment.to_frame()", columns | bodies)
