"""Decisions without a reward: found by decision or id, and given up when they are too old."""

from collections import deque
from typing import Any, NamedTuple

from thrifty.errors import InvalidInput
from thrifty.learners.decisions import Decision
from thrifty.numerics.arrays import Floats, Ints

MOST_ENDED = 1_000  # decisions that can be explained after they were rewarded or cancelled


class Pending(NamedTuple):
    """A decision whose reward has not arrived."""

    decision: Decision
    # of the regression, unless the arm was removed; a block of theta for open contexts, -1 if that
    # was removed
    row: int
    label: int
    features: Floats | None = None  # (w,) of an arm that was removed, or that nobody listed
    # context, row and vector that counted the decision, -1 where removed; None if they are still
    # those of the decision
    counted: tuple[int, int, int] | None = None
    explored: int = 0  # how many exploration rounds it counts for


class PendingDecisions(dict[int, Pending]):
    """Pending decisions by id.

    Attributes
    ----------
    expire_after : a decision is overdue once this many later ones were made; None for never
    most : so many may be pending; of more the oldest is overdue
    oldest : no decision before this id is pending
    ended : the last decisions that were pending, for explanations; in no file
    """

    def __init__(self, expire_after: int | None, most: int, oldest: int = 0) -> None:
        super().__init__()
        self.expire_after, self.most, self.oldest = expire_after, most, oldest
        self.ended: deque[Pending] = deque(maxlen=MOST_ENDED)

    def end(self, id: int) -> None:
        """A decision is rewarded or cancelled."""
        self.ended.append(self.pop(id))

    def recall(self, decision: Decision) -> Pending | None:
        """The entry of a decision that is pending, or was so lately; None for any other."""
        pending = self.get(decision.id)
        recent = reversed(self.ended) if pending is None else iter([pending])
        same = (entry for entry in recent if entry.decision.id == decision.id)
        # a gap of nan differs from itself, but not as text
        return next((entry for entry in same if repr(entry.decision) == repr(decision)), None)

    def find(self, decision: Decision | int, made: int) -> Pending:
        """The entry of a decision, or of its id; made: how many decisions there were so far."""
        if type(decision) is Decision and type(decision[0]) is int:
            entry = self.get(decision[0])
            if entry is not None and entry[0] is decision:
                return entry
        if isinstance(decision, int):
            id, name = decision, f"decision {decision}"
            entry = self.get(id)
        else:
            check_decision(decision)
            id, name = decision.id, f"decision {decision.id} (arm {decision.name!r})"
            entry = self.get(id)
            # a gap of nan differs from itself, but not as text
            if entry is not None and entry[0] != decision and repr(entry[0]) != repr(decision):
                raise InvalidInput("", f"{name} was made by another learner, or changed")
        if entry is not None:
            return entry
        if 0 <= id < made:
            why = "is not pending: already rewarded, cancelled or expired, or of another learner"
        else:
            why = f"is unknown: the decisions of this learner have ids below {made}"
        raise InvalidInput("", f"{name} {why}")

    def decision(self, decision: Decision | int, made: int) -> Decision:
        """A decision as it is; or that of an id, which is pending or was so lately."""
        if isinstance(decision, int):
            recent = (entry.decision for entry in reversed(self.ended))
            ended = next((entry for entry in recent if entry.id == decision), None)
            return self.find(decision, made).decision if ended is None else ended
        check_decision(decision)
        return decision

    def overdue(self, made: int) -> Pending | None:
        """The oldest pending decision, if it has waited too long or too many are pending."""
        if not self:
            return None
        while self.oldest not in self:
            self.oldest += 1
        too_old = self.expire_after is not None and self.oldest + self.expire_after <= made
        return self[self.oldest] if too_old or len(self) >= self.most else None


def moved(pending: PendingDecisions, origins: Ints) -> PendingDecisions:
    """Pending decisions after blocks of theta came or went; origins (blocks,): where each was."""
    places = {int(origin): block for block, origin in enumerate(origins) if origin >= 0}
    same = PendingDecisions(pending.expire_after, pending.most, pending.oldest)
    for id, entry in pending.items():
        same[id] = entry._replace(row=places.get(entry.row, -1))
    return same


def check_decision(decision: Any) -> None:
    if not isinstance(decision, Decision) or not isinstance(decision.id, int):
        raise InvalidInput.expected("decision", "what choose returned, or its id", decision)
