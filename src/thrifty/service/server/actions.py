"""Actions on an experiment, as the writer carries them out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from thrifty.errors import ThriftyError
from thrifty.service.server.experiment import (
    ASKED,
    CREATED,
    DECISION,
    EXPIRED,
    MOST_WAITING,
    REWARD,
    Experiment,
)
from thrifty.service.server.loading import Loaded, code
from thrifty.service.server.refusals import Conflict, NotFound, Refusal, TooMany, Unusable, place
from thrifty.service.server.views import decision_reply, experiment_reply
from thrifty.service.server.writer import Group
from thrifty.service.storage.leases import Elsewhere
from thrifty.service.storage.store import Event, add_experiment, statuses


@dataclass
class Create:
    """Begin an experiment; its settings were checked."""

    name: str
    settings: dict[str, Any]

    def ids(self) -> list[str]:
        return []

    def run(self, group: Group) -> Any:
        if (status := statuses(group.connection).get(self.name)) is not None:
            archived = " (archived)" if status == "archived" else ""
            raise Conflict("name", f"there is an experiment {self.name} already{archived}")
        experiment = Experiment(self.name, self.settings, group.at)
        # first: from then on the database does not wait for a server that stands still
        if group.writer.leases.acquire(group.connection, self.name) is not None:
            raise Conflict("name", f"another server is making an experiment {self.name}")
        add_experiment(group.connection, self.name, group.at)
        group.writer.experiments[self.name] = Loaded(experiment, 0, ())
        body = {"settings": self.settings, "code": code()}
        group.add(self.name, Event(1, CREATED, group.at, None, body))
        return experiment_reply(experiment)


@dataclass
class Ask:
    """Read something off an experiment."""

    name: str
    question: Callable[[Experiment], Any]

    def ids(self) -> list[str]:
        return []

    def run(self, group: Group) -> Any:
        experiment = group.lead(self.name)
        return experiment if isinstance(experiment, Elsewhere) else self.question(experiment)


@dataclass
class Alter:
    """Change an experiment."""

    name: str
    change: dict[str, Any]

    def ids(self) -> list[str]:
        return []

    def run(self, group: Group) -> Any:
        experiment = group.lead(self.name)
        if isinstance(experiment, Elsewhere):
            return experiment
        group.add(self.name, experiment.change(self.change, group.at))
        group.statuses[self.name] = experiment.status
        return experiment_reply(experiment)


@dataclass
class Decide:
    """Take decisions: all of them, or none."""

    name: str
    decisions: list[tuple[str, dict[str, Any]]]  # ids, and what is asked
    own: list[str] = field(default_factory=list)  # ids that the caller brought
    many: bool = True

    def ids(self) -> list[str]:
        return self.own

    def run(self, group: Group) -> Any:
        experiment = group.lead(self.name)
        if isinstance(experiment, Elsewhere):
            return experiment
        known = group.known[self.name]
        fresh: dict[str, dict[str, Any]] = {}
        for n, (id, asked) in enumerate(self.decisions):
            try:
                if id in fresh or DECISION in known.get(id, ()):
                    before = fresh[id] if id in fresh else known[id][DECISION].body
                    _check_same(id, asked, before)
                else:
                    experiment.check_decision(asked)
                    fresh[id] = asked
            except ThriftyError as error:
                raise self._placed(n, error) from None
        if fresh:
            experiment.check_active()
        if len(experiment.waiting) + len(fresh) > MOST_WAITING:
            raise TooMany("decisions", f"more than {MOST_WAITING:,} would wait for their reward")
        for id, asked in fresh.items():
            group.add(self.name, experiment.decide(id, asked, group.at))
        return [decision_reply(known[id][DECISION]) for id, _ in self.decisions]

    def _placed(self, n: int, error: ThriftyError) -> ThriftyError:
        return _placed(n, error) if self.many else error


@dataclass
class Learn:
    """Learn rewards: all of them, or none."""

    name: str
    rewards: list[tuple[str, float]]
    many: bool = True

    def ids(self) -> list[str]:
        return [id for id, _ in self.rewards]

    def run(self, group: Group) -> Any:
        experiment = group.lead(self.name)
        if isinstance(experiment, Elsewhere):
            return experiment
        known = group.known[self.name]
        fresh: dict[str, float] = {}
        for n, (id, reward) in enumerate(self.rewards):
            try:
                if id in experiment.waiting and id not in fresh:
                    if experiment.is_overdue(id, group.at):
                        raise Conflict("reward", f"decision {id} has expired")
                    fresh[id] = experiment.learner.check_reward(reward)
                elif fresh.get(id) != reward:
                    _check_already(id, reward, known.get(id, {}))
            except ThriftyError as error:
                raise (_placed(n, error) if self.many else error) from None
        for id, reward in fresh.items():
            group.add(self.name, experiment.reward(id, reward, group.at))
        return [_reward_view(id, known[id], id in fresh) for id, _ in self.rewards]


def _placed(n: int, error: ThriftyError) -> ThriftyError:
    """The mistake in item n of a list."""
    kind, where = type(error) if isinstance(error, Refusal) else Unusable, place(error)
    return kind(f"[{n}].{where}", str(error).removeprefix(f"{where}: "))


def _check_same(id: str, asked: dict[str, Any], before: dict[str, Any]) -> None:
    if any(asked.get(key) != before.get(key) for key in ASKED):
        raise Conflict("id", f"decision {id} was asked for with another body")


def _check_already(id: str, reward: float, known: dict[str, Event]) -> None:
    """Refuse a reward unless the same one was learned before."""
    if DECISION not in known:
        raise NotFound("decision", f"no decision {id}")
    last = known.get(REWARD) or known.get(EXPIRED)
    if last is None:
        raise Conflict("reward", f"decision {id} has another reward")
    if last.body["reward"] == reward:
        return
    if last.kind == EXPIRED:
        raise Conflict("reward", f"decision {id} has expired")
    raise Conflict("reward", f"decision {id} has the reward {last.body['reward']:g} already")


def _reward_view(id: str, known: dict[str, Event], learned: bool) -> dict[str, Any]:
    last = known.get(REWARD) or known[EXPIRED]
    return {"decision": id, "seq": last.seq, "status": "learned" if learned else "already"}
