"""LinUCB, or OFUL: optimism on a confidence ellipsoid (Abbasi-Yadkori, Pal and Szepesvari 2011).

The width `fn` has the level f_n = f(n, 1/n) that Hao, Lattimore and Szepesvari (2020) use to decide
when to exploit; the LinUCB of their wasted rounds, f(n, 1/s^2) without a ridge, is in oam.py. Their
theorem on bounded regret is for a width that fails with probability 1 / t^3 in round t: `anytime`.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from thrifty.numerics.arrays import Ints
from thrifty.numerics.regression import Regression, update_arms
from thrifty.numerics.widths import level, oful_width
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, discounted_rounds, start_ledger
from thrifty.policies.shared.selection import optimistic_arm
from thrifty.policies.shared.stubs import Choice, choose, implements
from thrifty.problem.action_sets import ActionSets


@dataclass(frozen=True, kw_only=True)
class LinUCB(Policy):
    """Play argmax <x, theta_hat> + width ||x||_{V^-1}, with V = ridge I + sum x x^T.

    Parameters
    ----------
    width : `oful`, the theorem's width, which grows with log det V; `fn`, noise sqrt(f_n), at the
        level f_n of oam's analysis: about half as wide in square; `anytime`, the theorem's width
        with delta = 1 / t^3 in round t; or `alpha`, noise times alpha, the same in every round, as
        in practice. The last two need no horizon
    alpha : the width in units of noise, used by `alpha`
    c : constant of the lower-order term of f_n, used by `fn`
    delta : probability of failure, used by `oful` and `fn`; 1 / horizon by default
    size : upper bound on ||theta||, used by `oful` and `anytime`
    ridge, horizon, forgetting : see Policy
    """

    width: str = parameters.word("oful", "fn", "anytime", "alpha")
    ridge: float | None = parameters.ridge()
    alpha: float = parameters.number(1.0, at_least=0)
    c: float = parameters.number(1.0, at_least=0)
    delta: float | None = parameters.number(None, above=0, below=1)
    size: float = parameters.number(1.0, at_least=0)
    horizon: float | None = parameters.horizon()
    forgetting: float | None = parameters.forgetting()

    name = "linucb"
    labels = ("optimistic",)
    open = True

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        ridge, log_inverse_delta, fixed_width = self._ridge(noise), 0.0, noise * self.alpha
        if self.width in ("oful", "fn"):
            rounds = 1.0 / max(self.delta, 1e-300) if horizon is None and self.delta else horizon
            n = self._planned_rounds(rounds)
            log_inverse_delta = math.log(n) if self.delta is None else -math.log(self.delta)
            f_n = level(math.log(n), log_inverse_delta, float(self.c), sets.dimension)
            fixed_width = noise * math.sqrt(f_n)
        return State(
            start_ledger(sets),
            self._regression(sets, ridge),
            noise=noise,
            ridge=ridge,
            size=float(self.size),
            log_inverse_delta=log_inverse_delta,
            fixed=self.width in ("fn", "alpha"),
            fixed_width=fixed_width,
            anytime=self.width == "anytime",
        )


class State(NamedTuple):
    """The state of LinUCB."""

    ledger: Ledger
    regression: Regression
    noise: float
    ridge: float
    size: float
    log_inverse_delta: float
    fixed: bool  # whether the width is the same in every round: `fn` or `alpha`
    fixed_width: float
    anytime: bool  # whether log(1 / delta) is 3 log t


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    regression = state.regression
    update_arms(regression, arms)
    width, log_inverse_delta = state.fixed_width, state.log_inverse_delta
    if state.anytime:
        t = discounted_rounds(state.ledger, regression.kept) + 1.0
        log_inverse_delta = 3.0 * math.log(t)
    if not state.fixed:
        width = oful_width(regression, state.ridge, log_inverse_delta, state.noise, state.size)
    return Choice(optimistic_arm(regression, arms, width), 0)
