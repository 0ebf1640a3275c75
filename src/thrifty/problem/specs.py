"""Specs: `name` or `name:key=value,key=value`, as instances and policies are asked for."""

import inspect
from collections.abc import Iterable
from typing import Any

from thrifty.errors import InvalidInput, UnknownName


def split_parameters(pairs: str, known: Iterable[str], *, owner: str, where: str) -> dict[str, str]:
    """Values of `key=value,key=value` by key, each key known and given once."""
    values: dict[str, str] = {}
    for pair in pairs.split(",") if pairs else []:
        key, _, value = pair.partition("=")
        if key in values:
            raise InvalidInput.expected(f"{where}{key}", "one value", pairs)
        if key not in known:
            raise UnknownName(f"parameter of {owner}", key, known)
        values[key] = value
    return values


def parsed(text: str, kind: type, where: str) -> Any:
    """The value of a parameter, of a kind: float, int or str."""
    try:
        return kind(text)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise InvalidInput.expected(where, expected, text) from None


def first_paragraph(documented: object) -> str:
    """The first paragraph of a docstring, as one line."""
    return " ".join((inspect.getdoc(documented) or "").partition("\n\n")[0].split())
