"""Feature maps, as `th.features` has them.

    disjoint(arms, columns)  every arm has coefficients of its own, in a block of theta
    product(arms, columns)   each feature of the arm times each of the context
    shared(columns)          each arm brings its features; this adds a bias and scales

A map is made for columns of numbers, bools and categories (columns.py), or for a transformer of
scikit-learn. `fit` learns the scale of each number and the levels of categories. Scaled features
have a length of about 1, which suits the prior N(0, I) of theta.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thrifty.errors import InvalidInput
from thrifty.learners.columns import check_key, column, known_kind
from thrifty.learners.context_rows import Wanted, frame_of, is_frame, rows_of
from thrifty.learners.encoding import Columns, Encoded
from thrifty.learners.maps import DisjointMap, FeatureMap, ProductMap, SharedMap, arm_values
from thrifty.learners.transformed import Transformed
from thrifty.numerics.arrays import numeric
from thrifty.problem.frames import index_names
from thrifty.problem.names import listed_names

__all__ = ["Columns", "Encoded", "FeatureMap", "disjoint", "from_json", "product", "shared"]

MAPS = {kind.kind: kind for kind in (DisjointMap, ProductMap, SharedMap)}
OPTIONS = ("bias", "missing", "extra")


def disjoint(
    arms: Sequence[str],
    columns: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    bias: bool = True,
    missing: str = "refuse",
    extra: str = "refuse",
    transformer: Any = None,
) -> FeatureMap:
    """Every arm has coefficients of its own: what is learned of one says nothing of another.

    Parameters
    ----------
    arms : their names
    columns : names of numbers; or of each column its kind: "number", "bool", "category", a list of
        levels, or a dict with the key kind, and mean and deviation or levels
    bias : whether 1 is a feature
    missing : "mean" takes the mean for a missing number; by default it is refused
    extra : "ignore" ignores other columns; by default they are refused
    transformer : of scikit-learn, fitted, which makes the features instead
    """
    return DisjointMap(_columns(columns, bias, missing, extra, transformer), _arm_names(arms))


def product(
    arms: Any,
    columns: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    names: Sequence[str] | None = None,
    bias: bool = True,
    missing: str = "refuse",
    extra: str = "refuse",
    transformer: Any = None,
) -> FeatureMap:
    """Each feature of an arm times each of the context.

    arms: numbers or bools (K, q), as a data frame, an array, or a dict of each arm's name with its
    row, a dict. names: of the arms, by default the index of the data frame. Others: see `disjoint`.
    """
    described = _columns(columns, bias, missing, extra, transformer)
    if isinstance(arms, Mapping):
        if names is not None:
            raise InvalidInput("names", "not used: the keys of arms are their names")
        return ProductMap(described, *_table(arms, "arms"))
    values, arm_columns = _arm_rows(arms)
    if names is None:
        names = index_names(arms) or [str(k) for k in range(len(values))]
    if len(names) != len(values):
        raise InvalidInput.expected("names", f"{len(values)} names (one for each arm)", len(names))
    rows = tuple(map(tuple, values))
    return ProductMap(described, listed_names(names, "names"), arm_columns, rows)


def shared(
    columns: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    bias: bool = True,
    missing: str = "refuse",
    extra: str = "refuse",
    transformer: Any = None,
) -> FeatureMap:
    """Each arm brings its own features; all share the coefficients. Parameters: see `disjoint`."""
    return SharedMap(_columns(columns, bias, missing, extra, transformer))


def from_json(content: Any, transformer: Any = None) -> FeatureMap:
    """A map as `to_json` gave it, or as the service takes it; every mistake is one line.

    {"kind": "disjoint", "arms": ["red", "blue"], "columns": {"age": {"kind": "number"}}}; for a
    product arms are {"red": {"price": 0.2}, ...}, and shared has none. transformer: must be given
    if the map had one.
    """
    if not isinstance(content, Mapping):
        raise InvalidInput.expected("map", "an object with kind, arms and columns", content)
    try:
        return _of_json(content, transformer)
    except InvalidInput as error:
        raise InvalidInput(f"map.{error.where}" if error.where else "map", error.message) from None


def _of_json(content: Mapping[str, Any], transformer: Any) -> FeatureMap:
    kind = known_kind(content.get("kind"), list(MAPS), "kind")
    if content.get("transformed"):
        columns: Columns | Transformed = _transformed(content, transformer)
    else:
        for key in content:
            check_key(key, ["kind", "arms", "columns", *OPTIONS], "")
        options = {key: content[key] for key in OPTIONS if key in content}
        columns = columns_from(content.get("columns"), **options)
    arms = content.get("arms")
    if kind == "shared":
        if arms:
            raise InvalidInput("arms", "not used: a shared map has no arms, decisions bring them")
        return SharedMap(columns)
    if kind == "disjoint":
        return DisjointMap(columns, _arm_names(arms))
    return ProductMap(columns, *_table(arms, "arms"))


def columns_from(columns: Any, **options: Any) -> Columns:
    """The columns of a declaration: names of numbers, or the kind of each by name."""
    if isinstance(columns, Mapping):
        names = listed_names(list(columns), "columns")
        kinds = [column(columns[name], f"columns[{name!r}]") for name in names]
    else:
        names = listed_names(columns, "columns")
        kinds = [column("number", "columns")] * len(names)
    return Columns(names, tuple(kinds), **options)


def _columns(
    columns: Any, bias: bool, missing: str, extra: str, transformer: Any
) -> Columns | Transformed:
    """The columns that a map is made for."""
    if transformer is None:
        if columns is None:
            raise InvalidInput.expected("features", "columns, or a fitted transformer", columns)
        return columns_from(columns, bias=bias, missing=missing, extra=extra)
    if missing != "refuse":
        raise InvalidInput("missing", "not used: let the transformer fill missing numbers")
    if isinstance(columns, Mapping):
        raise InvalidInput("columns", "pass names only: the transformer says what they become")
    names = getattr(transformer, "feature_names_in_", ()) if columns is None else columns
    names = listed_names([str(name) for name in names], "columns")
    return Transformed(names, bias=bias, extra=extra, transformer=transformer)


def _transformed(content: Mapping[str, Any], transformer: Any) -> Transformed:
    """The columns of a map that had a transformer."""
    if transformer is None:
        expected = "the map with its transformer: load(..., features=...)"
        raise InvalidInput.expected("features", expected, None)
    centre, scale = (
        None if content[key] is None else tuple(map(float, content[key]))
        for key in ("centre", "scale")
    )
    names, bias, extra = tuple(content["columns"]), content["bias"], content.get("extra", "refuse")
    return Transformed(names, bias, extra, centre, scale, transformer)


def _arm_names(arms: Any) -> tuple[str, ...]:
    """The names of arms, at least one."""
    if isinstance(arms, Mapping):
        raise InvalidInput.expected("arms", "a list of names", arms, hint="a product has a table")
    names = listed_names(arms, "arms")
    if not names:
        raise InvalidInput("arms", "at least one is needed")
    return names


def _table(arms: Any, where: str) -> tuple[tuple[str, ...], tuple[str, ...], Any]:
    """Names of arms, names of what describes them, and its values, of a dict of dicts."""
    if not isinstance(arms, Mapping) or not arms:
        hint = "such as {'red': {'price': 0.2}}"
        raise InvalidInput.expected(where, "a row for each arm", arms, hint=hint)
    names = listed_names(list(arms), where)
    places = [f"{where}[{name!r}]" for name in names]
    for name, place in zip(names, places, strict=True):
        if not isinstance(arms[name], Mapping) or not arms[name]:
            expected = "an object with a number for each column"
            raise InvalidInput.expected(place, expected, arms[name])
    columns = listed_names(list(arms[names[0]]), places[0])
    return names, columns, arm_values(list(arms.values()), columns, places)


def _arm_rows(arms: Any) -> tuple[Any, tuple[str, ...]]:
    """The rows (K, q) of what describes arms, and the names of its columns."""
    if is_frame(arms):
        names = tuple(frame_of(arms).columns)
        rows = list(rows_of(arms, Wanted(names)))
        return arm_values(rows, names, [f"arms[{k}]" for k in range(len(rows))]), names
    values = numeric(arms, "arms", "rows of numbers")
    if values.ndim != 2 or not np.isfinite(values).all():
        expected = "finite rows of numbers, one for each arm"
        raise InvalidInput.expected("arms", expected, values.shape)
    return values.tolist(), tuple(f"arm{i}" for i in range(values.shape[1]))
