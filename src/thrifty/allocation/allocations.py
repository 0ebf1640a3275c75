"""`allocate`: checked input, one call of the compiled solver, a result with names."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thrifty.allocation.arms import allocate_arms
from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Bools, Floats, Ints, finite_numbers, numeric, positive_number

RANGE = 1e-120  # sizes further apart than this, or further from 1, are taken for a mistake
ALMOST = 1e-3  # a certified gap up to this is worth having, even where the tolerance was missed


class Status(StrEnum):
    """How a solve ended."""

    SOLVED = "solved"
    ALMOST_SOLVED = "almost solved"
    FAILED = "failed"

    @property
    def advice(self) -> str:
        """What to do about it."""
        return {
            Status.SOLVED: "the certified gap is within the tolerance",
            Status.ALMOST_SOLVED: "the bounds hold, but the gap is wider than asked: use them as "
            "they "
            "are, "
            "or ask for a larger tol",
            Status.FAILED: "do not use the pulls; the bounds hold but are far apart: look for arms "
            "that differ by rounding only, or rescale them",
        }[self]


@dataclass(frozen=True)
class Allocation:
    """An optimal allocation with its certificate: lower <= optimal value <= upper, whatever the
    solver did.

    Attributes
    ----------
    pulls : (k,) pulls of each arm per log n; inf where an arm is free
    prices : (k,) of the constraints; with the pulls they prove the lower bound (docs/allocation.md,
        section 4)
    value : pulls . gaps, the cost of this allocation (equal to upper)
    lower, upper : bounds on the optimal value
    status : solved, almost solved or failed
    iterations, rounds : Newton steps, and working sets that were tried
    reduced_dimension : directions that remain to be explored
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

    @property
    def gap(self) -> float:
        """The certified relative gap upper / lower - 1."""
        return relative_gap(self.lower, self.upper)


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
    """The cheapest pulls that tell every other arm from the best, and a proof that none are
    cheaper.

    Minimises pulls . gaps subject to ||x||^2 <= gap^2 / (2 noise^2), in the norm of the inverse of
    the information sum pulls x x^T, for every arm x that is not best. Best arms cost nothing and
    are pulled for ever.

    Parameters
    ----------
    features : (k, d) the arms of all contexts
    gaps : (k,) how much worse each is than the best of its context; positive unless best
    best : (k,) which arms are optimal in their context
    noise : standard deviation of the rewards
    base : (d, d) symmetric, positive semidefinite: information that is there already. It then also
        stands for all that best arms bring: they are not infinite any more, and get no pulls
    tol : relative gap to certify
    warm : an earlier allocation of the same arms under similar gaps

    Examples
    --------
    >>> allocate([[1, 0], [0, 1], [0.9, 0.5]], gaps=[0, 1, 0.1], best=[True, False, False]).pulls
    array([ inf,   0., 200.])
    """
    rows, differences, optimal = _check_arms(features, gaps, best)
    k, d = rows.shape
    sigma = positive_number(noise, "noise")
    if not RANGE < sigma < 1 / RANGE:
        raise InvalidInput("noise", f"a number between {RANGE:g} and {1 / RANGE:g}", sigma)
    tolerance = positive_number(tol, "tol", below=1.0)
    pulls, prices = np.zeros(k), np.zeros(k)
    if warm is not None:
        if warm.pulls.shape != (k,):
            raise InvalidInput("warm", f"an allocation of {k} arms", len(warm.pulls))
        pulls[:], prices[:] = warm.pulls, warm.prices
    known = np.zeros((d, d)) if base is None else _check_base(base, d)
    with _one_blas_thread(rows.size):
        outcome = allocate_arms(
            rows,
            differences,
            optimal,
            sigma,
            known,
            base is None,
            pulls,
            prices,
            warm is not None,
            tolerance,
        )
    lower, upper = sorted((outcome.lower, outcome.upper))  # rounding may swap them where they meet
    return Allocation(
        pulls=pulls,
        prices=prices,
        value=upper,
        lower=lower,
        upper=upper,
        status=_status(relative_gap(lower, upper), tolerance),
        iterations=outcome.iterations,
        rounds=outcome.rounds,
        reduced_dimension=outcome.reduced_dimension,
    )


def _one_blas_thread(entries: int) -> AbstractContextManager[object]:
    """Keep BLAS to one thread, where it will be called at all: with more, a busy machine makes it
    many times slower.
    """
    return _blas_threads().limit(limits=1) if entries > 4096 else nullcontext()


@cache
def _blas_threads() -> Any:
    import scipy.linalg.cython_blas  # noqa: F401  # the library that Numba will call, which must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _status(gap: float, tol: float) -> Status:
    if gap <= tol:
        return Status.SOLVED
    return Status.ALMOST_SOLVED if gap <= ALMOST else Status.FAILED


def _check_arms(
    features: ArrayLike, gaps: ArrayLike, best: ArrayLike
) -> tuple[Floats, Floats, Bools]:
    rows = numeric(features, "features", "a (k, d) array of numbers")
    # Numba would compile everything once more for arrays that are read-only
    if not rows.flags.writeable:
        rows = rows.copy()
    if rows.ndim != 2 or rows.size == 0:
        raise InvalidInput("features", "a (k, d) array with at least one arm", rows.shape)
    sizes: Floats = np.abs(rows).max(axis=1)
    for i in _offenders(~np.isfinite(sizes)):
        raise InvalidInput(f"features[{i}]", "finite numbers", rows[i])
    differences = finite_numbers(gaps, "gaps")
    optimal = np.asarray(best)
    if differences.shape != (len(rows),):
        raise InvalidInput("gaps", f"{len(rows)} numbers (one an arm)", len(differences))
    if (
        optimal.shape != (len(rows),)
        or optimal.dtype.kind not in "biuf"
        or (optimal != optimal.astype(np.bool_)).any()
    ):
        raise InvalidInput("best", f"{len(rows)} flags (one an arm)", best)
    optimal = np.ascontiguousarray(optimal, dtype=np.bool_)
    for i in _offenders((differences <= 0) & ~optimal):
        raise InvalidInput(
            f"gaps[{i}]", "a positive number (the arm is not best)", float(differences[i])
        )
    _check_range(sizes, "features", "an arm")
    _check_range(np.where(optimal, 0.0, differences), "gaps", "a gap")
    return rows, differences, optimal


def _check_range(sizes: Floats, where: str, what: str) -> None:
    """Squares and quotients of the sizes must neither overflow nor vanish; zeros do no harm."""
    largest = sizes.max()
    for i in _offenders(sizes < RANGE * largest):
        if sizes[i] > 0:
            raise InvalidInput(
                f"{where}[{i}]", f"{what} of at least {RANGE:g} of the largest", float(sizes[i])
            )
    if largest > 0 and not RANGE < largest < 1 / RANGE:
        raise InvalidInput(where, f"sizes between {RANGE:g} and {1 / RANGE:g}", float(largest))


def _offenders(wrong: Bools) -> Ints:
    return np.flatnonzero(wrong) if wrong.any() else np.empty(0, dtype=np.int64)


def _check_base(base: ArrayLike, d: int) -> Floats:
    known = numeric(base, "base", f"a ({d}, {d}) array of finite numbers")
    if known.shape != (d, d) or not np.isfinite(known).all():
        raise InvalidInput("base", f"a ({d}, {d}) array of finite numbers", known.shape)
    scale = np.abs(known).max()
    if scale > 1 / RANGE:
        raise InvalidInput("base", f"entries up to {1 / RANGE:g}", float(scale))
    if np.abs(known - known.T).max() > 1e-9 * scale:
        raise InvalidInput("base", "a symmetric matrix", known)
    if np.linalg.eigvalsh(known).min() < -1e-9 * scale:
        raise InvalidInput("base", "a positive semidefinite matrix", known)
    return (known + known.T) / 2
