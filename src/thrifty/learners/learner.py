"""A policy in use, one decision at a time.

A learner runs the compiled code that the simulator runs, and may be used by several threads. If an
exception interrupts a call (Ctrl-C, a signal handler), what the call was to do is done whole or not
at all. A decision, a reward and a cancellation are one compiled call each, which counts itself in
`Progress`; the next call of the learner completes the entries here that belong to it (`_recover`).
Other changes build a new state and swap it in one instruction, or are undone.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from thrifty.compiler.compilation import direct_call, entry_for
from thrifty.compiler.references import refer
from thrifty.display import frame, html
from thrifty.errors import BadFile, InvalidInput, ThriftyError
from thrifty.files import write_whole
from thrifty.learners.changes import (
    block_origins,
    renumber,
    with_arm,
    with_context,
    without_arm,
    without_context,
)
from thrifty.learners.decisions import Decision, Explanation
from thrifty.learners.draws import Draws
from thrifty.learners.lasting import copy_lasting
from thrifty.learners.listed import ListedArms
from thrifty.learners.maps import FeatureMap
from thrifty.learners.offer import Offer
from thrifty.learners.open_contexts import OpenArms, OpenSets
from thrifty.learners.pending import Pending, PendingDecisions, moved
from thrifty.learners.saving import content_of, policy_of, restore, sets_of
from thrifty.learners.settings import LARGEST_REWARD, Settings
from thrifty.learners.state_files import read, to_text
from thrifty.learners.step import Decided, Online, Progress, undo
from thrifty.numerics.arrays import Floats, noise_level
from thrifty.policies import POLICIES
from thrifty.policies.base import Policy
from thrifty.policies.shared.plain import name_of
from thrifty.problem.action_sets import ActionSets

if TYPE_CHECKING:
    from pandas import DataFrame


class Learner:
    """A policy in use. `policy.learner(...)` and `th.learner(policy, ...)` make one.

    Attributes
    ----------
    policy : the policy
    arms : listed or open
    noise : standard deviation of the rewards, as the policy was told
    settings : see Settings
    pending : decisions without a reward, by id
    decisions : how many decisions were made
    unknown_levels : how many values of each category had a level that its map does not know
    state : of the policy
    """

    arms: ListedArms | OpenArms
    state: Any
    _labels: tuple[str, ...]  # of the policy
    _entry: Callable[..., Pending]
    _decide: Callable[..., Any]
    _update: Callable[..., Any]
    _reference: Any  # to the state and the progress
    _random: bool  # whether the policy draws random numbers

    def __init__(
        self,
        policy: Policy,
        sets: ActionSets | OpenSets,
        *,
        seed: int = 0,
        noise: float = 1.0,
        **settings: Any,
    ) -> None:
        arms = OpenArms(sets) if isinstance(sets, OpenSets) else ListedArms(sets)
        if not isinstance(policy, Policy):
            raise InvalidInput.expected("policy", "a compiled policy such as thrifty.OAM()", policy)
        self.policy, self.noise, self._labels = policy, noise_level(noise), policy.labels
        self.settings = Settings.of(settings)
        self._clicks = self.settings.rewards == "bernoulli"
        self.pending = PendingDecisions(self.settings.expire_after, self.settings.most_waiting)
        self.decisions = self._settled = 0  # decisions, and those rewarded or cancelled
        self.unknown_levels: dict[str, int] = {}  # another one after each change
        self._lock, self._progress, self._draws = RLock(), Progress.new(), Draws(seed)
        self._busy = False  # whether a compiled call may have changed the state
        self._offer: Offer | None = None  # of the last decision
        self._settling: int | None = None  # the decision that is being rewarded or cancelled
        self._rollback: list[tuple[Any, Any]] | None = None  # arrays, and what they were before
        self._learned: int | None = None  # a decision that was learned, and is still pending
        self._chances: dict[int, float] = {}  # estimated probabilities of the rows on offer
        state = policy.start(arms.sets, noise=self.noise, horizon=None)
        self.__dict__.update(self._attached(arms, state))
        self._draws.renew(state.ledger, 0)

    @property
    def sets(self) -> Any:
        """The action sets; for open contexts what is known of them."""
        return self.arms.sets

    def choose(
        self,
        context: Any,
        available: Sequence[str | int] | None = None,
        names: Sequence[str] | None = None,
    ) -> Decision:
        """Choose an arm.

        Parameters
        ----------
        context : the name or index of a listed context. Open contexts: the features (K, d) of the
            arms on offer, as an array, nested lists or a data frame with a row for each arm; with a
            feature map, what the map is made for
        available : the arms on offer now, by name or index or as a mask; all by default. Not for
            features without a map
        names : of the arms, for open contexts; by default the index of the data frame, if that is
            of strings, or else 0, 1, ...
        """
        with self._lock:
            if self._busy:
                self._recover()
            offer = self.arms.offer(context, available, names)
            pending = self.pending
            if pending.expire_after is not None or len(pending) >= pending.most:
                self._expire(offer)
            if self._random:
                self._draws.write(self.state.ledger, self.decisions)
                if self.settings.probability_draws:
                    self._estimate_chances(offer)
            self._offer, self._busy = offer, True
            decided = self._decide(self._reference, offer[0], offer[1])
            if decided[0] < 0:
                self._busy = False
                self._make_room(offer)
                return self.choose(context, available, names)  # from the start
            decision = self._register(offer, decided)
            self._busy = False
            return decision

    def check_offer(
        self,
        context: Any,
        available: Sequence[str | int] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        """Raise what `choose` would raise about its arguments."""
        with self._lock:
            self.arms.check(self.arms.offer(context, available, names))

    def check_reward(self, reward: float) -> float:
        """The reward as a number; raises what `learn` would raise about it."""
        return self.settings.check_reward(reward)

    def learn(self, decision: Decision | int, reward: float) -> None:
        """Learn from the reward of a decision, or of its id: late and in any order, but once."""
        # nothing to check for most rewards: a call is saved
        if type(reward) is not float or self._clicks or not abs(reward) < LARGEST_REWARD:
            reward = self.settings.check_reward(reward)
        with self._lock:
            if self._busy:
                self._recover()
            self._learn(self.pending.find(decision, self.decisions), reward)

    def cancel(self, decision: Decision | int) -> None:
        """Withdraw a decision that will get no reward: it no longer counts as a pull or a visit."""
        with self._whole():
            self._cancel(self.pending.find(decision, self.decisions))

    def observe(self, context: Any, arm: Any = None, reward: Any = None) -> None:
        """Learn from decisions that somebody else took; they count as rounds.

        Listed contexts, and feature maps that know the arms: a context, an arm and its reward; or
        lists of them. Open contexts: the features (K, d) of the arms on offer, the arm that was
        played and its reward; or the features (n, d) of the arms that were played, without `arm`,
        and n rewards.
        """
        with self._whole():
            past = self.arms.past(context, arm, reward)
            rewards = self.settings.check_rewards(past.rewards, past.decisions)
            arguments = self._reference, *past.played, rewards, self.policy.observed_label
            direct_call(entry_for(past.function, self.state), *arguments)(*arguments)
            self._count_unknown(past.unknown)

    def explain(self, decision: Decision | int, features: Any = None) -> Explanation:
        """Why an arm was chosen, and the present estimates of the arms.

        Listed contexts: of all arms of the context. Open contexts: of all arms, given their
        features, or of the chosen arm, while the decision is pending and some time after.
        """
        with self._whole():
            chosen = self.pending.decision(decision, self.decisions)
            return Explanation(chosen, self.arms.reports(self, chosen, features))

    def coefficients(self) -> dict[str, tuple[float, float]]:
        """The estimate of each entry of theta with its standard error, by name: open contexts."""
        if not self.sets.open:
            raise InvalidInput("coefficients", "only for open contexts; see to_frame() for arms")
        columns = self.estimates()
        pairs = zip(columns["estimate"].tolist(), columns["error"].tolist(), strict=True)
        return dict(zip(columns["coefficient"], pairs, strict=True))

    def estimates(self) -> dict[str, Any]:
        """The columns of `to_frame`, by name."""
        with self._whole():
            return self.arms.estimates(self)

    def to_frame(self) -> "DataFrame":
        """The present estimates as a data frame of pandas.

        Listed contexts: a row per arm, with context, arm, mean, error (standard error of the mean)
        and pulls. Open contexts: a row per coefficient, with its name, estimate and error.
        """
        return frame("learner.to_frame()", self.estimates())

    def add_arm(
        self, context: str | int | None = None, features: Any = None, name: str | None = None
    ) -> None:
        """Add an arm to a context, or to a feature map.

        Listed contexts: features (d,) are numbers, or a row of a data frame, whose name is that of
        the arm by default; or a data frame, of which each row is added, named by the index where it
        is of strings. Feature maps: `add_arm(name)`, with the row of its table for a product. The
        new arm is the last, and starts from the prior.
        """
        with self._lock:
            if self.sets.open:
                if context is not None and name is not None:
                    raise InvalidInput(
                        "add_arm", "an arm of a feature map has one name, no context"
                    )
                arm = name if context is None else context
                self._change_map(self._map("add_arm").with_arm(arm, features))
                return
            sets = self._listed("add_arm").sets
            if context is None or features is None:
                raise InvalidInput("add_arm", "pass the context and the features of the arm")
            self.change(with_arm(sets, sets.context_index(context), features, name))

    def remove_arm(self, context: str | int | None = None, arm: str | int | None = None) -> None:
        """Remove an arm of a context, or of a feature map: `remove_arm(name)`.

        Its rewards stay in the regression, where other arms share its coefficients. Decisions for
        it that are pending may still be rewarded or cancelled.
        """
        with self._lock:
            if self.sets.open:
                if context is not None and arm is not None:
                    raise InvalidInput("remove_arm", "an arm of a feature map has no context")
                gone: Any = arm if context is None else context
                self._change_map(self._map("remove_arm").without_arm(gone))
                return
            arms = self._listed("remove_arm")
            if context is None or arm is None:
                raise InvalidInput("remove_arm", "pass the context and the arm")
            m = arms.sets.context_index(context)
            self.change(without_arm(arms.sets, m, arms.arm_index(m, arm)))

    def add_context(
        self, name: str | None, arms: ArrayLike, arm_names: Sequence[str] | None = None
    ) -> None:
        """Add a context; arms: (K, d) or a data frame, as in ActionSets."""
        with self._lock:
            self.change(with_context(self._listed("add_context").sets, name, arms, arm_names))

    def remove_context(self, context: str | int) -> None:
        """Remove a context; its rewards stay in the regression."""
        with self._lock:
            sets = self._listed("remove_context").sets
            self.change(without_context(sets, sets.context_index(context)))

    def change(self, sets: ActionSets) -> None:
        """Continue with other action sets.

        An arm is the same if its context, name and vector are. The regression keeps all rewards.
        """
        new = ListedArms(sets)
        with self._whole():
            old = self._listed("change")
            if sets.dimension != old.sets.dimension:
                expected = f"arms of dimension {old.sets.dimension}"
                raise InvalidInput.expected("sets", expected, sets.dimension)
            state = self.policy.start(sets, noise=self.noise, horizon=None)
            renumbering = renumber(old.sets, sets)
            self.policy.carry(self.state, state, renumbering)
            before = self.pending
            pending = PendingDecisions(before.expire_after, before.most, before.oldest)
            for id, entry in before.items():
                pending[id] = old.moved(entry, renumbering)
            # one instruction, which no signal handler can interrupt
            self.__dict__.update(self._attached(new, state), pending=pending)

    def _change_map(self, features: FeatureMap) -> None:
        """Continue with other arms of a feature map."""
        with self._whole():
            origins = block_origins(self.sets.features, features)
            arms = OpenArms(OpenSets(features=features, capacity=self.sets.capacity))
            state, pending, draws = self.state, self.pending, self._draws
            if origins is not None:
                state = self.policy.start(arms.sets, noise=self.noise, horizon=None)
                copy_lasting(self.state, state, origins)
                self.policy.carry_blocks(self.state, state, origins)
                pending = moved(pending, origins)
                draws = draws.renewed(state.ledger, self.decisions)
            # one instruction, which no signal handler can interrupt
            self.__dict__.update(self._attached(arms, state), pending=pending, _draws=draws)

    def change_policy(self, policy: Policy) -> None:
        """Continue with other parameters of the same policy; what was learned is kept."""
        if type(policy) is not type(self.policy):
            expected = f"{name_of(self.policy)} with other parameters"
            raise InvalidInput.expected("policy", expected, name_of(policy))
        with self._whole():
            state = policy.start(self.sets, noise=self.noise, horizon=None)
            if isinstance(self.arms, ListedArms):
                policy.carry(self.state, state, renumber(self.sets, self.sets))
            else:
                copy_lasting(self.state, state)
            draws = self._draws.renewed(state.ledger, self.decisions)  # as many as it needs now
            self.__dict__.update(self._attached(self.arms, state), policy=policy, _draws=draws)

    def mark(self) -> "Mark":
        """What `rewind` needs; nothing may be learned or cancelled in between."""
        arrays = copies([self.state, self._progress])
        return Mark(dict(vars(self)), dict(vars(self._draws)), self.pending.oldest, arrays)

    def rewind(self, mark: "Mark") -> None:
        """Undo the decisions since a mark, as if they had never been made."""
        with self._lock:
            made = self.decisions
            vars(self).update(mark.attributes)
            for id in range(self.decisions, made):
                self.pending.pop(id, None)
            for array, before in mark.arrays:
                array[...] = before
            self.pending.oldest = mark.oldest
            vars(self._draws).update(mark.draws)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, from which `Learner.load` continues bit for bit."""
        write_whole(Path(path), self._text())

    def to_bytes(self) -> bytes:
        """What `save` would write."""
        return self._text().encode()

    def _text(self) -> str:
        with self._whole():
            return to_text(content_of(self))

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
            saved = sets_of(content, sets, features)
            known = policy_of(content, policy)
            learner = cls(known, saved, noise=content["noise"], **content["settings"])
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
        pending = f", {len(self.pending):,} pending" if self.pending else ""
        return (
            f"<learner: {name_of(self.policy)}, {self.sets}, {self.decisions:,} decisions{pending}>"
        )

    def _repr_html_(self) -> str:
        with self._lock:
            columns = self.estimates()
            estimated = self.policy.estimated_noise(self.state)
            rounds = self.state.ledger.counters[0].rounds
        noise = f"{self.noise:.4g}" if estimated is None else f"{estimated:.4g} (estimated)"
        standing = f"{rounds:,} rounds, {len(self.pending):,} pending, noise {noise}"
        title = f"learner: {name_of(self.policy)}, {self.arms}, {standing}"
        rank, order = self.arms.rank(columns)
        return html(title, columns, rank=rank, order=order)

    def _map(self, where: str) -> FeatureMap:
        if self.sets.features is None:
            raise InvalidInput(where, "contexts are open: pass what is on offer to choose")
        return cast(FeatureMap, self.sets.features)

    def _listed(self, where: str) -> ListedArms:
        if not isinstance(self.arms, ListedArms):
            raise InvalidInput(where, "contexts are open: pass what is on offer to choose")
        return self.arms

    def _attached(self, arms: ListedArms | OpenArms, state: Any) -> dict[str, Any]:
        """The attributes that follow from arms and a state for them."""
        reference = entry_for(refer, state)(Online(state, self._progress))
        (decide, chosen), (update, rewarded) = arms.calls()
        return {
            "arms": arms,
            "state": state,
            "_random": state.ledger.normals.size + state.ledger.uniforms.size > 0,
            "_entry": arms.entry,
            "_reference": reference,
            "_decide": direct_call(entry_for(decide, state), reference, *chosen),
            "_update": direct_call(entry_for(update, state), reference, *rewarded),
            "_chances": {},
        }

    def _make_room(self, offer: Offer) -> None:
        """Make room for more arms on offer than ever before, unless they cannot be used."""
        self.arms.check(offer)
        assert isinstance(self.arms, OpenArms)
        enlarged = self.arms.enlarged(len(offer.rows))
        state = self.policy.start(enlarged.sets, noise=self.noise, horizon=None)
        copy_lasting(self.state, state)
        self.__dict__.update(self._attached(enlarged, state))

    def _estimate_chances(self, offer: Offer) -> None:
        """Estimate the probability of each arm on offer.

        Done before the decision is made: an exception here leaves everything as it was, and one
        after the decision leaves what `_recover` needs.
        """
        indices, rows = self.arms.features(offer)
        # with the number of the decision the seed gives draws of their own: a file needs no more
        rng = np.random.default_rng((self._draws.increment, self.decisions))
        draws = self.settings.probability_draws
        chances = self.policy.estimate_probabilities(self.state, rows, draws=draws, rng=rng)
        self._chances = {} if chances is None else dict(zip(indices, chances.tolist(), strict=True))

    def _expire(self, offer: Offer) -> None:
        """Give up what is overdue before the next decision, unless that will be refused."""
        overdue = self.pending.overdue(self.decisions)
        if overdue is None:
            return
        self.arms.check(offer)
        while overdue is not None:
            if self.settings.expired_reward is None:
                self._cancel(overdue)
            else:
                self._learn(overdue, self.settings.expired_reward)
            overdue = self.pending.overdue(self.decisions)

    # What an exception may interrupt, and how the next call completes it

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Hold the lock, with everything completed that an exception has interrupted."""
        with self._lock:
            if self._busy:
                self._recover()
            yield

    def _register(self, offer: Offer, decided: Decided) -> Decision:
        """Enter the decision that compiled code has counted."""
        id, chance = self.decisions, decided[3]
        known = chance if chance == chance else self._chances.get(decided[0])
        entry = self._entry(id, offer, decided, self._labels[decided[1]], known)
        self.pending[id] = entry
        self.decisions = id + 1
        if offer[3]:
            self._count_unknown(offer[3])
        return entry[0]

    def _count_unknown(self, columns: Sequence[str]) -> None:
        """Count values with levels that are not known; a column may come several times."""
        counts = Counter(self.unknown_levels)
        counts.update(columns)
        self.unknown_levels = dict(counts)

    def _learn(self, pending: Pending, reward: float) -> None:
        """Learn from the reward of a pending decision."""
        decision, row, label, features, _, _ = pending
        id = decision[0]
        if features is None:
            self._settle(id, self._update, self._reference, row, label, reward)
        elif row < 0 and self.sets.open:  # its block of theta was removed: nothing is left to learn
            del self.pending[id]
        elif self.sets.open:
            self._settle(id, self._update, self._reference, features, row, label, reward)
        else:
            self._learn_removed(id, features, reward)

    def _cancel(self, pending: Pending) -> None:
        """Uncount a pending decision."""
        counts = *self.arms.counted(pending), pending.explored
        arguments = self._reference, *counts, *self.arms.played(pending)
        call = direct_call(entry_for(undo, self.state), *arguments)
        self._settle(pending.decision.id, call, *arguments)

    def _settle(self, id: int, call: Callable[..., Any], *arguments: Any) -> None:
        """Make the compiled call after which a decision is no longer pending."""
        self._settling, self._busy = id, True
        call(*arguments)
        self.pending.end(id)
        self._settled += 1
        self._busy = False

    def _learn_removed(self, id: int, features: Floats, reward: float) -> None:
        """Learn from the reward of an arm that was removed: in Python, so that it can be undone."""
        self._rollback, self._busy = copies(self.state), True
        self.policy.learn_removed(self.state, features, reward)
        self.__dict__.update(_rollback=None, _learned=id)  # one instruction
        self.pending.end(id)
        self.__dict__.update(_learned=None, _busy=False)

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
        if done.decisions > self.decisions and self._offer is not None:
            last = int(done.row), int(done.label), float(done.gap), float(done.probability)
            self._register(self._offer, (*last, int(done.explored)))
        if done.updates + done.cancellations > self._settled and self._settling is not None:
            self.pending.pop(self._settling, None)
            self._settled = int(done.updates + done.cancellations)
        self._busy = False


def _loaded(content: bytes, policy: Policy | None, features: FeatureMap | None) -> Learner:
    """The learner of a pickle."""
    return Learner.load(content, policy=policy, features=features)


class Mark(NamedTuple):
    """A learner as it was, but for the decisions that are pending."""

    attributes: dict[str, Any]
    draws: dict[str, Any]
    oldest: int
    arrays: list[tuple[Any, Any]]  # and what they were


def copies(state: Any) -> list[tuple[Any, Any]]:
    """The arrays of a state, each with a copy."""
    pairs: list[tuple[Any, Any]] = []
    for part in state:
        if hasattr(part, "_fields"):
            pairs += copies(part)
        elif isinstance(part, np.ndarray):
            pairs.append((part, part.copy()))
    return pairs
