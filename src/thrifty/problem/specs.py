"""Specs: `name` or `name:key=value,key=value`, as instances and policies are asked for; numbers."""

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

from thrifty.errors import InvalidInput, UnknownName
from thrifty.numerics.arrays import finite_number


def split_parameters(pairs: str, known: Iterable[str], *, owner: str, where: str) -> dict[str, str]:
    """Values of `key=value,key=value` by key, each key known and given once."""
    values: dict[str, str] = {}
    for pair in pairs.split(",") if pairs else []:
        key, _, value = pair.partition("=")
        if key in values:
            raise InvalidInput.expected(f"{where}{key}", "one value", pairs)
        if key not in known:
            raise UnknownName(f"parameter of {owner}", key, known)
        if not value:
            is_word = isinstance(known, Mapping) and isinstance(known[key], str)
            kind = "WORD" if is_word else "NUMBER"
            raise InvalidInput(where.rstrip(": "), f"{key} has no value: write {key}={kind}")
        values[key] = value
    return values


def parsed(text: str, kind: type, where: str) -> Any:
    """The value of a parameter, of a kind: float, int or str."""
    try:
        return kind(text)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise InvalidInput.expected(where, expected, text) from None


def whole_number(value: float, where: str, most: int, *, least: int = 1) -> int:
    """A whole number between least and most; a float such as 1e5 is accepted."""
    if isinstance(value, str) and re.fullmatch(r"[\d.]+(e\d+)?", value):
        raise InvalidInput(where, f"{value!r} is text: remove the quotes")
    number = finite_number(value, where)
    if not least <= number <= most or number != int(number):
        raise InvalidInput.expected(where, f"a whole number from {least} to {most:g}", value)
    return int(value)


def first_paragraph(documented: object) -> str:
    """The first paragraph of a docstring, as one line."""
    return " ".join((inspect.getdoc(documented) or "").partition("\n\n")[0].split())
