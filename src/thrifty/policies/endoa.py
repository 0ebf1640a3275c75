"""EndOA: the algorithm of "The end of optimism?" (Lattimore and Szepesvari 2017): explore by plan,
and start over if the plan was wrong.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thrifty.actions import ActionSets
from thrifty.arrays import Bools, Floats, Ints
from thrifty.compilation import kernel
from thrifty.errors import InvalidInput
from thrifty.policies.base import (
    Choice,
    Ledger,
    Moves,
    Policy,
    choose,
    implements,
    learn,
    start_ledger,
)
from thrifty.policies.moves import greedy_arm
from thrifty.policies.plan import Plan, estimate_gaps, solve_plan, start_plan
from thrifty.policies.spanner import spanner_rows
from thrifty.regression import STRANGERS, Regression, observe, start_regression
from thrifty.widths import level

INIT, EXPLOIT, MATCHED, RECOVERY = range(4)
WARMING, PLANNED, RECOVERING = range(3)  # values of State.phase


@dataclass(frozen=True, kw_only=True)
class EndOA(Policy):
    """Warm up on a barycentric spanner, plan once, fill the targets while estimates stay where they
    were; otherwise forget all and run UCB.

    For one context only.

    Parameters
    ----------
    c : constant of the lower-order term of f_n
    horizon : rounds to plan for; that of the run by default
    """

    c: float = 1.0
    horizon: float | None = None

    name: ClassVar[str] = "endoa"
    labels: ClassVar[tuple[str, ...]] = ("init", "exploit", "matched", "recovery")
    one_context: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._at_least(0, "c")
        self._horizon()

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        if sets.contexts > 1:
            raise InvalidInput(
                "endoa: instance",
                "a single context, all that this policy is made for,",
                sets.contexts,
            )
        log_n, k, d = math.log(self._rounds(horizon)), len(sets.rows), sets.dimension
        return State(
            start_ledger(sets),
            start_regression(sets.rows, ridge=0.0),
            start_plan(sets.rows),
            spanner=spanner_rows(sets),
            warm_means=np.zeros(k),
            phase=np.zeros(1, dtype=np.int64),
            error=np.zeros(1),
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

    def carry(self, old: "State", new: "State", moves: Moves) -> None:
        """A plan for other arms is no plan: warm up and plan again, with all that was seen;
        recovery goes on.
        """
        super().carry(old, new, moves)
        kept = moves.rows >= 0
        new.pulls[moves.rows[kept]] = old.pulls[kept]
        new.sums[moves.rows[kept]] = old.sums[kept]
        new.phase[0] = RECOVERING if old.phase[0] == RECOVERING else WARMING


class State(NamedTuple):
    """What EndOA remembers."""

    ledger: Ledger
    regression: Regression
    plan: Plan
    spanner: Bools  # (k,)
    warm_means: Floats  # (k,) estimates after warming up
    phase: Ints  # (1,)
    error: Floats  # (1,) e: how far estimates may move is 2 e
    pulls: Floats  # (k,) rewards seen while recovering
    sums: Floats  # (k,) of these rewards
    noise: float
    log_n: float
    f_n: float
    f_warm: float  # f(n, 1 / log n)
    warm_pulls: int


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    if state.phase[0] == WARMING:
        waiting = _waiting_arm(state, arms)
        if waiting >= 0:
            return Choice(waiting, INIT)
        _make_plan(state)
    if state.phase[0] == PLANNED and _surprised(state):
        state.phase[0] = RECOVERING
    if state.phase[0] == RECOVERING:
        return Choice(_upper_confidence_arm(state, arms), RECOVERY)
    ledger, plan = state.ledger, state.plan
    for n in range(arms.size):
        target = plan.pulls[arms[n]] * state.f_n / 2.0
        if target < math.inf and ledger.played[ledger.vector_ids[arms[n]]] < target:
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
def _waiting_arm(state: State, arms: Ints) -> int:
    """The least played arm of the spanner while it has fewer rewards than warming up asks for; -1
    when all have enough.
    """
    ledger, regression = state.ledger, state.regression
    waiting, fewest = False, -1
    for row in range(regression.pulls.size):
        waiting = waiting or (state.spanner[row] and regression.pulls[row] < state.warm_pulls)
    if not waiting and regression.numbers[STRANGERS] == 0:
        return -1
    for n in range(arms.size):
        row = arms[n]
        if state.spanner[row] and (fewest < 0 or ledger.chosen[row] < ledger.chosen[fewest]):
            fewest = row
    return fewest if fewest >= 0 else arms[0]


@kernel
def _make_plan(state: State) -> None:
    """e = max ||x|| sqrt(f(n, 1 / log n)) in the norm of G^-1, and the allocation at the estimated
    gaps.
    """
    regression, widest = state.regression, 0.0
    for row in range(regression.norms.size):
        widest = max(widest, regression.norms[row])
        state.warm_means[row] = regression.means[row]
    state.error[0] = state.noise * math.sqrt(widest * state.f_warm)
    estimate_gaps(state.plan, regression.means, state.ledger.offsets)
    solve_plan(state.plan, state.ledger, regression.rows, state.noise)
    state.phase[0] = PLANNED


@kernel
def _surprised(state: State) -> bool:
    """Whether some estimate has moved by more than 2 e since warming up."""
    for row in range(state.warm_means.size):
        if abs(state.warm_means[row] - state.regression.means[row]) > 2.0 * state.error[0]:
            return True
    return False


@kernel
def _upper_confidence_arm(state: State, arms: Ints) -> int:
    """UCB on the rewards since recovery began: mean + noise sqrt(2 log n / pulls), each arm once
    before.
    """
    best, most = arms[0], -math.inf
    for n in range(arms.size):
        row = arms[n]
        if state.pulls[row] == 0.0:
            return row
        hope = state.sums[row] / state.pulls[row] + state.noise * math.sqrt(
            2.0 * state.log_n / state.pulls[row]
        )
        if hope > most:
            best, most = row, hope
    return best
