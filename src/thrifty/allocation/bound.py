"""`lower_bound`: the least asymptotic regret of consistent policies, per log n."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.allocation import Allocation, Status, allocate
from thrifty.allocation.uniqueness import is_unique
from thrifty.display import frame, html
from thrifty.errors import InvalidInput, shortened
from thrifty.numerics.arrays import Floats
from thrifty.problem.instances import Instance

if TYPE_CHECKING:
    from pandas import DataFrame

TOLERANCE = 1e-9  # relative gap; smaller than in policies, since a bound is solved only once


@dataclass(frozen=True)
class Carrier:
    """An arm with positive pulls in the optimal allocation."""

    context: str
    probability: float  # of the context
    arm: str
    gap: float
    pulls: float  # per log n; inf if free
    share: float  # of the constant C
    free: bool  # whether the arm is optimal in its context


@dataclass(frozen=True)
class Bound:
    """The asymptotic lower bound of an instance (section 3 of the paper) with its certificate.

    Attributes
    ----------
    instance : the bandit instance
    constant : C; the regret of a consistent policy is at least C log n asymptotically, and OAM with
        the paper's epsilon and c > 0 attains it (the theorem does not cover its defaults, 0)
    solution : the optimal allocation over the arms of all contexts, with its dual variables
    """

    instance: Instance
    solution: Allocation

    @property
    def constant(self) -> float:
        return self.solution.value

    @property
    def lower(self) -> float:
        return self.solution.lower

    @property
    def upper(self) -> float:
        return self.solution.upper

    @property
    def gap(self) -> float:
        """Certified relative gap, upper / lower - 1."""
        return self.solution.gap

    @property
    def status(self) -> Status:
        return self.solution.status

    @property
    def reduced_dimension(self) -> int:
        """Dimension of the span of all arms minus that of the optimal arms."""
        return self.solution.reduced_dimension

    @cached_property
    def tied_contexts(self) -> tuple[str, ...]:
        """Contexts in which several vectors are optimal: the theorem assumes one per context."""
        sets = self.instance.sets
        vectors = np.where(self.instance.optimal, sets.vector_ids, -1)
        optimal = [set(ids.tolist()) - {-1} for ids in sets.split(vectors)]
        pairs = zip(sets.context_names, optimal, strict=True)
        return tuple(name for name, ids in pairs if len(ids) > 1)

    @cached_property
    def unique(self) -> bool | None:
        """Whether the optimal allocation is the only one; None if that could not be told."""
        instance, point = self.instance, (self.solution.pulls, self.solution.prices)
        if self.status == Status.FAILED:
            return None
        rows, noise = instance.sets.rows, instance.noise
        return is_unique(rows, instance.gaps, instance.optimal, noise, *point)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know: tolerances, ties, other allocations of the same cost."""
        remarks = list(self.solution.remarks)
        if self.tied_contexts:
            several = ", ".join(map(repr, self.tied_contexts[:3]))
            more = f" and {len(self.tied_contexts) - 3} more" if len(self.tied_contexts) > 3 else ""
            remarks.append(
                f"several arms are optimal in context {several}{more}: the theorem assumes one "
                "optimal arm per context"
            )
        if self.unique is False:
            remarks.append("the optimal allocation is not unique: others cost the same")
        return tuple(remarks)

    @property
    def allocation(self) -> list[Floats]:
        """The pulls of the arms of each context per log n; inf for optimal arms."""
        return self.instance.sets.split(self.solution.pulls)

    def carriers(self) -> list[Carrier]:
        """The arms with positive pulls, ordered by context."""
        sets, pulls = self.instance.sets, self.solution.pulls
        rows = []
        for row in np.flatnonzero(pulls > 0):
            m = int(sets.context_of_row[row])
            gap, free = float(self.instance.gaps[row]), bool(np.isinf(pulls[row]))
            rows.append(
                Carrier(
                    context=sets.context_names[m],
                    probability=float(self.instance.probabilities[m]),
                    arm=sets.arm_names[m][row - sets.offsets[m]],
                    gap=gap,
                    pulls=float(pulls[row]),
                    share=0.0 if free else float(pulls[row]) * gap / self.constant,
                    free=free,
                )
            )
        return rows

    def in_words(self) -> str:
        """The meaning of the constant in one sentence; after a failed solve, what is known."""
        if self.status == Status.FAILED:
            return f"The solve failed: C is at least {self.lower:.6g}; {self.status.advice}."
        if self.instance.optimal.all():
            return "Every arm is optimal: there is nothing to explore."
        if self.reduced_dimension == 0:
            return (
                "The optimal arms span the space: exploration is free, and regret grows "
                "slower than log n."
            )
        directions = "direction" if self.reduced_dimension == 1 else "directions"
        return (
            f"No consistent policy has less regret than {self.constant:.6g} log n in the long run: "
            f"the optimal arms leave {self.reduced_dimension} {directions} to explore."
        )

    def to_frame(self) -> "DataFrame":
        """A data frame of pandas with a row per context and arm.

        Columns: context, arm, gap, optimal, pulls (per log n, inf where optimal) and regret, pulls
        times gap, of which the sum is C.
        """
        return frame("bound.to_frame()", self._columns())

    def _columns(self) -> dict[str, Any]:
        instance, pulls = self.instance, self.solution.pulls
        return instance.sets.named_rows() | {
            "gap": instance.gaps,
            "optimal": instance.optimal,
            "pulls": pulls,
            "regret": np.where(instance.optimal, 0.0, pulls) * instance.gaps,
        }

    def __repr__(self) -> str:
        name = shortened(self.instance.name or "unnamed")
        return f"<bound: {name}, {self.solution.certified('C')}>"

    def _repr_html_(self) -> str:
        notes = (self.in_words(), *self.remarks)
        if self.status == Status.FAILED:
            return html(repr(self)[1:-1], {}, notes=notes)
        columns = self._columns()
        pulled = np.flatnonzero(columns["pulls"])
        shown = {name: [column[i] for i in pulled] for name, column in columns.items()}
        left_out = "pulls and regret per log n; arms that need no pulls of their own are left out"
        title, notes, regret = repr(self)[1:-1], (left_out, *notes), shown["regret"]
        return html(title, shown, notes=notes, rank=regret, order="most regret first")

    def to_json(self) -> dict[str, Any]:
        """The content of `thrifty bound --json`; a contract.

        `remarks` is there only if a tolerance has decided something. Infinity is the string "inf":
        pulls of optimal arms, and, if the status is failed, perhaps constant, upper and gap.
        """
        decided, keys = self.solution.remarks, ("constant", "lower", "upper", "gap")
        numbers = {key: _json_number(getattr(self, key)) for key in keys}
        return (
            ({"remarks": list(decided)} if decided else {})
            | numbers
            | {
                "status": str(self.status),
                "reduced_dimension": self.reduced_dimension,
                "optimal": self.instance.best_arms.tolist(),
                "allocation": [list(map(_json_number, arms.tolist())) for arms in self.allocation],
            }
        )


def _json_number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def lower_bound(instance: Instance, *, tol: float = TOLERANCE) -> Bound:
    """The constant C of an instance, with the optimal allocation and a certificate.

    An instance with changes has none; each of its `pieces` has one.

    Examples
    --------
    >>> import thrifty as th
    >>> round(th.lower_bound(th.instance("fixed-u0.1")).constant, 9)
    20.0
    """
    if not isinstance(instance, Instance):
        expected = "a thrifty.Instance (thrifty.instance(name) makes one)"
        raise InvalidInput.expected("instance", expected, instance)
    if instance.changes:
        what = "no lower bound, since theta changes"
        advice = "bound one of instance.pieces or drop [[changes]]"
        raise InvalidInput(instance.name or "instance", f"{what}; {advice}")
    rows, noise = instance.sets.rows, instance.noise
    solution = allocate(rows, instance.gaps, instance.optimal, noise=noise, tol=tol)
    return Bound(instance, solution)
