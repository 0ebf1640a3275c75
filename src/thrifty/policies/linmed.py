"""LinMED: linear minimum empirical divergence (Balagopalan and Jun 2024).

Balagopalan and Jun, Minimum Empirical Divergence for Sub-Gaussian Linear Bandits; details from its
authors' public code. With V = ridge I + sum x x^T, norms in V^-1, x^ the greedy one of the K arms
on offer and gap(x) = <x^ - x, theta_hat>:

    beta_t = (noise sqrt(2 log(1 / delta) + log det V - d log ridge) + sqrt(ridge))^2
    F(x) = exp(-gap(x)^2 / (beta_t ||x - x^||^2)), F(x^) = 1
    q(x) = alpha_opt q_opt(x) + (1 - alpha_emp - alpha_opt) / K + alpha_emp 1{x = x^}
    p(x) proportional to q(x) F(x)

where q_opt is nearly a G-optimal design of the arms sqrt(F(x)) x: the largest ||x||^2 in W^-1 is
near its least value, W = sum q_opt F x x^T.

What is done differently here, or is left open by the source:

- q_opt takes up to STEPS steps of Fedorov and Wynn from the uniform design, until the largest norm
  is within TOLERANCE of its least value; the authors add arms to a few that span until it is within
  a small factor. Arms need not span: a millionth of the trace of W is added to its diagonal, and
  the least value is the mean norm under the design, near the rank;
- beta_t is the square of `oful_width` for ||theta|| <= 1; the default ridge, noise^2, is the
  authors' for that bound;
- the first round is like any other, and x with the vector of x^ has F = 1.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import kernel
from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Floats, Ints, WorkSpace
from thrifty.numerics.dense import add_outer, invert_regularised
from thrifty.numerics.regression import Regression, squared_distance, start_regression, update_arms
from thrifty.numerics.widths import oful_width
from thrifty.policies.base import Policy
from thrifty.policies.shared import parameters
from thrifty.policies.shared.ledger import Ledger, start_ledger
from thrifty.policies.shared.selection import draw_arm, greedy_arm
from thrifty.policies.shared.stubs import Choice, choose, implements
from thrifty.problem.action_sets import ActionSets

GREEDY, SAMPLED = range(2)
STEPS = 20  # of Fedorov and Wynn, at most
TOLERANCE = 0.1  # a design is good enough if the largest norm exceeds the mean by this share
LONGEST_STEP = 0.5  # W stays invertible
TIE = 1e-9  # norms that differ by less than this share are equal: the first arm counts


@dataclass(frozen=True, kw_only=True)
class LinMED(Policy):
    """Draw arms in proportion to exp(-evidence against them), mostly the greedy one.

    Parameters
    ----------
    alpha_emp : weight of the greedy arm
    alpha_opt : weight of the optimal design; what is left is spread evenly
    delta : probability of failure in beta_t
    ridge : see Policy
    """

    alpha_emp: float = parameters.number(0.99, at_least=0)
    alpha_opt: float = parameters.number(0.005, at_least=0)
    ridge: float | None = parameters.ridge()
    delta: float = parameters.number(0.01, above=0, below=1)

    name = "linmed"
    labels = ("greedy", "sampled")

    def check(self) -> None:
        total, where = self.alpha_emp + self.alpha_opt, "linmed: alpha_emp + alpha_opt"
        if total > 1:
            raise InvalidInput.expected(where, "a sum of at most 1", total)

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> "State":
        k, d = sets.rows.shape
        return State(
            start_ledger(sets, uniforms=1),
            start_regression(sets.rows, ridge=self._ridge(noise), largest_set=sets.largest),
            Design(
                weights=np.zeros(k),
                norms=np.zeros(k),
                information=np.zeros((d, d)),
                inverse=np.zeros((d, d)),
                step=np.zeros(d),
            ),
            divergences=np.zeros(k),
            probabilities=np.zeros(k),
            noise=noise,
            log_inverse_delta=-math.log(self.delta),
            alpha_emp=float(self.alpha_emp),
            alpha_opt=float(self.alpha_opt),
        )


class Design(NamedTuple):
    """Work space of the optimal design; of the arms on offer, as sqrt(F) x."""

    weights: WorkSpace  # (k,) q_opt
    norms: WorkSpace  # (k,) F ||x||^2 in W^-1
    information: WorkSpace  # (d, d) W, then its Cholesky factor
    inverse: WorkSpace  # (d, d) W^-1
    step: WorkSpace  # (d,) W^-1 times the arm that gains weight


class State(NamedTuple):
    """The state of LinMED."""

    ledger: Ledger
    regression: Regression
    design: Design
    divergences: WorkSpace  # (k,) F
    probabilities: WorkSpace  # (k,) p, up to a factor
    noise: float
    log_inverse_delta: float
    alpha_emp: float
    alpha_opt: float


@implements(choose, State)
def _choose(state: State, context: int, arms: Ints) -> Choice:
    regression, F, p = state.regression, state.divergences, state.probabilities
    update_arms(regression, arms)
    greedy, uniform = greedy_arm(regression, arms), state.ledger.uniforms[0]
    _find_divergences(state, arms, greedy)
    even = (1.0 - state.alpha_emp - state.alpha_opt) / arms.size
    if _is_surely_greedy(state, arms, greedy, even, uniform):
        return Choice(greedy, GREEDY)
    _find_design(state.design, regression.rows, F, arms)
    total = 0.0
    for n in range(arms.size):
        row = arms[n]
        q = state.alpha_opt * state.design.weights[row] + even
        if row == greedy:
            q += state.alpha_emp
        p[row] = q * F[row]
        total += p[row]
    point = uniform * total - p[greedy]
    if point < 0.0:
        return Choice(greedy, GREEDY)
    rest, p[greedy] = total - p[greedy], 0.0
    return Choice(draw_arm(p, arms, point / rest), SAMPLED)


@kernel
def _is_surely_greedy(state: State, arms: Ints, greedy: int, even: float, uniform: float) -> bool:
    """Whether the greedy arm, first in the cumulated sum, is drawn whatever q_opt is.

    Its p is at least alpha_emp + even, and q_opt adds at most alpha_opt max F to all others.
    """
    F, others, largest = state.divergences, 0.0, 0.0
    for n in range(arms.size):
        if arms[n] != greedy:
            others += F[arms[n]]
            largest = max(largest, F[arms[n]])
    certain = state.alpha_emp + even
    return uniform * (certain + even * others + state.alpha_opt * largest) < certain


@kernel
def _find_divergences(state: State, arms: Ints, greedy: int) -> None:
    """F of the rows arms (n,)."""
    regression, ids = state.regression, state.ledger.vector_ids
    ridge = regression.totals[0].ridge
    width = oful_width(regression, ridge, state.log_inverse_delta, state.noise, 1.0)
    for n in range(arms.size):
        row = arms[n]
        state.divergences[row] = 1.0
        if ids[row] != ids[greedy]:
            gap = regression.means[greedy] - regression.means[row]
            error = width * math.sqrt(squared_distance(regression, row, greedy))
            if error > 0.0:
                state.divergences[row] = math.exp(-((gap / error) ** 2))


@kernel
def _find_design(design: Design, rows: Floats, F: Floats, arms: Ints) -> None:
    """Nearly a G-optimal design of sqrt(F) x for the rows arms (n,)."""
    _start_design(design, rows, F, arms)
    for _ in range(STEPS):
        longest, mean = arms[0], 0.0
        for n in range(arms.size):
            row = arms[n]
            mean += design.weights[row] * design.norms[row]
            if design.norms[row] > design.norms[longest] * (1.0 + TIE):
                longest = row
        norm = design.norms[longest]
        if norm <= max(1.0, mean) * (1.0 + TOLERANCE):
            break
        # the step that maximises det W; mean is the rank, but for the regularisation
        step = min(LONGEST_STEP, (norm / mean - 1.0) / (norm - 1.0))
        _reweigh(design, rows, F, arms, longest, step)


@kernel
def _start_design(design: Design, rows: Floats, F: Floats, arms: Ints) -> None:
    """The uniform design on the rows arms (n,), with W^-1 and norms."""
    W, inverse, d, trace = design.information, design.inverse, rows.shape[1], 0.0
    W[:] = 0.0
    for n in range(arms.size):
        row = arms[n]
        design.weights[row] = 1.0 / arms.size
        trace = add_outer(W, F[row] / arms.size, rows[row], trace)
    invert_regularised(W, trace, inverse)
    for n in range(arms.size):
        row = arms[n]
        design.norms[row] = 0.0
        for i in range(d):
            along = 0.0
            for j in range(d):
                along += inverse[i, j] * rows[row, j]
            design.norms[row] += F[row] * rows[row, i] * along


@kernel
def _reweigh(design: Design, rows: Floats, F: Floats, arms: Ints, new: int, share: float) -> None:
    """W <- (1 - share) W + share F x x^T for the row new, and all that follows from W."""
    inverse, step, d, rest = design.inverse, design.step, rows.shape[1], 1.0 - share
    shrink = share * F[new] / (rest + share * design.norms[new])
    for i in range(d):
        step[i] = 0.0
        for j in range(d):
            step[i] += inverse[i, j] * rows[new, j]
    for i in range(d):
        for j in range(d):
            inverse[i, j] = (inverse[i, j] - shrink * step[i] * step[j]) / rest
    for n in range(arms.size):
        row, along = arms[n], 0.0
        for i in range(d):
            along += rows[row, i] * step[i]
        design.norms[row] = (design.norms[row] - shrink * F[row] * along * along) / rest
        design.weights[row] *= rest
    design.weights[new] += share
