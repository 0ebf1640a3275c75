"""Rows of data in any form, with their values in the order of some columns.

A row is a dict or another mapping, a NamedTuple, a row of a data frame (a Series), or an array or a
list of values. Several rows are a data frame of pandas, polars or Arrow, an array or a list.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from thrifty.errors import InvalidInput, similar
from thrifty.numerics.arrays import Floats
from thrifty.problem.frames import is_row, strings

FEW = 8  # columns that messages list


class Wanted(NamedTuple):
    """The columns that are wanted of rows.

    Attributes
    ----------
    names : in order
    extra : whether other ones are ignored instead of refused
    numbers : whether all are numbers, of which an array can be made
    """

    names: tuple[str, ...]
    extra: bool = False
    numbers: bool = True

    @property
    def listed(self) -> str:
        """The names, in words."""
        others = len(self.names) - FEW
        names = ", ".join(self.names[:FEW])
        return f"{names} and {others} others" if others > 0 else names

    def check(self, present: Sequence[Any]) -> None:
        """Refuse columns that are missing, or that nobody wants."""
        names = strings(present, "features")
        if len(set(names)) < len(names):
            raise InvalidInput.expected("features", "columns with distinct names", list(names))
        missing = [name for name in self.names if name not in names]
        unknown = [] if self.extra else [name for name in names if name not in self.names]
        if not missing and not unknown:
            return
        problems = [f"missing {', '.join(missing)}"] if missing else []
        problems += [f"unknown {', '.join(map(self._meant, unknown))}"] if unknown else []
        advice = '; leave others out, or make the map with extra="ignore"'
        advice = advice if unknown and not missing else ""
        problem = "; ".join(problems)
        raise InvalidInput("features", f"the columns {self.listed} expected, got {problem}{advice}")

    def _meant(self, name: str) -> str:
        near = similar(name, self.names)
        return f"{name} (did you mean {near}?)" if near else name


Rows = list[Sequence[Any]] | Floats  # of each row the values of the wanted columns; or (n, c)


def rows_of(data: Any, wanted: Wanted) -> Rows:
    """The wanted columns of data in any form: an array, if all are numbers and wanted as such."""
    if type(data) is np.ndarray:  # without names: a microsecond is saved
        return _of_array(data, wanted)
    named = _named(data)
    if named is not None:
        return [values_of(named, wanted)]
    if is_frame(data):
        return _of_frame(data, wanted)
    if isinstance(data, list | tuple) and data:
        rows = [_named(row) for row in data]
        if all(row is not None for row in rows):
            return [values_of(row, wanted) for row in rows if row is not None]
    if isinstance(data, list | tuple | np.ndarray):
        return _of_array(data, wanted)
    form = f"a dict, a row or a data frame with the columns {wanted.listed}"
    raise InvalidInput.expected("features", form, data)


def values_of(row: Mapping[str, Any], wanted: Wanted) -> list[Any]:
    """The values of the wanted columns of a row."""
    try:
        values = [row[name] for name in wanted.names]
    except KeyError:
        values = []
    if len(values) < len(wanted.names) or (len(row) > len(values) and not wanted.extra):
        wanted.check(list(row))
    return values


def _named(row: Any) -> Mapping[str, Any] | None:
    """A row whose values have names; None for anything else."""
    if isinstance(row, Mapping):
        return row
    if isinstance(row, tuple) and hasattr(row, "_fields"):
        return dict(zip(row._fields, row, strict=True))
    if is_row(row):
        names = strings(row.index, "features")
        if len(set(names)) < len(names):
            raise InvalidInput.expected("features", "columns with distinct names", list(names))
        return dict(zip(names, row.tolist(), strict=True))
    return None


def is_frame(data: Any) -> bool:
    """Whether data are a data frame; a lazy one need not compute its columns for that."""
    return hasattr(type(data), "columns")


def frame_of(data: Any) -> Any:
    """A data frame as one of narwhals, which knows those of pandas, polars, Arrow and others."""
    import narwhals  # where it is needed: imports should wait for no data frame

    form = "a data frame of pandas, polars or Arrow in memory"
    if hasattr(data, "collect"):  # lazy: even its names would have to be computed
        raise InvalidInput.expected(
            "features", form, type(data).__name__, hint="call its collect()"
        )
    names = getattr(data, "column_names", data.columns)  # of Arrow, of others
    strings(names, "columns")
    if len(set(names)) < len(names):
        raise InvalidInput.expected("features", "columns with distinct names", list(names))
    try:
        return narwhals.from_native(data, eager_only=True)
    except TypeError:
        raise InvalidInput.expected("features", form, type(data).__name__) from None


def _of_frame(data: Any, wanted: Wanted) -> Rows:
    """The rows of a data frame."""
    frame = frame_of(data)
    wanted.check(frame.columns)
    columns = [frame[name] for name in wanted.names]
    if wanted.numbers and all(column.dtype.is_numeric() for column in columns):
        arrays = [column.to_numpy() for column in columns]
        if all(array.dtype.kind in "iuf" for array in arrays):
            return np.column_stack(arrays).astype(np.float64)
    return list(zip(*(column.to_list() for column in columns), strict=True))


def _of_array(data: Any, wanted: Wanted) -> Rows:
    """The rows of an array or of nested lists, whose columns have no names."""
    parts = data if isinstance(data, list | tuple) else [data]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise InvalidInput("features", "has masked values, which would be read: fill or drop them")
    try:
        array = np.asarray(data)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    if wanted.numbers and array.dtype.kind in "biuf":
        values: Any = np.asarray(np.atleast_2d(array), dtype=np.float64, order="C")
        fits = values.ndim == 2 and values.shape[1] == len(wanted.names)
    else:  # each value as it was: NumPy would make text of numbers beside text
        single = not any(isinstance(part, list | tuple | np.ndarray) for part in data)
        values = [data] if single else data
        values = [row.tolist() if isinstance(row, np.ndarray) else row for row in values]
        fits = all(
            isinstance(row, list | tuple) and len(row) == len(wanted.names) for row in values
        )
    if not fits:
        many = f"rows of {len(wanted.names)} values ({wanted.listed})"
        raise InvalidInput.expected("features", many, data)
    return values
