"""Greedy: always the arm with the highest estimated mean. The baseline without exploration."""

from dataclasses import dataclass
from typing import NamedTuple

from thrifty.numerics.arrays import Ints
from thrifty.numerics.regression import Regression, update_arms
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, start_ledger
from thrifty.policies.shared.selection import greedy_arm
from thrifty.policies.shared.stubs import Choice, choose, implements
from thrifty.problem.action_sets import ActionSets


@dataclass(frozen=True, kw_only=True)
class Greedy(Policy):
    """Play argmax <x, theta_hat>, with theta_hat by ridge regression.

    Parameters
    ----------
    ridge, forgetting : see Policy
    """

    ridge: float | None = parameters.ridge()
    forgetting: float | None = parameters.forgetting()

    name = "greedy"
    labels = ("exploit",)
    open = True

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        return State(start_ledger(sets), self._regression(sets, self._ridge(noise)))


class State(NamedTuple):
    """The state of greedy play."""

    ledger: Ledger
    regression: Regression


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    update_arms(state.regression, arms)
    return Choice(greedy_arm(state.regression, arms), 0)
