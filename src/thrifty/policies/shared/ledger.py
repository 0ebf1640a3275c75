"""The ledger: counts and random draws that every policy's state begins with."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.compiler.compilation import kernel
from thrifty.compiler.records import Record, Records
from thrifty.numerics.arrays import FixedInts, Ints, RowInts, WorkSpace
from thrifty.problem.action_sets import ActionSets


class Counters(Record):
    """Counts over all rounds so far."""

    rounds: int  # t - 1 while a policy chooses in round t
    explored: int  # exploration rounds, as the policy defines them: s in the paper
    solves: int  # of the allocation program
    unsolved: int  # solves that missed their tolerance


class Ledger(NamedTuple):
    """What every policy knows; `record_choice` keeps it up to date."""

    # (M + 1,) context m owns rows offsets[m] to offsets[m + 1] - 1; an open context owns none
    offsets: FixedInts
    vector_ids: FixedInts  # (k,) the same number for equal vectors
    played: RowInts  # (v,) choices of each vector, rewarded or not: N_x in the paper
    chosen: RowInts  # (k,) choices of each row
    visits: Ints  # (M,) rounds in each context: N(m)
    counters: Records  # (1,) of Counters
    normals: WorkSpace  # standard normal draws for this round
    uniforms: WorkSpace  # uniform draws for this round


def start_ledger(sets: ActionSets, *, normals: int = 0, uniforms: int = 0) -> Ledger:
    """A ledger before the first round, with so many random draws in each round."""
    return Ledger(
        offsets=sets.offsets.copy(),
        vector_ids=sets.vector_ids.copy(),
        played=np.zeros(len(sets.vectors), dtype=np.int64),
        chosen=np.zeros(len(sets.rows), dtype=np.int64),
        visits=np.zeros(sets.contexts, dtype=np.int64),
        counters=Counters.new(),
        normals=np.zeros(normals),
        uniforms=np.zeros(uniforms),
    )


@kernel
def record_choice(ledger: Ledger, context: int, row: int) -> None:
    """Count a choice, before its reward is known."""
    ledger.played[ledger.vector_ids[row]] += 1
    ledger.chosen[row] += 1
    record_round(ledger, context)


@kernel
def record_round(ledger: Ledger, context: int) -> None:
    """Count a round, whatever was chosen."""
    ledger.visits[context] += 1
    ledger.counters[0].rounds += 1


@kernel
def is_whole_set(ledger: Ledger, context: int, arms: Ints) -> bool:
    """Whether rows arms (n,), n > 0, of a context are all that it owns: never if it is open.

    Only what was computed for all rows of a listed context can be used again: the rows of an offer
    have other features the next time, however many they are.
    """
    return arms.size == ledger.offsets[context + 1] - ledger.offsets[context]


@kernel
def discounted_rounds(ledger: Ledger, kept: float) -> float:
    """t - 1 while a policy chooses in round t; with a memory, rounds count as rewards do."""
    rounds = float(ledger.counters[0].rounds)
    return rounds if kept == 1.0 else (1.0 - kept**rounds) / (1.0 - kept)


@dataclass(frozen=True)
class Renumbering:
    """New indices of rows, vectors and contexts after action sets have changed; -1 where removed.

    Attributes
    ----------
    rows : (k old,) the row with the same context, name and vector
    regression_rows : (k old,) that row, or else another with the same vector
    vectors : (v old,)
    contexts : (M old,)
    """

    rows: Ints
    regression_rows: Ints
    vectors: Ints
    contexts: Ints


def carry_ledger(old: Ledger, new: Ledger, renumbering: Renumbering) -> None:
    """Copy counts to the ledger of new action sets."""
    new.counters[:] = old.counters
    carry_entries(old.played, new.played, renumbering.vectors)
    carry_entries(old.chosen, new.chosen, renumbering.rows)
    carry_entries(old.visits, new.visits, renumbering.contexts)


def carry_entries(old: NDArray[Any], new: NDArray[Any], where: Ints) -> None:
    """Add old entries to the new ones at other indices; those with the index -1 are dropped."""
    np.add.at(new, where[where >= 0], old[where >= 0])
