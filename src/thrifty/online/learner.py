"""A policy in use, one decision at a time: choose, learn, explain, save, load.

It runs the compiled code that the simulator runs. A learner may be used by several threads. If an
exception interrupts a call (Ctrl-C, a signal handler), what the call was to do is done whole or not
at all: each change of the policy's state is a single compiled call, and the next call completes the
entries here that belong to it (`_recover`).
"""

import os
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from thrifty.errors import BadFile, InvalidInput, ThriftyError, UnknownName
from thrifty.files import write_whole
from thrifty.numerics.arrays import (
    RANGE,
    Floats,
    Ints,
    check_range,
    finite_number,
    noise_level,
)
from thrifty.numerics.compilation import direct_call, entry_for
from thrifty.numerics.references import refer
from thrifty.numerics.streams import streams
from thrifty.online.changes import (
    renumber,
    with_arm,
    with_context,
    without_arm,
    without_context,
)
from thrifty.online.decisions import ArmReport, Decision, Explanation, Pending
from thrifty.online.saving import BLOCK, content_of, policy_and_sets, restore
from thrifty.online.state_files import read, to_text
from thrifty.online.step import Online, Progress, decide, undo, update
from thrifty.policies.base import Policy
from thrifty.policies.shared.ledger import Renumbering
from thrifty.problem.action_sets import ActionSets

LARGEST_REWARD = 1 / RANGE
_INDEX_TYPES = (str, int)
_new = tuple.__new__


class Learner:
    """A policy in use.

    Parameters
    ----------
    policy : the policy
    sets : the action sets
    seed : random seed of the policy
    noise : standard deviation of the rewards
    """

    # set together by _attributes
    sets: ActionSets
    state: Any  # of the policy
    _contexts: dict[str | int, int]  # by name, and by index
    _names: list[tuple[str, tuple[str, ...]]]  # of each context, and of its arms
    _starts: list[int]  # the first row of each context
    _arms: list[Ints]  # the rows of each context
    _random: bool  # whether the policy draws random numbers
    _reference: Any  # to Online
    _decide: Callable[..., Any]
    _update: Callable[..., Any]
    # set together by _draw
    _normal_block: Floats
    _uniform_block: Floats
    _drawn_from: tuple[Any, Any]  # states of the generators before the block
    _first_of_block: int  # the first decision that uses it

    def __init__(
        self, policy: Policy, sets: ActionSets, *, seed: int = 0, noise: float = 1.0
    ) -> None:
        if not isinstance(policy, Policy):
            raise InvalidInput("policy", "a compiled policy such as thrifty.OAM()", policy)
        _check_sets(sets)
        self.policy, self.noise, self._labels = policy, noise_level(noise), policy.labels
        self.pending: dict[int, Pending] = {}
        self._lock = lock = cast(Any, RLock())
        # For choose and learn, where a with statement would take a tenth of the time. An interrupt
        # may come before or after the lock is acquired: it is released if it was.
        self._acquire, self._release, self._is_owned = lock.acquire, lock.release, lock._is_owned
        self._made = self._settled = 0  # decisions, and those with a reward or cancelled
        self._busy = False  # whether a compiled call may have changed the state
        self._settling: int | None = None  # the decision that the last such call was about
        self._rollback: list[tuple[Any, Any]] | None = None  # arrays, and what they were before
        self._progress = Progress.new()
        _, _, self._normals, self._uniforms = streams(seed, 0)
        self._next_draws = (self._normals.bit_generator.state, self._uniforms.bit_generator.state)
        state = policy.start(sets, noise=self.noise, horizon=None)
        self.__dict__.update(self._attributes(sets, state))
        self._draw()

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
            if self._random:
                self._write_draws()
            self._busy = True
            row, label, gap = self._decide(self._reference, m, arms)
            decision = self._register(m, row, label, gap)
            self._busy = False
            return decision
        finally:
            if self._is_owned():
                self._release()

    def learn(self, decision: Decision, reward: float) -> None:
        """Learn from the reward of a decision: late and in any order, but once."""
        if type(reward) is not float or not -LARGEST_REWARD < reward < LARGEST_REWARD:
            reward = _checked_reward(reward)
        try:
            self._acquire()
            if self._busy:
                self._recover()
            pending = self._waiting(decision)
            if pending.features is not None:
                self._learn_removed(decision.id, pending.features, reward)
                return
            self._settling, self._busy = decision.id, True
            self._update(self._reference, pending.row, pending.label, reward)
            del self.pending[decision.id]
            self._settled += 1
            self._busy = False
        finally:
            if self._is_owned():
                self._release()

    def cancel(self, decision: Decision) -> None:
        """Withdraw a decision that will get no reward: it no longer counts as a pull or a visit."""
        with self._lock:
            if self._busy:
                self._recover()
            pending = self._waiting(decision)
            context, row, vector = self.counted(pending)
            call = direct_call(entry_for(undo, self.state), self._reference, context, row, vector)
            self._settling, self._busy = decision.id, True
            call(self._reference, context, row, vector)
            del self.pending[decision.id]
            self._settled += 1
            self._busy = False

    def explain(self, decision: Decision) -> Explanation:
        """Why an arm was chosen, and the present estimates of the arms of its context."""
        _check_decision(decision)
        with self._lock:
            if self._busy:
                self._recover()
            m = self.sets.context_index(decision.context)
            means, errors = self.policy.estimates(self.state, self.sets.rows)
            targets, ledger = self.policy.targets(self.state), self.state.ledger
            rows = range(*self.sets.offsets[m : m + 2])
            best = max(means[row] for row in rows)
            reports = tuple(
                ArmReport(
                    name=self.sets.arm_names[m][row - rows.start],
                    mean=float(means[row]),
                    gap=float(best - means[row]),
                    width=float(self.noise * errors[row]),
                    pulls=int(ledger.played[ledger.vector_ids[row]]),
                    target=None if targets is None else float(targets[row]),
                )
                for row in rows
            )
        return Explanation(decision, reports)

    def add_arm(self, context: str | int, features: ArrayLike, name: str | None = None) -> None:
        """Add an arm to a context."""
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
        """Add a context."""
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
        _check_sets(sets)
        with self._lock:
            if self._busy:
                self._recover()
            if sets.dimension != self.sets.dimension:
                expected = f"arms of dimension {self.sets.dimension}"
                raise InvalidInput("sets", expected, sets.dimension)
            state = self.policy.start(sets, noise=self.noise, horizon=None)
            renumbering = renumber(self.sets, sets)
            self.policy.carry(self.state, state, renumbering)
            pending = {id: self._moved(one, renumbering) for id, one in self.pending.items()}
            # one instruction, which no signal handler can interrupt
            self.__dict__.update(self._attributes(sets, state), pending=pending)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, from which `Learner.load` continues bit for bit."""
        with self._lock:
            if self._busy:
                self._recover()
            text = to_text(content_of(self))
        write_whole(Path(path), text)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        sets: ActionSets | None = None,
        *,
        policy: Policy | None = None,
    ) -> "Learner":
        """A learner from a file that `save` wrote.

        sets: refuse a file for other action sets than these. policy: needed for a policy of your
        own, which thrifty does not know by name.
        """
        content = read(path)
        try:
            known, saved = policy_and_sets(content, sets, policy)
            learner = cls(known, saved, noise=content["noise"])
            restore(learner, content)
            return learner
        except ThriftyError as error:
            raise BadFile(f"{path}: {error}") from None
        except Exception as error:  # a file may hold anything, and fail anywhere
            raise BadFile(f"{path}: not a whole learner's state: {error!r}") from error

    def _attributes(self, sets: ActionSets, state: Any) -> dict[str, Any]:
        """The attributes that follow from action sets and a state for them."""
        starts = sets.offsets.tolist()
        arms = [np.arange(*rows) for rows in pairwise(starts)]
        online = Online(state, self._progress)
        reference = entry_for(refer, state)(online)
        return {
            "sets": sets,
            "state": state,
            "_contexts": {name: m for m, name in enumerate(sets.context_names)}
            | {m: m for m in range(sets.contexts)},
            "_names": list(zip(sets.context_names, sets.arm_names, strict=True)),
            "_starts": starts,
            "_arms": arms,
            "_random": state.ledger.normals.size + state.ledger.uniforms.size > 0,
            "_reference": reference,
            "_decide": direct_call(entry_for(decide, state), reference, 0, arms[0]),
            "_update": direct_call(entry_for(update, state), reference, 0, 0, 0.0),
        }

    def _register(self, m: int, row: int, label: int, gap: float) -> Decision:
        """Make the decision that compiled code has counted, and let it wait for its reward."""
        arm = row - self._starts[m]
        id, (context, names) = self._made, self._names[m]
        # faster than Decision(...) and Pending(...), by a third of a microsecond
        decision = _new(Decision, (id, context, arm, names[arm], self._labels[label], gap))
        self.pending[id] = _new(Pending, (decision, row, label, None, None))
        self._made = id + 1
        return decision

    def _recover(self) -> None:
        """Complete, or undo, what an exception interrupted."""
        if self._rollback is not None:
            for array, before in self._rollback:
                array[...] = before
            self._rollback = None
        done = self._progress[0]
        if done.decisions > self._made:
            self._register(int(done.context), int(done.row), int(done.label), float(done.gap))
        if done.updates + done.cancellations > self._settled and self._settling is not None:
            self.pending.pop(self._settling, None)
            self._settled = int(done.updates + done.cancellations)
        self._busy = False

    def _learn_removed(self, id: int, features: Floats, reward: float) -> None:
        """Learn from the reward of an arm that was removed: in Python, so that it can be undone."""
        self._rollback, self._busy = _copies(self.state), True
        self.policy.learn_removed(self.state, features, reward)
        pending = {other: one for other, one in self.pending.items() if other != id}
        self.__dict__.update(pending=pending, _rollback=None, _busy=False)  # one instruction

    def _waiting(self, decision: Decision) -> Pending:
        """The entry of a decision that waits for its reward."""
        _check_decision(decision)
        pending = self.pending.get(decision.id)
        if pending is None or pending.decision != decision:
            raise InvalidInput(
                "decision",
                "one of this learner's that waits for its reward (each is learned once)",
                f"{decision.id} ({decision.name})",
            )
        return pending

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
            raise InvalidInput("available", "a list of arms", available)
        if len(available) == len(self._arms[m]) and all(
            isinstance(flag, bool | np.bool_) for flag in available
        ):
            available = [arm for arm, flag in enumerate(available) if flag]
        rows = sorted({self._starts[m] + self._arm_index(m, arm) for arm in available})
        if not rows:
            raise InvalidInput("available", "at least one arm", available)
        return np.array(rows, dtype=np.int64)

    def _arm_index(self, m: int, arm: str | int) -> int:
        names = self.sets.arm_names[m]
        if isinstance(arm, str):
            if arm not in names:
                raise UnknownName("arm", arm, names)
            return names.index(arm)
        if (
            isinstance(arm, bool)
            or not isinstance(arm, int | np.integer)
            or not 0 <= arm < len(names)
        ):
            raise InvalidInput("arm", f"an index from 0 to {len(names) - 1}", arm)
        return int(arm)

    def _draw(self) -> None:
        """Make the random draws of the next BLOCK rounds."""
        ledger, before = self.state.ledger, self._next_draws
        self._normals.bit_generator.state, self._uniforms.bit_generator.state = before
        normals = self._normals.standard_normal((BLOCK, ledger.normals.size))
        uniforms = self._uniforms.random((BLOCK, ledger.uniforms.size))
        after = (self._normals.bit_generator.state, self._uniforms.bit_generator.state)
        self.__dict__.update(
            _normal_block=normals,
            _uniform_block=uniforms,
            _drawn_from=before,
            _next_draws=after,
            _first_of_block=self._made,
        )

    def _write_draws(self) -> None:
        """Write the random draws of the next decision into the ledger."""
        if self._made - self._first_of_block == BLOCK:
            self._draw()
        used, ledger = self._made - self._first_of_block, self.state.ledger
        ledger.normals[:] = self._normal_block[used]
        ledger.uniforms[:] = self._uniform_block[used]


def _check_sets(sets: ActionSets) -> None:
    if not isinstance(sets, ActionSets):
        raise InvalidInput("sets", "thrifty.ActionSets", sets)
    check_range(np.abs(sets.rows).max(axis=1), "arms", "an arm")


def _check_decision(decision: Decision) -> None:
    if not isinstance(decision, Decision) or not isinstance(decision.id, int):
        raise InvalidInput("decision", "what choose returned", decision)


def _checked_reward(reward: float) -> float:
    click = isinstance(reward, bool | np.bool_)
    number = finite_number(int(reward) if click else reward, "reward")
    if not abs(number) < LARGEST_REWARD:
        raise InvalidInput("reward", f"a number below {LARGEST_REWARD:g}", reward)
    return number


def _copies(state: Any) -> list[tuple[Any, Any]]:
    """The arrays of a state, each with a copy."""
    found: list[tuple[Any, Any]] = []
    for part in state:
        if hasattr(part, "_fields"):
            found += _copies(part)
        elif isinstance(part, np.ndarray):
            found.append((part, part.copy()))
    return found
