"""Epsilon-greedy: the arm that looks best, or now and then any arm (Langford and Zhang 2007 for
contexts).
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from thrifty.actions import ActionSets
from thrifty.arrays import Ints
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
from thrifty.policies.moves import greedy_arm
from thrifty.regression import Regression, look, observe, start_regression

EXPLOIT, FORCED = range(2)


@dataclass(frozen=True, kw_only=True)
class EGreedy(Policy):
    """With probability min(1, epsilon t^-decay) play an arm drawn uniformly, else the greedy one.

    Parameters
    ----------
    epsilon : the probability of exploring in the first round
    decay : how it falls; 0 keeps it constant, and regret linear
    ridge : what V starts from
    """

    epsilon: float = 1.0
    decay: float = 0.5
    ridge: float = 1.0

    name: ClassVar[str] = "egreedy"
    labels: ClassVar[tuple[str, ...]] = ("exploit", "forced")

    def __post_init__(self) -> None:
        self._at_least(0, "epsilon", "decay")
        self._above(0, "ridge")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        regression = start_regression(sets.rows, ridge=self.ridge, largest_set=sets.largest)
        return State(
            start_ledger(sets, uniforms=2), regression, float(self.epsilon), float(self.decay)
        )


class State(NamedTuple):
    """What epsilon-greedy remembers."""

    ledger: Ledger
    regression: Regression
    epsilon: float
    decay: float


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    whether, which = state.ledger.uniforms[0], state.ledger.uniforms[1]
    if whether < state.epsilon * (state.ledger.clock[ROUNDS] + 1.0) ** -state.decay:
        return Choice(arms[int(which * arms.size)], FORCED)
    look(state.regression, arms)
    return Choice(greedy_arm(state.regression, arms), EXPLOIT)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)
