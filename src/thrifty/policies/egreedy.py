"""Epsilon-greedy: the greedy arm, or with a small probability any arm (Langford and Zhang 2007)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from thrifty.numerics.arrays import Ints
from thrifty.numerics.regression import Regression, observe, start_regression, update_arms
from thrifty.policies.base import Policy
from thrifty.policies.shared.ledger import Ledger, start_ledger
from thrifty.policies.shared.selection import greedy_arm
from thrifty.policies.shared.stubs import Choice, choose, implements, learn
from thrifty.problem.action_sets import ActionSets

EXPLOIT, FORCED = range(2)


@dataclass(frozen=True, kw_only=True)
class EGreedy(Policy):
    """With probability min(1, epsilon t^-decay) play an arm drawn uniformly, else the greedy one.

    Parameters
    ----------
    epsilon : probability of exploring in the first round
    decay : rate at which it falls; 0 keeps it constant, and regret linear
    ridge : V starts from ridge times the identity: the prior is N(0, noise^2 / ridge I). By default
        noise^2, for N(0, I)
    """

    epsilon: float = 1.0
    decay: float = 0.5
    ridge: float | None = None

    name: ClassVar[str] = "egreedy"
    labels: ClassVar[tuple[str, ...]] = ("exploit", "forced")

    def check(self) -> None:
        self._at_least(0, "epsilon", "decay")
        self._check_ridge()

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        return State(
            start_ledger(sets, uniforms=2),
            start_regression(sets.rows, ridge=self._ridge(noise), largest_set=sets.largest),
            epsilon=float(self.epsilon),
            decay=float(self.decay),
        )


class State(NamedTuple):
    """The state of epsilon-greedy."""

    ledger: Ledger
    regression: Regression
    epsilon: float
    decay: float


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    whether, which = state.ledger.uniforms[0], state.ledger.uniforms[1]
    t = state.ledger.counters[0].rounds + 1.0
    if whether < state.epsilon * t**-state.decay:
        return Choice(arms[int(which * arms.size)], FORCED)
    update_arms(state.regression, arms)
    return Choice(greedy_arm(state.regression, arms), EXPLOIT)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)
