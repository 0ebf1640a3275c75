"""Listed contexts: the arms of a learner whose contexts are known in advance."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.errors import InvalidInput
from thrifty.learners.decisions import ArmReport, Decision
from thrifty.learners.offer import Call, Offer, Past
from thrifty.learners.pending import Pending
from thrifty.learners.step import Decided, decide, observe_listed, update
from thrifty.numerics.arrays import Floats, Ints, check_range
from thrifty.policies.shared.ledger import Renumbering
from thrifty.problem.action_sets import ActionSets
from thrifty.problem.names import arm_index, listed_arms

if TYPE_CHECKING:
    from thrifty.learners.learner import Learner

_INDEX_TYPES = (str, int)
_new = tuple.__new__


class ListedArms:
    """The arms of listed contexts, with what is looked up for every decision.

    Attributes
    ----------
    sets : the action sets
    starts : the first row of each context
    rows : the rows of each context
    """

    def __init__(self, sets: ActionSets) -> None:
        if not isinstance(sets, ActionSets):
            raise InvalidInput.expected("sets", "thrifty.ActionSets", sets)
        check_range(np.abs(sets.rows).max(axis=1), "arms", "an arm")
        self.sets = sets
        self.starts: list[int] = sets.offsets.tolist()
        self.rows: list[Ints] = [np.arange(*rows) for rows in pairwise(self.starts)]
        self._names = list(zip(sets.context_names, sets.arm_names, strict=True))
        offers = [Offer(m, rows, None) for m, rows in enumerate(self.rows)]
        self._offers: dict[str | int, Offer] = dict(enumerate(offers))
        self._offers |= dict(zip(sets.context_names, offers, strict=True))

    def calls(self) -> tuple[Call, Call]:
        """The compiled functions that decide and learn."""
        return Call(decide, (0, self.rows[0])), Call(update, (0, 0, 0.0))

    def offer(
        self,
        context: str | int,
        available: Collection[str | int] | None,
        names: Sequence[str] | None,
    ) -> Offer:
        """The arms on offer in a context."""
        offer = self._offers.get(context) if type(context) in _INDEX_TYPES else None
        if offer is None:  # an index of another type, or a mistake
            if np.ndim(context) > 0:
                raise InvalidInput("context", "contexts are listed: pass a name, not features")
            offer = self._offers[self.sets.context_index(context)]
        if names is not None:
            raise InvalidInput("names", "not used: listed arms have names of their own")
        if available is None:
            return offer
        return offer._replace(rows=self._available(offer.place, available))

    def check(self, offer: Offer) -> None:
        """Raise what a decision would raise about an offer: nothing is left."""

    def features(self, offer: Offer) -> tuple[list[int], Floats]:
        """The index of each arm on offer, and its features (n, d)."""
        return offer.rows.tolist(), self.sets.rows[offer.rows]

    def entry(
        self, id: int, offer: Offer, decided: Decided, reason: str, chance: float | None
    ) -> Pending:
        """The entry of a decision that compiled code has counted."""
        row, label, gap, _, explored = decided
        m = offer[0]
        context, names = self._names[m]
        arm = row - self.starts[m]
        # faster than Decision(...) and Pending(...), by a third of a microsecond
        decision = _new(Decision, (id, context, arm, names[arm], reason, gap, chance))
        return _new(Pending, (decision, row, label, None, None, explored))

    def past(self, context: Any, arm: Any, reward: Any) -> Past:
        """Decisions that somebody else took: one, or lists of contexts, arms and rewards."""
        many = not isinstance(context, str | int | np.integer)
        contexts, arms = (context, arm) if many else ([context], [arm])
        if len(arms) != len(contexts):
            expected = f"{len(contexts)} (one for each context)"
            raise InvalidInput.expected("arms", expected, len(arms))
        rows = np.empty(len(contexts), np.int64)
        for n, (where, played) in enumerate(zip(contexts, arms, strict=True)):
            m = self.sets.context_index(where)
            rows[n] = self.starts[m] + self.arm_index(m, played)
        return Past(observe_listed, (rows,), reward if many else [reward], len(rows))

    def counted(self, pending: Pending) -> tuple[int, int, int]:
        """The context, row and vector that counted a decision; -1 where removed since."""
        if pending.counted is not None:
            return pending.counted
        m = self._offers[pending.decision.context].place
        return m, pending.row, int(self.sets.vector_ids[pending.row])

    def played(self, pending: Pending) -> tuple[Floats, int]:
        """The features (d,) of a pending decision's arm, and its block of theta."""
        features = self.sets.rows[pending.row] if pending.features is None else pending.features
        return features.copy(), 0

    def moved(self, pending: Pending, renumbering: Renumbering) -> Pending:
        """A pending decision after a change of action sets."""
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

    def reports(
        self, learner: "Learner", decision: Decision, features: Any
    ) -> tuple[ArmReport, ...]:
        """What is known about the arms of a decision's context."""
        if features is not None:
            raise InvalidInput("features", "not used: contexts are listed")
        m = self.sets.context_index(decision.context)
        rows = range(self.starts[m], self.starts[m + 1])
        means, errors, pulls = self._known(learner)
        targets = learner.policy.targets(learner.state)
        best = max(means[row] for row in rows)
        return tuple(
            ArmReport(
                name=name,
                mean=float(means[row]),
                gap=float(best - means[row]),
                standard_error=float(errors[row]),
                pulls=int(pulls[row]),
                target=None if targets is None else float(targets[row]),
            )
            for row, name in zip(rows, self.sets.arm_names[m], strict=True)
        )

    def estimates(self, learner: "Learner") -> dict[str, Any]:
        """Of each arm: its context and name, estimated mean, standard error and pulls."""
        means, errors, pulls = self._known(learner)
        return self.sets.named_rows() | {"mean": means, "error": errors, "pulls": pulls}

    def _known(self, learner: "Learner") -> tuple[Floats, Floats, Ints]:
        """Estimated means (k,) of all arms, their standard errors (k,), and their pulls (k,)."""
        means, errors = learner.policy.estimates(learner.state, self.sets.rows)
        ledger = learner.state.ledger
        return means, learner.noise * errors, ledger.played[ledger.vector_ids]

    def rank(self, columns: dict[str, Any]) -> tuple[Any, str]:
        """What decides which rows of `columns` (k,) are shown, (k,), and the order in words."""
        return columns["pulls"], "most pulls first"

    def __str__(self) -> str:
        sets = self.sets
        sizes = f"{sets.contexts:,}, with {len(sets.rows):,} arms, d = {sets.dimension}"
        return f"listed contexts: {sizes}"

    def to_json(self) -> dict[str, Any]:
        """As files keep them."""
        sets = self.sets
        parts = zip(sets.context_names, sets.split(sets.rows), sets.arm_names, strict=True)
        columns = {} if sets.columns is None else {"columns": list(sets.columns)}
        return columns | {
            "contexts": [
                {"name": name, "arms": arms.tolist(), "arm_names": list(names)}
                for name, arms, names in parts
            ]
        }

    def arm_index(self, m: int, arm: str | int) -> int:
        """The index of an arm of context m, given by name or index."""
        names = self.sets.arm_names[m]
        return arm_index(arm, names, f"an index from 0 to {len(names) - 1}")

    def _available(self, m: int, available: Collection[str | int]) -> Ints:
        """Rows (n,) of a context that are on offer, in order."""
        available = listed_arms(available)
        if len(available) == len(self.rows[m]) and all(
            isinstance(flag, bool | np.bool_) for flag in available
        ):
            available = [arm for arm, flag in enumerate(available) if flag]
        rows = sorted({self.starts[m] + self.arm_index(m, arm) for arm in available})
        if not rows:
            raise InvalidInput.expected("available", "at least one arm", available)
        return np.array(rows, dtype=np.int64)
