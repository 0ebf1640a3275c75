"""SquareCB: inverse gap weighting of a regression's means (Foster and Rakhlin 2020).

Foster and Rakhlin, Beyond UCB: Optimal and Efficient Contextual Bandits with Regression Oracles;
the weights are those of Abe and Long (1999). With V = ridge I + sum x x^T, x^ the greedy one of the
K arms on offer and gap(x) = <x^ - x, theta_hat> / noise:

    p(x) = 1 / (K + gamma_t gap(x)) for x other than x^,   p(x^) = 1 - the sum of these
    gamma_t = c sqrt(t)

The source has rewards in [0, 1], any regression oracle, of regret R, and a horizon n: gamma is of
the order sqrt(K n / R). Here gaps are in units of the noise, so that c does not depend on that of
rewards, the oracle is ridge regression, and gamma grows with the rounds t: no horizon is needed.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.numerics.arrays import Ints, WorkSpace
from thrifty.numerics.regression import Regression, update_arms
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, discounted_rounds, start_ledger
from thrifty.policies.shared.selection import draw_arm, greedy_arm
from thrifty.policies.shared.stubs import Choice, choose, implements, probability
from thrifty.problem.action_sets import ActionSets

GREEDY, SAMPLED = range(2)


@dataclass(frozen=True, kw_only=True)
class SquareCB(Policy):
    """Play another arm than the greedy one with probability 1 / (K + c sqrt(t) gap / noise).

    Parameters
    ----------
    c : constant of gamma = c sqrt(t), for gaps in units of noise; more explores less
    ridge, forgetting : see Policy
    """

    c: float = parameters.number(10.0, at_least=0)
    ridge: float | None = parameters.ridge()
    forgetting: float | None = parameters.forgetting()

    name = "squarecb"
    labels = ("greedy", "sampled")
    open = True

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        return State(
            start_ledger(sets, uniforms=1),
            self._regression(sets, self._ridge(noise)),
            weights=np.zeros(len(sets.rows)),
            scale=self.c / noise,
        )


class State(NamedTuple):
    """The state of SquareCB."""

    ledger: Ledger
    regression: Regression
    weights: WorkSpace  # (k,) p of the arms on offer
    scale: float  # c / noise


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    regression, weights = state.regression, state.weights
    update_arms(regression, arms)
    greedy = greedy_arm(regression, arms)
    t = discounted_rounds(state.ledger, regression.kept) + 1.0
    gamma = state.scale * math.sqrt(t)
    rest = 1.0
    for n in range(arms.size):
        row = arms[n]
        if row != greedy:
            gap = regression.means[greedy] - regression.means[row]
            weights[row] = 1.0 / (arms.size + gamma * gap)
            rest -= weights[row]
    weights[greedy] = rest
    row = draw_arm(weights, arms, state.ledger.uniforms[0])
    return Choice(row, GREEDY if row == greedy else SAMPLED)


@implements(probability, State)
def _probability(state: State, context: int, arms: Ints, row: int) -> float:
    """By the weights that choose has left."""
    weight: float = state.weights[row]
    return weight
