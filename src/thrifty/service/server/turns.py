"""Actions on experiments, and turns: an action in progress, what it knows and what it has done."""

import asyncio
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from thrifty.errors import ThriftyError
from thrifty.service.server.experiment import Experiment
from thrifty.service.server.loading import Loaded
from thrifty.service.storage.store import Event

Known = dict[str, dict[str, Event]]  # events about decisions, by id and by kind


@dataclass
class Action:
    """What the writer carries out; name: of the experiment."""

    name: str

    def ids(self, experiment: Experiment) -> list[str]:
        """Decisions whose events must be looked up."""
        return []

    def is_long(self, experiment: Experiment) -> bool:
        """Whether a single step may take so long that other experiments should not wait for it."""
        return False

    def steps(self, turn: "Turn") -> Generator[None, None, Any]:
        """Carry out, and return the answer; yields where other experiments may have their turn.

        Raises a ThriftyError before anything is changed.
        """
        yield from ()
        return self.run(turn)

    def run(self, turn: "Turn") -> Any:
        """The same in one step."""
        raise NotImplementedError


class Job(NamedTuple):
    """An action, and who waits for the answer."""

    action: Action
    future: "asyncio.Future[Any]"


@dataclass
class Turn:
    """An action in progress on an experiment.

    Attributes
    ----------
    loaded : the experiment; None if it is to be made
    at : the time of its events
    known : events about decisions that were looked up, or made since
    events : that were made, to be committed before the answer is sent
    made : an experiment that is new
    answer : or a ThriftyError that says what is wrong with the request
    fault : what has left the experiment in memory ahead of its log
    """

    job: Job
    loaded: Loaded | None
    at: int
    known: Known
    events: list[Event] = field(default_factory=list)
    status: str | None = None
    made: Experiment | None = None
    answer: Any = None
    fault: Exception | None = None

    @property
    def name(self) -> str:
        return self.job.action.name

    @property
    def experiment(self) -> Experiment:
        assert self.loaded is not None
        return self.loaded.experiment

    def add(self, event: Event) -> None:
        """Add an event of the experiment."""
        self.events.append(event)
        if event.decision is not None:
            self.known.setdefault(event.decision, {})[event.kind] = event

    def steps(self) -> Generator[None, None, "Turn"]:
        """Carry the action out; returns this."""
        try:
            self.answer = yield from self.job.action.steps(self)
        except ThriftyError as error:
            self.answer = error
            self.fault = error if self.events else None
        except Exception as error:  # of whatever kind: others must not suffer
            self.fault = error
        return self
