"""Greedy: always the arm with the highest estimated mean. The baseline without exploration."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from thrifty.numerics.arrays import Ints
from thrifty.numerics.regression import Regression, observe, start_regression, update_arms
from thrifty.policies.base import Policy
from thrifty.policies.shared.ledger import Ledger, start_ledger
from thrifty.policies.shared.selection import greedy_arm
from thrifty.policies.shared.stubs import Choice, choose, implements, learn
from thrifty.problem.action_sets import ActionSets


@dataclass(frozen=True, kw_only=True)
class Greedy(Policy):
    """Play argmax <x, theta_hat>, with theta_hat by ridge regression.

    Parameters
    ----------
    ridge : V starts from ridge times the identity: the prior is N(0, noise^2 / ridge I). By default
        noise^2, for N(0, I)
    """

    ridge: float | None = None

    name: ClassVar[str] = "greedy"
    labels: ClassVar[tuple[str, ...]] = ("exploit",)

    def check(self) -> None:
        self._check_ridge()

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        return State(
            start_ledger(sets),
            start_regression(sets.rows, ridge=self._ridge(noise), largest_set=sets.largest),
        )


class State(NamedTuple):
    """The state of greedy play."""

    ledger: Ledger
    regression: Regression


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    update_arms(state.regression, arms)
    return Choice(greedy_arm(state.regression, arms), 0)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)
