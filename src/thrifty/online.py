"""One decision at a time in compiled code, on a handle of a policy's state."""

import math
from typing import Any

from thrifty.arrays import Ints
from thrifty.handles import Compiled
from thrifty.policies.base import choose, learn, record, value


def _decide(handle: Any, context: int, arms: Ints) -> tuple[int, int, float]:
    """Choose, count the choice, and estimate its gap."""
    state = handle.held
    choice = choose(state, context, arms)
    record(state.ledger, context, choice.row)
    best = -math.inf
    for n in range(arms.size):
        best = max(best, value(state, arms[n]))
    return choice.row, choice.label, best - value(state, choice.row)


def _update(handle: Any, row: int, label: int, reward: float) -> None:
    learn(handle.held, row, label, reward)


decide, update = Compiled(_decide), Compiled(_update)
