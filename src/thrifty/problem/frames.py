"""Data frames as features: any object with `columns` and `to_numpy`, such as those of pandas."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Floats, numeric
from thrifty.problem.names import listed_names


def columns_of(frame: Any) -> tuple[str, ...] | None:
    """The column names of a data frame; None for anything else."""
    if hasattr(frame, "columns") and hasattr(frame, "to_numpy"):
        return strings(frame.columns, "columns")
    return None


def strings(names: Iterable[Any], where: str) -> tuple[str, ...]:
    """Names of columns, checked: 1 and "1" would be two names of one column."""
    names = tuple(names)
    for i, name in enumerate(names):
        if not isinstance(name, str):
            hint = "rename the columns, or pass values without names"
            raise InvalidInput.expected(f"{where}[{i}]", "a string", name, hint=hint)
    return names


class ArmTable(NamedTuple):
    """Arms in a data frame."""

    values: Any  # (K, d)
    columns: tuple[str, ...]  # (d,)
    names: tuple[str, ...] | None  # (K,) of the arms: the index, where it is of strings


def arm_table(data: Any) -> ArmTable | None:
    """The arms in a data frame, or the one in a row of it (a Series); None for anything else."""
    columns = columns_of(data)
    if columns is not None:
        return ArmTable(data.to_numpy(), columns, _strings(getattr(data, "index", ())))
    if is_row(data):
        columns = strings(data.index, "index")
        return ArmTable(data.to_numpy()[None, :], columns, _strings([data.name]))
    return None


def is_row(data: Any) -> bool:
    """Whether data are a row of a data frame (a Series), whose index names the columns."""
    return all(hasattr(data, part) for part in ("to_numpy", "index", "name"))


def _strings(index: Any) -> tuple[str, ...] | None:
    names = tuple(index)
    return names if names and all(isinstance(name, str) for name in names) else None


def index_names(data: Any) -> tuple[str, ...] | None:
    """The names of the rows of a data frame: its index, where that is of strings."""
    names = _strings(getattr(data, "index", ())) if columns_of(data) is not None else None
    return None if names is None else listed_names(names, "index")


def numbers_of(frame: Any, columns: Sequence[str] | None, where: str) -> Floats:
    """The columns of a data frame (n, d) in the order of `columns`; all must be there, no other."""
    present = columns_of(frame) or ()
    if columns is None:
        raise InvalidInput(where, "a data frame needs a learner made with columns=[...]")
    values = in_order(frame.to_numpy(), present, columns, where)
    return np.ascontiguousarray(numeric(values, where, "columns of numbers"))


def row_in_order(row: Any, columns: Sequence[str], where: str) -> Any:
    """A row of a data frame as a data frame with its columns in the order of `columns`."""
    _check_same(strings(row.index, where), columns, where)
    return row[list(columns)].to_frame().T


def in_order(values: Any, present: Sequence[str], columns: Sequence[str], where: str) -> Any:
    """Values (n, d), whose columns are `present`, in the order of `columns`: the same, no other."""
    _check_same(present, columns, where)
    return values[:, [present.index(name) for name in columns]]


def _check_same(present: Sequence[str], columns: Sequence[str], where: str) -> None:
    if len(set(present)) < len(present):
        raise InvalidInput.expected(where, "columns with distinct names", list(present))
    check_columns(present, columns, where)


def check_columns(present: Sequence[str], columns: Sequence[str], where: str) -> None:
    """Raise InvalidInput unless the same columns are present, in any order."""
    missing = [name for name in strings(columns, "columns") if name not in present]
    unknown = [name for name in present if name not in columns]
    if missing or unknown:
        problems = [f"missing {', '.join(missing)}"] if missing else []
        problems += [f"unknown {', '.join(unknown)}"] if unknown else []
        raise InvalidInput.expected(where, f"the columns {', '.join(columns)}", "; ".join(problems))
