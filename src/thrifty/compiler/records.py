"""Records: numbers that change in place and have names, in Python and in compiled code.

class Counters(Record):
    rounds: int
    solves: int

counters = Counters.new()          # a structured array of one element
counters[0].rounds += 1            # reads and writes by name
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Records = NDArray[np.record]


class Record:
    """Base of record definitions: annotated fields of type int, float or bool."""

    @classmethod
    def new(cls, **values: float) -> Records:
        """An array of one record; fields that are not given are 0."""
        array: Any = np.zeros(1, dtype=cls.dtype())
        for name, value in values.items():
            array[name] = value
        return array

    @classmethod
    @cache
    def dtype(cls) -> np.dtype[np.record]:
        """The structured type; int is int64, float is float64."""
        for name in cls.__annotations__:
            if hasattr(np.record, name):  # NumPy would return its own attribute instead
                raise TypeError(f"{cls.__name__}.{name}: NumPy uses this name, choose another")
        fields = np.dtype(list(cls.__annotations__.items()), align=True)
        dtype: Any = np.dtype((np.record, fields))
        return dtype
