"""Requests of a client, and the JSON that they carry; nothing here sends them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import numpy as np

import thrifty as th
from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import finite_number, numeric
from thrifty.problem.frames import arm_table, columns_of, in_order
from thrifty.problem.names import listed_arms, listed_names
from thrifty.service.client.replies import RemoteDecision
from thrifty.service.ids import new_id

T = TypeVar("T")
Json = dict[str, Any]
Rule = Mapping[str, Any]  # when decisions are given up


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request, and how to read its reply; repeatable: making it twice does the same as once."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Any = None
    repeatable: bool = True

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
    if isinstance(sets := body.get("contexts"), th.ActionSets):
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
        body["features"], names = _features(body["features"], columns, f"{where}features")
        if names is not None:
            body.setdefault("names", names)
    if "names" in body:
        body["names"] = list(listed_names(body["names"], f"{where}names"))
    if "available" in body:
        body["available"] = list(listed_arms(body["available"], f"{where}available"))
    return {"id": new_id(), **body}


def _features(
    features: Any, columns: Sequence[str] | None, where: str
) -> tuple[list[list[float]], list[str] | None]:
    """Features (K, d) as lists, and the names of the arms if a data frame has them."""
    table, names = arm_table(features), None
    if table is not None:
        names, features = table.names, table.values
        if columns is not None:
            features = in_order(features, table.columns, tuple(columns), where)
    rows = numeric(features, where, "a list of arms, or the name of a context,")
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InvalidInput.expected(where, "a list of arms with finite numbers", features)
    return rows.tolist(), None if names is None else list(names)


def reward_body(decision: RemoteDecision | str, reward: float, where: str = "") -> Json:
    """The reward of a decision."""
    return {"decision": id_of(decision), "reward": finite_number(reward, f"{where}reward")}


def decision_bodies(contexts: Any, columns: Sequence[str] | None) -> list[Json]:
    """Several decisions to take."""
    listed = _listed(contexts, "contexts", "a list of contexts")
    return [decision_body(asked, columns, f"[{i}].") for i, asked in enumerate(listed)]


def reward_bodies(pairs: Any) -> list[Json]:
    """The rewards of several decisions."""
    bodies = []
    for i, pair in enumerate(_listed(pairs, "rewards", "a list of decisions and their rewards")):
        try:
            decision, reward = pair
        except (TypeError, ValueError):
            raise InvalidInput.expected(f"[{i}]", "a decision and its reward", pair) from None
        bodies.append(reward_body(decision, reward, f"[{i}]."))
    return bodies


def _listed(items: Any, where: str, expected: str) -> list[Any]:
    """Several items; a text, a mapping or a data frame would give its letters, keys or columns."""
    try:
        one = isinstance(items, str | Mapping) or columns_of(items) is not None
        each = None if one else iter(items)
    except TypeError:
        each = None
    if each is None:
        raise InvalidInput.expected(where, expected, items)
    return list(each)


def id_of(decision: RemoteDecision | str) -> str:
    return decision.id if isinstance(decision, RemoteDecision) else decision


def sequence_number(after: object) -> int:
    """A number in the log of an experiment."""
    if isinstance(after, bool) or not isinstance(after, int | np.integer) or after < 0:
        raise InvalidInput.expected("after", "a whole number of at least 0", after)
    return int(after)


def path_part(name: object, where: str) -> str:
    """A name as a part of a path."""
    if not isinstance(name, str) or not name.strip("."):
        raise InvalidInput.expected(where, "a name", name)
    try:
        return quote(name, safe="")
    except UnicodeEncodeError:  # surrogates
        raise InvalidInput.expected(where, "a name", name) from None
