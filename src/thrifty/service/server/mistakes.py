"""Mistakes in requests that do not fit their schema, in words for a person who has written JSON."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel

from thrifty.errors import shortened, similar
from thrifty.service.server.schemas import LABEL_PATTERN, NAME_PATTERN

# how pydantic names alternatives, such as a decision or a list of them, in the place of an error
BRANCHES = ("DecisionRequest", "RewardRequest", "list[", "literal[", "constrained-")

# instead of pydantic's messages, which are about Python
MESSAGES = {
    "extra_forbidden": "unknown key",
    "finite_number": "must be a finite number",
    "float_type": "must be a number",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be a list [...]",
    "literal_error": "must be {expected}",
    "missing": "is missing",
    "model_attributes_type": "must be an object {{...}}",
    "model_type": "must be an object {{...}}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must not be empty",
    "string_type": "must be text",
    "string_unicode": "must be valid Unicode",
    "too_long": "must have at most {max_length} items",
    "too_short": "must not be empty",
}
PATTERNS = {
    NAME_PATTERN: "must be letters, digits, spaces and _.~-, the first a letter, a digit or _",
    LABEL_PATTERN: "must be text without control characters",
}


class Mistake(NamedTuple):
    """The status of an answer, and what it says."""

    status: int
    where: str
    message: str


def mistake(errors: Sequence[Any], endpoint: Callable[..., Any]) -> Mistake:
    """What to say of the errors of pydantic: 400 for what cannot even be parsed, or else 422.

    endpoint: the function of the route, whose parameters say what a body may have.
    """
    # of the errors of alternatives, that of the one which was meant: the longest place; and of a
    # misspelt key that it is unknown, not that the right one is missing
    telling = ("extra_forbidden", "too_long")
    first = max(errors, key=lambda error: (len(error["loc"]), error["type"] in telling))
    if first["type"] == "json_invalid":
        reason, position = first["ctx"]["error"], first["loc"][-1]
        return Mistake(400, "body", f"invalid JSON: {reason} at character {position}")
    if isinstance(first.get("input"), bytes):
        return Mistake(400, "Content-Type", "must be application/json")
    parts = [part for part in first["loc"][1:] if not str(part).startswith(BRANCHES)]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    message = _message(first)
    if first["type"] == "extra_forbidden":
        near = similar(str(parts[-1]), _keys(endpoint, parts[:-1]))
        message += f"; did you mean {near}?" if near else ""
    return Mistake(422, shortened(where.lstrip(".") or str(first["loc"][0])), message)


def _message(error: dict[str, Any]) -> str:
    facts = error.get("ctx", {})
    if error["type"] == "string_pattern_mismatch":
        return PATTERNS[facts["pattern"]]
    return MESSAGES[error["type"]].format(**facts) if error["type"] in MESSAGES else error["msg"]


def _keys(endpoint: Callable[..., Any], place: Sequence[Any]) -> list[str]:
    """The keys that an object at a place of the body may have."""
    kinds = {kind for type_ in endpoint.__annotations__.values() for kind in _models(type_)}
    for part in place:
        if isinstance(part, str):
            fields = [kind.model_fields[part] for kind in kinds if part in kind.model_fields]
            kinds = {kind for field in fields for kind in _models(field.annotation)}
    return sorted({key for kind in kinds for key in kind.model_fields})


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in an annotation, such as that of an optional list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)
