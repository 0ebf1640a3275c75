"""Array types of signatures, and the checks that turn user input into them."""

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import InvalidInput

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# What a field of a policy's state holds, where its type does not say it: whether it lasts
# (learners/lasting.py), and how it is checked when it is read from a file.
UNSAVED, OF_ROWS, ROW_INDICES, OF_THETA = "unsaved", "of rows", "row indices", "of theta"
FixedFloats = Annotated[Floats, UNSAVED]  # follows from the action sets
FixedInts = Annotated[Ints, UNSAVED]
FixedBools = Annotated[Bools, UNSAVED]
WorkSpace = Annotated[Floats, UNSAVED]  # written before it is read
# What is known of rows. It lasts where contexts are listed. Where they are open, rows are those of
# one decision, and so is this: work space, neither saved nor carried over.
RowFloats = Annotated[Floats, OF_ROWS]
RowInts = Annotated[Ints, OF_ROWS]
RowBools = Annotated[Bools, OF_ROWS]
Rows = Annotated[Ints, ROW_INDICES]  # the same, of indices of rows
# (d, ...) about the entries of theta; it lasts. Blocks of it go where arms of a feature map go.
ThetaFloats = Annotated[Floats, OF_THETA]

RANGE = 1e-120  # least ratio of two sizes, or of a size to 1; others could overflow when squared


def numeric(values: ArrayLike, where: str, expected: str) -> Floats:
    """Values as a contiguous float array of any shape; where and expected go into the error."""
    parts = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise InvalidInput(where, "has masked values, which would be read: fill or drop them")
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf":
        raise InvalidInput.expected(where, expected, values)
    return np.asarray(array, dtype=np.float64, order="C")


def finite_numbers(values: ArrayLike, where: str) -> Floats:
    """Values as a new float array (n,), n > 0, without NaN or infinity."""
    vector = numeric(values, where, "a list of numbers")
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidInput.expected(where, "a list of numbers", values)
    if not np.isfinite(vector).all():
        i = int(np.isfinite(vector).argmin())
        raise InvalidInput.expected(f"{where}[{i}]", "a finite number", float(vector[i]))
    return vector + 0.0  # -0.0 + 0.0 is 0.0: equal numbers have equal bits


def positive_number(value: float, where: str, *, below: float = np.inf) -> float:
    """Check that value is a number between 0 and below, both excluded."""
    if not _is_number(value) or not 0 < value < below:
        expected = "a positive number" if below == np.inf else f"a number between 0 and {below:g}"
        raise InvalidInput.expected(where, expected, value)
    return _as_float(value, where)


def finite_number(value: float, where: str) -> float:
    """Check that value is a number, not NaN and not infinite."""
    if not _is_number(value) or not abs(value) < np.inf:
        raise InvalidInput.expected(where, "a finite number", value)
    return _as_float(value, where)


def check_range(sizes: Floats, where: str, what: str) -> None:
    """Refuse sizes (n,) whose squares or quotients could overflow or underflow; 0 is allowed."""
    largest = sizes.max()
    for i in np.flatnonzero((sizes < RANGE * largest) & (sizes > 0)):
        expected = f"{what} of at least {RANGE:g} of the largest"
        raise InvalidInput.expected(f"{where}[{i}]", expected, float(sizes[i]))
    if largest > 0 and not RANGE < largest < 1 / RANGE:
        expected = f"sizes between {RANGE:g} and {1 / RANGE:g}"
        raise InvalidInput.expected(where, expected, float(largest))


def noise_level(value: float) -> float:
    """Check a standard deviation of rewards."""
    noise = positive_number(value, "noise")
    if not RANGE < noise < 1 / RANGE:
        raise InvalidInput.expected("noise", f"a number between {RANGE:g} and {1 / RANGE:g}", noise)
    return noise


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _as_float(value: float, where: str) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        raise InvalidInput.expected(where, "a number", value) from None
