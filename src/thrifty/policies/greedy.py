"""Greedy: always the arm that looks best. What exploration has to beat."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from thrifty.actions import ActionSets
from thrifty.arrays import Ints
from thrifty.policies.base import Choice, Ledger, Policy, choose, implements, learn, start_ledger
from thrifty.policies.moves import greedy_arm
from thrifty.regression import Regression, look, observe, start_regression


@dataclass(frozen=True, kw_only=True)
class Greedy(Policy):
    """Play argmax <x, theta_hat>, with theta_hat by ridge regression.

    Parameters
    ----------
    ridge : what V starts from
    """

    ridge: float = 1.0

    name: ClassVar[str] = "greedy"
    labels: ClassVar[tuple[str, ...]] = ("exploit",)

    def __post_init__(self) -> None:
        self._above(0, "ridge")

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        return State(
            start_ledger(sets),
            start_regression(sets.rows, ridge=self.ridge, largest_set=sets.largest),
        )


class State(NamedTuple):
    """What greedy play remembers."""

    ledger: Ledger
    regression: Regression


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    look(state.regression, arms)
    return Choice(greedy_arm(state.regression, arms), 0)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)
