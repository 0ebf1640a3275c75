"""Open contexts: the arms of a learner, described when a decision is due."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.errors import InvalidInput
from thrifty.learners.decisions import ArmReport, Decision
from thrifty.learners.maps import FeatureMap, whole_rows
from thrifty.learners.offer import Call, Offer, Past
from thrifty.learners.pending import MOST_ENDED, Pending
from thrifty.learners.step import (
    LARGEST_FEATURE,
    Decided,
    decide_open,
    observe_open,
    update_open,
)
from thrifty.numerics.arrays import Floats, Ints, numeric
from thrifty.problem.action_sets import MOST_DIMENSIONS
from thrifty.problem.frames import columns_of, index_names, numbers_of
from thrifty.problem.names import listed_names

if TYPE_CHECKING:
    from thrifty.learners.learner import Learner

FIRST_CAPACITY = 16  # arms on offer at first; doubled when there are more
_FLOAT = np.dtype(np.float64)
_new = tuple.__new__


class OpenSets:
    """What a policy knows of its arms before they come: how many features they have."""

    open = True
    contexts = 1

    def __init__(
        self,
        dimension: int | None = None,
        columns: Sequence[str] | None = None,
        features: FeatureMap | None = None,
        capacity: int = FIRST_CAPACITY,
    ) -> None:
        self.columns = None if columns is None else listed_names(columns, "columns")
        self.features = features
        self.dimension, self.capacity = self._dimension(dimension), capacity
        self.blocks = 1 if features is None else features.blocks
        # the last row is for rewards; ones, since some policies ask for the longest arm
        self.rows: Floats = np.ones((capacity + 1, self.dimension // self.blocks))
        # none of the rows is the context's own: those of an offer are never all there is
        self.offsets: Ints = np.zeros(2, np.int64)
        self.vector_ids: Ints = np.arange(capacity + 1)

    def _dimension(self, given: int | None) -> int:
        """The number of features, which may follow from columns or a feature map."""
        features, dimension = self.features, given
        if features is not None:
            if not isinstance(features, FeatureMap):
                expected = "a map such as th.features.disjoint(...)"
                raise InvalidInput.expected("features", expected, features)
            if self.columns is not None or given not in (None, features.dimension):
                raise InvalidInput("learner", "features have a dimension and columns of their own")
            dimension = features.dimension
        elif self.columns is not None:
            dimension = len(self.columns)
            if given not in (None, dimension):
                raise InvalidInput.expected("columns", f"{given} names", dimension)
        if dimension is None:
            raise InvalidInput("learner", "pass action sets, or dimension=, columns= or features=")
        whole = isinstance(dimension, int | np.integer) and not isinstance(dimension, bool)
        if not whole or not 0 < dimension <= MOST_DIMENSIONS:
            expected = f"a number from 1 to {MOST_DIMENSIONS:,}"
            raise InvalidInput.expected("dimension", expected, dimension)
        return int(dimension)

    @property
    def vectors(self) -> Floats:
        """(capacity + 1, w): nothing is known to be the same."""
        return self.rows

    @property
    def largest(self) -> int:
        """How many arms may be on offer."""
        return self.capacity

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, OpenSets)
            and self.dimension == other.dimension
            and self.columns == other.columns
            and self.features == other.features
        )

    __hash__ = None  # type: ignore[assignment]  # as for ActionSets: equal by value

    def __repr__(self) -> str:
        return f"open contexts of {self.dimension} features"


class OpenArms:
    """The arms of open contexts.

    Attributes
    ----------
    sets : what the policy knows of them
    capacity : the most arms that can be on offer until there is more room
    """

    def __init__(self, sets: OpenSets) -> None:
        self.sets, self.capacity = sets, sets.capacity
        self._no_blocks: Ints = np.zeros(sets.capacity, np.int64)

    def calls(self) -> tuple[Call, Call]:
        """The compiled functions that decide and learn."""
        rows = self.sets.rows[:1].copy()
        decide = Call(decide_open, (self._no_blocks, rows))
        return decide, Call(update_open, (rows[0], 0, 0, 0.0))

    def enlarged(self, arms: int) -> "OpenArms":
        """The same with room for more arms on offer."""
        capacity, sets = self.capacity, self.sets
        while capacity < arms:
            capacity *= 2
        dimension = None if sets.features is not None else sets.dimension
        return OpenArms(OpenSets(dimension, sets.columns, sets.features, capacity))

    def offer(
        self, context: Any, available: Sequence[str | int] | None, names: Sequence[str] | None
    ) -> Offer:
        """The arms of a decision; whether all numbers are finite is checked later."""
        sets = self.sets
        if type(context) is np.ndarray and names is None and available is None:
            # nothing to convert: half a microsecond is saved
            shape = context.shape
            if (
                sets.features is None
                and len(shape) == 2
                and shape[1] == sets.dimension
                and 0 < shape[0] <= sets.capacity
                and context.dtype is _FLOAT
                and context.flags.c_contiguous
            ):
                return _new(Offer, (self._no_blocks, context, None, ()))
        unknown: tuple[str, ...] = ()
        if sets.features is not None:
            rows, blocks, row_names, unknown = sets.features.rows(context, available)
        elif available is not None:
            raise InvalidInput("available", "not used: pass the features of the arms on offer")
        else:
            rows, row_names = self._rows(context), index_names(context)
            blocks = np.zeros(len(rows), np.int64)
        if len(rows) == 0:
            raise InvalidInput.expected("features", "at least one arm", rows.shape)
        if names is not None:
            row_names = listed_names(names, "names")
            if len(row_names) != len(rows):
                expected = f"{len(rows)} names (one for each arm)"
                raise InvalidInput.expected("names", expected, len(row_names))
        return Offer(blocks, rows, row_names, unknown)

    def _rows(self, features: Any) -> Floats:
        """Features as an array (K, d)."""
        d = self.sets.dimension
        if type(features) is np.ndarray and features.dtype == np.float64 and features.ndim == 2:
            rows = np.ascontiguousarray(features)
        elif columns_of(features) is not None:
            rows = numbers_of(features, self.sets.columns, "features")
        else:
            rows = numeric(features, "features", f"rows of {d} numbers")
            if rows.ndim == 1 and rows.size == d:
                expected = f"a list of arms, each of {d} numbers"
                raise InvalidInput.expected("features", expected, features)
        if rows.ndim != 2 or rows.shape[1] != d:
            raise InvalidInput("features", f"{d} columns expected, got the shape {rows.shape}")
        return rows

    def check(self, offer: Offer) -> None:
        """Refuse features that compiled code would refuse."""
        usable = np.abs(offer.rows) <= LARGEST_FEATURE
        if not usable.all():
            n, i = np.argwhere(~usable)[0]
            expected = f"a finite number of at most {LARGEST_FEATURE:g}"
            raise InvalidInput.expected(f"features[{n}][{i}]", expected, float(offer.rows[n, i]))

    def features(self, offer: Offer) -> tuple[range, Floats]:
        """The index of each arm on offer, and its features (n, d)."""
        self.check(offer)
        return range(len(offer.rows)), whole_rows(offer.rows, offer.place, self.sets.dimension)

    def entry(
        self, id: int, offer: Offer, decided: Decided, reason: str, chance: float | None
    ) -> Pending:
        """The entry of a decision that compiled code has counted."""
        row, label, gap, _, explored = decided
        blocks, rows, names, _ = offer
        name = str(row) if names is None else names[row]
        # faster than Decision(...) and Pending(...), by a third of a microsecond
        decision = _new(Decision, (id, "", row, name, reason, gap, chance))
        return _new(Pending, (decision, int(blocks[row]), label, rows[row].copy(), None, explored))

    def past(self, context: Any, arm: Any, reward: Any) -> Past:
        """Decisions that somebody else took.

        With a feature map that knows the arms: contexts, arms, rewards. Else features (K, d), the
        arm that was played and its reward; or features (n, d) of the arms that were played, and n
        rewards.
        """
        features = self.sets.features
        if features is not None and features.arms:
            single = isinstance(arm, str | int | np.integer)
            rows, blocks, _, unknown = features.played(context, [arm] if single else arm)
            rewards = [reward] if single else reward
        else:
            offer = self.offer(context, None, None)
            rows, blocks, rewards = offer.rows, offer.place[: len(offer.rows)], reward
            unknown = offer.unknown
            if arm is not None:
                self.check(offer)
                wrong = isinstance(arm, bool) or not isinstance(arm, int | np.integer)
                if wrong or not 0 <= arm < len(rows):
                    expected = f"an index from 0 to {len(rows) - 1}"
                    raise InvalidInput.expected("arm", expected, arm)
                chosen = slice(int(arm), int(arm) + 1)
                rows, blocks, rewards = rows[chosen].copy(), blocks[chosen], [reward]
        self.check(Offer(blocks, rows, None))
        return Past(observe_open, (rows, blocks), rewards, len(rows), unknown)

    def counted(self, pending: Pending) -> tuple[int, int, int]:
        """Only the round counts: rows change."""
        return 0, -1, -1

    def played(self, pending: Pending) -> tuple[Floats, int]:
        """The features (w,) of a pending decision's arm, and its block of theta."""
        assert pending.features is not None
        return pending.features, pending.row

    def reports(
        self, learner: "Learner", decision: Decision, features: Any
    ) -> tuple[ArmReport, ...]:
        """The arm of a decision that is or was pending, or all arms, given their features."""
        if features is None:
            pending = learner.pending.recall(decision)
            if pending is None or pending.features is None:
                kept = f"pending decisions and of the last {MOST_ENDED:,} others"
                message = f"features are kept of {kept}: pass them to explain"
                raise InvalidInput(f"decision {decision.id}", message)
            if pending.row < 0:
                raise InvalidInput(
                    f"decision {decision.id}", "its arm was removed: nothing is known"
                )
            offer = Offer(np.array([pending.row]), pending.features[None, :], (decision.name,))
        else:
            offer = self.offer(features, None, None)
        names = list(offer.names or map(str, range(len(offer.rows))))
        if offer.names is None and decision.arm < len(names):
            names[decision.arm] = decision.name
        rows = whole_rows(offer.rows, offer.place, self.sets.dimension)
        means, errors = learner.policy.estimates(learner.state, rows)
        best = means.max()
        return tuple(
            ArmReport(
                name=name,
                mean=float(mean),
                gap=decision.gap if features is None else float(best - mean),
                standard_error=float(learner.noise * error),
                pulls=None,
                target=None,
            )
            for name, mean, error in zip(names, means, errors, strict=True)
        )

    def estimates(self, learner: "Learner") -> dict[str, Any]:
        """Of each entry of theta: its name, estimate and standard error."""
        features, d = self.sets.features, self.sets.dimension
        names = self.sets.columns if features is None else features.names
        means, errors = learner.policy.estimates(learner.state, np.eye(d))
        return {
            "coefficient": list(names or map(str, range(d))),
            "estimate": means,
            "error": learner.noise * errors,
        }

    def rank(self, columns: dict[str, Any]) -> tuple[Any, str]:
        """What decides which rows of `columns` (d,) are shown, (d,), and the order in words."""
        with np.errstate(over="ignore"):  # an error of 0
            scores = np.abs(columns["estimate"]) / np.maximum(columns["error"], 1e-300)
        return scores, "largest z-score first"

    def __str__(self) -> str:
        return str(self.sets)

    def to_json(self) -> dict[str, Any]:
        """As files keep them."""
        sets = self.sets
        return {
            "open": {
                "dimension": sets.dimension,
                "columns": None if sets.columns is None else list(sets.columns),
                "features": None if sets.features is None else sets.features.to_json(),
                "capacity": sets.capacity,
            }
        }
