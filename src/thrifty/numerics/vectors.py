"""Operations on vectors as plain loops, which compile faster than NumPy expressions."""

import numpy as np

from thrifty.compiler.compilation import compiled, kernel
from thrifty.numerics.arrays import Bools, Floats, Ints


@compiled
def zeros(n: int) -> Floats:
    """A new vector (n,) of zeros."""
    out = np.empty(n)
    fill(out, 0.0)
    return out


@compiled
def zero_matrix(n: int, m: int) -> Floats:
    """A new matrix (n, m) of zeros."""
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = 0.0
    return out


@compiled
def flags_above(values: Floats, threshold: float) -> Bools:
    """Whether each of values (n,) is above threshold."""
    out = np.empty(values.size, np.bool_)
    for j in range(values.size):
        out[j] = values[j] > threshold
    return out


@compiled
def indices_where(flags: Bools) -> Ints:
    """The indices of the flags (n,) that are set, ascending."""
    count = 0
    for j in range(flags.size):
        count += flags[j]
    out = np.empty(count, np.int64)
    count = 0
    for j in range(flags.size):
        if flags[j]:
            out[count] = j
            count += 1
    return out


@compiled
def gather(values: Floats, indices: Ints) -> Floats:
    """values (n,) at the indices."""
    out = np.empty(indices.size)
    for j in range(indices.size):
        out[j] = values[indices[j]]
    return out


@compiled
def scatter(few: Floats, indices: Ints, values: Floats) -> None:
    """Write few to values (n,) at the indices, and 0 elsewhere."""
    fill(values, 0.0)
    for j in range(indices.size):
        values[indices[j]] = few[j]


@kernel
def fill(values: Floats, value: float) -> None:
    """Set all of values (n,) to value."""
    for j in range(values.size):
        values[j] = value


@kernel
def largest(values: Floats) -> float:
    """The largest of values (n,), or 0 if that is larger."""
    found = 0.0
    for j in range(values.size):
        found = max(found, values[j])
    return found


@kernel
def total(values: Floats) -> float:
    """The sum of values (n,), added from the first to the last."""
    found = 0.0
    for j in range(values.size):
        found += values[j]
    return found


@compiled
def copy_range(indices: Ints, start: int, stop: int) -> Ints:
    """A copy of indices[start:stop]."""
    out = np.empty(stop - start, np.int64)
    for j in range(out.size):
        out[j] = indices[start + j]
    return out
