"""One decision at a time in compiled code.

A state is a named tuple of many arrays, and passing it from Python takes a microsecond for every few of them. A handle is the same state, held by
compiled code: it passes as one pointer.
"""

import math
from typing import Any, NamedTuple

import numba
from numba import types
from numba.experimental import structref

from thrifty.arrays import Ints
from thrifty.compilation import COMPILED, compiled
from thrifty.policies.base import choose, learn, record, value


@structref.register
class _HandleType(types.StructRef):
    """A state that compiled code holds: passing the named tuple itself would take a microsecond for every few arrays, in every call."""

    def preprocess_fields(self, fields: Any) -> Any:
        return tuple((name, types.unliteral(kind)) for name, kind in fields)  # type: ignore[no-untyped-call]  # Numba has no type hints here


class _Handle(structref.StructRefProxy):
    pass


_define: Any = structref.define_proxy
_define(_Handle, _HandleType, ["state"])


def _hold(state: Any) -> Any:
    return _Handle(state)  # type: ignore[no-untyped-call]  # Numba has no type hints here


def _decide(handle: Any, context: int, arms: Ints) -> tuple[int, int, float]:
    """Choose, count the choice, and estimate its gap."""
    state = handle.state
    choice = choose(state, context, arms)
    record(state.ledger, context, choice.row)
    best = -math.inf
    for n in range(arms.size):
        best = max(best, value(state, arms[n]))
    return choice.row, choice.label, best - value(state, choice.row)


def _update(handle: Any, row: int, label: int, reward: float) -> None:
    learn(handle.state, row, label, reward)


class Calls(NamedTuple):
    """The three compiled functions for one kind of state."""

    hold: Any
    decide: Any
    update: Any


_CACHED = Calls(compiled(_hold), compiled(_decide), compiled(_update))
_FRESH = Calls(*(numba.njit(**COMPILED)(function) for function in (_hold, _decide, _update)))


def calls_for(state: Any) -> Calls:
    """What to call for a state; compiled anew in each process if its policy is none of ours, for the cache would not notice that its source has changed."""
    return _CACHED if type(state).__module__.startswith("thrifty.") else _FRESH
