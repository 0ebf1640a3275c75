"""DEL: directed exploration learning (Ok, Proutiere and Tranos 2018), for contextual bandits.

Experimental: written from memory of that paper, whose formulas could not be checked. It is
specialised from structured decision processes. Gaps are least-squares estimates here. N counts
pulls of an arm in its own context, and 1 + N stands under logarithms, so that they are defined from
the first round. (`del` is a keyword of Python, hence the name of this file.)
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from thrifty.compiler.compilation import kernel
from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.regression import Regression, start_regression
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, start_ledger
from thrifty.policies.shared.plan import Plan, estimate_gaps, solve_if_due, start_plan
from thrifty.policies.shared.selection import greedy_arm, least_row, spanning_arm
from thrifty.policies.shared.stubs import Choice, choose, implements
from thrifty.problem.action_sets import ActionSets

INIT, MONOTONE, FORCED, EXPLOIT, MATCHED, WASTED = range(6)


@dataclass(frozen=True, kw_only=True)
class DEL(Policy):
    """Play the best arm often, every arm now and then; exploit if the pulls satisfy the program.

    Otherwise play arms that are below their targets.

    Parameters
    ----------
    gamma : targets are 1 + gamma times what the allocation asks for
    zeta : the program is solved again when det G has grown by a factor of 1 + zeta
    """

    gamma: float = parameters.number(0.0, at_least=0)
    zeta: float = parameters.number(0.1, at_least=0)

    name = "del"
    experimental = True
    labels = ("init", "monotone", "forced", "exploit", "matched", "wasted")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        return State(
            start_ledger(sets),
            start_regression(sets.rows, ridge=0.0),
            start_plan(sets.rows),
            noise=noise,
            factor=1.0 + self.gamma,
            growth=math.log1p(self.zeta),
        )

    def targets(self, state: "State") -> Floats:
        t = state.ledger.counters[0].rounds + 1.0
        return state.plan.pulls * (1.0 + self.gamma) * (1.0 + math.log(t))


class State(NamedTuple):
    """The state of DEL."""

    ledger: Ledger
    regression: Regression
    plan: Plan
    noise: float
    factor: float  # 1 + gamma
    growth: float  # of log det G between two solves


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, regression, plan = state.ledger, state.regression, state.plan
    if regression.totals[0].outside > 0:
        return Choice(spanning_arm(ledger, regression, arms), INIT)
    # step 1: the best of the well-played arms must itself be well played
    log_visits = math.log(1.0 + ledger.visits[context])
    leader = _leader(state, arms, log_visits**2)
    if ledger.chosen[leader] < math.log(2.0 + ledger.visits[context]) ** 2:
        return Choice(leader, MONOTONE)
    # step 2: every arm is estimated now and then
    least = least_row(ledger.chosen, arms)
    if ledger.chosen[least] < log_visits / (1.0 + math.log(1.0 + log_visits)):
        return Choice(least, FORCED)
    # step 3: exploit if the pulls so far satisfy the program
    scale = state.factor * (1.0 + math.log(ledger.counters[0].rounds + 1.0))
    _estimate_gaps(state)
    if _satisfied(state, scale):
        return Choice(greedy_arm(regression, arms), EXPLOIT)
    # step 4: play an arm below its target
    solve_if_due(plan, ledger, regression, state.noise, state.growth)
    return _match(state, arms, scale)


@kernel
def _leader(state: State, arms: Ints, enough: float) -> int:
    """The best of the arms (n,) played at least `enough` times; of all arms if there is none."""
    means, chosen = state.regression.means, state.ledger.chosen
    best = -1
    for n in range(arms.size):
        row = arms[n]
        if chosen[row] >= enough and (best < 0 or means[row] > means[best]):
            best = row
    return best if best >= 0 else greedy_arm(state.regression, arms)


@kernel
def _estimate_gaps(state: State) -> None:
    """Estimated gaps of all rows; those below 1 / (1 + log log t) count as zero."""
    plan, t = state.plan, state.ledger.counters[0].rounds + 1.0
    estimate_gaps(plan, state.regression.means, state.ledger.offsets)
    threshold = 1.0 / (1.0 + math.log(math.log(max(math.e, t))))
    for row in range(plan.gaps.size):
        if plan.gaps[row] < threshold:
            plan.gaps[row], plan.best[row] = 0.0, True


@kernel
def _satisfied(state: State, scale: float) -> bool:
    """Whether pulls / scale are feasible: scale ||x||^2_{G^-1} <= gap^2 / (2 noise^2) for all x."""
    plan, norms = state.plan, state.regression.norms
    for row in range(norms.size):
        if not plan.best[row] and scale * norms[row] > plan.gaps[row] ** 2 / (2.0 * state.noise**2):
            return False
    return True


@kernel
def _match(state: State, arms: Ints, scale: float) -> Choice:
    """The least played of the arms (n,) below their targets; the greedy arm if there is none."""
    pulls, chosen = state.plan.pulls, state.ledger.chosen
    least = -1
    for n in range(arms.size):
        row = arms[n]
        below = pulls[row] < math.inf and chosen[row] < pulls[row] * scale
        if below and (least < 0 or chosen[row] < chosen[least]):
            least = row
    if least < 0:
        return Choice(greedy_arm(state.regression, arms), WASTED)
    return Choice(least, MATCHED)
