"""A plain policy in use: a policy in plain Python, for listed contexts."""

import pickle
from collections.abc import Callable, Collection
from typing import Any, NoReturn, cast

import numpy as np

from thrifty.errors import NOTHING, InvalidInput
from thrifty.learners.decisions import ArmReport, Decision, Explanation, Pending
from thrifty.learners.listed import ListedLearner
from thrifty.numerics.arrays import Floats, finite_number, numeric
from thrifty.numerics.streams import streams
from thrifty.policies.shared.plain import PlainPolicy, choose_plain, name_of, start_plain
from thrifty.problem.action_sets import ActionSets

LABEL = "plain"
LOCK = ("_lock", "_acquire", "_release", "_is_owned")  # cannot be pickled


class PlainLearner(ListedLearner):
    """A plain policy in use; it plays a copy, `learner.policy`, whose state is its own.

    If code of the policy raises an exception, no decision is made, or it still waits. Two more
    methods of the policy are called if it has them: `cancel(context, arm)`, when a decision is
    cancelled or given up, and `estimates(context)`: means (K,) and their standard errors (K,).

    Parameters
    ----------
    policy : the plain policy
    sets : the action sets
    horizon : rounds to plan for; None by default
    settings : those of Learner
    """

    policy: Any

    def __init__(
        self,
        policy: PlainPolicy,
        sets: ActionSets,
        *,
        horizon: float | None = None,
        **settings: Any,
    ) -> None:
        self._horizon = None if horizon is None else _rounds(horizon)
        super().__init__(cast(Any, policy), sets, **settings)

    def choose(
        self, context: str | int, available: Collection[str | int] | None = None
    ) -> Decision:
        """Let the policy choose an arm of a context, among all of them: available must be None."""
        if available is not None:
            expected = "nothing (a plain policy chooses among all arms of a context)"
            raise InvalidInput.expected("available", expected, available)
        with self._lock:
            if self.expire_after is not None or len(self.pending) >= self.most_waiting:
                self._expire()
            m = self.sets.context_index(context)
            arm = choose_plain(self.policy, self.sets, m)
            found, gap = self._estimates(m), float("nan")
            if found is not None:
                gap = float(found[0].max() - found[0][arm])
            id, name = self._made, self.sets.arm_names[m][arm]
            decision = Decision(id, self.sets.context_names[m], arm, name, LABEL, gap)
            self._made = id + 1  # first: an interrupt must not let an id be used twice
            self.pending[id] = Pending(decision, self._starts[m] + arm, 0)
            return decision

    def cancel(self, decision: Decision | int) -> None:
        """Withdraw a decision that will get no reward, if the policy has a method for that."""
        if self._told_of_cancelled() is None:
            where, hint = f"{name_of(self.policy)}: cancel", "it cannot take a decision back"
            raise InvalidInput.expected(where, "a method cancel(context, arm)", NOTHING, hint=hint)
        super().cancel(decision)

    def explain(self, decision: Decision | int) -> Explanation:
        """The decision, and the present estimates of the arms of its context if there are some."""
        decision = self._decision(decision)
        with self._lock:
            m = self.sets.context_index(decision.context)
            found = self._estimates(m)
        if found is None:
            return Explanation(decision, ())
        best = found[0].max()
        reports = (
            ArmReport(name, float(mean), float(best - mean), float(error), None, None)
            for name, mean, error in zip(self.sets.arm_names[m], *found, strict=True)
        )
        return Explanation(decision, tuple(reports))

    def change(self, sets: ActionSets) -> NoReturn:
        """Refused, as all changes of arms and contexts are: the policy was started with others."""
        expected = "the action sets that it was started with"
        raise InvalidInput.expected(f"{name_of(self.policy)}: change", expected, sets)

    def change_policy(self, policy: Any) -> NoReturn:
        """Refused: the state of a plain policy is its own."""
        raise InvalidInput.expected("policy", "the one that it was started with", name_of(policy))

    def __reduce__(self) -> Any:
        """Pickled, and copied, with the policy and all that waits, if the policy can be pickled."""
        with self._lock:
            kept = {name: one for name, one in vars(self).items() if name not in LOCK}
            return _unpickled, (pickle.dumps(kept),)

    def _start(self, sets: ActionSets, seed: int) -> None:
        rng = streams(seed, 0).uniforms  # as in replication 0 of a simulation
        self.sets, self._starts = sets, sets.offsets.tolist()
        self.policy = start_plain(
            self.policy, sets, noise=self.noise, horizon=self._horizon, rng=rng
        )

    def _estimates(self, m: int) -> Floats | None:
        """(2, K) means and standard errors of the arms of a context; None if there are none."""
        if not callable(getattr(self.policy, "estimates", None)):
            return None
        arms, where = len(self.sets.arm_names[m]), f"{name_of(self.policy)}: estimates"
        expected = f"means and standard errors, {arms} numbers each"
        given = self.policy.estimates(m)
        found = numeric(given, where, expected)
        if found.shape != (2, arms):
            raise InvalidInput.expected(where, expected, given)
        return found

    def estimates(self) -> dict[str, Any]:
        """Of each arm: its context and name, and what the policy's own `estimates` says."""
        with self._lock:
            named = self.sets.named_rows()
            found = [self._estimates(m) for m in range(self.sets.contexts)]
        known = [one for one in found if one is not None]
        if not known:
            return named
        means, errors = np.hstack(known)
        return named | {"mean": means, "error": errors}

    def _rank(self, columns: dict[str, Any]) -> tuple[Any, str]:
        rows = len(self.sets.rows)
        order = "largest means first" if "mean" in columns else ""
        return columns.get("mean", -np.arange(rows)), order

    def _standing(self) -> str:
        return f"{self._made:,} decisions, {len(self.pending):,} pending, noise {self.noise:.4g}"

    def _told_of_cancelled(self) -> Callable[[int, int], Any] | None:
        told = getattr(self.policy, "cancel", None)
        return told if callable(told) else None

    def _place(self, row: int) -> tuple[int, int]:
        """The context of a row, and its index among the arms there."""
        m = int(self.sets.context_of_row[row])
        return m, row - self._starts[m]

    def _learn_waiting(self, id: int, pending: Pending, reward: float) -> None:
        self._settle(id, self.policy.learn, *self._place(pending.row), reward)

    def _cancel_waiting(self, pending: Pending) -> None:
        """Also for a policy that is not told: a decision that was given up waits no longer."""
        told = self._told_of_cancelled() or _ignore
        self._settle(pending.decision.id, told, *self._place(pending.row))

    def _settle(self, id: int, call: Callable[..., Any], *arguments: Any) -> None:
        call(*arguments)
        del self.pending[id]

    def _learn_past(self, function: Callable[..., Any], *arguments: Any) -> None:
        rows, rewards = arguments
        for row, reward in zip(rows.tolist(), rewards.tolist(), strict=True):
            self.policy.learn(*self._place(row), reward)

    def _text(self) -> NoReturn:
        hint = "the state of a plain policy is its own: pickle the learner"
        raise InvalidInput.expected("save", "a compiled policy", name_of(self.policy), hint=hint)


def _unpickled(content: bytes) -> PlainLearner:
    """The learner of a pickle."""
    learner = PlainLearner.__new__(PlainLearner)
    learner.__dict__.update(pickle.loads(content))
    learner._make_lock()
    return learner


def _ignore(context: int, arm: int) -> None:
    pass


def _rounds(horizon: float) -> int:
    if finite_number(horizon, "horizon") < 1:
        raise InvalidInput.expected("horizon", "at least one round", horizon)
    return int(horizon)
