"""Theta and its changes, checked: after which rounds it becomes another one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Floats, finite_number, finite_numbers

LATEST = 10**12  # round of a change; no replication is longer


class Change(NamedTuple):
    """A change of theta after a round; rounds are counted from 1."""

    round: int  # the last with the theta before
    theta: Floats  # (d,) from round + 1 on


def checked_changes(changes: Any, dimension: int) -> tuple[Change, ...]:
    """Pairs of a round and a theta (d,) as changes, their rounds increasing."""
    if isinstance(changes, str) or not isinstance(changes, Sequence | np.ndarray):
        raise InvalidInput.expected("changes", "a list of (round, theta)", changes)
    checked: list[Change] = []
    for i, pair in enumerate(changes):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise InvalidInput.expected(f"changes[{i}]", "a round and a theta", pair)
        earliest = checked[-1].round + 1 if checked else 1
        checked.append(
            Change(
                _round(pair[0], earliest, f"changes[{i}].round"),
                checked_theta(pair[1], dimension, f"changes[{i}].theta"),
            )
        )
    return tuple(checked)


def _round(value: Any, earliest: int, where: str) -> int:
    number = finite_number(value, where)
    if not earliest <= number <= LATEST or number != int(number):
        expected = f"a whole number from {earliest} to {LATEST:g} (rounds increase)"
        raise InvalidInput.expected(where, expected, value)
    return int(number)


def checked_theta(values: ArrayLike, dimension: int, where: str) -> Floats:
    """A finite theta (d,) that nobody can write to."""
    theta = finite_numbers(values, where)
    if len(theta) != dimension:
        expected = f"{dimension} numbers (arms have {dimension})"
        raise InvalidInput.expected(where, expected, len(theta))
    theta.setflags(write=False)
    return theta
