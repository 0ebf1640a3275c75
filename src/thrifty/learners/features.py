"""Feature maps: from what describes a context to the features of its arms.

    disjoint(arms, columns)  every arm has coefficients of its own, in a block of theta
    product(arms, columns)   each feature of the arm times each of the context
    shared(columns)          each arm brings its features; this adds a bias and scales

A map is made for columns in some order, or for a scikit-learn transformer. `fit` learns the mean
and the deviation of each column; scaled features have a length of about 1, which suits the prior
N(0, I) of theta.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Floats, Ints, numeric
from thrifty.problem.frames import (
    check_columns,
    columns_of,
    index_names,
    is_row,
    numbers_of,
    row_in_order,
    strings,
)
from thrifty.problem.names import arm_index, listed_arms, listed_names


@dataclass(frozen=True)
class Columns:
    """What describes a context (or an arm, for shared features), as numbers.

    Attributes
    ----------
    names : of the columns, in order
    bias : whether 1 is a feature
    centre, scale : of the columns, once fitted
    transformer : of scikit-learn, applied first
    """

    names: tuple[str, ...]
    bias: bool = True
    centre: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None
    transformer: Any = field(default=None, compare=False)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """(p,) names of the features, the bias first."""
        return ("bias",) * bool(self.bias) + self._outputs

    @cached_property
    def _outputs(self) -> tuple[str, ...]:
        """Names of the columns after the transformer."""
        if self.transformer is None:
            return self.names
        return tuple(str(name) for name in self.transformer.get_feature_names_out())

    def fit(self, data: ArrayLike) -> Self:
        """The same columns with the mean and the deviation of each in data."""
        values = self._transformed(data)
        centre, deviation = values.mean(axis=0), values.std(axis=0)
        deviation[deviation == 0] = 1.0  # a constant stays as it is
        return replace(self, centre=tuple(centre.tolist()), scale=tuple(deviation.tolist()))

    def values(self, data: Any) -> Floats:
        """Features (n, p) of rows of data: scaled to a length of about 1, once fitted."""
        values = self._transformed(data)
        centre, factor, bias = self._scaling
        features = np.empty((len(values), values.shape[1] + self.bias))
        if self.bias:
            features[:, 0] = bias
        np.multiply(values - centre, factor, out=features[:, int(self.bias) :])
        return features

    def _transformed(self, data: Any) -> Floats:
        """Values of the columns, after the transformer."""
        if isinstance(data, Mapping):
            check_columns(strings(data, "features"), self.names, "features")
            data = [[data[name] for name in self.names]]
        elif is_row(data):
            data = row_in_order(data, self.names, "features")
        if self.transformer is not None:
            values = self.transformer.transform(data)
            values = values.toarray() if hasattr(values, "toarray") else values
        elif columns_of(data) is not None:
            values = numbers_of(data, self.names, "features")
        else:
            values = data
        array = np.atleast_2d(numeric(values, "features", self._expected))
        if array.ndim != 2 or array.shape[1] != len(self._outputs):
            raise InvalidInput.expected("features", self._expected, np.shape(data))
        return array

    @cached_property
    def _expected(self) -> str:
        return f"rows of {len(self._outputs)} numbers ({', '.join(self._outputs[:8])})"

    @cached_property
    def _scaling(self) -> tuple[Floats | float, Floats | float, float]:
        """What columns are reduced by, multiplied by, and the bias."""
        if self.centre is None or self.scale is None:
            return 0.0, 1.0, 1.0
        share = math.sqrt(0.5) if self.bias else 1.0
        parts = math.sqrt(len(self.scale)) * np.array(self.scale)
        return np.array(self.centre), share / parts, share


class MappedRows(NamedTuple):
    """Features of arms on offer."""

    features: Floats  # (K, width)
    blocks: Ints  # (K,) of theta
    names: tuple[str, ...] | None


@dataclass(frozen=True)
class FeatureMap:
    """How features are made; see `disjoint`, `product` and `shared`.

    Attributes
    ----------
    columns : what describes a context (or an arm, for shared)
    arms : names of the arms; none for shared
    """

    columns: Columns
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
        """The same map, with the mean and the deviation of each column of data (n, p)."""
        return replace(self, columns=self.columns.fit(data))

    def rows(self, context: Any, available: Sequence[str | int] | None = None) -> MappedRows:
        """The arms on offer in a context; all by default."""
        values = self.columns.values(context)
        if len(values) != 1:
            raise InvalidInput.expected("features", "one row, of the context", values.shape)
        chosen: Sequence[int] = range(len(self.arms))
        if available is not None:
            chosen = sorted({self._arm_index(arm) for arm in listed_arms(available)})
            if not chosen:
                raise InvalidInput.expected("available", "at least one arm", available)
        features = self._of_arms(values.repeat(len(chosen), axis=0), chosen)
        return MappedRows(features, self._blocks_of(chosen), tuple(self.arms[k] for k in chosen))

    def whole(self, context: Any, available: Sequence[str | int] | None = None) -> Floats:
        """Features (K, d) of arms on offer, as learners without a map and services take them."""
        features, blocks, _ = self.rows(context, available)
        return whole_rows(features, blocks, self.dimension)

    def played(self, contexts: Any, arms: Sequence[str | int]) -> tuple[Floats, Ints]:
        """Features (n, width) and blocks (n,) of arms that were played in contexts (n, p)."""
        values = self.columns.values(contexts)
        if len(arms) != len(values):
            raise InvalidInput.expected("arms", f"{len(values)} (one for each context)", len(arms))
        chosen = [self._arm_index(arm) for arm in arms]
        return self._of_arms(values, chosen), self._blocks_of(chosen)

    def _of_arms(self, values: Floats, arms: Sequence[int]) -> Floats:
        """Features (n, width) of arms, given those (n, p) of their contexts."""
        return np.ascontiguousarray(values)

    def _blocks_of(self, arms: Sequence[int]) -> Ints:
        """The block of theta (n,) of each arm."""
        return np.zeros(len(arms), np.int64)

    def to_json(self) -> dict[str, Any]:
        """All but the transformer."""
        columns = self.columns
        return {
            "kind": self.kind,
            "columns": columns.names,
            "arms": self.arms,
            "bias": columns.bias,
            "centre": columns.centre,
            "scale": columns.scale,
            "transformed": columns.transformer is not None,
        }

    def _arm_index(self, arm: str | int) -> int:
        return arm_index(arm, self.arms, f"a name, or an index below {len(self.arms)}")


@dataclass(frozen=True)
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

    def _blocks_of(self, arms: Sequence[int]) -> Ints:
        return np.array(arms, np.int64)


@dataclass(frozen=True)
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

    def _of_arms(self, values: Floats, arms: Sequence[int]) -> Floats:
        with np.errstate(invalid="ignore"):  # numbers that are not finite are refused later
            products = self._arm_values[arms][:, :, None] * values[:, None, :]
        return products.reshape(len(values), -1)

    @cached_property
    def _arm_values(self) -> Floats:
        """(K, q) what describes the arms, with the bias."""
        rows = np.array(self.arm_rows)
        return np.hstack([np.ones((len(rows), 1)), rows]) if self.columns.bias else rows

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"arm_columns": self.arm_columns, "arm_rows": self.arm_rows}


@dataclass(frozen=True)
class SharedMap(FeatureMap):
    """Each arm brings its own features; all share the coefficients."""

    kind = "shared"

    def rows(self, context: Any, available: Sequence[str | int] | None = None) -> MappedRows:
        """The arms on offer, which are all in `context`: a row for each."""
        if available is not None:
            raise InvalidInput("available", "not used: pass the rows on offer")
        values = self.columns.values(context)
        return MappedRows(values, np.zeros(len(values), np.int64), index_names(context))


def whole_rows(rows: Floats, blocks: Ints, dimension: int) -> Floats:
    """Rows (K, w) about some blocks of theta as rows (K, d)."""
    width = rows.shape[1]
    whole = np.zeros((len(rows), dimension))
    for n, block in enumerate(blocks[: len(rows)]):
        whole[n, block * width : (block + 1) * width] = rows[n]
    return whole


def disjoint(
    arms: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    bias: bool = True,
    transformer: Any = None,
) -> FeatureMap:
    """Every arm has coefficients of its own: what is learned of one says nothing of another."""
    return DisjointMap(_columns(columns, bias, transformer), listed_names(arms, "arms"))


def product(
    arms: Any,
    columns: Sequence[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    bias: bool = True,
    transformer: Any = None,
) -> FeatureMap:
    """Each feature of an arm times each of the context; arms: (K, q), an array or a data frame."""
    rows = arms.to_numpy() if columns_of(arms) is not None else arms
    values = numeric(rows, "arms", "rows of numbers")
    if values.ndim != 2 or not np.isfinite(values).all():
        expected = "finite rows of numbers, one for each arm"
        raise InvalidInput.expected("arms", expected, values.shape)
    if names is None:
        names = index_names(arms) or [str(k) for k in range(len(values))]
    if len(names) != len(values):
        raise InvalidInput.expected("names", f"{len(values)} names (one for each arm)", len(names))
    arm_columns = columns_of(arms) or tuple(f"arm{i}" for i in range(values.shape[1]))
    return ProductMap(
        _columns(columns, bias, transformer),
        listed_names(names, "names"),
        listed_names(arm_columns, "arms"),
        tuple(map(tuple, values.tolist())),
    )


def shared(
    columns: Sequence[str] | None = None, *, bias: bool = True, transformer: Any = None
) -> FeatureMap:
    """Each arm brings its own features; all share the coefficients."""
    return SharedMap(_columns(columns, bias, transformer))


def from_json(content: Mapping[str, Any], transformer: Any = None) -> FeatureMap:
    """A map as `to_json` gave it; a transformer must be given if it had one."""
    if content["transformed"] and transformer is None:
        expected = "the map with its transformer: load(..., features=...)"
        raise InvalidInput.expected("features", expected, None)
    values = {key: _frozen(value) for key, value in content.items()}
    kept = {key: values[key] for key in ("bias", "centre", "scale")}
    columns = Columns(values["columns"], **kept, transformer=transformer)
    if values["kind"] == "product":
        return ProductMap(columns, values["arms"], values["arm_columns"], values["arm_rows"])
    return {"disjoint": DisjointMap, "shared": SharedMap}[values["kind"]](columns, values["arms"])


def _columns(columns: Sequence[str] | None, bias: bool, transformer: Any) -> Columns:
    """The columns that a map is made for."""
    if columns is not None:
        names = listed_names(columns, "columns")
    elif transformer is None:
        raise InvalidInput.expected("features", "columns, or a fitted transformer", columns)
    else:
        names = tuple(str(name) for name in getattr(transformer, "feature_names_in_", ()))
    return Columns(names, bias=bias, transformer=transformer)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value
