"""Optimal Allocation Matching, algorithm 1 of the paper (Hao, Lattimore and Szepesvari 2020)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from thrifty.actions import ActionSets
from thrifty.arrays import Bools, Floats, Ints
from thrifty.compilation import kernel
from thrifty.policies.base import (
    EXPLORED,
    ROUNDS,
    Choice,
    Ledger,
    Policy,
    choose,
    implements,
    learn,
    start_ledger,
)
from thrifty.policies.moves import greedy_arm, optimistic_arm, spanning_arm
from thrifty.policies.plan import Plan, estimate_gaps, solve_plan, start_plan
from thrifty.policies.spanner import spanner_rows
from thrifty.regression import LOGDET, STRANGERS, Regression, observe, start_regression
from thrifty.widths import level

INIT, EXPLOIT, FORCED, MATCHED, WASTED = range(5)
# Where a target is capped, T and the cap are often the same number but for the tolerance of the
# solver: such ties must not be decided by rounding.
EQUAL = 1e-5


@dataclass(frozen=True, kw_only=True)
class OAM(Policy):
    """Solve for the optimal allocation at the estimated gaps, play what lags behind it, and exploit
    once the evidence is in.

    The defaults are those of least regret among epsilon in {0, .001, .01, .05} x c in {0, .3, 1},
    on thirteen instances (benchmarks/oam_knobs.py): in the geometric mean over instances, relative
    to heuristic LinTS, 2.2 at n = 1e4 and at 1e5; c = 1, which the theory would rather have, gives
    2.8 and 2.9; epsilon = .01 gives 5.4 and 6.6, with 100 arms far more, 3.8 and 4.7 if forced on a
    spanner. zeta hardly matters between .02 and .5.

    Parameters
    ----------
    epsilon : share of exploration rounds in which the least played arm is forced; 0 still plays
        every arm once. `literal` is the paper's 1 / log log t, which explores round-robin at every
        practical horizon
    c : constant of the lower-order term of f_n, an unnamed absolute constant in the paper
    zeta : the program is solved again when det G has grown by a factor of 1 + zeta
    forced : `least`, the least played arm of the set; or `spanner`, the least played of a
        barycentric spanner of the set
    horizon : rounds to plan for (n in f_n); that of the run by default
    """

    epsilon: float | str = 0.0
    c: float = 0.0
    zeta: float = 0.1
    forced: str = "least"
    horizon: float | None = None

    name: ClassVar[str] = "oam"
    labels: ClassVar[tuple[str, ...]] = ("init", "exploit", "forced", "matched", "wasted")

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, str):
            self._one_of("epsilon", "literal")
        else:
            self._at_least(0, "epsilon")
        self._at_least(0, "c", "zeta")
        self._one_of("forced", "least", "spanner")
        self._horizon()

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        log_n = math.log(self._rounds(horizon))
        return State(
            start_ledger(sets),
            start_regression(sets.rows, ridge=0.0),
            start_plan(sets.rows),
            forcible=spanner_rows(sets)
            if self.forced == "spanner"
            else np.ones(len(sets.rows), dtype=np.bool_),
            noise=noise,
            log_n=log_n,
            f_n=level(log_n, log_n, float(self.c), sets.dimension),
            c=float(self.c),
            epsilon=-1.0 if isinstance(self.epsilon, str) else float(self.epsilon),
            growth=math.log1p(self.zeta),
        )

    def targets(self, state: "State") -> Floats:
        positive = state.plan.gaps[state.plan.gaps > 0]
        most = state.f_n * (state.noise / positive.min()) ** 2 if positive.size else np.inf
        return np.minimum(state.plan.pulls * state.f_n / 2.0, most)


class State(NamedTuple):
    """What OAM remembers; G, theta_hat in regression, N in ledger.played, s in ledger.clock, alpha
    in plan.
    """

    ledger: Ledger
    regression: Regression
    plan: Plan
    forcible: Bools  # (k,) arms that forced exploration may play
    noise: float
    log_n: float
    f_n: float
    c: float
    epsilon: float  # negative: literal
    growth: float  # of log det G between solves


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, regression, plan = state.ledger, state.regression, state.plan
    if regression.numbers[STRANGERS] > 0:
        return Choice(spanning_arm(ledger, regression, arms), INIT)
    least_gap = estimate_gaps(plan, regression.means, ledger.offsets)
    f_n = state.f_n * state.noise**2
    if _convinced(regression, plan, arms, least_gap, f_n):
        return Choice(greedy_arm(regression, arms), EXPLOIT)
    # true before the first solve, when solved_at is NaN
    if not regression.numbers[LOGDET] < plan.solved_at[0] + state.growth:
        solve_plan(plan, ledger, regression.rows, state.noise)
        plan.solved_at[0] = regression.numbers[LOGDET]
    explored = ledger.clock[EXPLORED]
    ledger.clock[EXPLORED] += 1
    return _explore(state, arms, f_n / least_gap**2, explored)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)


@kernel
def _convinced(
    regression: Regression, plan: Plan, arms: Ints, least_gap: float, f_n: float
) -> bool:
    """Criterion (4.3): ||x||^2 <= max(least gap, gap)^2 / f_n, in the norm of G^-1, for every arm
    on offer.
    """
    for n in range(arms.size):
        row = arms[n]
        if regression.norms[row] * f_n > max(least_gap, plan.gaps[row]) ** 2:
            return False
    return True


@kernel
def _explore(state: State, arms: Ints, most: float, explored: int) -> Choice:
    """Play b_2, the least played arm, if forced; else b_1, the one furthest behind its target
    (4.4); optimistically if none is behind.
    """
    ledger, plan = state.ledger, state.plan
    lagging, lag, fewest, behind = arms[0], math.inf, -1, False
    for n in range(arms.size):
        row = arms[n]
        played = ledger.played[ledger.vector_ids[row]]
        target = min(plan.pulls[row] * state.f_n / 2.0, most)
        behind = behind or played < target
        if target > 0.0 and played / target < lag * (1.0 - EQUAL):
            lagging, lag = row, played / target
        if state.forcible[row] and (
            fewest < 0 or played < ledger.played[ledger.vector_ids[fewest]]
        ):
            fewest = row
    if not behind:
        width = state.noise * math.sqrt(
            level(state.log_n, 2.0 * math.log(explored + 1.0), state.c, state.regression.theta.size)
        )
        return Choice(optimistic_arm(state.regression, arms, width), WASTED)
    if fewest >= 0 and ledger.played[ledger.vector_ids[fewest]] <= _epsilon(state) * explored:
        return Choice(fewest, FORCED)
    return Choice(lagging, MATCHED)


@kernel
def _epsilon(state: State) -> float:
    """eps_t: the number that was asked for, or 1 / log log t."""
    if state.epsilon >= 0.0:
        return state.epsilon
    return 1.0 / math.log(math.log(max(16.0, state.ledger.clock[ROUNDS] + 1.0)))
