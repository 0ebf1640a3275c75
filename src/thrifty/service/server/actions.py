"""Actions on an experiment, as the writer carries them out."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from thrifty.errors import InvalidInput, ThriftyError
from thrifty.service.server.experiment import (
    ACTIVE,
    ASKED,
    CREATED,
    DECISION,
    EXPIRED,
    LONG,
    MOST_PENDING,
    Experiment,
    outcome,
)
from thrifty.service.server.loading import code
from thrifty.service.server.refusals import Conflict, NotFound, Refusal, TooMany, place
from thrifty.service.server.turns import Action, Turn
from thrifty.service.server.views import decision_detail, decision_reply, experiment_reply
from thrifty.service.storage.store import Event

LARGE = 1e6  # multiplications to show or save all arms: a millisecond or more
MANY = 1_000  # pending decisions: a change copies them


@dataclass
class Create(Action):
    """Begin an experiment; its settings were checked."""

    settings: dict[str, Any]

    def run(self, turn: Turn) -> Any:
        if turn.loaded is not None:
            raise taken(self.name, turn.experiment.status)
        experiment = turn.made = Experiment(self.name, self.settings, turn.at)
        body = {"settings": self.settings, "code": code()}
        turn.add(Event(1, CREATED, turn.at, None, body))
        return experiment_reply(experiment)


def taken(name: str, status: str) -> Conflict:
    """The refusal of an experiment whose name is in use."""
    archived = " (archived)" if status == "archived" else ""
    return Conflict("name", f"there is an experiment {name} already{archived}")


@dataclass
class Ask(Action):
    """Read something off an experiment."""

    question: Callable[[Experiment], Any]

    def is_long(self, experiment: Experiment) -> bool:
        return experiment.work > LARGE

    def run(self, turn: Turn) -> Any:
        return self.question(turn.experiment)


@dataclass
class Explain(Action):
    """Read why decisions were taken, off events about them."""

    decisions: list[dict[str, Event]]

    def is_long(self, experiment: Experiment) -> bool:
        return not experiment.listed or experiment.work > LARGE

    def steps(self, turn: Turn) -> Generator[None, None, Any]:
        details = []
        for about in self.decisions:
            details.append(decision_detail(turn.experiment, about))
            yield
        return details


@dataclass
class Alter(Action):
    """Change an experiment."""

    change: dict[str, Any]

    def is_long(self, experiment: Experiment) -> bool:
        return experiment.work > LARGE or len(experiment.pending) > MANY

    def run(self, turn: Turn) -> Any:
        turn.add(turn.experiment.change(self.change, turn.at))
        turn.status = turn.experiment.status
        return experiment_reply(turn.experiment)


@dataclass
class Decide(Action):
    """Take decisions: all of them, or none."""

    decisions: list[tuple[str, dict[str, Any]]]  # ids, and what is asked
    chosen_ids: list[str] = field(default_factory=list)  # those that the caller brought
    many: bool = True

    def ids(self, experiment: Experiment) -> list[str]:
        return self.chosen_ids

    def is_long(self, experiment: Experiment) -> bool:
        offered = max((len(asked.get("features") or ()) for _, asked in self.decisions), default=0)
        return experiment.decision_work(offered) > LONG

    def steps(self, turn: Turn) -> Generator[None, None, Any]:
        experiment, known = turn.experiment, turn.known
        fresh: dict[str, dict[str, Any]] = {}
        for n, (id, asked) in enumerate(self.decisions):
            try:
                if id in fresh or DECISION in known.get(id, ()):
                    before = fresh[id] if id in fresh else known[id][DECISION].body
                    if any(asked.get(key) != before.get(key) for key in ASKED):
                        raise Conflict("id", f"decision {id} was asked for with another body")
                else:
                    experiment.check_decision(asked)
                    fresh[id] = asked
            except ThriftyError as error:
                raise _placed(n if self.many else None, error) from None
            yield  # the check of many features takes its time, too
        if fresh and experiment.status != ACTIVE:
            raise Conflict("experiment", f"{self.name} is {experiment.status}")
        if len(experiment.pending) + len(fresh) > MOST_PENDING:
            raise TooMany("decisions", f"more than {MOST_PENDING:,} would be pending")
        for id, asked in fresh.items():
            turn.add(experiment.decide(id, asked, turn.at))
            yield
        return [decision_reply(known[id][DECISION]) for id, _ in self.decisions]


@dataclass
class Learn(Action):
    """Learn rewards: all of them, or none."""

    rewards: list[tuple[str, float]]
    many: bool = True

    def ids(self, experiment: Experiment) -> list[str]:
        """Those that are not pending: the log says what became of them."""
        return [id for id, _ in self.rewards if id not in experiment.pending]

    def is_long(self, experiment: Experiment) -> bool:
        return experiment.reward_work() > LONG

    def steps(self, turn: Turn) -> Generator[None, None, Any]:
        experiment, known = turn.experiment, turn.known
        fresh: dict[str, float] = {}
        for n, (id, reward) in enumerate(self.rewards):
            try:
                if id in experiment.pending and id not in fresh:
                    if experiment.is_overdue(id, turn.at):
                        raise Conflict("reward", f"decision {id} has expired")
                    fresh[id] = experiment.learner.check_reward(reward)
                elif id in fresh:
                    if fresh[id] != reward:
                        raise Conflict("reward", f"decision {id} has another reward")
                else:
                    _check_already(id, reward, known.get(id, {}))
            except ThriftyError as error:
                raise _placed(n if self.many else None, error) from None
        for id, reward in fresh.items():
            turn.add(experiment.reward(id, reward, turn.at))
            yield
        return [_reward_reply(id, known[id], id in fresh) for id, _ in self.rewards]


def _placed(n: int | None, error: ThriftyError) -> ThriftyError:
    """The mistake in item n of a list, or in a request without a list."""
    if n is None:
        return error
    kind, where = type(error) if isinstance(error, Refusal) else InvalidInput, place(error)
    return kind(f"[{n}].{where}", str(error).removeprefix(f"{where}: "))


def _check_already(id: str, reward: float, events: dict[str, Event]) -> None:
    """Refuse a reward unless the same one was learned before."""
    ended = outcome(events)
    if ended is None:  # and it is not pending
        raise NotFound("decision", f"no decision {id}")
    if ended.body["reward"] == reward:
        return
    if ended.kind == EXPIRED:
        raise Conflict("reward", f"decision {id} has expired")
    raise Conflict("reward", f"decision {id} has the reward {ended.body['reward']:g} already")


def _reward_reply(id: str, events: dict[str, Event], learned: bool) -> dict[str, Any]:
    """A RewardReply."""
    ended = outcome(events)
    assert ended is not None
    return {"decision": id, "seq": ended.seq, "status": "learned" if learned else "already"}
