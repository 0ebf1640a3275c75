"""An experiment: a learner, and what belongs to it. Each change of it is an event.

What an event does depends on the events before it alone, so that the log gives the same state to
the last bit: `decide`, `reward`, `expire` and `change` make events, `replay` carries them out.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import thrifty as th
from thrifty.errors import NOTHING, InvalidInput
from thrifty.learners.learner import Learner
from thrifty.learners.start import CLICK_NOISE, with_noise
from thrifty.policies import policy as named_policy
from thrifty.problem.action_sets import ActionSets
from thrifty.service.server.history import History
from thrifty.service.server.refusals import Conflict
from thrifty.service.server.schemas import MOST_ARMS, MOST_CONTEXTS
from thrifty.service.storage.store import Event

CREATED, CHANGED, DECISION, REWARD, EXPIRED, UPGRADED = (
    "created",
    "changed",
    "decision",
    "reward",
    "expired",
    "upgraded",
)
MOST_WAITING = 1_000_000  # decisions without a reward
ASKED = ("context", "features", "names", "available")  # what a decision is asked with
DECIDED = ("arm", "name", "label", "probability", "gap")  # what is answered
ACTIVE = "active"
_new = tuple.__new__
ROUNDING = 1e-9  # a gap below this share of the noise is none: the arms are the same


class Waiting(NamedTuple):
    """A decision without a reward."""

    number: int  # the learner's id of it
    at: int


class Experiment:
    """An experiment in memory; seq: the last event that it has seen."""

    def __init__(self, name: str, settings: dict[str, Any], created: int) -> None:
        self.name, self.settings, self.created = name, settings, created
        self.learner = _start(settings)
        self.status, self.seq = ACTIVE, 1
        self.waiting: dict[str, Waiting] = {}
        self.counts = {"decisions": 0, "rewards": 0, "expired": 0, "explored": 0}
        self.cost, self.reward_sum = 0.0, 0.0
        self.history = History()

    # events that are made here

    def check_active(self) -> None:
        """Refuse decisions while the experiment is paused or archived."""
        if self.status != ACTIVE:
            raise Conflict("experiment", f"{self.name} is {self.status}")

    def check_decision(self, asked: dict[str, Any]) -> None:
        """Raise what `decide` would raise about what is asked."""
        if not self.learner.sets.open:
            if asked.get("context") is None:
                raise InvalidInput.expected(
                    "context", "the name of a context (they are listed)", NOTHING
                )
            for key in ("features", "names"):
                if asked.get(key) is not None:
                    raise InvalidInput.expected(key, "nothing (contexts are listed)", asked[key])
            self.learner.check_offer(asked["context"], asked.get("available"))
            return
        if asked.get("features") is None:
            raise InvalidInput.expected(
                "features", "those of the arms (contexts are open)", NOTHING
            )
        for key in ("context", "available"):
            if asked.get(key) is not None:
                raise InvalidInput.expected(key, "nothing (contexts are open)", asked[key])
        self.learner.check_offer(asked["features"], names=asked.get("names"))

    def decide(self, id: str, asked: dict[str, Any], at: int) -> Event:
        """Take a decision that was checked; asked: context or features, names, available."""
        given = {key: asked[key] for key in ASKED if asked.get(key) is not None}
        return self._decided(id, given, self._choose(given), at)

    def reward(self, id: str, reward: float, at: int) -> Event:
        """Learn the reward of a decision that waits."""
        self.learner.learn(self.waiting[id].number, reward)
        self._rewarded(id, reward)
        return self._event(REWARD, at, {"reward": reward}, id)

    def expire(self, at: int) -> Iterator[Event]:
        """Give up the decisions that have waited too long, the oldest first."""
        while self.waiting and self.is_overdue(id := next(iter(self.waiting)), at):
            yield self._expired(id, self.settings["expire"].get("reward"), at)

    def is_overdue(self, id: str, at: int) -> bool:
        """Whether a decision has waited too long for its reward."""
        rule = self.settings.get("expire")
        return rule is not None and self.waiting[id].at + rule["after_s"] * 1e6 <= at

    def change(self, change: dict[str, Any], at: int) -> Event:
        """Change arms, contexts, parameters or the status: all of it or nothing."""
        self._change(change)
        return self._event(CHANGED, at, change)

    # events of the log

    def replay(self, event: Event, *, follow: bool = False) -> str | None:
        """Carry an event out again; returns how the decision differs from that in the log.

        follow: play the arm of the log all the same, if another one would be chosen now.
        """
        if event.kind == DECISION:
            return self._replay_decision(event, follow)
        if event.kind == REWARD:
            assert event.decision is not None
            self.reward(event.decision, event.body["reward"], event.at)
        elif event.kind == EXPIRED:
            assert event.decision is not None
            self._expired(event.decision, event.body["reward"], event.at)
        elif event.kind == CHANGED:
            self.change(event.body, event.at)
        else:
            self.seq = event.seq
        return None

    def _replay_decision(self, event: Event, follow: bool) -> str | None:
        given = {key: event.body[key] for key in ASKED if key in event.body}
        before = self.learner.mark() if follow else None
        decided = self._choose(given)
        known = {key: event.body[key] for key in DECIDED}
        found = _found(decided)
        differs = None if found == known else f"{found} instead of {known}"
        if before is not None and found["arm"] != known["arm"]:
            self.learner.rewind(before)
            decided = self._choose(_only(given, known))
        assert event.decision is not None
        self._decided(event.decision, given, decided, event.at)
        return differs

    # what events do

    def _choose(self, given: dict[str, Any]) -> th.Decision:
        if not self.learner.sets.open:
            return self.learner.choose(given["context"], given.get("available"))
        return self.learner.choose(given["features"], names=given.get("names"))

    def _decided(self, id: str, given: dict[str, Any], decided: th.Decision, at: int) -> Event:
        self.waiting[id] = _new(Waiting, (decided.id, at))  # faster than Waiting(...)
        self.counts["decisions"] += 1
        explores = decided.gap > ROUNDING * self.learner.noise
        self.counts["explored"] += explores
        self.cost += decided.gap
        self.history.count_decision(at, decided.gap, explores)
        return self._event(DECISION, at, {**given, **_found(decided)}, id)

    def _rewarded(self, id: str, reward: float) -> None:
        del self.waiting[id]
        self.counts["rewards"] += 1
        self.reward_sum += reward
        self.history.count_reward(reward)

    def _expired(self, id: str, reward: float | None, at: int) -> Event:
        number = self.waiting[id].number
        if reward is None:
            self.learner.cancel(number)
            del self.waiting[id]
        else:
            self.learner.learn(number, reward)
            self._rewarded(id, reward)
            self.counts["rewards"] -= 1
        self.counts["expired"] += 1
        return self._event(EXPIRED, at, {"reward": reward}, id)

    def _change(self, change: dict[str, Any]) -> None:
        settings = dict(self.settings)
        # for many decisions that wait, this takes its time
        before = self.learner.to_bytes() if change.keys() - {"status", "expire"} else None
        try:
            for key, value in change.items():
                CHANGES[key](self, value)
        except BaseException:
            self.learner = self.learner if before is None else Learner.load(before)
            self.settings = settings
            raise
        self.status = change.get("status", self.status)

    def _event(
        self, kind: str, at: int, body: dict[str, Any], decision: str | None = None
    ) -> Event:
        self.seq += 1
        return Event(self.seq, kind, at, decision, body)

    # the state as bytes

    def to_bytes(self) -> bytes:
        """Everything, for a snapshot."""
        kept = {
            key: value for key, value in vars(self).items() if key not in ("learner", "history")
        }
        kept["history"] = self.history.to_json()
        return self.learner.to_bytes() + json.dumps(kept).encode()  # the learner is one line

    @classmethod
    def from_bytes(cls, state: bytes) -> "Experiment":
        """The experiment of a snapshot."""
        learner, _, rest = state.partition(b"\n")
        kept, found = json.loads(rest), cls.__new__(cls)
        kept["learner"] = Learner.load(learner)
        kept["history"] = History.from_json(kept["history"])
        kept["waiting"] = {id: Waiting(*one) for id, one in kept["waiting"].items()}
        vars(found).update(kept)
        return found


def _found(decided: th.Decision) -> dict[str, Any]:
    """What is answered, by the names in DECIDED."""
    _, _, arm, name, label, gap, probability = decided
    return {"arm": arm, "name": name, "label": label, "probability": probability, "gap": gap}


def _only(given: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """What to ask with so that the arm of the log is the only one."""
    if "context" in given:
        return {"context": given["context"], "available": [known["name"]]}
    return {"features": [given["features"][known["arm"]]], "names": [known["name"]]}


def check_settings(settings: dict[str, Any]) -> None:
    """Refuse settings that no learner can be started with; compiles what it needs."""
    try:
        learner = _start(settings)
    except MemoryError:
        raise InvalidInput.expected(
            "policy", "one that fits into memory", settings["policy"]
        ) from None
    if not learner.sets.open:
        decision = learner.choose(0)
    else:
        decision = learner.choose([[0.0] * settings["dimension"]])
    learner.learn(decision, 0.0)
    _check_expiry(learner, settings.get("expire"))


def _check_expiry(learner: Learner, expire: dict[str, Any] | None) -> None:
    """Refuse a reward that could not be learned when decisions expire."""
    if expire is not None and expire.get("reward") is not None:
        try:
            learner.check_reward(expire["reward"])
        except InvalidInput as error:
            raise InvalidInput("expire.reward", error.message) from None


def _start(settings: dict[str, Any]) -> Learner:
    policy, contexts = named_policy(settings["policy"]), settings.get("contexts")
    if (contexts is None) == (settings.get("dimension") is None):
        raise InvalidInput.expected(
            "contexts", "contexts, or a dimension", "both" if contexts else None
        )
    own = {"dimension": settings["dimension"]} if contexts is None else {"sets": _sets(contexts)}
    return policy.learner(
        **own,
        seed=settings["seed"],
        noise=settings.get("noise"),
        rewards=settings["rewards"],
        most_waiting=MOST_WAITING + 1,
    )


def _sets(contexts: list[dict[str, Any]]) -> ActionSets:
    names = [one.get("arm_names") or [str(k) for k in range(len(one["arms"]))] for one in contexts]
    return ActionSets(
        [one["arms"] for one in contexts],
        context_names=[one["name"] for one in contexts],
        arm_names=names,
    )


def _listed(experiment: Experiment, where: str) -> Learner:
    if experiment.learner.sets.open:
        raise InvalidInput.expected(where, "an experiment with listed contexts", experiment.name)
    return experiment.learner


def _change_policy(experiment: Experiment, spec: str) -> None:
    settings = experiment.settings
    default = CLICK_NOISE if settings["rewards"] == "bernoulli" else 1.0
    policy, _ = with_noise(named_policy(spec), settings.get("noise"), default)
    experiment.learner.change_policy(policy)
    experiment.settings = {**settings, "policy": spec}


def _change_expiry(experiment: Experiment, expire: dict[str, Any] | None) -> None:
    _check_expiry(experiment.learner, expire)
    experiment.settings = {**experiment.settings, "expire": expire}


def _add_context(experiment: Experiment, new: dict[str, Any]) -> None:
    learner = _listed(experiment, "add_context")
    if learner.sets.contexts >= MOST_CONTEXTS:
        raise InvalidInput.expected(
            "add_context", f"at most {MOST_CONTEXTS:,} contexts", "one more"
        )
    learner.add_context(new["name"], new["arms"], new.get("arm_names"))


def _remove_context(experiment: Experiment, name: str) -> None:
    _listed(experiment, "remove_context").remove_context(name)


def _add_arm(experiment: Experiment, new: dict[str, Any]) -> None:
    learner = _listed(experiment, "add_arm")
    if len(learner.sets.arms(new["context"])) >= MOST_ARMS:
        raise InvalidInput.expected(
            "add_arm", f"at most {MOST_ARMS:,} arms of a context", "one more"
        )
    learner.add_arm(new["context"], new["features"], new.get("name"))


def _remove_arm(experiment: Experiment, arm: dict[str, Any]) -> None:
    _listed(experiment, "remove_arm").remove_arm(arm["context"], arm["name"])


CHANGES: dict[str, Callable[[Experiment, Any], None]] = {
    "status": lambda experiment, status: None,
    "policy": _change_policy,
    "expire": _change_expiry,
    "add_context": _add_context,
    "remove_context": _remove_context,
    "add_arm": _add_arm,
    "remove_arm": _remove_arm,
}
