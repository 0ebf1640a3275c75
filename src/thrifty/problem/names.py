"""Names of instances, contexts, arms and policies: text that files can hold, each used once."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from thrifty.errors import InvalidInput, UnknownName, shown


def check_name(name: object, where: str) -> None:
    """Raise InvalidInput unless a name is a string that UTF-8 can encode."""
    if not isinstance(name, str):
        raise InvalidInput.expected(where, "a string", name)
    if not _encodable(name):
        raise InvalidInput.expected(where, "text without surrogates, which files cannot hold", name)


def check_names(names: Sequence[str], where: str, taken: str = "is used before") -> None:
    """Raise InvalidInput unless all names are strings that UTF-8 can encode, and differ."""
    if not all(isinstance(name, str) for name in names) or not _encodable("".join(names)):
        for i, name in enumerate(names):  # only to say which one
            check_name(name, f"{where}[{i}]")
    check_distinct(names, where, taken)


def listed_names(names: Sequence[str], where: str) -> tuple[str, ...]:
    """Names as a tuple, checked."""
    if isinstance(names, str) or not hasattr(names, "__len__"):
        raise InvalidInput.expected(where, "a list of names", names)
    check_names(list(names), where)
    return tuple(names)


def arm_index(arm: str | int, names: Sequence[str], expected: str) -> int:
    """The index of an arm that is given by name or index; expected goes into the error."""
    if isinstance(arm, str):
        if arm not in names:
            raise UnknownName("arm", arm, names)
        return names.index(arm)
    wrong = isinstance(arm, bool) or not isinstance(arm, int | np.integer)
    if wrong or not 0 <= arm < len(names):
        raise InvalidInput.expected("arm", expected, arm)
    return int(arm)


def listed_arms(available: Any, where: str = "available") -> Collection[str | int]:
    """Arms on offer, as they were given; raises InvalidInput unless they are in a list or so."""
    single = isinstance(available, str) or not isinstance(available, Collection)
    if single or (isinstance(available, np.ndarray) and available.ndim == 0):
        raise InvalidInput.expected(where, "a list of arms", available)
    if isinstance(available, np.ma.MaskedArray) and np.ma.is_masked(available):
        raise InvalidInput(where, "has masked values: leave them out")
    return available


def check_distinct(names: Sequence[object], where: str, taken: str) -> None:
    """Raise InvalidInput for the first name that was used before; taken goes into the error."""
    first: dict[object, int] = {}
    for i, name in enumerate(names):
        if first.setdefault(name, i) != i:
            raise InvalidInput(f"{where}[{i}]", f"{shown(name)} {taken}")


def _encodable(text: str) -> bool:
    return text.encode(errors="ignore").decode() == text
