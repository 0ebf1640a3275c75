"""Fields of a policy's dataclass: the default of a parameter, and what it may be."""

import math
from dataclasses import field
from functools import partial
from typing import Any

from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import RANGE, finite_number

MOST = 1e12  # of a number without a limit of its own: products of several stay far from overflow
MOST_ROUNDS = 1e100  # to plan for: only the logarithm is used


def number(
    default: float | None,
    *,
    at_least: float | None = None,
    above: float | None = None,
    below: float = math.inf,
    at_most: float = MOST,
    or_word: str = "",
) -> Any:
    """A parameter that is a number within bounds, or a word; None only where it is the default."""

    def check(value: Any, where: str) -> None:
        if or_word and isinstance(value, str):
            _check_word((or_word,), value, where)
            return
        checked = finite_number(value, where)
        if at_least is not None and checked < at_least:
            raise InvalidInput.expected(where, f"a number of at least {at_least:g}", checked)
        if above is not None and not above < checked < below:
            bounds = f"above {above:g}" if below == math.inf else f"between {above:g} and {below:g}"
            raise InvalidInput.expected(where, f"a number {bounds}", checked)
        if checked > at_most:
            raise InvalidInput.expected(where, f"a number of at most {at_most:g}", checked)

    return field(default=default, metadata={"check": check})


def word(*words: str) -> Any:
    """A parameter that is one of some words; the first is the default."""
    return field(default=words[0], metadata={"check": partial(_check_word, words)})


# shared by several policies: see Policy
ridge = partial(number, None, above=RANGE**2, at_most=RANGE**-2)  # as the squares of a noise
forgetting = partial(number, None, above=1)
horizon = partial(number, None, at_least=1, at_most=MOST_ROUNDS)


def _check_word(words: tuple[str, ...], value: Any, where: str) -> None:
    if value not in words:
        raise InvalidInput.expected(where, " or ".join(words), value)
