"""Feature maps: from what describes a context to the features of its arms."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from thrifty.errors import InvalidInput, escaped
from thrifty.learners.columns import Number, is_missing, missing
from thrifty.learners.context_rows import Wanted, rows_of
from thrifty.learners.encoding import Columns, Encoded
from thrifty.learners.transformed import Transformed
from thrifty.numerics.arrays import Floats, Ints
from thrifty.problem.frames import index_names
from thrifty.problem.names import arm_index, listed_arms, listed_names

FEW = 8  # arms that a repr lists
_new = tuple.__new__


class MappedRows(NamedTuple):
    """Features of arms.

    Attributes
    ----------
    features : (K, width)
    blocks : (K,) of theta
    names : of the arms, where they have some
    unknown : the column of each value that has a level which is not known
    """

    features: Floats
    blocks: Ints
    names: tuple[str, ...] | None
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class FeatureMap:
    """How features are made; see `disjoint`, `product` and `shared`.

    Attributes
    ----------
    columns : what describes a context (or an arm, for shared)
    arms : names of the arms; none for shared
    """

    columns: Columns | Transformed
    arms: tuple[str, ...] = ()

    kind: ClassVar[str]  # in files
    blocks: ClassVar[int] = 1  # of theta

    @property
    def width(self) -> int:
        """How many features an arm has."""
        return len(self.columns.features)

    @property
    def dimension(self) -> int:
        """How many entries theta has (d)."""
        return self.blocks * self.width

    @property
    def names(self) -> tuple[str, ...]:
        """(d,) names of the entries of theta."""
        return self.columns.features

    def fit(self, data: ArrayLike) -> Self:
        """The same map with what its columns lack, learned from rows of data.

        The mean and the deviation of numbers, the levels of categories. What is declared stays.
        """
        return replace(self, columns=self.columns.fit(data))

    def encode(self, context: Any) -> Encoded:
        """The features of what describes a context; maps and learners take them in its place."""
        return self.columns.encode(context)

    def rows(self, context: Any, available: Sequence[str | int] | None = None) -> MappedRows:
        """The arms on offer in a context; all by default."""
        values, unknown = self.columns.encode(context)
        if len(values) != 1:
            raise InvalidInput("features", f"one row expected, of the context, got {len(values)}")
        if available is None:  # nothing to look up
            features = self._of_arms(values, self._everyone)
            return _new(MappedRows, (features, self._all_blocks, self.arms, unknown))
        chosen = sorted({self._arm_index(arm) for arm in listed_arms(available)})
        if not chosen:
            raise InvalidInput.expected("available", "at least one arm", available)
        names = tuple(self.arms[k] for k in chosen)
        arms = np.array(chosen, np.int64)
        return MappedRows(self._of_arms(values, arms), self._blocks_of(arms), names, unknown)

    def whole(self, context: Any, available: Sequence[str | int] | None = None) -> Floats:
        """Features (K, d) of arms on offer, as learners without a map and services take them."""
        features, blocks, _, _ = self.rows(context, available)
        return whole_rows(features, blocks, self.dimension)

    def played(self, contexts: Any, arms: Sequence[str | int]) -> MappedRows:
        """Rows (n,) of arms that were played in contexts (n, c)."""
        values, unknown = self.columns.encode(contexts)
        if len(arms) != len(values):
            raise InvalidInput.expected("arms", f"{len(values)} (one for each context)", len(arms))
        chosen = np.array([self._arm_index(arm) for arm in arms], np.int64)
        return MappedRows(self._of_arms(values, chosen), self._blocks_of(chosen), None, unknown)

    def with_arm(self, name: Any, row: Any = None) -> Self:
        """The map with one more arm, the last; row: of the table of a product."""
        self._refuse_arms()

    def without_arm(self, arm: str | int) -> Self:
        """The map without an arm."""
        self._refuse_arms()

    def _refuse_arms(self) -> NoReturn:
        raise InvalidInput("features", "a shared map has no arms: they come with each decision")

    def _remaining(self, arm: str | int) -> list[int]:
        """The arms that there are without one of them."""
        gone = self._arm_index(arm)
        if len(self.arms) == 1:
            raise InvalidInput("arm", f"{self.arms[0]!r} is the last one: add another one first")
        return [k for k in range(len(self.arms)) if k != gone]

    def _named_with(self, name: Any) -> tuple[str, ...]:
        """The names of the arms with that of a new one."""
        if name in self.arms:
            raise InvalidInput("arm", f"{name!r} is an arm already")
        return listed_names([*self.arms, name], "arms")

    def _of_arms(self, values: Floats, arms: Ints) -> Floats:
        """Features (n, width) of arms (n,), given those (n, p) of their contexts, or of one."""
        return values if len(values) == len(arms) else values.repeat(len(arms), axis=0)

    def _blocks_of(self, arms: Ints) -> Ints:
        """The block of theta (n,) of each arm."""
        return np.zeros(len(arms), np.int64)

    @cached_property
    def _everyone(self) -> Ints:
        return np.arange(len(self.arms))

    @cached_property
    def _all_blocks(self) -> Ints:
        return self._blocks_of(self._everyone)

    def to_json(self) -> dict[str, Any]:
        """The map as `from_json` reads it; without a transformer."""
        arms = {"arms": self._arms_to_json()} if self.arms else {}
        return {"kind": self.kind, **arms, **self.columns.to_json()}

    def _arms_to_json(self) -> Any:
        return list(self.arms)

    def _arm_index(self, arm: str | int) -> int:
        return arm_index(arm, self.arms, f"a name, or an index below {len(self.arms)}")

    def __repr__(self) -> str:
        arms = f", arms {', '.join(self.arms[:FEW])}" if self.arms else ""
        more = f" and {len(self.arms) - FEW} others" if len(self.arms) > FEW else ""
        width = f"d = {self.dimension}" if self.columns.complete else "to be fitted"
        return escaped(f"<features: {self.kind}{arms}{more}; columns {self.columns}; {width}>")


@dataclass(frozen=True, repr=False)
class DisjointMap(FeatureMap):
    """Every arm has coefficients of its own."""

    kind = "disjoint"

    @property
    def blocks(self) -> int:  # type: ignore[override]  # as many as arms
        """Into how many blocks theta falls: one for each arm."""
        return len(self.arms)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{arm}: {name}" for arm in self.arms for name in self.columns.features)

    def with_arm(self, name: Any, row: Any = None) -> Self:
        if row is not None:
            raise InvalidInput("features", "not used: arms of a disjoint map have names only")
        return replace(self, arms=self._named_with(name))

    def without_arm(self, arm: str | int) -> Self:
        return replace(self, arms=tuple(self.arms[k] for k in self._remaining(arm)))

    def _blocks_of(self, arms: Ints) -> Ints:
        return arms


@dataclass(frozen=True, repr=False)
class ProductMap(FeatureMap):
    """Each feature of an arm times each of the context.

    Attributes
    ----------
    arm_columns, arm_rows : names and values (K, q) of what describes the arms
    """

    arm_columns: tuple[str, ...] = ()
    arm_rows: tuple[tuple[float, ...], ...] = ()

    kind = "product"

    @property
    def width(self) -> int:
        return len(self.columns.features) * (len(self.arm_columns) + self.columns.bias)

    @property
    def names(self) -> tuple[str, ...]:
        outer = ("bias",) * bool(self.columns.bias) + self.arm_columns
        return tuple(f"{arm} x {name}" for arm in outer for name in self.columns.features)

    def with_arm(self, name: Any, row: Any = None) -> Self:
        if row is None:
            columns = ", ".join(self.arm_columns)
            raise InvalidInput("features", f"pass the row of the new arm, with {columns}")
        [values] = arm_values([row], self.arm_columns, ["features"])
        return replace(self, arms=self._named_with(name), arm_rows=(*self.arm_rows, values))

    def without_arm(self, arm: str | int) -> Self:
        kept = self._remaining(arm)
        rows = tuple(self.arm_rows[k] for k in kept)
        return replace(self, arms=tuple(self.arms[k] for k in kept), arm_rows=rows)

    def _of_arms(self, values: Floats, arms: Ints) -> Floats:
        with np.errstate(invalid="ignore"):  # numbers that are not finite are refused later
            products = self._arm_values[arms][:, :, None] * values[:, None, :]
        return products.reshape(len(arms), -1)

    @cached_property
    def _arm_values(self) -> Floats:
        """(K, q) what describes the arms, with the bias."""
        rows = np.array(self.arm_rows)
        return np.hstack([np.ones((len(rows), 1)), rows]) if self.columns.bias else rows

    def _arms_to_json(self) -> Any:
        rows = (dict(zip(self.arm_columns, row, strict=True)) for row in self.arm_rows)
        return dict(zip(self.arms, rows, strict=True))


@dataclass(frozen=True, repr=False)
class SharedMap(FeatureMap):
    """Each arm brings its own features; all share the coefficients."""

    kind = "shared"

    def rows(self, context: Any, available: Sequence[str | int] | None = None) -> MappedRows:
        """The arms on offer, which are all in `context`: a row for each."""
        if available is not None:
            raise InvalidInput("available", "not used: pass the rows on offer")
        values, unknown = self.columns.encode(context)
        return MappedRows(values, np.zeros(len(values), np.int64), index_names(context), unknown)


def arm_values(
    rows: Sequence[Any], columns: tuple[str, ...], places: Sequence[str]
) -> tuple[tuple[float, ...], ...]:
    """What describes arms, in the order of columns (q,); places: what errors call each row."""
    wanted = Wanted(columns)
    return tuple(_arm_row(row, wanted, place) for row, place in zip(rows, places, strict=True))


def _arm_row(row: Any, wanted: Wanted, place: str) -> tuple[float, ...]:
    where, numbers = place, []
    try:
        values = rows_of(row, wanted)
        if len(values) != 1:
            raise InvalidInput("", f"one row expected, of the arm, got {len(values)}")
        for name, value in zip(wanted.names, values[0], strict=True):
            where = f"{place}[{name!r}]"
            if is_missing(value):
                raise missing(value, "pass a number")
            numbers.append(Number().number(value))
    except InvalidInput as error:
        raise InvalidInput(where, error.message) from None
    return tuple(numbers)


def whole_rows(rows: Floats, blocks: Ints, dimension: int) -> Floats:
    """Rows (K, w) about some blocks of theta as rows (K, d)."""
    width = rows.shape[1]
    whole = np.zeros((len(rows), dimension))
    for n, block in enumerate(blocks[: len(rows)]):
        whole[n, block * width : (block + 1) * width] = rows[n]
    return whole
