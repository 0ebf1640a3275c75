"""A plain policy in use: a policy in plain Python, for listed contexts."""

import pickle
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.display import frame, html
from thrifty.errors import InvalidInput
from thrifty.learners.decisions import ArmReport, Decision, Explanation
from thrifty.learners.listed import ListedArms
from thrifty.learners.pending import Pending, PendingDecisions
from thrifty.learners.settings import Settings
from thrifty.numerics.arrays import Floats, finite_number, noise_level, numeric
from thrifty.numerics.streams import streams
from thrifty.policies.shared.plain import PlainPolicy, choose_plain, name_of, start_plain
from thrifty.problem.action_sets import ActionSets

if TYPE_CHECKING:
    from pandas import DataFrame

LABEL = "plain"


class PlainLearner:
    """A plain policy in use; it plays a copy, `learner.policy`, whose state is its own.

    If code of the policy raises an exception, no decision is made, or it is still pending. Two more
    methods of the policy are called if it has them: `cancel(context, arm)`, when a decision is
    cancelled or given up, and `estimates(context)`: means (K,) and their standard errors (K,).

    Parameters
    ----------
    policy : the plain policy
    sets : the action sets
    seed : random seed of the policy
    noise : standard deviation of the rewards
    horizon : rounds to plan for; None by default
    settings : see Settings
    """

    policy: Any

    def __init__(
        self,
        policy: PlainPolicy,
        sets: ActionSets,
        *,
        seed: int = 0,
        noise: float = 1.0,
        horizon: float | None = None,
        **settings: Any,
    ) -> None:
        if horizon is not None and finite_number(horizon, "horizon") < 1:
            raise InvalidInput.expected("horizon", "at least one round", horizon)
        rounds = None if horizon is None else int(horizon)
        self.arms, self.noise = ListedArms(sets), noise_level(noise)
        self.settings = Settings.of(settings)
        self.pending = PendingDecisions(self.settings.expire_after, self.settings.most_waiting)
        self.decisions = 0
        self._lock = RLock()
        rng = streams(seed, 0).uniforms  # as in replication 0 of a simulation
        self.policy = start_plain(policy, sets, noise=self.noise, horizon=rounds, rng=rng)

    @property
    def sets(self) -> ActionSets:
        """The action sets."""
        return self.arms.sets

    def choose(self, context: str | int) -> Decision:
        """Let the policy choose an arm of a context."""
        with self._lock:
            m = self.sets.context_index(context)
            self._expire()
            arm = choose_plain(self.policy, self.sets, m)
            estimates, gap = self._estimates(m), float("nan")
            if estimates is not None:
                gap = float(estimates[0].max() - estimates[0][arm])
            id, name = self.decisions, self.sets.arm_names[m][arm]
            decision = Decision(id, self.sets.context_names[m], arm, name, LABEL, gap)
            self.decisions = id + 1  # first: an interrupt must not let an id be used twice
            self.pending[id] = Pending(decision, self.arms.starts[m] + arm, 0)
            return decision

    def learn(self, decision: Decision | int, reward: float) -> None:
        """Learn from the reward of a decision, or of its id: late and in any order, but once."""
        reward = self.settings.check_reward(reward)
        with self._lock:
            self._learn(self.pending.find(decision, self.decisions), reward)

    def cancel(self, decision: Decision | int) -> None:
        """Withdraw a decision that will get no reward, if the policy has a method for that."""
        with self._lock:
            pending = self.pending.find(decision, self.decisions)
            if not callable(getattr(self.policy, "cancel", None)):
                place = f"{name_of(self.policy)}: cancel"
                raise InvalidInput(place, "it has no method cancel(context, arm) to take it back")
            self._cancel(pending)

    def observe(self, context: Any, arm: Any, reward: Any) -> None:
        """Learn from decisions that somebody else took: one, or lists of them."""
        with self._lock:
            past = self.arms.past(context, arm, reward)
            rewards = self.settings.check_rewards(past.rewards, past.decisions)
            for row, number in zip(past.played[0].tolist(), rewards.tolist(), strict=True):
                self.policy.learn(*self._place(row), number)

    def explain(self, decision: Decision | int) -> Explanation:
        """The decision, and the present estimates of the arms of its context if there are some."""
        with self._lock:
            chosen = self.pending.decision(decision, self.decisions)
            m = self.sets.context_index(chosen.context)
            estimates = self._estimates(m)
        if estimates is None:
            return Explanation(chosen, ())
        best = estimates[0].max()
        reports = (
            ArmReport(name, float(mean), float(best - mean), float(error), None, None)
            for name, mean, error in zip(self.sets.arm_names[m], *estimates, strict=True)
        )
        return Explanation(chosen, tuple(reports))

    def estimates(self) -> dict[str, Any]:
        """Of each arm: its context and name, and what the policy's own `estimates` says."""
        with self._lock:
            named = self.sets.named_rows()
            known = [self._estimates(m) for m in range(self.sets.contexts)]
        pairs = [estimates for estimates in known if estimates is not None]
        if not pairs:
            return named
        means, errors = np.hstack(pairs).tolist()
        return named | {"mean": means, "error": errors}

    def to_frame(self) -> "DataFrame":
        """The present estimates as a data frame of pandas, a row per arm."""
        return frame("learner.to_frame()", self.estimates())

    def __repr__(self) -> str:
        """The policy, what it knows, and how far it is."""
        pending = f", {len(self.pending):,} pending" if self.pending else ""
        return (
            f"<learner: {name_of(self.policy)}, {self.sets}, {self.decisions:,} decisions{pending}>"
        )

    def _repr_html_(self) -> str:
        columns = self.estimates()
        standing = f"{self.decisions:,} decisions, {len(self.pending):,} pending"
        title = f"learner: {name_of(self.policy)}, {self.arms}, {standing}, noise {self.noise:.4g}"
        rank = columns.get("mean", range(0, -len(self.sets.rows), -1))
        return html(title, columns, rank=rank, order="largest means first" * ("mean" in columns))

    def __reduce__(self) -> Any:
        """Pickled, and copied, with the policy and all that is pending."""
        with self._lock:
            kept = {name: value for name, value in vars(self).items() if name != "_lock"}
            kept["pending"] = vars(self.pending), dict(self.pending)
            return _unpickled, (pickle.dumps(kept),)

    def _estimates(self, m: int) -> Floats | None:
        """(2, K) means and standard errors of the arms of a context; None if there are none."""
        if not callable(getattr(self.policy, "estimates", None)):
            return None
        arms, where = len(self.sets.arm_names[m]), f"{name_of(self.policy)}: estimates"
        expected = f"means and standard errors, {arms} numbers each"
        returned = self.policy.estimates(m)
        estimates = numeric(returned, where, expected)
        if estimates.shape != (2, arms):
            raise InvalidInput.expected(where, expected, returned)
        return estimates

    def _place(self, row: int) -> tuple[int, int]:
        """The context of a row, and its index among the arms there."""
        m = int(self.sets.context_of_row[row])
        return m, row - self.arms.starts[m]

    def _expire(self) -> None:
        """Give up what is overdue, before the next decision is made."""
        while (overdue := self.pending.overdue(self.decisions)) is not None:
            if self.settings.expired_reward is None:
                self._cancel(overdue)
            else:
                self._learn(overdue, self.settings.expired_reward)

    def _learn(self, pending: Pending, reward: float) -> None:
        self.policy.learn(*self._place(pending.row), reward)
        self.pending.end(pending.decision.id)

    def _cancel(self, pending: Pending) -> None:
        """Also for a policy that is not told: a decision that was given up is no longer pending."""
        told = getattr(self.policy, "cancel", None)
        if callable(told):
            told(*self._place(pending.row))
        self.pending.end(pending.decision.id)


def _unpickled(content: bytes) -> PlainLearner:
    """The learner of a pickle."""
    learner = PlainLearner.__new__(PlainLearner)
    kept = pickle.loads(content)
    bounds, entries = kept.pop("pending")
    ended = bounds.pop("ended")
    pending = PendingDecisions(**bounds)
    pending.ended.extend(ended)
    pending.update(entries)
    learner.__dict__.update(kept, pending=pending, _lock=RLock())
    return learner
