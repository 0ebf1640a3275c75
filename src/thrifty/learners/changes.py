"""Changes of a learner's arms: the new action sets, and where rows, vectors and contexts go; of
feature maps, where blocks of theta go.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thrifty.errors import NOTHING, InvalidInput
from thrifty.learners.maps import DisjointMap, FeatureMap
from thrifty.numerics.arrays import Floats, Ints, finite_numbers
from thrifty.policies.shared.ledger import Renumbering
from thrifty.problem.action_sets import ActionSets
from thrifty.problem.frames import arm_table, columns_of, in_order


def with_arm(sets: ActionSets, m: int, features: Any, name: str | None) -> ActionSets:
    """The sets with one more arm in context m; with one for each row of a data frame."""
    arms, names = _parts(sets)
    rows, new_names = _new_rows(sets, features)
    if name is not None and len(rows) > 1:
        raise InvalidInput.expected("name", f"none: the index names the {len(rows)} rows", name)
    for row in rows:
        if row.size != sets.dimension:
            expected = f"{sets.dimension} numbers (as in contexts[{m}].arms[0])"
            raise InvalidInput.expected(f"contexts[{m}].arms[{len(arms[m])}]", expected, row.size)
    arms[m] = np.vstack([arms[m], *rows])
    for new in new_names if name is None else [name]:
        names[m] = (*names[m], _unused(names[m]) if new is None else new)
    return _changed(sets, arms, sets.context_names, names)


def _new_rows(sets: ActionSets, features: Any) -> tuple[list[Floats], Sequence[str | None]]:
    """Features (d,) of each new arm, and their names where a data frame has some."""
    table = arm_table(features)
    if table is None:
        return [finite_numbers(features, "features")], [None]
    values = table.values
    if len(values) == 0:
        raise InvalidInput.expected("features", "at least one row", NOTHING)
    if sets.columns is not None:
        values = in_order(values, table.columns, sets.columns, "features")
    places = [f"features[{i}]" for i in range(len(values))] if len(values) > 1 else ["features"]
    rows = [finite_numbers(row, place) for row, place in zip(values, places, strict=True)]
    return rows, table.names or [None] * len(rows)


def without_arm(sets: ActionSets, m: int, arm: int) -> ActionSets:
    """The sets without an arm of context m."""
    arms, names = _parts(sets)
    arms[m] = np.delete(arms[m], arm, axis=0)
    names[m] = names[m][:arm] + names[m][arm + 1 :]
    return _changed(sets, arms, sets.context_names, names)


def with_context(
    sets: ActionSets, name: str | None, arms: ArrayLike, arm_names: Sequence[str] | None
) -> ActionSets:
    """The sets with one more context."""
    columns = None if columns_of(arms) is None else sets.columns
    new = ActionSets([arms], arm_names=[arm_names], columns=columns)
    before, names = _parts(sets)
    context_names = [*sets.context_names, _unused(sets.context_names) if name is None else name]
    return _changed(sets, [*before, new.rows], context_names, [*names, *new.arm_names])


def without_context(sets: ActionSets, m: int) -> ActionSets:
    """The sets without context m."""
    arms, names = _parts(sets)
    del arms[m], names[m]
    context_names = [name for i, name in enumerate(sets.context_names) if i != m]
    return _changed(sets, arms, context_names, names)


def renumber(old: ActionSets, new: ActionSets) -> Renumbering:
    """New indices of contexts, rows and vectors."""
    contexts = {name: m for m, name in enumerate(new.context_names)}
    vectors = {vector.tobytes(): i for i, vector in enumerate(new.vectors)}
    keys = {key: row for row, key in enumerate(_row_keys(new))}
    first_row = {vector.tobytes(): row for row, vector in reversed(list(enumerate(new.rows)))}
    rows = np.array([keys.get(key, -1) for key in _row_keys(old)])
    elsewhere = np.array([first_row.get(vector.tobytes(), -1) for vector in old.rows])
    return Renumbering(
        rows=rows,
        regression_rows=np.where(rows >= 0, rows, elsewhere),
        vectors=np.array([vectors.get(vector.tobytes(), -1) for vector in old.vectors]),
        contexts=np.array([contexts.get(name, -1) for name in old.context_names]),
    )


def block_origins(old: FeatureMap, new: FeatureMap) -> Ints | None:
    """For each block of theta of a new map the one that it was, -1 for a new one.

    None where theta stays as it is.
    """
    if not isinstance(new, DisjointMap):
        return None
    places = {name: block for block, name in enumerate(old.arms)}
    return np.array([places.get(name, -1) for name in new.arms], np.int64)


def _changed(
    sets: ActionSets, arms: list[Floats], contexts: Sequence[str], names: list[tuple[str, ...]]
) -> ActionSets:
    """Other arms and contexts with the columns of the sets before."""
    return ActionSets(arms, context_names=contexts, arm_names=names, columns=sets.columns)


def _parts(sets: ActionSets) -> tuple[list[Floats], list[tuple[str, ...]]]:
    """The arms (K_m, d) of each context, and their names."""
    return sets.split(sets.rows), list(sets.arm_names)


def _unused(names: Sequence[str]) -> str:
    """The first number from len(names) on that is not a name."""
    number, used = len(names), set(names)
    while str(number) in used:
        number += 1
    return str(number)


def _row_keys(sets: ActionSets) -> list[tuple[str, str, bytes]]:
    contexts, arms = sets.named_rows().values()
    return list(zip(contexts, arms, (vector.tobytes() for vector in sets.rows), strict=True))
