"""The requests that a client makes, and how their replies are read; nothing here sends them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import numpy as np

from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import finite_number, numeric
from thrifty.problem.action_sets import ActionSets
from thrifty.problem.frames import arm_table, in_order
from thrifty.service.client.replies import (
    LogEntry,
    RemoteDecision,
    RemoteExplanation,
    read_decision,
    read_explanation,
    read_log,
)
from thrifty.service.ids import new_id

T = TypeVar("T")
Json = dict[str, Any]


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request, and how to read its reply.

    repeatable: whether making it twice does the same as making it once.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    repeatable: bool = True

    @property
    def content(self) -> bytes | None:
        """The body as JSON."""
        try:
            return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise InvalidInput.expected("request", "what JSON can hold", str(error)) from None


def list_experiments() -> Request[list[Json]]:
    """All experiments."""
    return Request("GET", "/v1/experiments", list)


def create(name: str, contexts: ActionSets | Sequence[Json] | None, settings: Json) -> Request[str]:
    """A new experiment; the reply is its name. Settings that are None are the service's own."""
    policy = settings.get("policy")
    listed = _contexts(contexts) if isinstance(contexts, ActionSets) else contexts
    body = {**settings, "name": name, "contexts": listed, "policy": getattr(policy, "spec", policy)}
    given = {key: value for key, value in body.items() if value is not None}
    return Request("POST", "/v1/experiments", lambda reply: reply["name"], given, repeatable=False)


def _contexts(sets: ActionSets) -> list[Json]:
    return [
        {"name": name, "arms": sets.arms(m).tolist(), "arm_names": list(sets.arm_names[m])}
        for m, name in enumerate(sets.context_names)
    ]


class ExperimentRequests:
    """Requests about one experiment; columns: names of the features, in the service's order."""

    def __init__(self, name: str, columns: Sequence[str] | None = None) -> None:
        self.path = f"/v1/experiments/{_part(name, 'experiment')}"
        self.columns = None if columns is None else tuple(columns)

    def info(self) -> Request[Json]:
        """Settings, counts and estimates."""
        return Request("GET", self.path, dict)

    def change(self, changes: Json) -> Request[Json]:
        """Change settings, arms or contexts. Only another status may be asked for twice."""
        return Request("PATCH", self.path, dict, changes, repeatable=set(changes) <= {"status"})

    def choose(self, asked: Any) -> Request[RemoteDecision]:
        """A decision; asked: as `decision_body` takes it."""
        body = self.decision_body(asked, "")
        return Request("POST", f"{self.path}/decisions", read_decision, body)

    def choose_many(self, asked: Iterable[Any]) -> Request[list[RemoteDecision]]:
        """Several decisions, all or none."""
        bodies = [self.decision_body(one, f"[{i}].") for i, one in enumerate(asked)]
        return Request(
            "POST", f"{self.path}/decisions", lambda reply: [*map(read_decision, reply)], bodies
        )

    def decision_body(self, asked: Any, where: str) -> Json:
        """A decision that is due, with an id, so that asking again gives the same decision.

        asked: the name of a context; features (K, d), also as a data frame; or a mapping with
        context or features, and perhaps names, available and id.
        """
        if not isinstance(asked, Mapping):
            asked = {"context" if isinstance(asked, str) else "features": asked}
        body = {key: value for key, value in asked.items() if value is not None}
        if "features" in body:
            body["features"], names = self._features(body["features"], f"{where}features")
            if names is not None:
                body.setdefault("names", names)
        for key in body.keys() & {"names", "available"}:
            body[key] = list(body[key])
        return {"id": new_id(), **body}

    def _features(self, features: Any, where: str) -> tuple[list[list[float]], list[str] | None]:
        """Features (K, d) as lists, and the names of the arms if a data frame has them."""
        table, names = arm_table(features), None
        if table is not None:
            names, features = table.names, table.values
            if self.columns is not None:
                features = in_order(features, table.columns, self.columns, where)
        rows = numeric(features, where, "a list of arms, or the name of a context,")
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise InvalidInput.expected(where, "a list of arms with finite numbers", features)
        return rows.tolist(), None if names is None else list(names)

    def learn(self, decision: RemoteDecision | str, reward: float) -> Request[str]:
        """The reward of a decision."""
        body = _reward(decision, reward, "")
        return Request("POST", f"{self.path}/rewards", lambda reply: reply["status"], body)

    def learn_many(
        self, rewards: Iterable[tuple[RemoteDecision | str, float]]
    ) -> Request[list[str]]:
        """The rewards of several decisions, all or none."""
        bodies = [_reward(*_pair(one, f"[{i}]"), f"[{i}].") for i, one in enumerate(rewards)]
        return Request(
            "POST", f"{self.path}/rewards", lambda reply: [one["status"] for one in reply], bodies
        )

    def explain(self, decision: RemoteDecision | str) -> Request[RemoteExplanation]:
        """Why an arm was chosen."""
        path = f"{self.path}/decisions/{_part(_id(decision), 'decision')}"
        return Request("GET", path, read_explanation)

    def log(self, after: int) -> Request[list[LogEntry]]:
        """A page of the log."""
        query = {"after": after, "format": "json"}
        return Request("GET", f"{self.path}/log", read_log, query=query)


def _id(decision: RemoteDecision | str) -> str:
    return decision.id if isinstance(decision, RemoteDecision) else decision


def _pair(given: Any, where: str) -> tuple[Any, Any]:
    try:
        decision, reward = given
    except (TypeError, ValueError):
        raise InvalidInput.expected(where, "a decision and its reward", given) from None
    return decision, reward


def _reward(decision: RemoteDecision | str, reward: float, where: str) -> Json:
    return {"decision": _id(decision), "reward": finite_number(reward, f"{where}reward")}


def _part(name: object, where: str) -> str:
    """A name as a part of a path."""
    if not isinstance(name, str) or not name.strip("."):
        raise InvalidInput.expected(where, "a name", name)
    return quote(name, safe="")
