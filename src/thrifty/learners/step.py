"""One decision, one update, one cancellation, many observations in compiled code, each a single
call from Python.

A signal handler runs before or after such a call, never within it. `Progress` tells afterwards
whether the call was made.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from thrifty.compiler.compilation import compiled, kernel
from thrifty.compiler.records import Record, Records
from thrifty.numerics.arrays import Floats, Ints
from thrifty.policies.shared.ledger import record_choice, record_round
from thrifty.policies.shared.stubs import (
    Choice,
    choose,
    expect,
    learn,
    probability,
    value,
    withdraw,
)

LARGEST_FEATURE = 1e60  # products of features, and their sums, stay far from overflow
# row, label index, estimated gap, probability, exploration rounds that it counts for
Decided = tuple[int, int, float, float, int]


class Progress(Record):
    """How many calls were made, and what the last decision was."""

    decisions: int
    updates: int
    cancellations: int
    context: int
    row: int
    label: int
    gap: float
    probability: float
    explored: int  # by how much the decision has increased the number of exploration rounds


class Online(NamedTuple):
    """A policy in use."""

    state: Any  # of the policy
    progress: Records  # (1,) of Progress


@compiled
def decide(reference: Any, context: int, arms: Ints) -> Decided:
    """Choose one of the rows arms (n,), count it."""
    state, progress = reference.target.state, reference.target.progress
    explored = state.ledger.counters[0].explored
    choice = choose(state, context, arms)
    _report(state, progress, context, arms, choice, explored)
    record_choice(state.ledger, context, choice.row)
    expect(state, choice.row)
    last = progress[0]
    return choice.row, choice.label, last.gap, last.probability, last.explored


@compiled
def decide_open(reference: Any, blocks: Ints, features: Floats) -> Decided:
    """The same for open contexts: features (n, w) about blocks (n,) of theta.

    Row -1 if a feature is no usable number, or if there is no room for so many arms.
    """
    state, progress = reference.target.state, reference.target.progress
    rows, firsts, ledger = state.regression.rows, state.regression.firsts, state.ledger
    if features.shape[0] >= rows.shape[0]:  # the last row is for rewards
        return -1, 0, 0.0, 0.0, 0
    for n in range(features.shape[0]):
        for i in range(features.shape[1]):
            if not abs(features[n, i]) <= LARGEST_FEATURE:
                return -1, 0, 0.0, 0.0, 0
    for n in range(features.shape[0]):
        firsts[n] = blocks[n] * features.shape[1]
        for i in range(features.shape[1]):
            rows[n, i] = features[n, i]
    arms = np.arange(features.shape[0])
    explored = ledger.counters[0].explored
    choice = choose(state, 0, arms)
    _report(state, progress, 0, arms, choice, explored)
    record_round(ledger, 0)
    expect(state, choice.row)
    last = progress[0]
    return choice.row, choice.label, last.gap, last.probability, last.explored


@kernel
def _report(
    state: Any, progress: Records, context: int, arms: Ints, choice: Choice, explored: int
) -> None:
    """Write a decision down, before it is counted; explored: exploration rounds before it."""
    highest = -math.inf
    for n in range(arms.size):
        highest = max(highest, value(state, arms[n]))
    progress[0].context = context
    progress[0].row = choice.row
    progress[0].label = choice.label
    progress[0].gap = highest - value(state, choice.row)
    progress[0].probability = probability(state, context, arms, choice.row)
    progress[0].explored = state.ledger.counters[0].explored - explored
    progress[0].decisions += 1


@compiled
def update(reference: Any, row: int, label: int, reward: float) -> None:
    """Learn from the reward of a row that was chosen under a label."""
    learn(reference.target.state, row, label, reward)
    reference.target.progress[0].updates += 1


@compiled
def update_open(reference: Any, features: Floats, block: int, label: int, reward: float) -> None:
    """The same for an arm with features (w,) about a block of theta."""
    state = reference.target.state
    learn(state, _spare_row(state, features, block), label, reward)
    reference.target.progress[0].updates += 1


@compiled
def observe_listed(reference: Any, rows: Ints, rewards: Floats, label: int) -> None:
    """Learn from rewards (n,) of rows (n,) that were chosen elsewhere."""
    state = reference.target.state
    offsets = state.ledger.offsets
    for n in range(rows.size):
        context = np.searchsorted(offsets, rows[n], side="right") - 1
        record_choice(state.ledger, context, rows[n])
        expect(state, rows[n])
        learn(state, rows[n], label, rewards[n])


@compiled
def observe_open(
    reference: Any, features: Floats, blocks: Ints, rewards: Floats, label: int
) -> None:
    """The same for arms with features (n, w) about blocks (n,) of theta."""
    state = reference.target.state
    for n in range(rewards.size):
        record_round(state.ledger, 0)
        row = _spare_row(state, features[n], blocks[n])
        expect(state, row)
        learn(state, row, label, rewards[n])


@kernel
def _spare_row(state: Any, features: Floats, block: int) -> int:
    """Write features (w,) into the last row, which is never on offer."""
    rows = state.regression.rows
    last = rows.shape[0] - 1
    state.regression.firsts[last] = block * features.size
    for i in range(features.size):
        rows[last, i] = features[i]
    return last


@compiled
def undo(
    reference: Any,
    context: int,
    row: int,
    vector: int,
    explored: int,
    features: Floats,
    block: int,
) -> None:
    """Uncount a choice where it was counted; -1 where that was removed since.

    The arm has features (w,) about a block of theta; -1 if that was removed, too.
    """
    state = reference.target.state
    ledger = state.ledger
    if block >= 0:
        withdraw(state, features, block * features.size)
    if vector >= 0:
        ledger.played[vector] -= 1
    if row >= 0:
        ledger.chosen[row] -= 1
    if context >= 0:
        ledger.visits[context] -= 1
    ledger.counters[0].rounds -= 1
    ledger.counters[0].explored -= explored
    reference.target.progress[0].cancellations += 1
