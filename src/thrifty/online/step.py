"""One decision and one update in compiled code, on a reference to a policy's state."""

import math
from typing import Any

from thrifty.numerics.arrays import Ints
from thrifty.numerics.compilation import compiled
from thrifty.policies.shared.ledger import record_choice
from thrifty.policies.shared.stubs import choose, learn, value


@compiled
def decide(reference: Any, context: int, arms: Ints) -> tuple[int, int, float]:
    """Choose one of the rows arms (n,), count the choice; row, label index and estimated gap."""
    state = reference.target
    choice = choose(state, context, arms)
    record_choice(state.ledger, context, choice.row)
    highest = -math.inf
    for n in range(arms.size):
        highest = max(highest, value(state, arms[n]))
    return choice.row, choice.label, highest - value(state, choice.row)


@compiled
def update(reference: Any, row: int, label: int, reward: float) -> None:
    """Learn from the reward of a row that was chosen under a label."""
    learn(reference.target, row, label, reward)
