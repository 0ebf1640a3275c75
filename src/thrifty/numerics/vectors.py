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
def identity(n: int) -> Floats:
    """A new identity matrix (n, n)."""
    out = zero_matrix(n, n)
    for i in range(n):
        out[i, i] = 1.0
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
    most = 0.0
    for j in range(values.size):
        most = max(most, values[j])
    return most


@kernel
def total(values: Floats) -> float:
    """The sum of values (n,), added from the first to the last."""
    sum_so_far = 0.0
    for j in range(values.size):
        sum_so_far += values[j]
    return sum_so_far


@kernel
def add_multiple(start: Floats, step: float, direction: Floats, out: Floats) -> None:
    """out (n,) = start + step direction."""
    for j in range(out.size):
        out[j] = start[j] + step * direction[j]


@kernel
def copy(values: Floats, out: Floats) -> None:
    """out (n,) = values."""
    for j in range(out.size):
        out[j] = values[j]


@compiled
def copy_range(indices: Ints, start: int, stop: int) -> Ints:
    """A copy of indices[start:stop]."""
    out = np.empty(stop - start, np.int64)
    for j in range(out.size):
        out[j] = indices[start + j]
    return out
