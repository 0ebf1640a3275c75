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
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Floats, Ints, numeric
from thrifty.problem.frames import check_columns, columns_of, index_names, numbers_of
from thrifty.problem.names import arm_index, listed_names

DISJOINT, PRODUCT, SHARED = "disjoint", "product", "shared"


@dataclass(frozen=True)
class FeatureMap:
    """How features are made; see `disjoint`, `product` and `shared`.

    Attributes
    ----------
    kind : disjoint, product or shared
    columns : what describes a context (or an arm, for shared)
    arms : names of the arms; none for shared
    arm_columns, arm_rows : names and values (K, q) of what describes the arms, for product
    bias : whether 1 is a feature
    centre, scale : of the columns, once fitted
    transformer : of scikit-learn, applied first
    """

    kind: str
    columns: tuple[str, ...]
    arms: tuple[str, ...] = ()
    arm_columns: tuple[str, ...] = ()
    arm_rows: tuple[tuple[float, ...], ...] = ()
    bias: bool = True
    centre: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None
    transformer: Any = field(default=None, compare=False)

    @property
    def width(self) -> int:
        """How many features an arm has."""
        own = len(self._outputs) + self.bias
        return own * (len(self.arm_columns) + self.bias) if self.kind == PRODUCT else own

    @property
    def blocks(self) -> int:
        """Into how many blocks theta falls: one for each arm where these are disjoint."""
        return len(self.arms) if self.kind == DISJOINT else 1

    @property
    def dimension(self) -> int:
        """How many entries theta has (d)."""
        return self.blocks * self.width

    @property
    def names(self) -> tuple[str, ...]:
        """(d,) names of the entries of theta."""
        own = (*(["bias"] if self.bias else []), *self._outputs)
        if self.kind == DISJOINT:
            return tuple(f"{arm}: {name}" for arm in self.arms for name in own)
        if self.kind == PRODUCT:
            outer = (*(["bias"] if self.bias else []), *self.arm_columns)
            return tuple(f"{one} x {name}" for one in outer for name in own)
        return own

    @cached_property
    def _outputs(self) -> tuple[str, ...]:
        """Names of the columns after the transformer."""
        if self.transformer is None:
            return self.columns
        return tuple(str(name) for name in self.transformer.get_feature_names_out())

    def fit(self, data: ArrayLike) -> "FeatureMap":
        """The same map, with the mean and the deviation of each column of data (n, p)."""
        values = self._transformed(data)
        centre, deviation = values.mean(axis=0), values.std(axis=0)
        deviation[deviation == 0] = 1.0  # a constant stays as it is
        return replace(self, centre=tuple(centre.tolist()), scale=tuple(deviation.tolist()))

    def rows(
        self, context: Any, available: Sequence[str | int] | None = None
    ) -> tuple[Floats, Ints, tuple[str, ...] | None]:
        """Features (K, width) of the arms on offer, their blocks (K,) and names."""
        values = self._scaled(self._transformed(context))
        if self.kind == SHARED:
            if available is not None:
                raise InvalidInput.expected(
                    "available", "nothing: pass the rows on offer", available
                )
            return values, np.zeros(len(values), np.int64), index_names(context)
        if len(values) != 1:
            raise InvalidInput.expected("features", "one row, of the context", values.shape)
        if available is None:
            chosen, names = self._all_arms, self.arms
        else:
            chosen = self._arm_indices(available)
            names = tuple(self.arms[k] for k in chosen)
        return (
            self._of_arms(values.repeat(len(chosen), axis=0), chosen),
            self._blocks(chosen),
            names,
        )

    def whole(self, context: Any, available: Sequence[str | int] | None = None) -> Floats:
        """Features (K, d) of the arms on offer, as a learner without a map, or a service, takes
        them.
        """
        rows, blocks, _ = self.rows(context, available)
        return whole_rows(rows, blocks, self.dimension)

    def played(self, contexts: Any, arms: Sequence[str | int]) -> tuple[Floats, Ints]:
        """Features (n, width) and blocks (n,) of arms that were played in contexts (n, p).

        For disjoint and product.
        """
        values = self._scaled(self._transformed(contexts))
        if len(arms) != len(values):
            raise InvalidInput.expected("arms", f"{len(values)} (one for each context)", len(arms))
        chosen = [self._arm_index(arm) for arm in arms]
        return self._of_arms(values, chosen), self._blocks(chosen)

    def _of_arms(self, values: Floats, arms: Sequence[int]) -> Floats:
        """Features (n, width) of arms, given those (n, p) of their contexts."""
        if self.kind == DISJOINT:
            return np.ascontiguousarray(values)
        with np.errstate(invalid="ignore"):  # numbers that are not finite are refused later
            products = self._arm_values[arms][:, :, None] * values[:, None, :]
        return products.reshape(len(values), -1)

    @cached_property
    def _arm_values(self) -> Floats:
        """(K, q) what describes the arms, with the bias."""
        rows = np.array(self.arm_rows)
        return np.hstack([np.ones((len(rows), 1)), rows]) if self.bias else rows

    def to_json(self) -> dict[str, Any]:
        """All but the transformer."""
        kept = {one.name: getattr(self, one.name) for one in fields(self)}
        del kept["transformer"]
        return {**kept, "transformed": self.transformer is not None}

    def _transformed(self, data: Any) -> Floats:
        """Values (n, p) of the columns, after the transformer."""
        if isinstance(data, Mapping):
            data = _one_row(data, self.columns)
        if self.transformer is not None:
            values = self.transformer.transform(data)
            values = values.toarray() if hasattr(values, "toarray") else values
        elif columns_of(data) is not None:
            values = numbers_of(data, self.columns, "features")
        else:
            values = data
        array = np.atleast_2d(numeric(values, "features", self._expected))
        if array.ndim != 2 or array.shape[1] != len(self._outputs):
            raise InvalidInput.expected("features", self._expected, np.shape(data))
        return array

    @cached_property
    def _expected(self) -> str:
        return f"rows of {len(self._outputs)} numbers ({', '.join(self._outputs[:8])})"

    def _scaled(self, values: Floats) -> Floats:
        """Columns by their mean and deviation, with the bias; of length about 1 if scaled."""
        centre, factor, first = self._scaling
        out = np.empty((len(values), values.shape[1] + self.bias))
        if self.bias:
            out[:, 0] = first
        np.multiply(values - centre, factor, out=out[:, int(self.bias) :])
        return out

    @cached_property
    def _scaling(self) -> tuple[Floats | float, Floats | float, float]:
        """What columns are reduced by, multiplied by, and the bias."""
        if self.centre is None or self.scale is None:
            return 0.0, 1.0, 1.0
        share = math.sqrt(0.5) if self.bias else 1.0
        parts = math.sqrt(len(self.scale)) * np.array(self.scale)
        return np.array(self.centre), share / parts, share

    def _blocks(self, arms: Sequence[int]) -> Ints:
        own = self.kind == DISJOINT
        return np.array(arms, np.int64) if own else np.zeros(len(arms), np.int64)

    @cached_property
    def _all_arms(self) -> list[int]:
        return list(range(len(self.arms)))

    def _arm_indices(self, available: Sequence[str | int]) -> list[int]:
        found = sorted({self._arm_index(arm) for arm in available})
        if not found:
            raise InvalidInput.expected("available", "at least one arm", available)
        return found

    def _arm_index(self, arm: str | int) -> int:
        return arm_index(arm, self.arms, f"a name, or an index below {len(self.arms)}")


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
    names = listed_names(arms, "arms")
    return FeatureMap(
        DISJOINT, _inputs(columns, transformer), names, bias=bias, transformer=transformer
    )


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
        raise InvalidInput.expected(
            "arms", "finite rows of numbers, one for each arm", values.shape
        )
    given = index_names(arms) if names is None else names
    given = [str(k) for k in range(len(values))] if given is None else given
    if len(given) != len(values):
        raise InvalidInput.expected("names", f"{len(values)} names (one for each arm)", len(given))
    found = columns_of(arms) or tuple(f"arm{i}" for i in range(values.shape[1]))
    return FeatureMap(
        PRODUCT,
        _inputs(columns, transformer),
        listed_names(given, "names"),
        arm_columns=listed_names(found, "arms"),
        arm_rows=tuple(map(tuple, values.tolist())),
        bias=bias,
        transformer=transformer,
    )


def shared(
    columns: Sequence[str] | None = None, *, bias: bool = True, transformer: Any = None
) -> FeatureMap:
    """Each arm brings its own features; all share the coefficients."""
    return FeatureMap(SHARED, _inputs(columns, transformer), bias=bias, transformer=transformer)


def from_json(content: Mapping[str, Any], transformer: Any = None) -> FeatureMap:
    """A map as `to_json` gave it; a transformer must be given if it had one."""
    values = {key: _frozen(value) for key, value in content.items() if key != "transformed"}
    if content["transformed"] and transformer is None:
        expected = "the map with its transformer: load(..., features=...)"
        raise InvalidInput.expected("features", expected, None)
    return FeatureMap(**values, transformer=transformer)


def _inputs(columns: Sequence[str] | None, transformer: Any) -> tuple[str, ...]:
    """Names of the columns that a map is made for."""
    if columns is not None:
        return listed_names(columns, "columns")
    if transformer is None:
        raise InvalidInput.expected("features", "columns, or a fitted transformer", columns)
    return tuple(str(name) for name in getattr(transformer, "feature_names_in_", ()))


def _one_row(context: Mapping[str, Any], columns: Sequence[str]) -> list[list[Any]]:
    """A context that is given as a dictionary."""
    check_columns([str(name) for name in context], columns, "features")
    return [[context[name] for name in columns]]


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value
