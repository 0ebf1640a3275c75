"""What listed and open contexts hand to a learner: arms on offer, and decisions of the past."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Offer(NamedTuple):
    """The arms of a decision, as compiled code takes them.

    Attributes
    ----------
    place : the context; for open contexts the block of theta (n,) of each arm, or more of them
    rows : (n,) of the arms; for open contexts their features (n, w)
    names : of the arms, if others than their own or their numbers
    unknown : the column of each value that has a level which is not known
    """

    place: Any
    rows: Any
    names: tuple[str, ...] | None
    unknown: tuple[str, ...] = ()


class Call(NamedTuple):
    """A compiled function, and arguments as examples of their types, after the reference."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Past(NamedTuple):
    """Decisions that somebody else took.

    Attributes
    ----------
    function : the compiled function that learns from them
    played : arrays of the arms that were played, as that function takes them
    rewards : not checked yet
    decisions : how many
    unknown : the column of each value that has a level which is not known
    """

    function: Callable[..., Any]
    played: tuple[Any, ...]
    rewards: Any
    decisions: int
    unknown: tuple[str, ...] = ()
