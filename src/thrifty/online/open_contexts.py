"""A policy in use where features come at decision time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Floats, Ints, numeric
from thrifty.numerics.compilation import direct_call, entry_for
from thrifty.numerics.references import refer
from thrifty.online.decisions import ArmReport, Decision, Explanation, Pending
from thrifty.online.frames import columns_of, numbers_of
from thrifty.online.learner import Learner
from thrifty.online.step import LARGEST_FEATURE, Online, decide_open, observe_open, update_open
from thrifty.problem.action_sets import MOST_DIMENSIONS
from thrifty.problem.names import listed_names

FIRST_CAPACITY = 16  # arms on offer at first; doubled when there are more


class OpenSets:
    """What a policy knows of its arms before they come: how many features they have."""

    open = True
    contexts = 1

    def __init__(
        self,
        dimension: int | None = None,
        columns: Sequence[str] | None = None,
        capacity: int = FIRST_CAPACITY,
    ) -> None:
        if columns is not None:
            columns = listed_names(columns, "columns")
        if dimension is None:
            if columns is None:
                raise InvalidInput("learner", "action sets, a dimension, or columns", None)
            dimension = len(columns)
        whole = isinstance(dimension, int | np.integer) and not isinstance(dimension, bool)
        if not whole or not 0 < dimension <= MOST_DIMENSIONS:
            raise InvalidInput("dimension", f"a number from 1 to {MOST_DIMENSIONS:,}", dimension)
        if columns is not None and len(columns) != dimension:
            raise InvalidInput("columns", f"{dimension} names", len(columns))
        self.dimension, self.capacity = int(dimension), capacity
        self.columns = columns if columns is None else tuple(columns)
        # the last row is for rewards; ones, since some policies ask for the longest arm
        self.rows: Floats = np.ones((capacity + 1, self.dimension))
        # one more than can be on offer: a set is never all there is
        self.offsets: Ints = np.array([0, capacity + 1])
        self.vector_ids: Ints = np.arange(capacity + 1)

    @property
    def vectors(self) -> Floats:
        """(capacity + 1, d): nothing is known to be the same."""
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
        )

    __hash__ = None  # type: ignore[assignment]  # as for ActionSets: equal by value

    def __repr__(self) -> str:
        return f"open contexts of {self.dimension} features"


class OpenLearner(Learner):
    """A policy in use, with arms that are described when a decision is due."""

    sets: OpenSets
    _offered: tuple[str, ...] | None = None  # names of the arms of the decision in progress

    def choose(self, features: ArrayLike, names: Sequence[str] | None = None) -> Decision:
        """Choose one of K arms.

        features: (K, d), an array, nested lists, or a data frame with a row for each arm; K may
        differ from call to call. names: of the arms; their indices by default.
        """
        rows = self._rows(features)
        if names is not None:
            names = listed_names(names, "names")
            if len(names) != len(rows):
                raise InvalidInput("names", f"{len(rows)} names (one for each arm)", len(names))
        with self._lock:
            if self._busy:
                self._recover()
            if self.expire_after is not None or len(self.pending) >= self.most_waiting:
                self._expire()
            if len(rows) > self.sets.capacity:
                self._make_room(len(rows))
            if self._random:
                self._write_draws()
            self._offered, self._busy = names, True
            row, label, gap, chance = self._decide(self._reference, rows)
            if row < 0:
                self._busy = False
                raise _unusable(rows)
            decision = self._register(0, row, label, gap, chance)
            self._busy = False
            return decision

    def observe(
        self,
        features: ArrayLike,
        arm: int | Sequence[int] | None = None,
        reward: float | ArrayLike | None = None,
    ) -> None:
        """Learn from decisions that somebody else took.

        features (K, d), the arm that was played and its reward; or features (n, d) of the arms that
        were played, without `arm`, and n rewards. They count as rounds.
        """
        rows = self._rows(features)
        if not np.isfinite(rows).all() or np.abs(rows).max() > LARGEST_FEATURE:
            raise _unusable(rows)
        if arm is not None:
            if isinstance(arm, bool) or not isinstance(arm, int | np.integer):
                raise InvalidInput("arm", "an index", arm)
            if not 0 <= arm < len(rows):
                raise InvalidInput("arm", f"an index from 0 to {len(rows) - 1}", arm)
            rows = np.ascontiguousarray(rows[arm : arm + 1])
        rewards = self._observed([reward] if arm is not None else reward, len(rows))
        label = self.policy.observed_label
        with self._lock:
            if self._busy:
                self._recover()
            arguments = self._reference, rows, rewards, label
            direct_call(entry_for(observe_open, self.state), *arguments)(*arguments)

    def explain(self, decision: Decision | int, features: ArrayLike | None = None) -> Explanation:
        """Why an arm was chosen, and the present estimate of it.

        features: those of all arms of the decision, for the estimates of all.
        """
        chosen = self._decision(decision)
        with self._lock:
            if self._busy:
                self._recover()
            if features is None:
                waiting = self._waiting(chosen).features
                assert waiting is not None
                rows, names = waiting[None, :], [chosen.name]
            else:
                rows = self._rows(features)
                names = [str(n) for n in range(len(rows))]
                if chosen.arm < len(names):
                    names[chosen.arm] = chosen.name
            means, errors = self.policy.estimates(self.state, rows)
        best = means.max()
        reports = (
            ArmReport(
                name=name,
                mean=float(mean),
                gap=float(best - mean) if features is not None else chosen.gap,
                width=float(self.noise * error),
                pulls=None,
                target=None,
            )
            for name, mean, error in zip(names, means, errors, strict=True)
        )
        return Explanation(chosen, tuple(reports))

    def counted(self, pending: Pending) -> tuple[int, int, int]:
        """Only the round counts: rows change."""
        return 0, -1, -1

    def _rows(self, features: ArrayLike) -> Floats:
        """Features as an array (K, d), K > 0; whether they are finite is checked later."""
        d = self.sets.dimension
        if type(features) is np.ndarray and features.dtype == np.float64 and features.ndim == 2:
            rows = np.ascontiguousarray(features)
        elif columns_of(features) is not None:
            rows = numbers_of(features, self.sets.columns, "features")
        else:
            rows = numeric(features, "features", f"rows of {d} numbers")
            if rows.ndim == 1 and rows.size == d:
                raise InvalidInput("features", f"a list of arms, each of {d} numbers", features)
        if rows.ndim != 2 or rows.shape[1] != d:
            raise InvalidInput("features", f"rows of {d} numbers", rows.shape)
        if len(rows) == 0:
            raise InvalidInput("features", "at least one arm", rows.shape)
        return rows

    def _make_room(self, arms: int) -> None:
        """Continue with room for more arms on offer."""
        capacity = self.sets.capacity
        while capacity < arms:
            capacity *= 2
        sets = OpenSets(self.sets.dimension, self.sets.columns, capacity)
        state = self.policy.start(sets, noise=self.noise, horizon=None)
        _copy_arrays(self.state, state)
        self.__dict__.update(self._attributes(sets, state))

    def _checked_sets(self, sets: Any) -> Any:
        if not isinstance(sets, OpenSets):
            raise InvalidInput("sets", "open contexts", sets)
        return sets

    def _attributes(self, sets: Any, state: Any) -> dict[str, Any]:
        online = Online(state, self._progress)
        reference = entry_for(refer, state)(online)
        rows, one = sets.rows[:1].copy(), sets.rows[0].copy()
        return {
            "sets": sets,
            "state": state,
            "_random": state.ledger.normals.size + state.ledger.uniforms.size > 0,
            "_reference": reference,
            "_decide": direct_call(entry_for(decide_open, state), reference, rows),
            "_update": direct_call(entry_for(update_open, state), reference, one, 0, 0.0),
        }

    def _register(self, m: int, row: int, label: int, gap: float, chance: float) -> Decision:
        id = self._made
        name = str(row) if self._offered is None else self._offered[row]
        known = chance if chance == chance else None
        decision = Decision(id, "", row, name, self._labels[label], gap, known)
        # the features are still where compiled code has put them
        self.pending[id] = Pending(decision, row, label, self.state.regression.rows[row].copy())
        self._made = id + 1
        return decision

    def _learn_waiting(self, id: int, pending: Pending, reward: float) -> None:
        self._settling, self._busy = id, True
        self._update(self._reference, pending.features, pending.label, reward)
        del self.pending[id]
        self._settled += 1
        self._busy = False


def _copy_arrays(old: Any, new: Any) -> None:
    """Copy all but the arrays with an entry for each arm on offer: those are work space."""
    for before, after in zip(old, new, strict=True):
        if hasattr(before, "_fields"):
            _copy_arrays(before, after)
        elif isinstance(before, np.ndarray) and before.shape == after.shape:
            after[...] = before


def _unusable(rows: Floats) -> InvalidInput:
    n, i = np.argwhere(~(np.abs(rows) <= LARGEST_FEATURE))[0]
    return InvalidInput(
        f"features[{n}][{i}]", f"a finite number of at most {LARGEST_FEATURE:g}", float(rows[n, i])
    )
