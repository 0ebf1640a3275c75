"""Records: named numbers, the same in Python and in compiled code."""

import numpy as np
import pytest

from thrifty.compiler.compilation import compiled
from thrifty.compiler.records import Record


class Meter(Record):
    """A flag, a count and a number."""

    on: bool
    count: int
    level: float


@compiled
def _turn(meters):
    meters[0].on = not meters[0].on
    meters[0].count += 2
    meters[0].level = meters[0].count / 4


def test_python_and_compiled_code_read_and_write_the_same_fields():
    meters = Meter.new(count=3)
    assert meters.shape == (1,)
    assert (meters[0].on, meters[0].count, meters[0].level) == (False, 3, 0.0)
    _turn(meters)
    assert (meters[0].on, meters[0].count, meters[0].level) == (True, 5, 1.25)
    meters[0].count = 2**40
    _turn(meters)
    assert meters[0].count == 2**40 + 2
    assert meters["count"].dtype == np.int64


def test_a_field_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match="no field of name size"):
        Meter.new(size=1)


def test_names_that_numpy_uses_are_refused():
    class Bad(Record):
        """`round` is a method of NumPy's scalars."""

        round: float

    with pytest.raises(TypeError, match=r"Bad.round: NumPy uses this name, choose another"):
        Bad.new()
