"""Data frames as features: any object with `columns` and `to_numpy`, such as those of pandas."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Floats, numeric


def columns_of(frame: Any) -> tuple[str, ...] | None:
    """The column names of a data frame; None for anything else."""
    if hasattr(frame, "columns") and hasattr(frame, "to_numpy"):
        return tuple(str(name) for name in frame.columns)
    return None


def numbers_of(frame: Any, columns: Sequence[str] | None, where: str) -> Floats:
    """The columns of a data frame (n, d) in the order of `columns`; all must be there, no other."""
    found = columns_of(frame) or ()
    if len(set(found)) < len(found):
        raise InvalidInput(where, "columns with distinct names", list(found))
    if columns is None:
        expected = "learner(columns=[...]) for a data frame, so that columns can be checked"
        raise InvalidInput(where, expected, list(found))
    missing = [name for name in columns if name not in found]
    unknown = [name for name in found if name not in columns]
    if missing or unknown:
        problems = [f"missing {', '.join(missing)}"] if missing else []
        problems += [f"unknown {', '.join(unknown)}"] if unknown else []
        raise InvalidInput(where, f"the columns {', '.join(columns)}", "; ".join(problems))
    order = [found.index(name) for name in columns]
    values = numeric(frame.to_numpy(), where, "columns of numbers")
    return np.ascontiguousarray(values[:, order])
