"""OSSB: optimal sampling for structured bandits (Combes, Magureanu and Proutiere 2017).

Its gaps come from the empirical mean of each arm, never from least squares: the linear structure
enters the allocation only. That is its weakness when there are many arms. Its authors have a single
context; the use with several, where counts and means belong to vectors, is an extension of ours.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import kernel
from thrifty.compiler.records import Record, Records
from thrifty.numerics.arrays import FixedFloats, Floats, Ints
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, Renumbering, carry_entries, start_ledger
from thrifty.policies.shared.plan import Plan, estimate_gaps, solve_plan, start_plan
from thrifty.policies.shared.selection import highest_value_arm, least_played_arm
from thrifty.policies.shared.stubs import Choice, choose, implements, learn, value
from thrifty.problem.action_sets import ActionSets

INIT, EXPLOIT, FORCED, MATCHED = range(4)


@dataclass(frozen=True, kw_only=True)
class OSSB(Policy):
    """Play every arm once; then exploit if N_x >= (1 + gamma) alpha_x log t for all suboptimal x.

    Otherwise explore the arm that is furthest below its allocation alpha. With epsilon = gamma = 0,
    the defaults, it may exploit the wrong arm for ever: few runs, with very large regret.

    Parameters
    ----------
    epsilon : share of exploration rounds in which the least played arm is forced
    gamma : targets are 1 + gamma times what the allocation asks for
    zeta : the program is solved again when the pulls of some arm have grown by a factor of 1 + zeta
    """

    epsilon: float = parameters.number(0.0, at_least=0)
    gamma: float = parameters.number(0.0, at_least=0)
    zeta: float = parameters.number(0.1, at_least=0)

    name = "ossb"
    labels = ("init", "exploit", "forced", "matched")

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
            progress=Progress.new(unrewarded=vectors, stale=True),
            noise=noise,
            epsilon=float(self.epsilon),
            factor=1.0 + self.gamma,
            growth=1.0 + self.zeta,
        )

    def estimates(self, state: "State", rows: Floats) -> tuple[Floats, Floats]:
        ids = state.ledger.vector_ids
        pulls = state.pulls[ids]
        errors = np.where(pulls > 0, 1.0 / np.sqrt(pulls.clip(1)), np.inf)
        return state.sums[ids] / pulls.clip(1), errors

    def targets(self, state: "State") -> Floats:
        t = state.ledger.counters[0].rounds + 1.0
        return state.plan.pulls * (1.0 + self.gamma) * math.log(t)

    def carry(self, old: "State", new: "State", renumbering: Renumbering) -> None:
        super().carry(old, new, renumbering)
        carry_entries(old.pulls, new.pulls, renumbering.vectors)
        carry_entries(old.sums, new.sums, renumbering.vectors)
        new.progress[0].unrewarded = (new.pulls == 0).sum()


class Progress(Record):
    """What OSSB has to do before it can follow its plan."""

    unrewarded: int  # vectors without a reward
    stale: bool  # whether the program must be solved again


class State(NamedTuple):
    """The state of OSSB."""

    ledger: Ledger
    plan: Plan
    rows: FixedFloats  # (k, d)
    pulls: Floats  # (v,) rewards seen of each vector
    sums: Floats  # (v,) of these rewards
    means: Floats  # (k,) empirical means
    solved_pulls: Floats  # (v,) pulls at the last solve
    progress: Records  # (1,) of Progress
    noise: float
    epsilon: float
    factor: float  # 1 + gamma
    growth: float  # 1 + zeta


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, counters = state.ledger, state.ledger.counters
    if state.progress[0].unrewarded > 0:
        return Choice(_unrewarded_arm(state, arms), INIT)
    if state.progress[0].stale:
        _solve(state)
    scale = state.factor * math.log(counters[0].rounds + 1.0)
    furthest, least_share, below = arms[0], math.inf, False
    for n in range(arms.size):
        row = arms[n]
        alpha, played = state.plan.pulls[row], ledger.played[ledger.vector_ids[row]]
        if 0.0 < alpha < math.inf:
            below = below or played < alpha * scale
            if played / alpha < least_share:
                furthest, least_share = row, played / alpha
    if not below:
        return Choice(highest_value_arm(state, arms), EXPLOIT)
    counters[0].explored += 1
    least = least_played_arm(ledger, arms)
    if ledger.played[ledger.vector_ids[least]] <= state.epsilon * counters[0].explored:
        return Choice(least, FORCED)
    return Choice(furthest, MATCHED)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    vector, progress = state.ledger.vector_ids[row], state.progress
    if state.pulls[vector] == 0.0:
        progress[0].unrewarded -= 1
    state.pulls[vector] += 1.0
    state.sums[vector] += reward
    if state.pulls[vector] >= state.growth * state.solved_pulls[vector]:
        progress[0].stale = True


@implements(value, State)
def _value(state: State, row: int) -> float:
    vector = state.ledger.vector_ids[row]
    return float(state.sums[vector] / max(1.0, state.pulls[vector]))  # 0 without a reward


@kernel
def _unrewarded_arm(state: State, arms: Ints) -> int:
    """The least played of the arms (n,) without a reward; the best arm if all have one."""
    played, ids = state.ledger.played, state.ledger.vector_ids
    least = -1
    for n in range(arms.size):
        vector = ids[arms[n]]
        if state.pulls[vector] == 0.0 and (least < 0 or played[vector] < played[ids[least]]):
            least = arms[n]
    return least if least >= 0 else highest_value_arm(state, arms)


@kernel
def _solve(state: State) -> None:
    """Solve for the allocation at the empirical gaps."""
    ledger, plan = state.ledger, state.plan
    for row in range(state.means.size):
        vector = ledger.vector_ids[row]
        state.means[row] = state.sums[vector] / state.pulls[vector]
        state.solved_pulls[vector] = state.pulls[vector]
    estimate_gaps(plan, state.means, ledger.offsets)
    solve_plan(plan, ledger, state.rows, state.noise)
    state.progress[0].stale = False
