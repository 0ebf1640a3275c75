"""One decision, one update, one cancellation in compiled code, each a single call from Python.

A signal handler runs before or after such a call, never within it. `Progress` tells afterwards
whether the call was made.
"""

import math
from typing import Any, NamedTuple

from thrifty.numerics.arrays import Ints
from thrifty.numerics.compilation import compiled
from thrifty.numerics.records import Record, Records
from thrifty.policies.shared.ledger import record_choice
from thrifty.policies.shared.stubs import choose, learn, value


class Progress(Record):
    """How many calls were made, and what the last decision was."""

    decisions: int
    updates: int
    cancellations: int
    context: int
    row: int
    label: int
    gap: float


class Online(NamedTuple):
    """A policy in use."""

    state: Any  # of the policy
    progress: Records  # (1,) of Progress


@compiled
def decide(reference: Any, context: int, arms: Ints) -> tuple[int, int, float]:
    """Choose one of the rows arms (n,), count the choice; row, label index and estimated gap."""
    state, progress = reference.target.state, reference.target.progress
    choice = choose(state, context, arms)
    record_choice(state.ledger, context, choice.row)
    highest = -math.inf
    for n in range(arms.size):
        highest = max(highest, value(state, arms[n]))
    gap = highest - value(state, choice.row)
    progress[0].context = context
    progress[0].row = choice.row
    progress[0].label = choice.label
    progress[0].gap = gap
    progress[0].decisions += 1
    return choice.row, choice.label, gap


@compiled
def update(reference: Any, row: int, label: int, reward: float) -> None:
    """Learn from the reward of a row that was chosen under a label."""
    learn(reference.target.state, row, label, reward)
    reference.target.progress[0].updates += 1


@compiled
def undo(reference: Any, context: int, row: int, vector: int) -> None:
    """Uncount a choice where it was counted; -1 where that was removed since."""
    ledger = reference.target.state.ledger
    if vector >= 0:
        ledger.played[vector] -= 1
    if row >= 0:
        ledger.chosen[row] -= 1
    if context >= 0:
        ledger.visits[context] -= 1
    ledger.counters[0].rounds -= 1
    reference.target.progress[0].cancellations += 1
