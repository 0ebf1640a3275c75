"""What describes a context (or an arm, for shared features), as features."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from thrifty.errors import InvalidInput
from thrifty.learners.columns import Column, Number, is_missing, missing
from thrifty.learners.context_rows import FEW, Wanted, rows_of, values_of
from thrifty.learners.step import LARGEST_FEATURE
from thrifty.numerics.arrays import Floats
from thrifty.problem.names import check_distinct

_new = tuple.__new__


class Encoded(NamedTuple):
    """Rows of data as features, which a map takes in place of the data.

    Attributes
    ----------
    values : (n, p), the bias first
    unknown : the column of each value that has a level which is not known
    """

    values: Floats
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Columns:
    """Columns, each with its name; see columns.py.

    Attributes
    ----------
    names, kinds : of the columns, in order
    bias : whether 1 is a feature
    missing : `refuse`, or `mean` where missing numbers are the mean of their column
    extra : `refuse`, or `ignore` where other columns may come with these
    """

    names: tuple[str, ...]
    kinds: tuple[Column, ...]
    bias: bool = True
    missing: str = "refuse"
    extra: str = "refuse"

    def __post_init__(self) -> None:
        for option, word in (("missing", "mean"), ("extra", "ignore")):
            value = getattr(self, option)
            if value not in ("refuse", word):
                raise InvalidInput.expected(option, f"refuse or {word}", value)
        if not isinstance(self.bias, bool):
            raise InvalidInput.expected("bias", "True or False", self.bias)
        if not self.names:
            raise InvalidInput("columns", "at least one is needed")
        if self.complete:
            check_distinct(self.features, "columns", "names two features: rename a column")

    @property
    def complete(self) -> bool:
        """Whether all levels are known, and so the number of features."""
        return all(kind.complete or isinstance(kind, Number) for kind in self.kinds)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """(p,) names of the features, the bias first."""
        names = ["bias"] if self.bias else []
        for name, kind in zip(self.names, self.kinds, strict=True):
            try:
                names += kind.labels(name)
            except InvalidInput as error:
                raise InvalidInput(f"columns[{name!r}]", error.message) from None
        return tuple(names)

    def fit(self, data: ArrayLike) -> Self:
        """The same with what they lack, learned from rows of data: scales, and levels."""
        if all(kind.complete for kind in self.kinds):
            raise InvalidInput("fit", "nothing is left to learn: for other data make a new map")
        rows = rows_of(data, self._wanted)
        if len(rows) == 0:
            raise InvalidInput("features", "at least one row is needed to fit a map")
        columns = rows.T if isinstance(rows, np.ndarray) else zip(*rows, strict=True)
        kinds = zip(self.names, self.kinds, columns, strict=True)
        return replace(self, kinds=tuple(_learned(*column) for column in kinds))

    def encode(self, data: Any) -> Encoded:
        """Rows of data in any form as features (n, p)."""
        if type(data) is dict:  # nothing to find out: a microsecond is saved
            return self._of_rows([values_of(data, self._wanted)])
        if type(data) is Encoded:
            return self._checked(data)
        values: Any = rows_of(data, self._wanted)
        if isinstance(values, np.ndarray):
            if (np.abs(values) <= LARGEST_FEATURE).all():
                return Encoded(self._of_array(values))
            values = values.tolist()
        return self._of_rows(values)

    def _of_rows(self, rows: Any) -> Encoded:
        """Features (n, p) of rows of values."""
        plan, blank, filled = self._plan, self._blank, self.missing == "mean"
        features, unknown, name = [], [], ""
        try:
            for values in rows:
                row = blank[:]
                features.append(row)
                for (name, kind, first, rate), value in zip(plan, values, strict=True):
                    if not kind.write(value, row, first, rate, filled):
                        unknown.append(name)
        except InvalidInput as error:
            raise _placed(error, name, len(features) - 1 if len(rows) > 1 else None) from None
        array = np.array(features).reshape(len(features), len(blank))
        return _new(Encoded, (array, tuple(unknown)))

    def _of_array(self, values: Floats) -> Floats:
        """The same of an array (n, c), where all columns are numbers."""
        centre, rates = self._scaling
        features = np.empty((len(values), len(self._blank)))
        if self.bias:
            features[:, 0] = self._blank[0]
        np.multiply(values - centre, rates, out=features[:, int(self.bias) :])
        return features

    @cached_property
    def _scaling(self) -> tuple[Floats, Floats]:
        """What each column of numbers is reduced by, and multiplied by."""
        centre = [getattr(kind, "mean", None) or 0.0 for kind in self.kinds]
        return np.array(centre), np.array([rate for _, _, _, rate in self._plan])

    def _checked(self, encoded: Encoded) -> Encoded:
        values, p = encoded.values, len(self._blank)
        array = isinstance(values, np.ndarray) and values.dtype == np.float64
        if not array or values.ndim != 2 or values.shape[1] != p:
            raise InvalidInput.expected("features", f"{p} encoded features per row", values)
        return encoded

    @cached_property
    def _wanted(self) -> Wanted:
        numbers = all(isinstance(kind, Number) for kind in self.kinds)
        return Wanted(self.names, self.extra == "ignore", numbers)

    @cached_property
    def _scaled(self) -> bool:
        """Whether features have a length of about 1: all numbers have a scale."""
        return all(kind.complete for kind in self.kinds)

    @cached_property
    def _blank(self) -> list[float]:
        """A row of features (p,) of nothing but the bias."""
        bias = math.sqrt(0.5) if self._scaled else 1.0
        return [bias] * self.bias + [0.0] * (len(self.features) - self.bias)

    @cached_property
    def _plan(self) -> list[tuple[str, Column, int, float]]:
        """Of each column its name, what it is, its first feature, and what that is multiplied by.

        A number of variance 1, and a level, have an expected square of 1: with `parts` the columns
        have one of `length` squared together, and the bias has the rest of 1.
        """
        length = math.sqrt(0.5) if self._scaled and self.bias else 1.0
        parts = math.sqrt(len(self.kinds)) if self._scaled else 1.0
        plan, first = [], int(self.bias)
        for name, kind in zip(self.names, self.kinds, strict=True):
            plan.append((name, kind, first, kind.rate(length, parts)))
            first += kind.width
        return plan

    def to_json(self) -> dict[str, Any]:
        """As `columns_from` reads it, but for what is the default."""
        options = {"bias": True, "missing": "refuse", "extra": "refuse"}
        changed = {key: getattr(self, key) for key in options if getattr(self, key) != options[key]}
        kinds = zip(self.names, self.kinds, strict=True)
        return {"columns": {name: kind.to_json() for name, kind in kinds}, **changed}

    def __str__(self) -> str:
        pairs = list(zip(self.names, self.kinds, strict=True))
        others = f" and {len(pairs) - FEW} others" if len(pairs) > FEW else ""
        return ", ".join(f"{name} ({kind})" for name, kind in pairs[:FEW]) + others


def _learned(name: str, kind: Column, values: Any) -> Column:
    """A column with what the values (n,) of many rows say; all are checked."""
    usable = isinstance(values, np.ndarray) and (np.abs(values) <= LARGEST_FEATURE).all()
    for n, value in enumerate(() if usable else values):
        try:
            if is_missing(value):
                raise missing(value, "fill or drop such rows before fit")
            kind.check(value)
        except InvalidInput as error:
            raise _placed(error, name, n) from None
    try:
        return kind.learned(values)
    except InvalidInput as error:
        raise _placed(error, name, None) from None


def _placed(error: InvalidInput, name: str, row: int | None) -> InvalidInput:
    """An error about a value, with its place."""
    where = "features" if row is None else f"features[{row}]"
    return InvalidInput(f"{where}[{name!r}]", error.message)
