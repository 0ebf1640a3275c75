"""A policy in use, one decision at a time: what listed and open contexts share.

It runs the compiled code that the simulator runs. A learner may be used by several threads. If an
exception interrupts a call (Ctrl-C, a signal handler), what the call was to do is done whole or not
at all: each change of the policy's state is a single compiled call, and the next call completes the
entries here that belong to it (`_recover`).
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from thrifty.compiler.compilation import direct_call, entry_for
from thrifty.compiler.references import refer
from thrifty.display import frame, html
from thrifty.errors import BadFile, InvalidInput, ThriftyError
from thrifty.files import write_whole
from thrifty.learners.checks import (
    LARGEST_REWARD,
    check_decision,
    checked_reward,
    checked_rewards,
    no_click,
    number_of_draws,
    positive_count,
)
from thrifty.learners.decisions import Decision, Explanation, Pending
from thrifty.learners.features import FeatureMap
from thrifty.learners.saving import BLOCK, content_of, policy_of, restore, sets_of
from thrifty.learners.state_files import read, to_text
from thrifty.learners.step import Online, Progress, undo
from thrifty.numerics.arrays import Floats, noise_level
from thrifty.numerics.streams import streams
from thrifty.policies import POLICIES
from thrifty.policies.base import Policy
from thrifty.policies.shared.plain import name_of
from thrifty.problem.action_sets import ActionSets

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_WAITING = 1_000_000
REWARDS = ("gaussian", "bernoulli")


class Learner:
    """A policy in use. Policies make learners: `policy.learner(...)`.

    Parameters
    ----------
    policy : the policy
    sets : the action sets, or what stands for them where contexts are open
    seed : random seed of the policy
    noise : standard deviation of the rewards
    rewards : `gaussian`, any numbers; or `bernoulli`, 0 and 1 only, as clicks are
    expire_after : a decision that still waits after so many later ones is given up; never by
        default
    expired_reward : then it is learned with this reward; by default it is cancelled
    most_waiting : so many decisions wait for a reward at most; then the oldest is given up
    probability_draws : by so many random draws the probability of a decision is estimated where it
        has no closed form, but the policy can draw again, as `lints` can; by default it is None
    """

    # set together by _attributes
    sets: Any
    state: Any  # of the policy
    _random: bool  # whether the policy draws random numbers
    _normal: bool  # and of which kind
    _uniform: bool
    _reference: Any  # to Online
    _decide: Callable[..., Any]
    _update: Callable[..., Any]
    _chances: dict[int, float]  # estimated probabilities of the rows on offer
    # set together by _draw
    _normal_block: Floats
    _uniform_block: Floats
    _drawn_from: tuple[Any, Any]  # states of the generators before the block
    _first_of_block: int  # the first decision that uses it

    def __init__(
        self,
        policy: Policy,
        sets: Any,
        *,
        seed: int = 0,
        noise: float = 1.0,
        rewards: str = "gaussian",
        expire_after: int | None = None,
        expired_reward: float | None = None,
        most_waiting: int = MOST_WAITING,
        probability_draws: int = 0,
    ) -> None:
        self._check_sets(sets)
        self.policy, self.noise = policy, noise_level(noise)
        if rewards not in REWARDS:
            raise InvalidInput.expected("rewards", " or ".join(REWARDS), rewards)
        self.rewards, self._clicks = rewards, rewards == "bernoulli"
        self.expire_after = (
            None if expire_after is None else positive_count(expire_after, "expire_after")
        )
        self.expired_reward = None if expired_reward is None else checked_reward(expired_reward)
        self.most_waiting = positive_count(most_waiting, "most_waiting")
        self.probability_draws = number_of_draws(probability_draws)
        self.pending: dict[int, Pending] = {}
        self._oldest = 0  # no decision before this one waits
        self._made = self._settled = 0  # decisions, and those with a reward or cancelled
        self._busy = False  # whether a compiled call may have changed the state
        self._settling: int | None = None  # the decision that the last such call was about
        self._rollback: list[tuple[Any, Any]] | None = None  # arrays, and what they were before
        self._learned: int | None = None  # a decision that was learned, and still waits
        self._make_lock()
        self._start(sets, seed)

    def choose(self, *arguments: Any, **options: Any) -> Decision:
        """Choose an arm."""
        raise NotImplementedError

    def observe(self, *arguments: Any, **options: Any) -> None:
        """Learn from decisions that somebody else took."""
        raise NotImplementedError

    def explain(self, decision: Decision | int, *arguments: Any) -> Explanation:
        """Why an arm was chosen."""
        raise NotImplementedError

    def check_reward(self, reward: float) -> float:
        """The reward as a number; raises what `learn` would raise about it."""
        if type(reward) is not float or not -LARGEST_REWARD < reward < LARGEST_REWARD:
            reward = checked_reward(reward)
        if self._clicks and reward != 0.0 and reward != 1.0:
            raise no_click(reward)
        return reward

    def learn(self, decision: Decision | int, reward: float) -> None:
        """Learn from the reward of a decision, or of its id: late and in any order, but once."""
        reward = self.check_reward(reward)
        try:
            self._acquire()
            if self._busy:
                self._recover()
            pending = self._waiting(decision)
            self._learn_waiting(pending.decision.id, pending, reward)
        finally:
            if self._is_owned():
                self._release()

    def mark(self) -> "Mark":
        """What `rewind` needs; nothing may be learned or cancelled in between."""
        return Mark(dict(self.__dict__), copies([self.state, self._progress]))

    def rewind(self, mark: "Mark") -> None:
        """Undo the decisions since a mark, as if they had never been made."""
        with self._lock:
            for id in range(mark.attributes["_made"], self._made):
                self.pending.pop(id, None)
            for array, before in mark.arrays:
                array[...] = before
            self.__dict__.update(mark.attributes)

    def cancel(self, decision: Decision | int) -> None:
        """Withdraw a decision that will get no reward: it no longer counts as a pull or a visit."""
        with self._lock:
            if self._busy:
                self._recover()
            self._cancel_waiting(self._waiting(decision))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, from which `Learner.load` continues bit for bit."""
        write_whole(Path(path), self._text())

    def to_bytes(self) -> bytes:
        """What `save` would write."""
        return self._text().encode()

    @classmethod
    def load(
        cls,
        source: str | os.PathLike[str] | bytes,
        sets: ActionSets | None = None,
        *,
        policy: Policy | None = None,
        features: FeatureMap | None = None,
    ) -> "Learner":
        """A learner from a file that `save` wrote, or from the bytes of `to_bytes`.

        sets: refuse a file for other action sets than these. policy: needed for a policy of your
        own, which thrifty does not know by name. features: needed for a map with a transformer.
        """
        where = "bytes" if isinstance(source, bytes) else source
        content = read(source)
        try:
            kind, saved = sets_of(content, sets, features)
            known = policy_of(content, policy)
            learner: Learner = kind(known, saved, noise=content["noise"], **content["settings"])
            restore(learner, content)
            return learner
        except ThriftyError as error:
            raise BadFile(f"{where}: {error}") from None
        except Exception as error:  # a file may hold anything, and fail anywhere
            raise BadFile(f"{where}: not a whole learner's state: {error!r}") from error

    def __reduce__(self) -> Any:
        """Pickled, and copied, as what `save` would write."""
        policy = None if self.policy.name in POLICIES else self.policy
        return _loaded, (self.to_bytes(), policy, getattr(self.sets, "features", None))

    def __repr__(self) -> str:
        """The policy, what it knows, and how far it is."""
        waiting = f", {len(self.pending):,} waiting" if self.pending else ""
        return f"<learner: {name_of(self.policy)}, {self.sets}, {self._made:,} decisions{waiting}>"

    def to_frame(self) -> "DataFrame":
        """The present estimates as a data frame of pandas.

        Listed contexts: a row per arm, with context, arm, mean, error (standard error of the mean)
        and pulls. Open contexts: a row per coefficient, with its name, estimate and error.
        """
        return frame("learner.to_frame()", self.estimates())

    def estimates(self) -> dict[str, Any]:
        """The columns of `to_frame`, by name."""
        raise NotImplementedError

    def change_policy(self, policy: Policy) -> None:
        """Continue with other parameters of the same policy; what was learned is kept."""
        if type(policy) is not type(self.policy):
            expected = f"{name_of(self.policy)} with other parameters"
            raise InvalidInput.expected("policy", expected, name_of(policy))
        with self._lock:
            if self._busy:
                self._recover()
            state = policy.start(cast(Any, self.sets), noise=self.noise, horizon=None)
            self._carry(policy, state)
            attributes = self._attributes(self.sets, state)
            self.__dict__.update(attributes, policy=policy, _labels=policy.labels)
            self._draw()  # as many as it needs now

    def _carry(self, policy: Policy, state: Any) -> None:
        """Copy what was learned into a state for the same sets."""
        raise NotImplementedError

    def _kind(self) -> str:
        """The contexts in words."""
        return str(self.sets)

    def _rank(self, columns: dict[str, Any]) -> tuple[Any, str]:
        """What decides which rows of `columns` (n,) are shown, (n,), and the order in words."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        with self._lock:
            columns = self.estimates()
            title = f"learner: {name_of(self.policy)}, {self._kind()}, {self._standing()}"
        rank, order = self._rank(columns)
        return html(title, columns, rank=rank, order=order)

    def _standing(self) -> str:
        """How far it is, in words."""
        estimated = self.policy.estimated_noise(self.state)
        noise = f"{self.noise:.4g}" if estimated is None else f"{estimated:.4g} (estimated)"
        rounds = self.state.ledger.counters[0].rounds
        return f"{rounds:,} rounds, {len(self.pending):,} pending, noise {noise}"

    def counted(self, pending: Pending) -> tuple[int, int, int]:
        """The context, row and vector that counted a decision; -1 where removed since."""
        raise NotImplementedError

    def _observed(self, rewards: Any, count: int) -> Floats:
        """Rewards (n,) of as many decisions that were taken elsewhere."""
        numbers = checked_rewards(rewards)
        if len(numbers) != count:
            raise InvalidInput.expected(
                "rewards", f"{count} numbers (one for each row)", len(numbers)
            )
        if self._clicks:
            for reward in numbers[(numbers != 0) & (numbers != 1)]:
                raise no_click(float(reward))
        return numbers

    def _text(self) -> str:
        with self._lock:
            if self._busy:
                self._recover()
            return to_text(content_of(self))

    def _check_sets(self, sets: Any) -> None:
        raise NotImplementedError

    def _make_lock(self) -> None:
        self._lock = lock = cast(Any, RLock())
        # For choose and learn, where a with statement would take a tenth of the time. An interrupt
        # may come before or after the lock is acquired: it is released if it was.
        self._acquire, self._release, self._is_owned = lock.acquire, lock.release, lock._is_owned

    def _start(self, sets: Any, seed: int) -> None:
        """Start the policy, with random streams of its own."""
        policy = self.policy
        if not isinstance(policy, Policy):
            raise InvalidInput.expected("policy", "a compiled policy such as thrifty.OAM()", policy)
        self._labels, self._progress = policy.labels, Progress.new()
        _, _, self._normals, self._uniforms = streams(seed, 0)
        self._next_draws = (self._normals.bit_generator.state, self._uniforms.bit_generator.state)
        state = policy.start(sets, noise=self.noise, horizon=None)
        self.__dict__.update(self._attributes(sets, state))
        self._draw()

    def _attributes(self, sets: Any, state: Any) -> dict[str, Any]:
        """The attributes that follow from action sets and a state for them."""
        return {
            "sets": sets,
            "state": state,
            "_random": state.ledger.normals.size + state.ledger.uniforms.size > 0,
            "_normal": state.ledger.normals.size > 0,
            "_uniform": state.ledger.uniforms.size > 0,
            "_reference": entry_for(refer, state)(Online(state, self._progress)),
            "_chances": {},
        }

    def _register(
        self, m: int, row: int, label: int, gap: float, chance: float, explored: int
    ) -> Decision:
        """Make the decision that compiled code has counted, and let it wait for its reward."""
        raise NotImplementedError

    def _learn_waiting(self, id: int, pending: Pending, reward: float) -> None:
        """Learn from the reward of a decision that waits."""
        raise NotImplementedError

    def _cancel_waiting(self, pending: Pending) -> None:
        """Uncount a decision that waits."""
        arguments = self._reference, *self.counted(pending), pending.explored
        call = direct_call(entry_for(undo, self.state), *arguments)
        self._settle(pending.decision.id, call, *arguments)

    def _settle(self, id: int, call: Callable[..., Any], *arguments: Any) -> None:
        """Make the compiled call with which a decision waits no longer."""
        self._settling, self._busy = id, True
        call(*arguments)
        del self.pending[id]
        self._settled += 1
        self._busy = False

    def _learn_past(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Learn, in one compiled call, from decisions that somebody else took."""
        with self._lock:
            if self._busy:
                self._recover()
            given = self._reference, *arguments, self.policy.observed_label
            direct_call(entry_for(function, self.state), *given)(*given)

    def _expire(self) -> None:
        """Give up decisions that have waited too long, before the next one is made."""
        while (pending := self._overdue()) is not None:
            if self.expired_reward is None:
                self._cancel_waiting(pending)
            else:
                self._learn_waiting(self._oldest, pending, self.expired_reward)

    def _overdue(self) -> Pending | None:
        """The oldest decision, if it has waited too long or if there are too many."""
        if not self.pending:
            return None
        while self._oldest not in self.pending:
            self._oldest += 1
        age = self._made if self.expire_after is None else self.expire_after
        young = self._oldest + age > self._made and len(self.pending) < self.most_waiting
        return None if young else self.pending[self._oldest]

    def _recover(self) -> None:
        """Complete, or undo, what an exception interrupted."""
        if self._rollback is not None:
            for array, before in self._rollback:
                array[...] = before
            self._rollback = None
        if self._learned is not None:
            self.pending.pop(self._learned, None)
            self._learned = None
        done = self._progress[0]
        if done.decisions > self._made:
            last = int(done.context), int(done.row), int(done.label)
            self._register(*last, float(done.gap), float(done.probability), int(done.explored))
        if done.updates + done.cancellations > self._settled and self._settling is not None:
            self.pending.pop(self._settling, None)
            self._settled = int(done.updates + done.cancellations)
        self._busy = False

    def _waiting(self, decision: Decision | int) -> Pending:
        """The entry of a decision, or of its id, that waits for its reward."""
        if isinstance(decision, int):
            pending = self.pending.get(decision)
        else:
            check_decision(decision)
            pending = self.pending.get(decision.id)
            # a gap of nan differs from itself, but not as text
            if (
                pending is not None
                and pending[0] is not decision
                and pending[0] != decision
                and repr(pending[0]) != repr(decision)
            ):
                pending = None
        if pending is None:
            known = "one of this learner's that waits for its reward (each is learned once)"
            got = decision if isinstance(decision, int) else f"{decision.id} ({decision.name})"
            raise InvalidInput.expected("decision", known, got)
        return pending

    def _decision(self, decision: Decision | int) -> Decision:
        """A decision, or the one that waits under an id."""
        if isinstance(decision, int):
            return self._waiting(decision).decision
        check_decision(decision)
        return decision

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
        used, ledger = self._made - self._first_of_block, self.state.ledger
        if used == BLOCK:
            self._draw()
            used = 0
        if self._normal:
            ledger.normals[:] = self._normal_block[used]
        if self._uniform:
            ledger.uniforms[:] = self._uniform_block[used]

    def _estimate_chances(self, indices: Iterable[int], rows: Floats) -> None:
        """Estimate the probability of each of the rows (n, d) on offer, by their indices (n,).

        Done before the decision is made: an exception here leaves everything as it was, and one
        after the decision leaves what `_recover` needs.
        """
        # The increment of a PCG64 follows from the seed and never changes: with the number of the
        # decision it gives draws of their own, and a file needs nothing more.
        increment = self._normals.bit_generator.state["state"]["inc"]
        rng = np.random.default_rng((increment, self._made))
        draws = self.probability_draws
        found = self.policy.estimate_probabilities(self.state, rows, draws=draws, rng=rng)
        self._chances = {} if found is None else dict(zip(indices, found.tolist(), strict=True))


def _loaded(content: bytes, policy: Policy | None, features: FeatureMap | None) -> Learner:
    """The learner of a pickle."""
    return Learner.load(content, policy=policy, features=features)


class Mark(NamedTuple):
    """A learner as it was, but for the decisions that wait."""

    attributes: dict[str, Any]
    arrays: list[tuple[Any, Any]]  # and what they were


def copies(state: Iterable[Any]) -> list[tuple[Any, Any]]:
    """The arrays of a state, each with a copy."""
    found: list[tuple[Any, Any]] = []
    for part in state:
        if hasattr(part, "_fields"):
            found += copies(part)
        elif isinstance(part, np.ndarray):
            found.append((part, part.copy()))
    return found
