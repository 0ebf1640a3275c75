"""DEL: directed exploration learning (Ok, Proutiere and Tranos 2018), specialised from structured
decision processes to contextual bandits.

Written from memory of that paper: the order of its four steps and their thresholds; gaps are
least-squares estimates here. N counts pulls of an arm in its own context, and 1 + N stands under
logarithms, so that they are defined from the first round.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from thrifty.actions import ActionSets
from thrifty.arrays import Floats, Ints
from thrifty.compilation import kernel
from thrifty.policies.base import (
    ROUNDS,
    Choice,
    Ledger,
    Policy,
    choose,
    implements,
    learn,
    start_ledger,
)
from thrifty.policies.moves import greedy_arm, spanning_arm
from thrifty.policies.plan import Plan, estimate_gaps, solve_plan, start_plan
from thrifty.regression import LOGDET, STRANGERS, Regression, observe, start_regression

INIT, MONOTONE, FORCED, EXPLOIT, MATCHED, WASTED = range(6)


@dataclass(frozen=True, kw_only=True)
class DEL(Policy):
    """Keep the best arm well played, estimate all arms now and then, exploit if the pulls satisfy
    the program, else fill its targets.

    Parameters
    ----------
    gamma : how much more than the allocation asks for is played
    zeta : the program is solved again when det G has grown by a factor of 1 + zeta
    """

    gamma: float = 0.0
    zeta: float = 0.1

    name: ClassVar[str] = "del"
    labels: ClassVar[tuple[str, ...]] = (
        "init",
        "monotone",
        "forced",
        "exploit",
        "matched",
        "wasted",
    )

    def __post_init__(self) -> None:
        self._at_least(0, "gamma", "zeta")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        return State(
            start_ledger(sets),
            start_regression(sets.rows, ridge=0.0),
            start_plan(sets.rows),
            noise=noise,
            surplus=1.0 + self.gamma,
            growth=math.log1p(self.zeta),
        )

    def targets(self, state: "State") -> Floats:
        return (
            state.plan.pulls
            * (1.0 + self.gamma)
            * (1.0 + math.log(state.ledger.clock[ROUNDS] + 1.0))
        )


class State(NamedTuple):
    """What DEL remembers."""

    ledger: Ledger
    regression: Regression
    plan: Plan
    noise: float
    surplus: float
    growth: float


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    ledger, regression, plan = state.ledger, state.regression, state.plan
    if regression.numbers[STRANGERS] > 0:
        return Choice(spanning_arm(ledger, regression, arms), INIT)
    log_visits = math.log(1.0 + ledger.visits[context])
    leader = _leader(state, arms, log_visits**2)
    if ledger.chosen[leader] < math.log(2.0 + ledger.visits[context]) ** 2:
        return Choice(leader, MONOTONE)
    least = arms[0]
    for n in range(1, arms.size):
        if ledger.chosen[arms[n]] < ledger.chosen[least]:
            least = arms[n]
    if ledger.chosen[least] < log_visits / (1.0 + math.log(1.0 + log_visits)):
        return Choice(least, FORCED)
    wanted = state.surplus * (1.0 + math.log(ledger.clock[ROUNDS] + 1.0))
    _estimate(state)
    if _satisfied(state, wanted):
        return Choice(greedy_arm(regression, arms), EXPLOIT)
    # true before the first solve, when solved_at is NaN
    if not regression.numbers[LOGDET] < plan.solved_at[0] + state.growth:
        solve_plan(plan, ledger, regression.rows, state.noise)
        plan.solved_at[0] = regression.numbers[LOGDET]
    return _match(state, arms, wanted)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)


@kernel
def _leader(state: State, arms: Ints, enough: float) -> int:
    """The best of the arms played enough; of all arms if none is."""
    means, chosen = state.regression.means, state.ledger.chosen
    best = -1
    for n in range(arms.size):
        row = arms[n]
        if chosen[row] >= enough and (best < 0 or means[row] > means[best]):
            best = row
    return best if best >= 0 else greedy_arm(state.regression, arms)


@kernel
def _estimate(state: State) -> None:
    """Estimated gaps of all rows; those below 1 / (1 + log log t) count as zero."""
    plan, t = state.plan, state.ledger.clock[ROUNDS] + 1.0
    estimate_gaps(plan, state.regression.means, state.ledger.offsets)
    threshold = 1.0 / (1.0 + math.log(math.log(max(math.e, t))))
    for row in range(plan.gaps.size):
        if plan.gaps[row] < threshold:
            plan.gaps[row], plan.best[row] = 0.0, True


@kernel
def _satisfied(state: State, wanted: float) -> bool:
    """Whether pulls / wanted satisfy the program: wanted ||x||^2 <= gap^2 / (2 noise^2) in the norm
    of G^-1, for every suboptimal row.
    """
    plan, norms = state.plan, state.regression.norms
    for row in range(norms.size):
        if not plan.best[row] and wanted * norms[row] > plan.gaps[row] ** 2 / (
            2.0 * state.noise**2
        ):
            return False
    return True


@kernel
def _match(state: State, arms: Ints, wanted: float) -> Choice:
    """The least played arm below its target; the greedy arm if this context has none."""
    plan, chosen = state.plan, state.ledger.chosen
    lagging = -1
    for n in range(arms.size):
        row = arms[n]
        if (
            plan.pulls[row] < math.inf
            and chosen[row] < plan.pulls[row] * wanted
            and (lagging < 0 or chosen[row] < chosen[lagging])
        ):
            lagging = row
    if lagging < 0:
        return Choice(greedy_arm(state.regression, arms), WASTED)
    return Choice(lagging, MATCHED)
