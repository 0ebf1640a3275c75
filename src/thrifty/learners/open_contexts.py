"""A policy in use where features come at decision time."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thrifty.compiler.compilation import direct_call, entry_for
from thrifty.errors import InvalidInput
from thrifty.learners.decisions import ArmReport, Decision, Explanation, Pending
from thrifty.learners.features import FeatureMap, whole_rows
from thrifty.learners.learner import Learner
from thrifty.learners.step import LARGEST_FEATURE, decide_open, observe_open, update_open
from thrifty.numerics.arrays import Floats, Ints, numeric
from thrifty.policies.base import Policy
from thrifty.problem.action_sets import MOST_DIMENSIONS
from thrifty.problem.frames import columns_of, index_names, numbers_of
from thrifty.problem.names import listed_names

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
        if features is not None:
            if not isinstance(features, FeatureMap):
                raise InvalidInput.expected(
                    "features", "a map such as th.features.disjoint(...)", features
                )
            if columns is not None or dimension not in (None, features.dimension):
                raise InvalidInput.expected(
                    "learner", "features, or a dimension, or columns", dimension
                )
            dimension = features.dimension
        elif columns is not None:
            columns = listed_names(columns, "columns")
            dimension = len(columns) if dimension is None else dimension
            if len(columns) != dimension:
                raise InvalidInput.expected("columns", f"{dimension} names", len(columns))
        if dimension is None:
            expected = "action sets, or dimension=, columns= or features="
            raise InvalidInput.expected("learner", expected, None)
        whole = isinstance(dimension, int | np.integer) and not isinstance(dimension, bool)
        if not whole or not 0 < dimension <= MOST_DIMENSIONS:
            raise InvalidInput.expected(
                "dimension", f"a number from 1 to {MOST_DIMENSIONS:,}", dimension
            )
        self.dimension, self.capacity, self.features = int(dimension), capacity, features
        self.columns = columns if columns is None else tuple(columns)
        self.blocks = 1 if features is None else features.blocks
        # the last row is for rewards; ones, since some policies ask for the longest arm
        self.rows: Floats = np.ones((capacity + 1, self.dimension // self.blocks))
        # one more than can be on offer: a set is never all there is
        self.offsets: Ints = np.array([0, capacity + 1])
        self.vector_ids: Ints = np.arange(capacity + 1)
        self.no_blocks: Ints = np.zeros(capacity, np.int64)

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


class Offer(NamedTuple):
    """The arms of a decision."""

    rows: Floats  # (K, w)
    blocks: Ints  # (K,) of theta, or more
    names: tuple[str, ...] | None


class OpenLearner(Learner):
    """A policy in use, with arms that are described when a decision is due."""

    sets: OpenSets
    _offer: Offer  # of the decision in progress

    def choose(
        self,
        features: Any,
        names: Sequence[str] | None = None,
        available: Sequence[str | int] | None = None,
    ) -> Decision:
        """Choose one of K arms.

        features: (K, d), an array, nested lists, or a data frame with a row for each arm; K may
        differ from call to call. With a feature map: what the map is made for. names: of the arms;
        by default the index of the data frame, if that is of strings, or else 0, 1, ... available:
        arms of the map that are on offer; all by default.
        """
        offer = self._offered(features, names, available)
        rows = offer.rows
        try:
            self._acquire()
            if self._busy:
                self._recover()
            full = len(self.pending) >= self.most_waiting
            if (full or self.expire_after is not None) and self._overdue() is not None:
                _check_usable(rows)
                self._expire()
            if len(rows) > self.sets.capacity:
                self._make_room(len(rows))
            if self._random:
                self._write_draws()
                if self.probability_draws:
                    _check_usable(rows)
                    self._estimate_chances(range(len(rows)), self._whole(rows, offer.blocks))
            self._offer, self._busy = offer, True
            decided = self._decide(self._reference, rows, offer.blocks)
            if decided[0] < 0:
                self._busy = False
                raise _unusable(rows)
            decision = self._register(0, *decided)
            self._busy = False
            return decision
        finally:
            if self._is_owned():
                self._release()

    def check_offer(
        self,
        features: Any,
        names: Sequence[str] | None = None,
        available: Sequence[str | int] | None = None,
    ) -> None:
        """Raise what `choose` would raise about its arguments."""
        _check_usable(self._offered(features, names, available).rows)

    def observe(self, features: Any, arm: Any = None, reward: Any = None) -> None:
        """Learn from decisions that somebody else took.

        features (K, d), the arm that was played and its reward; or features (n, d) of the arms that
        were played, without `arm`, and n rewards. With a feature map: contexts, arms, rewards. They
        count as rounds.
        """
        rows, blocks, rewards = self._past(features, arm, reward)
        self._learn_past(observe_open, rows, blocks, rewards)

    def explain(self, decision: Decision | int, features: Any = None) -> Explanation:
        """Why an arm was chosen, and the present estimate of it.

        features: those of the decision, for the estimates of all its arms.
        """
        chosen = self._decision(decision)
        with self._lock:
            if self._busy:
                self._recover()
            offer = self._remembered(chosen) if features is None else self._named(features, chosen)
            rows = self._whole(offer.rows, offer.blocks)
            means, errors = self.policy.estimates(self.state, rows)
        best = means.max()
        reports = (
            ArmReport(
                name=name,
                mean=float(mean),
                gap=float(best - mean) if features is not None else chosen.gap,
                standard_error=float(self.noise * error),
                pulls=None,
                target=None,
            )
            for name, mean, error in zip(offer.names or (), means, errors, strict=True)
        )
        return Explanation(chosen, tuple(reports))

    def _remembered(self, decision: Decision) -> Offer:
        """The chosen arm of a decision that waits."""
        waiting = self._waiting(decision)
        assert waiting.features is not None
        return Offer(waiting.features[None, :], np.array([waiting.row]), (decision.name,))

    def _named(self, features: Any, decision: Decision) -> Offer:
        """The arms of a decision, with the name of the chosen one."""
        offer = self._offered(features, None, None)
        names = [str(n) for n in range(len(offer.rows))]
        if decision.arm < len(names):
            names[decision.arm] = decision.name
        return offer._replace(names=offer.names or tuple(names))

    def coefficients(self) -> dict[str, tuple[float, float]]:
        """The estimate of each entry of theta with its standard error, by name."""
        known, d = self.sets.features, self.sets.dimension
        names = self.sets.columns if known is None else known.names
        with self._lock:
            if self._busy:
                self._recover()
            means, errors = self.policy.estimates(self.state, np.eye(d))
        pairs = zip(means.tolist(), (self.noise * errors).tolist(), strict=True)
        return dict(zip(names or map(str, range(d)), pairs, strict=True))

    def estimates(self) -> dict[str, Any]:
        """Of each entry of theta: its name, estimate and standard error."""
        names, pairs = zip(*self.coefficients().items(), strict=True)
        estimates, errors = np.array(pairs).T
        return {"coefficient": list(names), "estimate": estimates, "error": errors}

    def _rank(self, columns: dict[str, Any]) -> tuple[Any, str]:
        with np.errstate(over="ignore"):  # an error of 0
            scores = np.abs(columns["estimate"]) / np.maximum(columns["error"], 1e-300)
        return scores, "largest z-score first"

    def counted(self, pending: Pending) -> tuple[int, int, int]:
        """Only the round counts: rows change."""
        return 0, -1, -1

    def _offered(
        self, features: Any, names: Sequence[str] | None, available: Sequence[str | int] | None
    ) -> Offer:
        """The arms of a decision, checked; whether all numbers are finite is checked later."""
        if type(features) is np.ndarray and names is None and available is None:
            # nothing to convert: half a microsecond is saved
            shape, sets = features.shape, self.sets
            if (
                sets.features is None
                and len(shape) == 2
                and shape[1] == sets.dimension
                and 0 < shape[0] <= sets.capacity
                and features.dtype is _FLOAT
                and features.flags.c_contiguous
            ):
                return _new(Offer, (features, sets.no_blocks, None))
        if self.sets.features is not None:
            rows, blocks, given = self.sets.features.rows(features, available)
        elif available is not None:
            raise InvalidInput.expected(
                "available", "nothing: pass the features on offer", available
            )
        else:
            rows, given = self._rows(features), index_names(features)
            blocks = np.zeros(len(rows), np.int64)
        if len(rows) == 0:
            raise InvalidInput.expected("features", "at least one arm", rows.shape)
        if names is not None:
            given = listed_names(names, "names")
            if len(given) != len(rows):
                raise InvalidInput.expected(
                    "names", f"{len(rows)} names (one for each arm)", len(given)
                )
        return Offer(rows, blocks, given)

    def _past(self, features: Any, arm: Any, reward: Any) -> tuple[Floats, Ints, Floats]:
        """Features, blocks and rewards of decisions that were taken elsewhere, checked."""
        known = self.sets.features
        if known is not None and known.arms:
            one = isinstance(arm, str | int | np.integer)
            rows, blocks = known.played(features, [arm] if one else arm)
            _check_usable(rows)
            return rows, blocks, self._observed([reward] if one else reward, len(rows))
        rows, blocks, _ = self._offered(features, None, None)
        _check_usable(rows)
        if arm is None:
            return rows, blocks, self._observed(reward, len(rows))
        wrong = isinstance(arm, bool) or not isinstance(arm, int | np.integer)
        if wrong or not 0 <= arm < len(rows):
            raise InvalidInput.expected("arm", f"an index from 0 to {len(rows) - 1}", arm)
        chosen = slice(int(arm), int(arm) + 1)
        return rows[chosen].copy(), blocks[chosen], self._observed([reward], 1)

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
                raise InvalidInput.expected(
                    "features", f"a list of arms, each of {d} numbers", features
                )
        if rows.ndim != 2 or rows.shape[1] != d:
            raise InvalidInput.expected("features", f"rows of {d} numbers", rows.shape)
        return rows

    def _whole(self, rows: Floats, blocks: Ints) -> Floats:
        """Rows (K, w) of some blocks as rows (K, d)."""
        return whole_rows(rows, blocks, self.sets.dimension)

    def _make_room(self, arms: int) -> None:
        """Continue with room for more arms on offer."""
        capacity, old = self.sets.capacity, self.sets
        while capacity < arms:
            capacity *= 2
        given = None if old.features is not None else old.dimension
        sets = OpenSets(given, old.columns, old.features, capacity)
        state = self.policy.start(sets, noise=self.noise, horizon=None)
        _copy_arrays(self.state, state)
        self.__dict__.update(self._attributes(sets, state))

    def _carry(self, policy: Policy, state: Any) -> None:
        _copy_arrays(self.state, state)

    def _check_sets(self, sets: OpenSets) -> None:
        if not isinstance(sets, OpenSets):
            raise InvalidInput.expected("sets", "open contexts", sets)

    def _attributes(self, sets: Any, state: Any) -> dict[str, Any]:
        rows, blocks = sets.rows[:1].copy(), np.zeros(1, np.int64)
        shared = super()._attributes(sets, state)
        reference = shared["_reference"]
        return shared | {
            "_decide": direct_call(entry_for(decide_open, state), reference, rows, blocks),
            "_update": direct_call(entry_for(update_open, state), reference, rows[0], 0, 0, 0.0),
        }

    def _register(
        self, m: int, row: int, label: int, gap: float, chance: float, explored: int
    ) -> Decision:
        id, offer = self._made, self._offer
        name = str(row) if offer.names is None else offer.names[row]
        known = chance if chance == chance else self._chances.get(row)
        # faster than Decision(...) and Pending(...)
        decision = _new(Decision, (id, "", row, name, self._labels[label], gap, known))
        block, features = int(offer.blocks[row]), offer.rows[row].copy()
        self.pending[id] = _new(Pending, (decision, block, label, features, None, explored))
        self._made = id + 1
        return decision

    def _learn_waiting(self, id: int, pending: Pending, reward: float) -> None:
        block, features = pending.row, pending.features
        self._settle(id, self._update, self._reference, features, block, pending.label, reward)


def _copy_arrays(old: Any, new: Any) -> None:
    """Copy all but the arrays with an entry for each arm on offer: those are work space."""
    for before, after in zip(old, new, strict=True):
        if hasattr(before, "_fields"):
            _copy_arrays(before, after)
        elif isinstance(before, np.ndarray) and before.shape == after.shape:
            after[...] = before


def _check_usable(rows: Floats) -> None:
    if not (np.abs(rows) <= LARGEST_FEATURE).all():
        raise _unusable(rows)


def _unusable(rows: Floats) -> InvalidInput:
    n, i = np.argwhere(~(np.abs(rows) <= LARGEST_FEATURE))[0]
    return InvalidInput.expected(
        f"features[{n}][{i}]", f"a finite number of at most {LARGEST_FEATURE:g}", float(rows[n, i])
    )
