"""Checks of what users pass to a client, and its form in JSON; nothing here needs NumPy.

Arrays and data frames are known by their methods: `tolist`, `to_numpy`.
"""

import math
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from thrifty.errors import InvalidInput, shown

_NUMBERS = {int, float, bool}
OF_ARMS = "a list of arms, or the name of a context,"
Rows = list[list[float]]


class Features(NamedTuple):
    """Features of arms, and the names of the arms if a data frame has them."""

    rows: Rows  # (K, d)
    names: list[str] | None  # (K,)


class _Table(NamedTuple):
    """What is in a data frame."""

    values: Any  # (K, d)
    columns: tuple[str, ...]  # (d,)
    names: list[str] | None  # (K,) the index, where it is of strings


def finite_number(value: Any, where: str) -> float:
    """Check that a value is a number, not NaN and not infinite."""
    plain = _plain(value)
    if type(plain) is bool or not isinstance(plain, int | float) or not abs(plain) < math.inf:
        raise InvalidInput.expected(where, "a finite number", value)
    return _as_float(plain, where)


def reward_number(value: Any, where: str) -> float:
    """The same for a reward, where True and False are 1 and 0: a click, or none."""
    plain = _plain(value)
    return float(plain) if isinstance(plain, bool) else finite_number(value, where)


def positive_number(value: Any, where: str) -> float:
    """Check that a value is a number above 0."""
    plain = _plain(value)
    if type(plain) is bool or not isinstance(plain, int | float) or not 0 < plain < math.inf:
        raise InvalidInput.expected(where, "a positive number", value)
    return _as_float(plain, where)


def name_list(names: Any, where: str) -> list[str]:
    """Names as a list: text that UTF-8 can encode, each used once."""
    if isinstance(names, str) or not hasattr(names, "__len__"):
        raise InvalidInput.expected(where, "a list of names", names)
    seen: set[str] = set()
    for i, name in enumerate(names):
        _check_text(name, f"{where}[{i}]")
        if name.encode(errors="ignore").decode() != name:
            raise InvalidInput.expected(f"{where}[{i}]", "text without surrogates", name)
        if name in seen:
            raise InvalidInput(f"{where}[{i}]", f"{shown(name)} is used before")
        seen.add(name)
    return list(names)


def arm_list(available: Any, where: str) -> list[Any]:
    """Arms on offer, as a list."""
    single = isinstance(available, str) or not isinstance(available, Collection)
    if single or getattr(available, "shape", None) == ():
        raise InvalidInput.expected(where, "a list of arms", available)
    if _is_masked(available):
        raise InvalidInput(where, "has masked values: leave them out")
    return list(available)


def feature_rows(features: Any, columns: Sequence[str] | None, where: str) -> Features:
    """Features (K, d) as lists: of an array, of lists, or of a data frame.

    columns: their order in the service, by which columns of data frames are then taken.
    """
    table = _table(features)
    if table is None:
        return Features(_numbers(features, where), None)
    rows = _numbers(table.values, where)
    if columns is not None:
        _check_columns(table.columns, columns, where)
        order = [table.columns.index(name) for name in columns]
        rows = [[row[i] for i in order] for row in rows]
    return Features(rows, table.names)


def item_list(items: Any, where: str, expected: str) -> list[Any]:
    """Several items; a text, a mapping or a data frame would give its letters, keys or columns."""
    try:
        one = isinstance(items, str | Mapping) or _is_frame(items)
        each = None if one else iter(items)
    except TypeError:
        each = None
    if each is None:
        raise InvalidInput.expected(where, expected, items)
    return list(each)


def whole_number(value: Any, where: str) -> int:
    """Check that a value is a whole number of at least 0."""
    plain = _plain(value)
    if type(plain) is bool or not isinstance(plain, int) or plain < 0:
        raise InvalidInput.expected(where, "a whole number of at least 0", value)
    return plain


def _numbers(features: Any, where: str) -> Rows:
    """Rows of finite numbers, all of the same length."""
    if _is_masked(features):
        raise InvalidInput(where, "has masked values, which would be read: fill or drop them")
    rows = [_listed(row) for row in _listed(features) or ()]
    if not rows or None in rows:
        raise InvalidInput.expected(where, "a list of arms with finite numbers", features)
    lengths, found = {len(row) for row in rows if row is not None}, []
    for row in rows:
        numbers = [_plain(value) for value in row or ()]
        if not set(map(type, numbers)) <= _NUMBERS or len(lengths) > 1:
            raise InvalidInput.expected(where, OF_ARMS, features)
        found.append([_as_float(number, where) for number in numbers])
    if not all(math.isfinite(number) for row in found for number in row):
        raise InvalidInput.expected(where, "a list of arms with finite numbers", features)
    return found


def _listed(values: Any) -> list[Any] | None:
    """An array or a sequence as a list; None for anything else."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        return None
    return list(values)


def _table(data: Any) -> _Table | None:
    """A data frame, or a row of one (a Series); None for anything else."""
    if _is_frame(data):
        columns = _texts(data.columns, "columns")
        return _Table(data.to_numpy(), columns, _names(getattr(data, "index", ())))
    if all(hasattr(data, part) for part in ("to_numpy", "index", "name")):
        return _Table([data.to_numpy()], _texts(data.index, "index"), _names([data.name]))
    return None


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "to_numpy")


def _texts(names: Any, where: str) -> tuple[str, ...]:
    """Names of columns, checked: 1 and "1" would be two names of one column."""
    names = tuple(names)
    for i, name in enumerate(names):
        _check_text(name, f"{where}[{i}]", "rename the columns, or pass values without names")
    return names


def _names(index: Any) -> list[str] | None:
    names = list(index)
    return names if names and all(isinstance(name, str) for name in names) else None


def _check_text(name: Any, where: str, hint: str = "") -> None:
    if not isinstance(name, str):
        raise InvalidInput.expected(where, "a string", name, hint=hint)


def _check_columns(present: Sequence[str], columns: Sequence[str], where: str) -> None:
    """Raise InvalidInput unless the same columns are present, each once, in any order."""
    if len(set(present)) < len(present):
        raise InvalidInput.expected(where, "columns with distinct names", list(present))
    missing = [name for name in columns if name not in present]
    unknown = [name for name in present if name not in columns]
    if missing or unknown:
        problems = [f"missing {', '.join(missing)}"] if missing else []
        problems += [f"unknown {', '.join(unknown)}"] if unknown else []
        raise InvalidInput.expected(where, f"the columns {', '.join(columns)}", "; ".join(problems))


def _plain(value: Any) -> Any:
    """A scalar of NumPy's as a number of Python's; anything else as it is."""
    scalar = getattr(value, "shape", None) == () and not _is_masked(value)
    return value.item() if scalar else value


def _is_masked(values: Any) -> bool:
    """Whether an array of NumPy's, or one in a list, has masked values."""
    numpy = sys.modules.get("numpy")  # nobody who has not imported it can pass an array
    if numpy is None:
        return False
    arrays, masked = numpy.ma.MaskedArray, numpy.ma.is_masked
    parts = values if isinstance(values, list | tuple) else [values]
    return any(isinstance(part, arrays) and masked(part) for part in parts)


def _as_float(value: float, where: str) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        raise InvalidInput.expected(where, "a number", value) from None
