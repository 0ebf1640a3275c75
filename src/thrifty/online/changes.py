"""Changes of a learner's action sets: the new sets, and where rows, vectors and contexts go."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Floats, finite_numbers
from thrifty.policies.shared.ledger import Renumbering
from thrifty.problem.action_sets import ActionSets


def with_arm(sets: ActionSets, m: int, features: ArrayLike, name: str | None) -> ActionSets:
    """The sets with one more arm in context m."""
    arms, names = _parts(sets)
    row = finite_numbers(features, "features")
    if row.size != sets.dimension:
        place = f"contexts[{m}].arms"
        expected = f"{sets.dimension} numbers (as in {place}[0])"
        raise InvalidInput(f"{place}[{len(arms[m])}]", expected, row.size)
    arms[m] = np.vstack([arms[m], row])
    names[m] = (*names[m], _unused(names[m]) if name is None else name)
    return ActionSets(arms, context_names=sets.context_names, arm_names=names)


def without_arm(sets: ActionSets, m: int, arm: int) -> ActionSets:
    """The sets without an arm of context m."""
    arms, names = _parts(sets)
    arms[m] = np.delete(arms[m], arm, axis=0)
    names[m] = names[m][:arm] + names[m][arm + 1 :]
    return ActionSets(arms, context_names=sets.context_names, arm_names=names)


def with_context(
    sets: ActionSets, name: str | None, arms: ArrayLike, arm_names: Sequence[str] | None
) -> ActionSets:
    """The sets with one more context."""
    new = ActionSets([arms], arm_names=None if arm_names is None else [arm_names])
    before, names = _parts(sets)
    return ActionSets(
        [*before, new.rows],
        context_names=[*sets.context_names, _unused(sets.context_names) if name is None else name],
        arm_names=[*names, *new.arm_names],
    )


def without_context(sets: ActionSets, m: int) -> ActionSets:
    """The sets without context m."""
    arms, names = _parts(sets)
    del arms[m], names[m]
    context_names = [name for i, name in enumerate(sets.context_names) if i != m]
    return ActionSets(arms, context_names=context_names, arm_names=names)


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
    names = [
        (context, arm)
        for context, arms in zip(sets.context_names, sets.arm_names, strict=True)
        for arm in arms
    ]
    return [
        (context, arm, vector.tobytes())
        for (context, arm), vector in zip(names, sets.rows, strict=True)
    ]
