"""What of a policy's state lasts: it is saved, and carried over where a learner gets another state.

The rest follows from the policy and its arms, or is work space. Nothing but the declared kind of a
field decides it (numerics/arrays.py): its shape would not tell what a policy has learned from what
it found out about the arms of one decision.
"""

from functools import cache
from typing import Any, NamedTuple, cast, get_type_hints

import numpy as np

from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import OF_ROWS, OF_THETA, ROW_INDICES, UNSAVED, Ints

PART = "part"  # a named tuple of fields


class Field(NamedTuple):
    """A field of a state that lasts."""

    name: str
    value: Any  # an array, records, or a named tuple
    kind: str | None  # PART, ROW_INDICES, OF_ROWS, OF_THETA or None


def lasting_fields(state: Any, *, opened: bool) -> list[Field]:
    """The fields of a state that last; opened: whether contexts are open, where no row lasts."""
    left_out = {UNSAVED, OF_ROWS, ROW_INDICES} if opened else {UNSAVED}
    fields, kinds = [], _kinds(cast(Any, type(state)))
    for name, value in zip(state._fields, state, strict=True):
        kind = PART if hasattr(value, "_fields") else kinds.get(name)
        if kind == PART or (isinstance(value, np.ndarray) and kind not in left_out):
            fields.append(Field(name, value, kind))
    return fields


def copy_lasting(old: Any, new: Any, origins: Ints | None = None, where: str = "state") -> None:
    """Carry over what lasts, where contexts are open, to a state of the same policy.

    origins (blocks,): for each block of theta the one that it was, -1 for a new one, which stays as
    it is; by default all are the same.
    """
    pairs = zip(lasting_fields(old, opened=True), lasting_fields(new, opened=True), strict=True)
    for (name, before, kind), (_, after, _) in pairs:
        place = f"{where}.{name}"
        if kind == PART:
            copy_lasting(before, after, origins, place)
            continue
        if kind == OF_THETA and origins is not None:
            width = len(after) // len(origins)
            blocks = after.reshape(len(origins), width, *after.shape[1:])
            known = origins >= 0
            blocks[known] = before.reshape(-1, width, *before.shape[1:])[origins[known]]
            continue
        if before.shape != after.shape:
            advice = "declare what is about the arms on offer as RowFloats, RowInts or RowBools"
            advice += ", and what is about entries of theta as ThetaFloats"
            message = f"the shape {before.shape} became {after.shape}: {advice}"
            raise InvalidInput(place, message)
        after[...] = before


@cache
def _kinds(state_type: Any) -> dict[str, str]:
    """What the annotations of a state's fields say about them."""
    hints = get_type_hints(state_type, include_extras=True)
    return {
        name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")
    }
