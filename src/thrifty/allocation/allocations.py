"""`allocate`: the allocation program for Python, with checks of the input."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from thrifty.allocation.arms import Outcome, allocate_stepwise
from thrifty.allocation.verification import FEASIBLE, Proposal, is_well_conditioned, verify
from thrifty.allocation.working_sets import FEASIBILITY
from thrifty.compiler.interrupts import interruptible
from thrifty.display import frame, html
from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import (
    RANGE,
    Bools,
    Floats,
    check_range,
    finite_numbers,
    noise_level,
    numeric,
    positive_number,
)
from thrifty.numerics.bases import VANISHING

if TYPE_CHECKING:
    from pandas import DataFrame

ALMOST = 1e-3  # certified gap up to which a solve that missed the tolerance is almost solved
BLAS_SIZE = 4096  # entries of features from which the solver may call BLAS
ROUNDING = 1e-14  # times d: a share of an arm's length up to this is rounding
LONG = 1e5  # number of arms times dimension squared from which a solve can take milliseconds


class Status(StrEnum):
    """How a solve ended."""

    SOLVED = "solved"
    ALMOST_SOLVED = "almost solved"
    FAILED = "failed"

    @property
    def advice(self) -> str:
        """The meaning of the status, and what to do."""
        return {
            Status.SOLVED: "the certified gap is within the tolerance",
            Status.ALMOST_SOLVED: "the bounds hold, but the gap exceeds the tolerance: accept it, "
            "or ask for a larger tol",
            Status.FAILED: "do not use the pulls; the bounds hold but are far apart: look for arms "
            "that differ by rounding only, or rescale them",
        }[self]


@dataclass(frozen=True)
class Allocation:
    """An allocation with its certificate, lower <= optimal value <= upper.

    Attributes
    ----------
    pulls : (k,) pulls of each arm per log n; inf for optimal arms without base information
    prices : (k,) dual variables of the constraints; with the pulls they prove the lower bound
        (docs/allocation.md, section 4)
    value : pulls . gaps, the cost of this allocation (equal to upper)
    lower, upper : bounds on the optimal value
    status : solved, almost solved or failed
    iterations, rounds : Newton steps and working sets of the solve
    reduced_dimension : dimension of the reduced program
    remarks : sentences about what a tolerance has decided; none if nothing was close to one
    """

    pulls: Floats
    prices: Floats
    value: float
    lower: float
    upper: float
    status: Status
    iterations: int
    rounds: int
    reduced_dimension: int
    remarks: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """The certified relative gap upper / lower - 1."""
        return relative_gap(self.lower, self.upper)

    def certified(self, quantity: str) -> str:
        """A quantity with its value, or the lower bound of a failed solve, and the certificate."""
        if self.status == Status.FAILED:
            return f"{quantity} >= {self.lower:.6g}, {self.status}"
        return f"{quantity} = {self.value:.6g}, {self.status}, certified gap {self.gap:.0e}"

    def to_frame(self) -> "DataFrame":
        """A data frame of pandas with a row per arm; columns: arm (index), pulls, price."""
        return frame("allocation.to_frame()", self._columns())

    def _columns(self) -> dict[str, Any]:
        return {"arm": np.arange(len(self.pulls)), "pulls": self.pulls, "price": self.prices}

    def __repr__(self) -> str:
        return f"<allocation: {len(self.pulls):,} arms, {self.certified('value')}>"

    def _repr_html_(self) -> str:
        if self.status == Status.FAILED:
            return html(repr(self)[1:-1], {}, notes=(self.status.advice, *self.remarks))
        pulled = np.flatnonzero(self.pulls)
        shown = {name: column[pulled] for name, column in self._columns().items()}
        notes = ("pulls per log n; arms without pulls are left out", *self.remarks)
        title, pulls = repr(self)[1:-1], shown["pulls"]
        return html(title, shown, notes=notes, rank=pulls, order="most pulls first")


def relative_gap(lower: float, upper: float) -> float:
    """upper / lower - 1; 0 where both are 0."""
    if lower > 0:
        return upper / lower - 1
    return 0.0 if upper == 0 else np.inf


def allocate(
    features: ArrayLike,
    gaps: ArrayLike,
    best: ArrayLike,
    *,
    noise: float = 1.0,
    base: ArrayLike | None = None,
    tol: float = 1e-6,
    warm: Allocation | None = None,
) -> Allocation:
    """The pulls of least cost that distinguish every suboptimal arm from the best, certified.

    Minimises pulls . gaps subject to ||x||^2 <= gap^2 / (2 noise^2) for every suboptimal arm x, in
    the norm of the inverse information, sum pulls x x^T. Optimal arms have no cost, and get
    infinitely many pulls.

    Parameters
    ----------
    features : (k, d) the arms of all contexts
    gaps : (k,) suboptimality gap of each arm within its context; positive unless best
    best : (k,) whether an arm is optimal in its context
    noise : standard deviation of the rewards
    base : (d, d) base information, symmetric and positive semidefinite, which adds to that of the
        pulls. It must include the information of optimal arms, which then get no pulls
    tol : relative gap to certify
    warm : an earlier allocation of the same arms under similar gaps, to start from

    Examples
    --------
    >>> allocate([[1, 0], [0, 1], [0.9, 0.5]], gaps=[0, 1, 0.1], best=[True, False, False]).pulls
    array([ inf,   0., 200.])
    """
    arms = _check_arms(features, gaps, best)
    k, d = arms[0].shape
    sigma = noise_level(noise)
    tolerance = positive_number(tol, "tol", below=1.0)
    pulls, prices = _start(warm, k)
    known = np.zeros((d, d)) if base is None else _check_base(base, d)
    stop = np.zeros(1, dtype=np.bool_)

    def solve() -> Outcome:
        with _one_blas_thread(k * d):
            fields = allocate_stepwise(
                *arms, sigma, known, base is None, pulls, prices, warm is not None, tolerance, stop
            )
        return Outcome(*fields)

    outcome = interruptible(solve, stop) if k * d * d > LONG else solve()
    remarks: list[str] = []
    if outcome.neglected > ROUNDING * d:
        remarks.append(
            f"an arm has {outcome.neglected:.1g} of its length in a direction that counts as none: "
            f"shares up to {VANISHING:g} are neglected, larger ones may change the value a lot"
        )
    if base is not None:
        with _one_blas_thread(k * d):
            outcome = _verified(outcome, Proposal(*arms, sigma, known, pulls, prices), remarks)
    return _allocation(pulls, prices, outcome, tolerance, remarks)


def _verified(outcome: Outcome, proposal: Proposal, remarks: list[str]) -> Outcome:
    """An outcome whose bounds can be trusted, where rounding could have changed them."""
    explores = bool(proposal.pulls.any())
    if explores and is_well_conditioned(proposal):
        return outcome
    lower, cost, excess = verify(proposal)
    if not explores and FEASIBLE < excess <= FEASIBILITY:
        remarks.append(
            f"base information misses a constraint by {excess:.1g} of its value and counts as "
            f"sufficient: the tolerance is {FEASIBILITY:g}"
        )
        excess = 0.0
    return outcome._replace(lower=lower, upper=cost if excess <= FEASIBLE else np.inf)


def _start(warm: Allocation | None, k: int) -> tuple[Floats, Floats]:
    """Copies of the pulls (k,) and prices (k,) of a warm start; zeros without one."""
    if warm is None:
        return np.zeros(k), np.zeros(k)
    if not isinstance(warm, Allocation):
        raise InvalidInput.expected("warm", "what thrifty.allocate returned", warm)
    if warm.pulls.shape != (k,):
        raise InvalidInput.expected("warm", f"an allocation of {k} arms", len(warm.pulls))
    return np.array(warm.pulls, dtype=np.float64), np.array(warm.prices, dtype=np.float64)


def _allocation(
    pulls: Floats, prices: Floats, outcome: Outcome, tol: float, remarks: list[str]
) -> Allocation:
    lower, upper = sorted((outcome.lower, outcome.upper))  # rounding may exchange equal bounds
    gap = relative_gap(lower, upper)
    status = Status.ALMOST_SOLVED if gap <= ALMOST else Status.FAILED
    return Allocation(
        pulls=pulls,
        prices=prices,
        value=upper,
        lower=lower,
        upper=upper,
        status=Status.SOLVED if gap <= tol else status,
        iterations=outcome.iterations,
        rounds=outcome.rounds,
        reduced_dimension=outcome.reduced_dimension,
        remarks=tuple(remarks),
    )


def _one_blas_thread(entries: int) -> AbstractContextManager[object]:
    """One thread for BLAS, if it is called: more are many times slower on a busy machine."""
    return _blas_threads().limit(limits=1) if entries > BLAS_SIZE else nullcontext()


@cache
def _blas_threads() -> Any:
    # threadpoolctl finds loaded libraries only: this one is the BLAS that Numba calls
    import scipy.linalg.cython_blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _check_arms(
    features: ArrayLike, gaps: ArrayLike, best: ArrayLike
) -> tuple[Floats, Floats, Bools]:
    rows = _check_features(features)
    k = len(rows)
    differences = finite_numbers(gaps, "gaps")
    if differences.shape != (k,):
        raise InvalidInput.expected("gaps", f"{k} numbers (one per arm)", len(differences))
    optimal = _check_flags(best, k)
    for i in np.flatnonzero((differences <= 0) & ~optimal):
        expected = "a positive number (the arm is not best)"
        raise InvalidInput.expected(f"gaps[{i}]", expected, float(differences[i]))
    check_range(np.abs(rows).max(axis=1), "features", "an arm")
    check_range(np.where(optimal, 0.0, differences), "gaps", "a gap")
    return rows, differences, optimal


def _check_features(features: ArrayLike) -> Floats:
    rows = numeric(features, "features", "a (k, d) array of numbers")
    if not rows.flags.writeable:  # to Numba, read-only arrays are another type to compile for
        rows = rows.copy()
    if rows.ndim != 2 or rows.size == 0:
        raise InvalidInput.expected("features", "a (k, d) array with at least one arm", rows.shape)
    for i in np.flatnonzero(~np.isfinite(rows).all(axis=1)):
        raise InvalidInput.expected(f"features[{i}]", "finite numbers", rows[i])
    return rows


def _check_flags(best: ArrayLike, k: int) -> Bools:
    try:
        flags = np.asarray(best)
    except ValueError:  # rows of different lengths
        flags = np.empty(0)
    numbers = flags.shape == (k,) and flags.dtype.kind in "biuf"
    if not numbers or (flags != flags.astype(np.bool_)).any():
        raise InvalidInput.expected("best", f"{k} flags (one per arm)", best)
    return np.ascontiguousarray(flags, dtype=np.bool_)


def _check_base(base: ArrayLike, d: int) -> Floats:
    known = numeric(base, "base", f"a ({d}, {d}) array of finite numbers")
    if known.shape != (d, d) or not np.isfinite(known).all():
        raise InvalidInput.expected("base", f"a ({d}, {d}) array of finite numbers", known.shape)
    scale = np.abs(known).max()
    if scale > 1 / RANGE:
        raise InvalidInput.expected("base", f"entries up to {1 / RANGE:g}", float(scale))
    if np.abs(known - known.T).max() > 1e-9 * scale:
        raise InvalidInput.expected("base", "a symmetric matrix", known)
    if np.linalg.eigvalsh(known).min() < -1e-9 * scale:
        raise InvalidInput.expected("base", "a positive semidefinite matrix", known)
    return (known + known.T) / 2
