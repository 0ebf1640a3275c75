"""OSSB: optimal sampling for structured bandits (Combes, Magureanu and Proutiere 2017), for the
linear structure.

Its gaps come from the empirical mean of each arm, never from least squares: the linear structure
enters the allocation only. That is its weakness when there are many arms.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thrifty.actions import ActionSets
from thrifty.arrays import Floats, Ints
from thrifty.compilation import kernel
from thrifty.policies.base import (
    EXPLORED,
    ROUNDS,
    Choice,
    Ledger,
    Moves,
    Policy,
    choose,
    implements,
    learn,
    start_ledger,
    value,
)
from thrifty.policies.moves import least_played_arm
from thrifty.policies.plan import Plan, estimate_gaps, solve_plan, start_plan

INIT, EXPLOIT, FORCED, MATCHED = range(4)
UNKNOWN, STALE = range(2)  # entries of State.flags


@dataclass(frozen=True, kw_only=True)
class OSSB(Policy):
    """Play every arm once; then exploit if N_x >= (1 + gamma) alpha_x log t for all suboptimal x,
    else explore what lags behind alpha.

    Parameters
    ----------
    epsilon : share of exploration rounds in which the least played arm is forced
    gamma : how much more than the allocation asks for is played
    zeta : the program is solved again when the pulls of some arm have grown by a factor of 1 + zeta
    """

    epsilon: float = 0.0
    gamma: float = 0.0
    zeta: float = 0.1

    name: ClassVar[str] = "ossb"
    labels: ClassVar[tuple[str, ...]] = ("init", "exploit", "forced", "matched")

    def __post_init__(self) -> None:
        self._at_least(0, "epsilon", "gamma", "zeta")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        vectors = len(sets.vectors)
        return State(
            start_ledger(sets),
            start_plan(sets.rows),
            rows=np.array(sets.rows),
            pulls=np.zeros(vectors),
            sums=np.zeros(vectors),
            means=np.zeros(len(sets.rows)),
            solved_pulls=np.zeros(vectors),
            flags=np.array([vectors, 1]),
            noise=noise,
            epsilon=float(self.epsilon),
            surplus=1.0 + self.gamma,
            growth=1.0 + self.zeta,
        )

    def estimates(self, state: "State", rows: Floats) -> tuple[Floats, Floats]:
        ids = state.ledger.vector_ids
        pulls = state.pulls[ids]
        return state.sums[ids] / pulls.clip(1), np.where(
            pulls > 0, 1.0 / np.sqrt(pulls.clip(1)), np.inf
        )

    def targets(self, state: "State") -> Floats:
        return state.plan.pulls * (1.0 + self.gamma) * math.log(state.ledger.clock[ROUNDS] + 1.0)

    def carry(self, old: "State", new: "State", moves: Moves) -> None:
        super().carry(old, new, moves)
        kept = moves.vectors >= 0
        new.pulls[moves.vectors[kept]] = old.pulls[kept]
        new.sums[moves.vectors[kept]] = old.sums[kept]
        new.flags[UNKNOWN] = (new.pulls == 0).sum()


class State(NamedTuple):
    """What OSSB remembers."""

    ledger: Ledger
    plan: Plan
    rows: Floats  # (k, d)
    pulls: Floats  # (v,) rewards seen of each vector
    sums: Floats  # (v,) of these rewards
    means: Floats  # (k,) their empirical means
    solved_pulls: Floats  # (v,) pulls at the last solve
    flags: Ints  # (2,) vectors without a reward yet; whether the plan is stale
    noise: float
    epsilon: float
    surplus: float
    growth: float


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, plan = state.ledger, state.plan
    if state.flags[UNKNOWN] > 0:
        return Choice(_unknown_arm(state, arms), INIT)
    if state.flags[STALE] > 0:
        _replan(state)
    wanted = state.surplus * math.log(ledger.clock[ROUNDS] + 1.0)
    lagging, lag, behind = arms[0], math.inf, False
    for n in range(arms.size):
        row = arms[n]
        alpha, played = plan.pulls[row], ledger.played[ledger.vector_ids[row]]
        if 0.0 < alpha < math.inf:
            behind = behind or played < alpha * wanted
            if played / alpha < lag:
                lagging, lag = row, played / alpha
    if not behind:
        return Choice(_best(state, arms), EXPLOIT)
    ledger.clock[EXPLORED] += 1
    least = least_played_arm(ledger, arms)
    if ledger.played[ledger.vector_ids[least]] <= state.epsilon * ledger.clock[EXPLORED]:
        return Choice(least, FORCED)
    return Choice(lagging, MATCHED)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    vector = state.ledger.vector_ids[row]
    state.flags[UNKNOWN] -= state.pulls[vector] == 0.0
    state.pulls[vector] += 1.0
    state.sums[vector] += reward
    if state.pulls[vector] >= state.growth * state.solved_pulls[vector]:
        state.flags[STALE] = 1


@implements(value, State)
def _value(state: State, row: int) -> float:
    vector = state.ledger.vector_ids[row]
    return float(state.sums[vector] / max(1.0, state.pulls[vector]))  # 0 without a reward


@kernel
def _unknown_arm(state: State, arms: Ints) -> int:
    """The least played arm that has no reward yet; the one that looks best where all have."""
    ledger, unknown = state.ledger, -1
    for n in range(arms.size):
        vector = ledger.vector_ids[arms[n]]
        if state.pulls[vector] == 0.0 and (
            unknown < 0 or ledger.played[vector] < ledger.played[ledger.vector_ids[unknown]]
        ):
            unknown = arms[n]
    return unknown if unknown >= 0 else _best(state, arms)


@kernel
def _best(state: State, arms: Ints) -> int:
    """The arm of the best empirical mean."""
    best, most = arms[0], -math.inf
    for n in range(arms.size):
        mean = value(state, arms[n])
        if mean > most:
            best, most = arms[n], mean
    return best


@kernel
def _replan(state: State) -> None:
    """Solve for the allocation at the empirical gaps."""
    ledger, plan = state.ledger, state.plan
    for row in range(state.means.size):
        vector = ledger.vector_ids[row]
        state.means[row] = state.sums[vector] / state.pulls[vector]
        state.solved_pulls[vector] = state.pulls[vector]
    estimate_gaps(plan, state.means, ledger.offsets)
    solve_plan(plan, ledger, state.rows, state.noise)
    plan.solved_at[0] = 0.0
    state.flags[STALE] = 0
