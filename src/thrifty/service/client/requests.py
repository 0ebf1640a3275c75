"""Requests of a client, and the JSON that they carry; nothing here sends them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from thrifty.errors import InvalidInput
from thrifty.service.client.arguments import (
    arm_list,
    feature_rows,
    item_list,
    name_list,
    reward_number,
)
from thrifty.service.client.replies import RemoteDecision
from thrifty.service.ids import new_id

T = TypeVar("T")
Json = dict[str, Any]
Rule = Mapping[str, Any]  # when decisions are given up


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request.

    Attributes
    ----------
    read : how to read its reply
    repeatable : whether making it twice does the same as once
    table : whether the reply is a file instead of JSON: it may be long, and take its time
    """

    method: str
    path: str
    read: Callable[[Any], T]
    body: Any = None
    repeatable: bool = True
    table: bool = False

    @property
    def content(self) -> bytes | None:
        """The body as JSON."""
        try:
            return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise InvalidInput("request", f"cannot be sent as JSON: {error}") from None


def experiment_body(settings: Json) -> Json:
    """The JSON of a new experiment. Settings that are None are left to the service."""
    body = {key: value for key, value in settings.items() if value is not None}
    if "policy" in body:
        body["policy"] = getattr(body["policy"], "spec", body["policy"])
    sets: Any = body.get("contexts")
    if hasattr(sets, "context_names"):  # action sets
        body["contexts"] = [
            {"name": name, "arms": sets.arms(m).tolist(), "arm_names": list(sets.arm_names[m])}
            for m, name in enumerate(sets.context_names)
        ]
    if "expire" in body:
        if not isinstance(body["expire"], Mapping):
            rule = 'a rule such as {"after_s": 3600, "reward": 0}'
            raise InvalidInput.expected("expire", rule, body["expire"])
        body["expire"] = dict(body["expire"])
    return body


def decision_body(asked: Any, columns: Sequence[str] | None, where: str = "") -> Json:
    """A decision to take, with an id, so that asking again gives the same decision.

    asked: the name of a context; features (K, d), also as a data frame; or a mapping with context
    or features, and perhaps names, available and id. columns: names of the features, in the
    service's order.
    """
    if not isinstance(asked, Mapping):
        asked = {"context" if isinstance(asked, str) else "features": asked}
    body = {key: value for key, value in asked.items() if value is not None}
    if "features" in body:
        body["features"], names = feature_rows(body["features"], columns, f"{where}features")
        if names is not None:
            body.setdefault("names", names)
    if "names" in body:
        body["names"] = name_list(body["names"], f"{where}names")
    if "available" in body:
        body["available"] = arm_list(body["available"], f"{where}available")
    return {"id": new_id(), **body}


def reward_body(decision: RemoteDecision | str, reward: float, where: str = "") -> Json:
    """The reward of a decision."""
    return {"decision": id_of(decision), "reward": reward_number(reward, f"{where}reward")}


def decision_bodies(contexts: Any, columns: Sequence[str] | None) -> list[Json]:
    """Several decisions to take."""
    listed = item_list(contexts, "contexts", "a list of contexts")
    return [decision_body(asked, columns, f"[{i}].") for i, asked in enumerate(listed)]


def reward_bodies(pairs: Any) -> list[Json]:
    """The rewards of several decisions."""
    listed, bodies = item_list(pairs, "rewards", "a list of decisions and their rewards"), []
    for i, pair in enumerate(listed):
        try:
            decision, reward = pair
        except (TypeError, ValueError):
            raise InvalidInput.expected(f"[{i}]", "a decision and its reward", pair) from None
        bodies.append(reward_body(decision, reward, f"[{i}]."))
    return bodies


def id_of(decision: RemoteDecision | str) -> str:
    return decision.id if isinstance(decision, RemoteDecision) else decision


def path_part(name: object, where: str) -> str:
    """A name as a part of a path."""
    if not isinstance(name, str) or not name.strip("."):
        raise InvalidInput.expected(where, "a name", name)
    try:
        return quote(name, safe="")
    except UnicodeEncodeError:  # surrogates
        raise InvalidInput.expected(where, "a name", name) from None
