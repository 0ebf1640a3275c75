"""LinUCB, or OFUL: optimism on a confidence ellipsoid (Abbasi-Yadkori, Pal and Szepesvari 2011)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from thrifty.actions import ActionSets
from thrifty.arrays import Ints
from thrifty.policies.base import Choice, Ledger, Policy, choose, implements, learn, start_ledger
from thrifty.policies.moves import optimistic_arm
from thrifty.regression import LOGDET, Regression, look, observe, start_regression
from thrifty.widths import level, oful


@dataclass(frozen=True, kw_only=True)
class LinUCB(Policy):
    """Play argmax <x, theta_hat> + width ||x|| in the norm of V^-1, V = ridge I + sum x x^T.

    Parameters
    ----------
    width : `oful`, the theorem's width, which grows with log det V; or `fn`, noise sqrt(f_n), as in
        the paper's wasted rounds: half as wide in square
    ridge : what V starts from
    c : the constant in f_n, used by `fn`
    delta : the probability of failure; 1 / horizon by default
    size : an upper bound on ||theta||, used by `oful`
    horizon : rounds to plan for; that of the run by default
    """

    width: str = "oful"
    ridge: float = 1.0
    c: float = 1.0
    delta: float | None = None
    size: float = 1.0
    horizon: float | None = None

    name: ClassVar[str] = "linucb"
    labels: ClassVar[tuple[str, ...]] = ("optimistic",)

    def __post_init__(self) -> None:
        self._one_of("width", "oful", "fn")
        self._above(0, "ridge")
        self._at_least(0, "c", "size")
        self._probability("delta")
        self._horizon()

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        n = self._rounds(
            1.0 / max(self.delta, 1e-300) if horizon is None and self.delta else horizon
        )
        log_inverse_delta = math.log(n) if self.delta is None else -math.log(self.delta)
        return State(
            start_ledger(sets),
            start_regression(sets.rows, ridge=self.ridge, largest_set=sets.largest),
            noise=noise,
            ridge=float(self.ridge),
            size=float(self.size),
            log_inverse_delta=log_inverse_delta,
            fixed_width=noise
            * math.sqrt(level(math.log(n), log_inverse_delta, float(self.c), sets.dimension))
            if self.width == "fn"
            else -1.0,
        )


class State(NamedTuple):
    """What LinUCB remembers."""

    ledger: Ledger
    regression: Regression
    noise: float
    ridge: float
    size: float
    log_inverse_delta: float
    fixed_width: float  # negative: the width of `oful`, which grows


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    regression = state.regression
    look(regression, arms)
    width = state.fixed_width
    if width < 0.0:
        width = oful(
            regression.numbers[LOGDET],
            regression.theta.size,
            state.ridge,
            state.log_inverse_delta,
            state.noise,
            state.size,
        )
    return Choice(optimistic_arm(regression, arms, width), 0)


@implements(learn, State)
def _learn(state: State, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)
