"""Columns of what describes a context: a number, a bool, or a category with levels.

    Number    (value - mean) / deviation
    Flag      1 if it is true
    Category  a feature per level, 1 at that of the value; zeros if the level is unknown

`column` makes one from its declaration, which may be JSON. A column writes the features of a value
into a row, and refuses what it cannot use with a message that does not name it: `encoding.py` does.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from thrifty.errors import InvalidInput, shown, similar
from thrifty.learners.step import LARGEST_FEATURE
from thrifty.numerics.arrays import finite_number, positive_number
from thrifty.problem.action_sets import MOST_DIMENSIONS
from thrifty.problem.names import check_distinct, check_name

KINDS = ("number", "bool", "category")
CATEGORY_ADVICE = 'declare text as "category", or as a list of its levels'
MOST_LEVELS = MOST_DIMENSIONS


@dataclass(frozen=True)
class Number:
    """A number: one feature.

    Attributes
    ----------
    mean, deviation : its scale; None until `fit` or a declaration says it
    """

    mean: float | None = None
    deviation: float | None = None

    kind: ClassVar[str] = "number"
    width: ClassVar[int] = 1

    @property
    def complete(self) -> bool:
        """Whether `fit` has nothing to learn."""
        return self.deviation is not None

    def labels(self, name: str) -> tuple[str, ...]:
        """Names of the features of a column of this name."""
        return (name,)

    def rate(self, length: float, parts: float) -> float:
        """What the value is multiplied by: the length of all features, in so many parts."""
        return length / (parts * (1.0 if self.deviation is None else self.deviation))

    def write(self, value: Any, row: list[float], first: int, rate: float, filled: bool) -> bool:
        """Write the feature; filled: whether a missing value is the mean."""
        if type(value) is not float or not -LARGEST_FEATURE <= value <= LARGEST_FEATURE:
            value = self.number(value, filled)
        row[first] = value * rate if self.mean is None else (value - self.mean) * rate
        return True

    def number(self, value: Any, filled: bool = False) -> float:
        """A value as a number; filled: whether a missing one is the mean."""
        if is_missing(value):
            if filled and self.mean is not None:
                return self.mean
            if filled:
                raise InvalidInput("", "missing, and its mean is not known: fit the map")
            raise missing(value, 'pass a number, or make the map with missing="mean"')
        if isinstance(value, str):
            raise InvalidInput.expected("", "a number", value, hint=CATEGORY_ADVICE)
        if not isinstance(value, int | float | np.integer | np.floating | np.bool_):
            raise InvalidInput.expected("", "a number", value)
        if not -LARGEST_FEATURE <= value <= LARGEST_FEATURE:
            expected = f"a finite number of at most {LARGEST_FEATURE:g}"
            raise InvalidInput.expected("", expected, value)
        return float(value)

    def check(self, value: Any) -> None:
        """Refuse a value that `write` would refuse."""
        self.number(value)

    def learned(self, values: Sequence[Any]) -> Self:
        """The same with what the checked values of many rows say, unless that is declared."""
        if self.complete:
            return self
        numbers = np.array(values, dtype=np.float64)
        mean, deviation = float(numbers.mean()), float(numbers.std())
        constant = deviation < 1 / LARGEST_FEATURE  # or as good as that: it is only centred
        return replace(self, mean=mean, deviation=1.0 if constant else deviation)

    def to_json(self) -> dict[str, Any]:
        """As `column` reads it."""
        scale = {"mean": self.mean, "deviation": self.deviation} if self.complete else {}
        return {"kind": self.kind, **scale}

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.deviation:.4g}" if self.deviation else self.kind


@dataclass(frozen=True)
class Flag:
    """A bool: one feature, 1 if it is true."""

    kind: ClassVar[str] = "bool"
    width: ClassVar[int] = 1
    complete: ClassVar[bool] = True

    def labels(self, name: str) -> tuple[str, ...]:
        return (name,)

    def rate(self, length: float, parts: float) -> float:
        return length / parts

    def write(self, value: Any, row: list[float], first: int, rate: float, filled: bool) -> bool:
        if value is True or (value is not False and self.is_true(value)):
            row[first] = rate
        return True

    def is_true(self, value: Any) -> bool:
        """A value as a bool; 0 and 1 are bools, too."""
        if is_missing(value):
            advice = "pass True or False, or declare a category with a level for it"
            raise missing(value, advice)
        number = isinstance(value, int | float | np.bool_ | np.integer | np.floating)
        if not number or value not in (0, 1):
            raise InvalidInput.expected("", "True or False", value)
        return bool(value)

    def check(self, value: Any) -> None:
        self.is_true(value)

    def learned(self, values: Sequence[Any]) -> Self:
        return self

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind}

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class Category:
    """A category: a feature per level.

    Attributes
    ----------
    levels : text or whole numbers; None until `fit` learns them
    """

    levels: tuple[str | int, ...] | None = None

    kind: ClassVar[str] = "category"

    @property
    def width(self) -> int:
        """How many features it has."""
        return len(self._known)

    @property
    def complete(self) -> bool:
        return self.levels is not None

    def labels(self, name: str) -> tuple[str, ...]:
        return tuple(f"{name}={level}" for level in self._known)

    def rate(self, length: float, parts: float) -> float:
        return length / parts

    @property
    def _known(self) -> tuple[str | int, ...]:
        if self.levels is None:
            raise InvalidInput("", "the levels are not known yet: fit the map, or list them")
        return self.levels

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {level: place for place, level in enumerate(self._known)}

    @cached_property
    def _types(self) -> tuple[type, ...]:
        """Of the levels."""
        return tuple({type(level) for level in self._known})

    def write(self, value: Any, row: list[float], first: int, rate: float, filled: bool) -> bool:
        """Write the features; whether the level is known."""
        try:
            place = self._places.get(value)
        except TypeError:  # it cannot be hashed
            place = None
        if place is None or isinstance(value, bool | np.bool_):  # True is no 1 here
            self.check(value)
            return False
        row[first + place] = rate
        return True

    def check(self, value: Any) -> None:
        level = _level(value)
        if self.levels is not None and not isinstance(level, self._types):
            kind = "text" if self._types == (str,) else "one of its levels,"
            raise InvalidInput.expected("", f"{kind} such as {self.levels[0]!r}", value)

    def learned(self, values: Sequence[Any]) -> Self:
        """The same with the levels of many rows, in order, unless it has some."""
        if self.levels is not None:
            return self
        levels = {_level(value) for value in values}
        if len({type(level) for level in levels}) > 1:
            raise InvalidInput("", "has text and numbers: convert one into the other")
        if len(levels) > MOST_LEVELS:
            advice = "is it an identifier? Leave it out, or group its levels"
            raise InvalidInput("", f"has {len(levels):,} levels: {advice}")
        return replace(self, levels=tuple(sorted(levels)))

    def to_json(self) -> dict[str, Any]:
        levels = {} if self.levels is None else {"levels": list(self.levels)}
        return {"kind": self.kind, **levels}

    def __str__(self) -> str:
        return self.kind if self.levels is None else f"{len(self.levels)} levels"


Column = Number | Flag | Category


def column(declaration: Any, where: str) -> Column:
    """The column that is declared: a kind, a list of levels, or an object with the key `kind`."""
    if isinstance(declaration, Number | Flag | Category):
        return declaration
    if isinstance(declaration, str):
        return column({"kind": declaration}, where)
    if not isinstance(declaration, Mapping):
        return Category(_levels(declaration, where))
    kind = known_kind(declaration.get("kind"), KINDS, f"{where}.kind")
    known = {"number": ["mean", "deviation"], "category": ["levels"], "bool": []}[kind]
    for key in declaration:
        check_key(key, ["kind", *known], where)
    if kind == "number":
        return _number(declaration, where)
    if kind == "bool":
        return Flag()
    levels = declaration.get("levels")
    return Category(None if levels is None else _levels(levels, f"{where}.levels"))


def known_kind(kind: Any, known: Sequence[str], where: str) -> str:
    """A kind, if it is one of those that are known."""
    if isinstance(kind, str) and kind in known:
        return kind
    near = similar(kind, known) if isinstance(kind, str) else None
    hint = f"did you mean {near!r}?" if near else ""
    raise InvalidInput.expected(where, f"{', '.join(known[:-1])} or {known[-1]}", kind, hint=hint)


def check_key(key: object, known: Sequence[str], where: str) -> None:
    """Refuse a key that nothing reads."""
    if key not in known:
        near = similar(key, known) if isinstance(key, str) else None
        advice = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
        raise InvalidInput(where, f"unknown key {shown(key)}; {advice}")


def _number(declaration: Mapping[str, Any], where: str) -> Number:
    mean, deviation = declaration.get("mean"), declaration.get("deviation")
    if mean is None and deviation is None:
        return Number()
    if mean is None or deviation is None:
        raise InvalidInput(where, "mean and deviation go together: give both, or neither")
    scale = finite_number(mean, f"{where}.mean"), positive_number(deviation, f"{where}.deviation")
    if abs(scale[0]) > LARGEST_FEATURE or not 1 / LARGEST_FEATURE <= scale[1] <= LARGEST_FEATURE:
        limits = f"at most {LARGEST_FEATURE:g} and not below {1 / LARGEST_FEATURE:g}"
        raise InvalidInput.expected(where, f"a mean and a deviation of {limits}", scale)
    return Number(*scale)


def _levels(levels: Any, where: str) -> tuple[str | int, ...]:
    """Levels that are declared, checked."""
    if isinstance(levels, str | Mapping | set | frozenset) or not hasattr(levels, "__len__"):
        expected = f"a kind ({', '.join(KINDS)}) or a list of levels"
        raise InvalidInput.expected(where, expected, levels)
    if not 0 < len(levels) <= MOST_LEVELS:
        raise InvalidInput.expected(where, f"1 to {MOST_LEVELS:,} levels", len(levels))
    checked: list[str | int] = []
    for i, level in enumerate(levels):
        try:
            checked.append(_level(level))
        except InvalidInput as error:
            raise InvalidInput(f"{where}[{i}]", error.message) from None
        if isinstance(checked[-1], str):
            check_name(checked[-1], f"{where}[{i}]")
    check_distinct(checked, where, "is a level before")
    return tuple(checked)


def _level(value: Any) -> str | int:
    """A value of a category: text, or a whole number of any type."""
    if isinstance(value, str):
        return str(value)
    if is_missing(value):
        raise missing(value, "pass a level; declare one for it, such as 'none'")
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if whole or (isinstance(value, float | np.floating) and float(value).is_integer()):
        return int(value)
    raise InvalidInput.expected("", "text or a whole number", value)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or what pandas has for a missing one."""
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def missing(value: Any, advice: str) -> InvalidInput:
    """An error about a missing value."""
    word = "nan" if isinstance(value, float | np.floating) else value
    return InvalidInput("", f"missing ({word}): {advice}")
