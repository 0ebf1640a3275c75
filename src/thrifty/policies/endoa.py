"""EndOA: the algorithm of "The end of optimism?" (Lattimore and Szepesvari 2017).

Explore by a plan made once, and start over with UCB if the plan turns out to be wrong.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import kernel
from thrifty.compiler.records import Record, Records
from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import FixedBools, Floats, Ints
from thrifty.numerics.regression import Regression, observe, start_regression
from thrifty.numerics.widths import level
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, Renumbering, carry_entries, start_ledger
from thrifty.policies.shared.plan import Plan, estimate_gaps, solve_plan, start_plan
from thrifty.policies.shared.selection import greedy_arm
from thrifty.policies.shared.spanner import spanner_rows
from thrifty.policies.shared.stubs import Choice, choose, implements, learn
from thrifty.problem.action_sets import ActionSets

INIT, EXPLOIT, MATCHED, RECOVERY = range(4)


@dataclass(frozen=True, kw_only=True)
class EndOA(Policy):
    """Play a barycentric spanner, plan once, and play to the targets while estimates stay close.

    If an estimate moves too far, drop all data and run UCB. For one context only.

    Parameters
    ----------
    c : constant of the lower-order term of f_n
    horizon : see Policy
    """

    c: float = parameters.number(1.0, at_least=0)
    horizon: float | None = parameters.horizon()

    name = "endoa"
    labels = ("init", "exploit", "matched", "recovery")
    one_context = True

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        if sets.contexts > 1:
            hint = "use oam for several contexts"
            raise InvalidInput.expected("endoa", "one context", sets.contexts, hint=hint)
        log_n, k, d = math.log(self._planned_rounds(horizon)), len(sets.rows), sets.dimension
        return State(
            start_ledger(sets),
            start_regression(sets.rows, ridge=0.0),
            start_plan(sets.rows),
            spanner=spanner_rows(sets),
            warm_means=np.zeros(k),
            phase=Phase.new(),
            pulls=np.zeros(k),
            sums=np.zeros(k),
            noise=noise,
            log_n=log_n,
            f_n=level(log_n, log_n, float(self.c), d),
            f_warm=level(log_n, math.log(max(1.0, log_n)), float(self.c), d),
            warm_pulls=math.ceil(math.sqrt(log_n)),
        )

    def targets(self, state: "State") -> Floats:
        return state.plan.pulls * state.f_n / 2.0

    def carry(self, old: "State", new: "State", renumbering: Renumbering) -> None:
        """Plan again for the new arms, with all that was seen; recovery goes on."""
        super().carry(old, new, renumbering)
        carry_entries(old.pulls, new.pulls, renumbering.rows)
        carry_entries(old.sums, new.sums, renumbering.rows)
        new.phase[0].recovering = old.phase[0].recovering


class Phase(Record):
    """How far EndOA has come: first the spanner, then the plan, then perhaps recovery."""

    planned: bool
    recovering: bool
    error: float  # e: estimates may move by 2 e


class State(NamedTuple):
    """The state of EndOA."""

    ledger: Ledger
    regression: Regression
    plan: Plan
    spanner: FixedBools  # (k,) whether an arm is in the barycentric spanner
    warm_means: Floats  # (k,) estimates when the plan was made
    phase: Records  # (1,) of Phase
    pulls: Floats  # (k,) rewards seen in recovery
    sums: Floats  # (k,) of these rewards
    noise: float
    log_n: float
    f_n: float
    f_warm: float  # f_{n,1/log n}
    warm_pulls: int  # of each arm of the spanner


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    phase = state.phase
    if not (phase[0].planned or phase[0].recovering):
        if _warming_up(state):
            return Choice(_spanner_arm(state, arms), INIT)
        _make_plan(state)
    if not phase[0].recovering and _moved_too_far(state):
        phase[0].recovering = True
    if phase[0].recovering:
        return Choice(_upper_confidence_arm(state, arms), RECOVERY)
    played, ids = state.ledger.played, state.ledger.vector_ids
    for n in range(arms.size):
        target = state.plan.pulls[arms[n]] * state.f_n / 2.0
        if target < math.inf and played[ids[arms[n]]] < target:
            return Choice(arms[n], MATCHED)
    return Choice(greedy_arm(state.regression, arms), EXPLOIT)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    if label == RECOVERY:
        state.pulls[row] += 1.0
        state.sums[row] += reward
    else:
        observe(state.regression, row, reward)


@kernel
def _warming_up(state: State) -> bool:
    """Whether an arm of the spanner needs more rewards, or a direction is still unknown."""
    pulls = state.regression.pulls
    for row in range(pulls.size):
        if state.spanner[row] and pulls[row] < state.warm_pulls:
            return True
    return state.regression.totals[0].outside > 0


@kernel
def _spanner_arm(state: State, arms: Ints) -> int:
    """The least played of the arms (n,) in the spanner; the first arm if none is on offer."""
    chosen, least = state.ledger.chosen, -1
    for n in range(arms.size):
        row = arms[n]
        if state.spanner[row] and (least < 0 or chosen[row] < chosen[least]):
            least = row
    return least if least >= 0 else arms[0]


@kernel
def _make_plan(state: State) -> None:
    """e = max_x ||x||_{G^-1} sqrt(f_{n,1/log n}), and the allocation at the estimated gaps."""
    regression, widest = state.regression, 0.0
    for row in range(regression.norms.size):
        widest = max(widest, regression.norms[row])
        state.warm_means[row] = regression.means[row]
    state.phase[0].error = state.noise * math.sqrt(widest * state.f_warm)
    estimate_gaps(state.plan, regression.means, state.ledger.offsets)
    solve_plan(state.plan, state.ledger, regression.rows, state.noise)
    state.phase[0].planned = True


@kernel
def _moved_too_far(state: State) -> bool:
    """Whether some estimate has moved by more than 2 e since the plan was made."""
    means, limit = state.regression.means, 2.0 * state.phase[0].error
    for row in range(means.size):
        if abs(state.warm_means[row] - means[row]) > limit:
            return True
    return False


@kernel
def _upper_confidence_arm(state: State, arms: Ints) -> int:
    """UCB on the rewards of recovery: mean + noise sqrt(2 log n / pulls), each arm once before."""
    best, highest = arms[0], -math.inf
    for n in range(arms.size):
        row = arms[n]
        if state.pulls[row] == 0.0:
            return row
        bonus = state.noise * math.sqrt(2.0 * state.log_n / state.pulls[row])
        upper = state.sums[row] / state.pulls[row] + bonus
        if upper > highest:
            best, highest = row, upper
    return best
