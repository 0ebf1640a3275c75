"""An experiment: a learner, and what belongs to it. Each change of it is an event.

What an event does depends on the events before it alone, so that the log gives the same state to
the last bit: `decide`, `reward`, `expire` and `change` make events, `replay` carries them out.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any, NamedTuple, cast

import thrifty as th
from thrifty.errors import InvalidInput, MissingInput, ThriftyError
from thrifty.learners.learner import Learner
from thrifty.learners.start import CLICK_NOISE, with_noise
from thrifty.service.server.history import History
from thrifty.service.server.schemas import MOST_ARMS, MOST_CONTEXTS
from thrifty.service.storage.store import Event

CREATED, CHANGED, UPGRADED = "created", "changed", "upgraded"
DECISION, REWARD, EXPIRED = "decision", "reward", "expired"  # events about a decision
MOST_PENDING = 1_000_000  # decisions without a reward
ASKED = ("context", "features", "names", "available")  # what a decision is asked with
DECIDED = ("arm", "name", "label", "probability", "gap")  # what is answered
# What the learner takes of what is asked, and what it cannot use.
OF_LISTED, OF_OPEN = ("context", "available"), ("features", "names")
ACTIVE = "active"
ENTRY = 1_000  # multiplications that take as long as what is made of an arm: objects, text
LONG = 3e7  # multiplications: 10 to 30 milliseconds, for which other experiments should not wait
ROUNDING = 1e-9  # a gap below this share of the noise is none: the arms are the same
# What a snapshot has beside the learner, in this order; waiting: the pending decisions.
SAVED: tuple[str, ...] = ("name", "settings", "created", "status", "seq")
SAVED += ("waiting", "counts", "cost", "reward_sum", "history", "at")
NOT_LEARNED = -1  # number of a decision that only the log knows
_new = tuple.__new__


class PendingDecision(NamedTuple):
    """A decision without a reward."""

    number: int  # the learner's id of it, or NOT_LEARNED
    at: int


class Experiment:
    """An experiment in memory; seq and at: number and time of the last event that it has seen.

    Times of events never go back, whatever clocks do: decisions expire in the order of the log.
    """

    def __init__(self, name: str, settings: dict[str, Any], created: int) -> None:
        self.name, self.settings, self.created = name, settings, created
        self.learner: Learner = _start(settings)
        self.status, self.seq, self.at = ACTIVE, 1, created
        self.pending: dict[str, PendingDecision] = {}
        self.counts = {"decisions": 0, "rewards": 0, "expired": 0, "explored": 0}
        self.cost, self.reward_sum = 0.0, 0.0
        self.history = History()
        self.refused: list[int] = []  # events of other code that this code refuses

    @property
    def listed(self) -> bool:
        """Whether its contexts are listed."""
        return self.settings.get("contexts") is not None

    @property
    def work(self) -> int:
        """Multiplications that it takes to show or save all arms, or all coefficients."""
        sets: Any = self.learner.sets
        arms = len(sets.rows) if self.listed else sets.dimension
        return int(arms * (sets.dimension**2 + ENTRY))

    def reward_work(self) -> float:
        """Multiplications that a reward may take: now and then all estimates are computed again."""
        sets: Any = self.learner.sets
        rows = len(sets.rows) if self.listed else 0
        return float(rows + sets.dimension) * sets.dimension**2

    def decision_work(self, offered: int) -> float:
        """Multiplications that a decision may take; offered: how many arms, if they are open."""
        sets: Any = self.learner.sets
        arms, d = sets.largest if self.listed else offered, sets.dimension
        samples = getattr(self.learner.policy, "samples", 0)  # of theta, for policies that draw it
        return self.reward_work() + float(arms + samples) * (arms + d) * d

    # events that are made here

    def check_decision(self, asked: dict[str, Any]) -> None:
        """Raise what `decide` would raise about what is asked."""
        (needed, also), others = (OF_LISTED, OF_OPEN) if self.listed else (OF_OPEN, OF_LISTED)
        how = "listed: name one of them" if self.listed else "open: pass features of the arms"
        if asked.get(needed) is None:
            raise InvalidInput(needed, f"contexts are {how}")
        for key in others:
            if asked.get(key) is not None:
                raise InvalidInput(key, f"contexts are {how}, without {key}")
        self.learner.check_offer(asked[needed], **{also: asked.get(also)})

    def decide(self, id: str, asked: dict[str, Any], at: int) -> Event:
        """Take a decision that was checked; asked: context or features, names, available."""
        offer = {key: asked[key] for key in ASKED if asked.get(key) is not None}
        return self._decided(id, offer, self._choose(offer), at)

    def reward(self, id: str, reward: float, at: int) -> Event:
        """Learn the reward of a pending decision."""
        if (number := self.pending[id].number) != NOT_LEARNED:
            self.learner.learn(number, reward)
        self._rewarded(id, reward)
        return self._event(REWARD, at, {"reward": reward}, id)

    def expire(self, at: int) -> Iterator[Event]:
        """Give up the decisions that are pending for too long, the oldest first."""
        while self.has_overdue(at):
            yield self._expired(next(iter(self.pending)), self.settings["expire"].get("reward"), at)

    def has_overdue(self, at: int) -> bool:
        """Whether any decision is pending for too long."""
        return bool(self.pending) and self.is_overdue(next(iter(self.pending)), at)

    def is_overdue(self, id: str, at: int) -> bool:
        """Whether a decision is pending for too long."""
        rule, at = self.settings.get("expire"), max(at, self.at)
        return rule is not None and self.pending[id].at + rule["after_s"] * 1e6 <= at

    def change(self, change: dict[str, Any], at: int) -> Event:
        """Change arms, contexts, parameters or the status: all of it or nothing."""
        settings = dict(self.settings)
        # with many pending decisions this takes its time
        before = self.learner.to_bytes() if change.keys() - {"status", "expire"} else None
        try:
            for key, value in change.items():
                CHANGES[key](self, value)
        except BaseException:
            self.learner = self.learner if before is None else Learner.load(before)
            self.settings = settings
            raise
        self.status = change.get("status", self.status)
        return self._event(CHANGED, at, change)

    def take_over(self, body: dict[str, Any], at: int) -> Event:
        """Say in the log that this code goes on with what other code has begun."""
        return self._event(UPGRADED, at, body)

    # events of the log

    def replay(self, event: Event, *, follow: bool = False) -> str | None:
        """Carry an event out again; returns how the decision differs from that in the log.

        follow: play the arm of the log all the same, if another would be chosen now. An event that
        is refused now was accepted once, and stands, too.
        """
        try:
            return self._carry_out(event, follow)
        except ThriftyError as error:
            if not follow:
                raise
            self._enter(event)
            self.refused.append(event.seq)
            return f"refused now: {error}"

    def _carry_out(self, event: Event, follow: bool) -> str | None:
        id = cast(str, event.decision)
        if event.kind == DECISION:
            return self._replay_decision(id, event, follow)
        if event.kind == REWARD:
            self.reward(id, event.body["reward"], event.at)
        elif event.kind == EXPIRED:
            self._expired(id, event.body["reward"], event.at)
        elif event.kind == CHANGED:
            self.change(event.body, event.at)
        else:
            self.seq, self.at = event.seq, max(event.at, self.at)
        return None

    def _enter(self, event: Event) -> None:
        """Count an event that the learner refuses."""
        id, body = cast(str, event.decision), event.body
        if event.kind == DECISION:
            self._count_decision(id, NOT_LEARNED, body["gap"], max(event.at, self.at))
        elif event.kind in (REWARD, EXPIRED):
            if (number := self.pending[id].number) != NOT_LEARNED:
                with suppress(ThriftyError):  # then the learner goes on waiting for it
                    self.learner.cancel(number)
            self.pending[id] = self.pending[id]._replace(number=NOT_LEARNED)
            self._carry_out(event, follow=False)
            return
        else:
            self.status = body.get("status", self.status)
            if "expire" in body:
                self.settings = {**self.settings, "expire": body["expire"]}
        self._event(event.kind, event.at, body, id)

    def _replay_decision(self, id: str, event: Event, follow: bool) -> str | None:
        offer = {key: event.body[key] for key in ASKED if key in event.body}
        before = self.learner.mark() if follow else None
        decision = self._choose(offer)
        logged = {key: event.body[key] for key in DECIDED}
        chosen = _answered(decision)
        difference = None if chosen == logged else f"{chosen} instead of {logged}"
        if before is not None and chosen["arm"] != logged["arm"]:
            self.learner.rewind(before)
            decision = self._choose(_only(offer, logged))
        self._decided(id, offer, decision, event.at)
        return difference

    # what events do

    def _choose(self, offer: dict[str, Any]) -> th.Decision:
        if "context" in offer:
            return self.learner.choose(offer["context"], offer.get("available"))
        return self.learner.choose(offer["features"], names=offer.get("names"))

    def _decided(self, id: str, offer: dict[str, Any], decision: th.Decision, at: int) -> Event:
        at = max(at, self.at)
        self._count_decision(id, decision.id, decision.gap, at)
        return self._event(DECISION, at, {**offer, **_answered(decision)}, id)

    def _count_decision(self, id: str, number: int, gap: float, at: int) -> None:
        self.pending[id] = _new(PendingDecision, (number, at))  # faster than a call of it
        self.counts["decisions"] += 1
        explores = gap > ROUNDING * self.learner.noise
        self.counts["explored"] += explores
        self.cost += gap
        self.history.count_decision(at, gap, explores)

    def _rewarded(self, id: str, reward: float) -> None:
        del self.pending[id]
        self.counts["rewards"] += 1
        self.reward_sum += reward
        self.history.count_reward(reward)

    def _expired(self, id: str, reward: float | None, at: int) -> Event:
        number = self.pending[id].number
        if reward is None:
            if number != NOT_LEARNED:
                self.learner.cancel(number)
            del self.pending[id]
        else:
            if number != NOT_LEARNED:
                self.learner.learn(number, reward)
            self._rewarded(id, reward)
            self.counts["rewards"] -= 1
        self.counts["expired"] += 1
        return self._event(EXPIRED, at, {"reward": reward}, id)

    def _event(self, kind: str, at: int, body: dict[str, Any], id: str | None = None) -> Event:
        self.seq, self.at = self.seq + 1, max(at, self.at)
        return Event(self.seq, kind, self.at, id, body)

    # the state as bytes

    def to_bytes(self) -> bytes:
        """Everything, for a snapshot: the learner in one line, and the rest."""
        changed = {"waiting": self.pending, "history": asdict(self.history)}
        saved = {key: changed[key] if key in changed else getattr(self, key) for key in SAVED}
        return self.learner.to_bytes() + json.dumps(saved).encode()

    @classmethod
    def from_bytes(cls, state: bytes) -> "Experiment":
        """The experiment of a snapshot."""
        learner, _, rest = state.partition(b"\n")
        saved, experiment = json.loads(rest), cls.__new__(cls)
        pending = {id: PendingDecision(*entry) for id, entry in saved.pop("waiting").items()}
        # snapshots of earlier versions have no time of the last event
        saved.setdefault("at", max([saved["created"], *(entry.at for entry in pending.values())]))
        vars(experiment).update(
            saved,
            learner=Learner.load(learner),
            history=History.from_json(saved["history"]),
            pending=pending,
            refused=[],
        )
        return experiment


def outcome(events: dict[str, Event]) -> Event | None:
    """How a decision ended, among the events about it by kind: its reward, or that it expired."""
    return events.get(REWARD) or events.get(EXPIRED)


def _answered(decision: th.Decision) -> dict[str, Any]:
    """What is answered, by the names in DECIDED."""
    _, _, arm, name, label, gap, probability = decision
    return {"arm": arm, "name": name, "label": label, "probability": probability, "gap": gap}


def _only(offer: dict[str, Any], logged: dict[str, Any]) -> dict[str, Any]:
    """The offer without all arms but that of the log."""
    if "context" in offer:
        return {"context": offer["context"], "available": [logged["name"]]}
    return {"features": [offer["features"][logged["arm"]]], "names": [logged["name"]]}


def check_settings(settings: dict[str, Any]) -> None:
    """Refuse settings that no learner can be started with; compiles what it needs."""
    try:
        learner = _start(settings)
    except MissingInput as error:
        raise InvalidInput("policy", str(error)) from None
    except MemoryError:
        message = f"{settings['policy']} does not fit into memory here"
        raise InvalidInput("policy", message) from None
    offer: Any = 0 if settings.get("contexts") else [[0.0] * settings["dimension"]]
    learner.learn(learner.choose(offer), 0.0)
    _check_expiry(learner, settings.get("expire"))


def _check_expiry(learner: Learner, expire: dict[str, Any] | None) -> None:
    """Refuse a reward that could not be learned when decisions expire."""
    if expire is not None and expire.get("reward") is not None:
        try:
            learner.check_reward(expire["reward"])
        except InvalidInput as error:
            raise InvalidInput("expire.reward", error.message) from None


def _start(settings: dict[str, Any]) -> Learner:
    policy, contexts = _policy(settings["policy"]), settings.get("contexts")
    dimension = settings.get("dimension")
    if (contexts is None) == (dimension is None):
        raise InvalidInput("contexts", "pass either contexts or a dimension")
    if contexts is None and not policy.open:
        raise InvalidInput("policy", f"{policy.name} needs contexts, not a dimension")
    arms = {"dimension": dimension} if contexts is None else {"sets": _sets(contexts)}
    told: dict[str, Any] = {key: settings.get(key) for key in ("seed", "noise", "rewards")}
    return policy.learner(**arms, **told, most_waiting=MOST_PENDING + 1)


def _policy(spec: str) -> th.Policy:
    try:
        return th.policy(spec)
    except InvalidInput as error:
        raise InvalidInput("policy", str(error)) from None


def _sets(contexts: list[dict[str, Any]]) -> th.ActionSets:
    return th.ActionSets(
        [context["arms"] for context in contexts],
        context_names=[context["name"] for context in contexts],
        arm_names=[context.get("arm_names") or None for context in contexts],
    )


def _listed(experiment: Experiment, where: str) -> Learner:
    if experiment.listed:
        return experiment.learner
    raise InvalidInput(where, f"the contexts of {experiment.name} are open, not listed")


def _change_policy(experiment: Experiment, spec: str) -> None:
    settings = experiment.settings
    default = CLICK_NOISE if settings["rewards"] == "bernoulli" else 1.0
    policy, _ = with_noise(_policy(spec), settings.get("noise"), default)
    experiment.learner.change_policy(policy)
    experiment.settings = {**settings, "policy": spec}


def _change_expiry(experiment: Experiment, expire: dict[str, Any] | None) -> None:
    _check_expiry(experiment.learner, expire)
    experiment.settings = {**experiment.settings, "expire": expire}


def _add_context(experiment: Experiment, new: dict[str, Any]) -> None:
    learner = _listed(experiment, "add_context")
    if learner.sets.contexts >= MOST_CONTEXTS:
        raise InvalidInput("add_context", f"there are {MOST_CONTEXTS:,} contexts already")
    learner.add_context(new["name"], new["arms"], new.get("arm_names"))


def _add_arm(experiment: Experiment, new: dict[str, Any]) -> None:
    learner = _listed(experiment, "add_arm")
    if len(learner.sets.arms(new["context"])) >= MOST_ARMS:
        raise InvalidInput("add_arm", f"there are {MOST_ARMS:,} arms of this context already")
    learner.add_arm(new["context"], new["features"], new.get("name"))


CHANGES: dict[str, Callable[[Experiment, Any], None]] = {
    "status": lambda experiment, status: None,  # the last of all, when nothing can fail
    "policy": _change_policy,
    "expire": _change_expiry,
    "add_context": _add_context,
    "remove_context": lambda changed, name: _listed(changed, "remove_context").remove_context(name),
    "add_arm": _add_arm,
    "remove_arm": lambda experiment, arm: _listed(experiment, "remove_arm").remove_arm(
        arm["context"], arm["name"]
    ),
}
