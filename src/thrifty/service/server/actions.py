"""Actions on an experiment, as the writer carries them out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from thrifty.errors import InvalidInput, ThriftyError
from thrifty.service.server.experiment import (
    ACTIVE,
    ASKED,
    CREATED,
    DECISION,
    EXPIRED,
    MOST_PENDING,
    Experiment,
    outcome,
)
from thrifty.service.server.loading import Loaded, code
from thrifty.service.server.refusals import Conflict, NotFound, Refusal, TooMany, place
from thrifty.service.server.views import decision_reply, experiment_reply
from thrifty.service.server.writer import Action, Group
from thrifty.service.storage.leases import Elsewhere
from thrifty.service.storage.store import Event, add_experiment, statuses


@dataclass
class Create(Action):
    """Begin an experiment; its settings were checked."""

    settings: dict[str, Any]

    def run(self, group: Group) -> Any:
        if (status := statuses(group.connection).get(self.name)) is not None:
            archived = " (archived)" if status == "archived" else ""
            raise Conflict("name", f"there is an experiment {self.name} already{archived}")
        experiment = Experiment(self.name, self.settings, group.at)
        try:  # first: from then on the database does not wait for a server that stands still
            group.writer.leases.acquire(group.connection, self.name)
        except Elsewhere:
            message = f"another server is making an experiment {self.name}"
            raise Conflict("name", message) from None
        add_experiment(group.connection, self.name, group.at)
        group.writer.experiments[self.name] = Loaded(experiment, 0, ())
        body = {"settings": self.settings, "code": code()}
        group.add(self.name, Event(1, CREATED, group.at, None, body))
        return experiment_reply(experiment)


@dataclass
class Ask(Action):
    """Read something off an experiment."""

    question: Callable[[Experiment], Any]

    def run(self, group: Group) -> Any:
        return self.question(group.lead(self.name))


@dataclass
class Alter(Action):
    """Change an experiment."""

    change: dict[str, Any]

    def run(self, group: Group) -> Any:
        experiment = group.lead(self.name)
        group.add(self.name, experiment.change(self.change, group.at))
        group.statuses[self.name] = experiment.status
        return experiment_reply(experiment)


@dataclass
class Decide(Action):
    """Take decisions: all of them, or none."""

    decisions: list[tuple[str, dict[str, Any]]]  # ids, and what is asked
    chosen_ids: list[str] = field(default_factory=list)  # those that the caller brought
    many: bool = True

    def ids(self) -> list[str]:
        return self.chosen_ids

    def run(self, group: Group) -> Any:
        experiment = group.lead(self.name)
        known = group.known[self.name]
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
        if fresh and experiment.status != ACTIVE:
            raise Conflict("experiment", f"{self.name} is {experiment.status}")
        if len(experiment.pending) + len(fresh) > MOST_PENDING:
            raise TooMany("decisions", f"more than {MOST_PENDING:,} would be pending")
        for id, asked in fresh.items():
            group.add(self.name, experiment.decide(id, asked, group.at))
        return [decision_reply(known[id][DECISION]) for id, _ in self.decisions]


@dataclass
class Learn(Action):
    """Learn rewards: all of them, or none."""

    rewards: list[tuple[str, float]]
    many: bool = True

    def ids(self) -> list[str]:
        return [id for id, _ in self.rewards]

    def run(self, group: Group) -> Any:
        experiment = group.lead(self.name)
        known = group.known[self.name]
        fresh: dict[str, float] = {}
        for n, (id, reward) in enumerate(self.rewards):
            try:
                if id in experiment.pending and id not in fresh:
                    if experiment.is_overdue(id, group.at):
                        raise Conflict("reward", f"decision {id} has expired")
                    fresh[id] = experiment.learner.check_reward(reward)
                elif fresh.get(id) != reward:
                    _check_already(id, reward, known.get(id, {}))
            except ThriftyError as error:
                raise _placed(n if self.many else None, error) from None
        for id, reward in fresh.items():
            group.add(self.name, experiment.reward(id, reward, group.at))
        return [_reward_reply(id, known[id], id in fresh) for id, _ in self.rewards]


def _placed(n: int | None, error: ThriftyError) -> ThriftyError:
    """The mistake in item n of a list, or in a request without a list."""
    if n is None:
        return error
    kind, where = type(error) if isinstance(error, Refusal) else InvalidInput, place(error)
    return kind(f"[{n}].{where}", str(error).removeprefix(f"{where}: "))


def _check_already(id: str, reward: float, events: dict[str, Event]) -> None:
    """Refuse a reward unless the same one was learned before."""
    if DECISION not in events:
        raise NotFound("decision", f"no decision {id}")
    ended = outcome(events)
    if ended is None:
        raise Conflict("reward", f"decision {id} has another reward")
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
