"""Optimal Allocation Matching: alg:main of Hao, Lattimore and Szepesvari (2020).

Names are the paper's: G, theta_hat, f_n, T, N_x, s, eps_t, b1, b2. Labels such as eqn:criterion are
those of its LaTeX source. Rewards have standard deviation sigma here, 1 in the paper.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import kernel
from thrifty.numerics.arrays import FixedBools, Floats, Ints
from thrifty.numerics.regression import Regression, start_regression
from thrifty.numerics.widths import level
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, start_ledger
from thrifty.policies.shared.plan import Plan, estimate_gaps, solve_if_due, start_plan
from thrifty.policies.shared.selection import greedy_arm, optimistic_arm, spanning_arm
from thrifty.policies.shared.spanner import spanner_rows
from thrifty.policies.shared.stubs import Choice, choose, implements
from thrifty.problem.action_sets import ActionSets

INIT, EXPLOIT, FORCED, MATCHED, WASTED = range(5)
# T and its cap are often the same number but for the tolerance of the solver: such ties must not be
# decided by rounding.
EQUAL = 1e-5


@dataclass(frozen=True, kw_only=True)
class OAM(Policy):
    """Explore as often as the optimal allocation at the estimated gaps asks for, then exploit.

    The defaults have the least regret among epsilon in {0, .001, .01, .05} x c in {0, .3, 1} on
    thirteen instances (benchmarks/RESULTS.md, "OAM's knobs"): 2.2 times that of heuristic LinTS in
    the geometric mean, at n = 1e4 and at 1e5; c = 1, closer to the theory, has 2.5 and 2.7. Six of
    the instances are the paper's. The theorem does not cover these defaults: its proof needs forced
    exploration at a rate that tends to 0, and a level f_n with c > 0. zeta hardly matters between
    .02 and .5.

    Parameters
    ----------
    epsilon : share of exploration rounds in which the least played arm is forced; 0 still plays
        every arm once. `literal` is the paper's 1 / log log t, which explores round-robin at every
        practical horizon
    c : constant of the lower-order term of f_n, an unnamed absolute constant in the paper
    zeta : the program is solved again when det G has grown by a factor of 1 + zeta
    forced : `least`, the least played arm of the set; or `spanner`, the least played arm of a
        barycentric spanner of the set
    horizon : rounds to plan for (n in f_n); that of the run by default
    """

    epsilon: float | str = parameters.number(0.0, at_least=0, or_word="literal")
    c: float = parameters.number(0.0, at_least=0)
    zeta: float = parameters.number(0.1, at_least=0)
    forced: str = parameters.word("least", "spanner")
    horizon: float | None = parameters.horizon()

    name = "oam"
    labels = ("init", "exploit", "forced", "matched", "wasted")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        log_n = math.log(self._planned_rounds(horizon))
        everywhere = np.ones(len(sets.rows), dtype=np.bool_)
        return State(
            start_ledger(sets),
            start_regression(sets.rows, ridge=0.0),
            start_plan(sets.rows),
            forcible=spanner_rows(sets) if self.forced == "spanner" else everywhere,
            sigma=noise,
            log_n=log_n,
            f_n=level(log_n, log_n, float(self.c), sets.dimension),
            c=float(self.c),
            literal=isinstance(self.epsilon, str),
            epsilon=0.0 if isinstance(self.epsilon, str) else float(self.epsilon),
            growth=math.log1p(self.zeta),
        )

    def targets(self, state: "State") -> Floats:
        positive = state.plan.gaps[state.plan.gaps > 0]
        cap = state.f_n * (state.sigma / positive.min()) ** 2 if positive.size else np.inf
        return np.minimum(state.plan.pulls * state.f_n / 2.0, cap)


class State(NamedTuple):
    """The state of OAM: G and theta_hat in regression, N_x and s in ledger, T in plan."""

    ledger: Ledger
    regression: Regression
    plan: Plan
    forcible: FixedBools  # (k,) arms that forced exploration may play
    sigma: float
    log_n: float
    f_n: float  # f_{n,1/n}
    c: float
    literal: bool  # whether eps_t = 1 / log log t
    epsilon: float  # eps_t otherwise
    growth: float  # of log det G between two solves


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    """One round of alg:main on the action set arms (n,)."""
    ledger, regression, plan = state.ledger, state.regression, state.plan
    # "initialisation": pull an arm outside the span of those pulled so far
    if regression.totals[0].outside > 0:
        return Choice(spanning_arm(ledger, regression, arms), INIT)
    # "solve the optimisation problem eqn:opti based on the estimated gap"; where exploration needs
    # the solution, below, and only once det G has grown
    gap_min = estimate_gaps(plan, regression.means, ledger.offsets)
    if _criterion(state, arms, gap_min):  # "exploitation"
        return Choice(greedy_arm(regression, arms), EXPLOIT)
    solve_if_due(plan, ledger, regression, state.sigma, state.growth)
    # "exploration": s(t) = s(t-1) + 1
    ledger.counters[0].explored += 1
    return _explore(state, arms, gap_min, ledger.counters[0].explored - 1)


@kernel
def _criterion(state: State, arms: Ints, gap_min: float) -> bool:
    """eqn:criterion: ||x||^2_{G^-1} <= max(gap_min, gap_x)^2 / (sigma^2 f_n) for all arms (n,)."""
    norms, gaps, f_n = state.regression.norms, state.plan.gaps, state.f_n * state.sigma**2
    for n in range(arms.size):
        if norms[arms[n]] * f_n > max(gap_min, gaps[arms[n]]) ** 2:
            return False
    return True


@kernel
def _explore(state: State, arms: Ints, gap_min: float, s: int) -> Choice:
    """The exploration branch of alg:main, with s = s(t-1): wasted, forced on b2, or matched to b1.

    eqn:exploration: b1 = argmin N_x / min(T_x, cap) and b2 = argmin N_x, cap = f_n / gap_min^2.
    """
    played, ids, pulls = state.ledger.played, state.ledger.vector_ids, state.plan.pulls
    cap = state.f_n * state.sigma**2 / gap_min**2
    reached, least_share, b1 = True, math.inf, arms[0]
    forcible, b2 = False, arms[0]
    for n in range(arms.size):
        x = arms[n]
        N_x = played[ids[x]]
        target = min(pulls[x] * state.f_n / 2.0, cap)  # T_x = alpha_x f_n / 2
        reached = reached and N_x >= target
        if target > 0.0 and N_x / target < least_share * (1.0 - EQUAL):
            b1, least_share = x, N_x / target
        if state.forcible[x] and (not forcible or N_x < played[ids[b2]]):
            b2, forcible = x, True
    if reached:  # N_x(t-1) >= min(T_x, cap) for all x: LinUCB, eqn:linucb, with f_{n,1/s(t)^2}
        f = level(state.log_n, 2.0 * math.log(s + 1.0), state.c, state.regression.theta.size)
        return Choice(optimistic_arm(state.regression, arms, state.sigma * math.sqrt(f)), WASTED)
    if forcible and played[ids[b2]] <= _eps_t(state) * s:
        return Choice(b2, FORCED)
    return Choice(b1, MATCHED)


@kernel
def _eps_t(state: State) -> float:
    """eps_t: a constant, or 1 / log log t from round 16 on."""
    if not state.literal:
        return state.epsilon
    return 1.0 / math.log(math.log(max(16.0, state.ledger.counters[0].rounds + 1.0)))
