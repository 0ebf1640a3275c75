"""A policy in use where contexts and arms are listed in advance."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thrifty.compiler.compilation import direct_call, entry_for
from thrifty.errors import InvalidInput
from thrifty.learners.changes import (
    renumber,
    with_arm,
    with_context,
    without_arm,
    without_context,
)
from thrifty.learners.decisions import ArmReport, Decision, Explanation, Pending
from thrifty.learners.learner import Learner, copies
from thrifty.learners.step import decide, observe_listed, update
from thrifty.numerics.arrays import Floats, Ints, check_range
from thrifty.policies.base import Policy
from thrifty.policies.shared.ledger import Renumbering
from thrifty.problem.action_sets import ActionSets
from thrifty.problem.names import arm_index

_INDEX_TYPES = (str, int)
_new = tuple.__new__


class ListedLearner(Learner):
    """A policy in use, with the action sets of all contexts known in advance."""

    # set together by _attributes, with those of Learner
    sets: ActionSets
    _contexts: dict[str | int, int]  # by name, and by index
    _names: list[tuple[str, tuple[str, ...]]]  # of each context, and of its arms
    _starts: list[int]  # the first row of each context
    _arms: list[Ints]  # the rows of each context

    def choose(
        self, context: str | int, available: Collection[str | int] | None = None
    ) -> Decision:
        """Choose an arm of a context.

        available: the arms on offer now, by name or index or as a mask; all by default.
        """
        try:
            self._acquire()
            if self._busy:
                self._recover()
            m = self._contexts.get(context) if type(context) in _INDEX_TYPES else None
            if m is None:  # an index of another type, or a mistake
                m = self.sets.context_index(context)
            arms = self._arms[m] if available is None else self._offered(m, available)
            if self.expire_after is not None or len(self.pending) >= self.most_waiting:
                self._expire()
            if self._random:
                self._write_draws()
                if self.probability_draws:
                    self._estimate_chances(arms.tolist(), self.sets.rows[arms])
            self._busy = True
            decided = self._decide(self._reference, m, arms)
            decision = self._register(m, *decided)
            self._busy = False
            return decision
        finally:
            if self._is_owned():
                self._release()

    def check_offer(
        self, context: str | int, available: Collection[str | int] | None = None
    ) -> None:
        """Raise what `choose` would raise about its arguments."""
        with self._lock:
            m = self.sets.context_index(context)
            if available is not None:
                self._offered(m, available)

    def observe(
        self,
        context: str | int | Sequence[str | int],
        arm: str | int | Sequence[str | int],
        reward: float | ArrayLike,
    ) -> None:
        """Learn from decisions that somebody else took: one, or lists of contexts, arms, rewards.

        They count as rounds and as pulls.
        """
        many = not isinstance(context, str | int | np.integer)
        contexts: Any = context if many else [context]
        arms: Any = arm if many else [arm]
        if len(arms) != len(contexts):
            raise InvalidInput.expected(
                "arms", f"{len(contexts)} (one for each context)", len(arms)
            )
        rewards = self._observed(reward if many else [reward], len(contexts))
        with self._lock:  # until it is learned, the sets must not change
            rows = np.empty(len(rewards), np.int64)
            for n, (one, played) in enumerate(zip(contexts, arms, strict=True)):
                m = self.sets.context_index(one)
                rows[n] = self._starts[m] + self._arm_index(m, played)
            self._learn_past(observe_listed, rows, rewards)

    def explain(self, decision: Decision | int) -> Explanation:
        """Why an arm was chosen, and the present estimates of the arms of its context."""
        decision = self._decision(decision)
        with self._lock:
            if self._busy:
                self._recover()
            m = self.sets.context_index(decision.context)
            means, errors, pulls = self._known()
            targets = self.policy.targets(self.state)
            rows = range(*self.sets.offsets[m : m + 2])
            best = max(means[row] for row in rows)
            reports = tuple(
                ArmReport(
                    name=self.sets.arm_names[m][row - rows.start],
                    mean=float(means[row]),
                    gap=float(best - means[row]),
                    standard_error=float(errors[row]),
                    pulls=int(pulls[row]),
                    target=None if targets is None else float(targets[row]),
                )
                for row in rows
            )
        return Explanation(decision, reports)

    def _known(self) -> tuple[Floats, Floats, Ints]:
        """Estimated means (k,) of all arms, their standard errors (k,), and their pulls (k,)."""
        means, errors = self.policy.estimates(self.state, self.sets.rows)
        ledger = self.state.ledger
        return means, self.noise * errors, ledger.played[ledger.vector_ids]

    def estimates(self) -> dict[str, Any]:
        """Of each arm: its context and name, estimated mean, standard error and pulls."""
        with self._lock:
            if self._busy:
                self._recover()
            means, errors, pulls = self._known()
            named = self.sets.named_rows()
        return named | {"mean": means, "error": errors, "pulls": pulls}

    def _kind(self) -> str:
        sets = self.sets
        sizes = f"{sets.contexts:,}, with {len(sets.rows):,} arms, d = {sets.dimension}"
        return f"listed contexts: {sizes}"

    def _rank(self, columns: dict[str, Any]) -> tuple[Any, str]:
        return columns["pulls"], "most pulls first"

    def add_arm(self, context: str | int, features: Any, name: str | None = None) -> None:
        """Add an arm to a context.

        features: (d,) numbers, or a row of a data frame, whose name is that of the arm by default;
        or a data frame, of which each row is added, named by the index where it is of strings.
        """
        with self._lock:
            self.change(with_arm(self.sets, self.sets.context_index(context), features, name))

    def remove_arm(self, context: str | int, arm: str | int) -> None:
        """Remove an arm; its rewards stay in the regression."""
        with self._lock:
            m = self.sets.context_index(context)
            self.change(without_arm(self.sets, m, self._arm_index(m, arm)))

    def add_context(
        self, name: str | None, arms: ArrayLike, arm_names: Sequence[str] | None = None
    ) -> None:
        """Add a context; arms: (K, d) or a data frame, as in ActionSets."""
        with self._lock:
            self.change(with_context(self.sets, name, arms, arm_names))

    def remove_context(self, context: str | int) -> None:
        """Remove a context; its rewards stay in the regression."""
        with self._lock:
            self.change(without_context(self.sets, self.sets.context_index(context)))

    def change(self, sets: ActionSets) -> None:
        """Continue with other action sets.

        An arm is the same if its context, name and vector are. The regression keeps all rewards.
        """
        self._check_sets(sets)
        with self._lock:
            if self._busy:
                self._recover()
            if sets.dimension != self.sets.dimension:
                expected = f"arms of dimension {self.sets.dimension}"
                raise InvalidInput.expected("sets", expected, sets.dimension)
            state = self.policy.start(sets, noise=self.noise, horizon=None)
            renumbering = renumber(self.sets, sets)
            self.policy.carry(self.state, state, renumbering)
            pending = {id: self._moved(one, renumbering) for id, one in self.pending.items()}
            # one instruction, which no signal handler can interrupt
            self.__dict__.update(self._attributes(sets, state), pending=pending)

    def _carry(self, policy: Policy, state: Any) -> None:
        policy.carry(self.state, state, renumber(self.sets, self.sets))

    def _attributes(self, sets: ActionSets, state: Any) -> dict[str, Any]:
        starts = sets.offsets.tolist()
        arms = [np.arange(*rows) for rows in pairwise(starts)]
        shared = super()._attributes(sets, state)
        reference = shared["_reference"]
        return shared | {
            "_contexts": {name: m for m, name in enumerate(sets.context_names)}
            | {m: m for m in range(sets.contexts)},
            "_names": list(zip(sets.context_names, sets.arm_names, strict=True)),
            "_starts": starts,
            "_arms": arms,
            "_decide": direct_call(entry_for(decide, state), reference, 0, arms[0]),
            "_update": direct_call(entry_for(update, state), reference, 0, 0, 0.0),
        }

    def _check_sets(self, sets: ActionSets) -> None:
        if not isinstance(sets, ActionSets):
            raise InvalidInput.expected("sets", "thrifty.ActionSets", sets)
        check_range(np.abs(sets.rows).max(axis=1), "arms", "an arm")

    def _register(
        self, m: int, row: int, label: int, gap: float, chance: float, explored: int
    ) -> Decision:
        """Make the decision that compiled code has counted, and let it wait for its reward."""
        arm = row - self._starts[m]
        id, (context, names) = self._made, self._names[m]
        # faster than Decision(...) and Pending(...), by a third of a microsecond
        known = chance if chance == chance else self._chances.get(row)
        fields = (id, context, arm, names[arm], self._labels[label], gap, known)
        decision = _new(Decision, fields)
        self.pending[id] = _new(Pending, (decision, row, label, None, None, explored))
        self._made = id + 1
        return decision

    def _learn_waiting(self, id: int, pending: Pending, reward: float) -> None:
        if pending.features is not None:
            self._learn_removed(id, pending.features, reward)
        else:
            self._settle(id, self._update, self._reference, pending.row, pending.label, reward)

    def _learn_removed(self, id: int, features: Floats, reward: float) -> None:
        """Learn from the reward of an arm that was removed: in Python, so that it can be undone."""
        self._rollback, self._busy = copies(self.state), True
        self.policy.learn_removed(self.state, features, reward)
        self.__dict__.update(_rollback=None, _learned=id)  # one instruction
        del self.pending[id]
        self.__dict__.update(_learned=None, _busy=False)

    def counted(self, pending: Pending) -> tuple[int, int, int]:
        """The context, row and vector that counted a decision; -1 where removed since."""
        if pending.counted is not None:
            return pending.counted
        m = self._contexts[pending.decision.context]
        return m, pending.row, int(self.state.ledger.vector_ids[pending.row])

    def _moved(self, pending: Pending, renumbering: Renumbering) -> Pending:
        """The entry of a waiting decision after a change of action sets."""
        context, row, vector = self.counted(pending)
        counted = (
            int(renumbering.contexts[context]) if context >= 0 else -1,
            int(renumbering.rows[row]) if row >= 0 else -1,
            int(renumbering.vectors[vector]) if vector >= 0 else -1,
        )
        if pending.features is not None:
            return pending._replace(counted=counted)
        now = int(renumbering.regression_rows[pending.row])
        if now < 0:
            return pending._replace(features=self.sets.rows[pending.row], counted=counted)
        return pending._replace(row=now, counted=counted)

    def _offered(self, m: int, available: Collection[str | int]) -> Ints:
        """Rows (n,) of a context that are on offer, in order."""
        if isinstance(available, str) or not isinstance(available, Collection | np.ndarray):
            raise InvalidInput.expected("available", "a list of arms", available)
        if len(available) == len(self._arms[m]) and all(
            isinstance(flag, bool | np.bool_) for flag in available
        ):
            available = [arm for arm, flag in enumerate(available) if flag]
        rows = sorted({self._starts[m] + self._arm_index(m, arm) for arm in available})
        if not rows:
            raise InvalidInput.expected("available", "at least one arm", available)
        return np.array(rows, dtype=np.int64)

    def _arm_index(self, m: int, arm: str | int) -> int:
        names = self.sets.arm_names[m]
        return arm_index(arm, names, f"an index from 0 to {len(names) - 1}")
