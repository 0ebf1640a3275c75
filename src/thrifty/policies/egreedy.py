"""Epsilon-greedy: the greedy arm, or with a small probability any arm (Langford and Zhang 2007)."""

from dataclasses import dataclass
from typing import NamedTuple

from thrifty.compiler.compilation import kernel
from thrifty.numerics.arrays import Ints
from thrifty.numerics.regression import Regression, update_arms
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, discounted_rounds, start_ledger
from thrifty.policies.shared.selection import greedy_arm
from thrifty.policies.shared.stubs import Choice, choose, implements, probability
from thrifty.problem.action_sets import ActionSets

EXPLOIT, FORCED = range(2)


@dataclass(frozen=True, kw_only=True)
class EGreedy(Policy):
    """With probability min(1, epsilon t^-decay) play an arm drawn uniformly, else the greedy one.

    Parameters
    ----------
    epsilon : probability of exploring in the first round
    decay : rate at which it falls; 0 keeps it constant, and regret linear
    ridge, forgetting : see Policy
    """

    epsilon: float = parameters.number(1.0, at_least=0)
    decay: float = parameters.number(0.5, at_least=0)
    ridge: float | None = parameters.ridge()
    forgetting: float | None = parameters.forgetting()

    name = "egreedy"
    labels = ("exploit", "forced")
    open = True

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        return State(
            start_ledger(sets, uniforms=2),
            self._regression(sets, self._ridge(noise)),
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
    if state.ledger.uniforms[0] < _epsilon(state):
        return Choice(arms[int(state.ledger.uniforms[1] * arms.size)], FORCED)
    update_arms(state.regression, arms)
    return Choice(greedy_arm(state.regression, arms), EXPLOIT)


@implements(probability, State)
def _probability(state: State, context: int, arms: Ints, row: int) -> float:
    update_arms(state.regression, arms)
    forced = min(1.0, _epsilon(state))
    rest = 1.0 - forced if row == greedy_arm(state.regression, arms) else 0.0
    return rest + forced / arms.size


@kernel
def _epsilon(state: State) -> float:
    """The probability of a forced choice in this round, if at most 1."""
    t = discounted_rounds(state.ledger, state.regression.kept) + 1.0
    return float(state.epsilon * t**-state.decay)
