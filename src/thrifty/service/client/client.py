"""Clients of the service: `Client` waits for answers, `AsyncClient` is for asyncio.

Both make the same requests (requests.py) and repeat them in the same way (retries.py).
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thrifty.display import frame
from thrifty.errors import InvalidInput, MissingPackage
from thrifty.problem.action_sets import ActionSets
from thrifty.service.client.replies import LogEntry, RemoteDecision, RemoteExplanation, log_columns
from thrifty.service.client.requests import ExperimentRequests, Json, create, list_experiments

if TYPE_CHECKING:
    from pandas import DataFrame

    from thrifty.policies.base import Policy
    from thrifty.service.client.transports import AsyncTransport, Transport


class Client:
    """A connection to a service; it may be used by several threads.

    Each decision gets an id from the client. A request that got no answer, 429 or 503 is made
    again, and gives the same decision.

    Parameters
    ----------
    url : of the service, such as http://127.0.0.1:8080
    token : as `thrifty tokens make` has printed it
    timeout : seconds to wait for the service in each attempt
    retries : attempts after the first; all together take at most (retries + 1) * timeout seconds,
        and the last of them its own timeout
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 10.0, retries: int = 5
    ) -> None:
        MissingPackage.check("thrifty.Client", "httpx", extra="service")
        from thrifty.service.client.transports import Connection, Transport

        self._transport = Transport(Connection(url, token, timeout, retries))

    def experiments(self) -> list[Json]:
        """All experiments: name, status, policy, counts, mean reward, exploration."""
        return self._transport.send(list_experiments())

    def create(
        self,
        name: str,
        *,
        policy: "Policy | str | None" = None,
        contexts: ActionSets | Sequence[Json] | None = None,
        dimension: int | None = None,
        noise: float | str | None = None,
        rewards: str | None = None,
        seed: int | None = None,
        expire: Mapping[str, Any] | None = None,
    ) -> "Experiment":
        """Make an experiment.

        contexts: listed ones, with their arms; or dimension: how many features arms will have.
        policy, noise, rewards, seed: as for a learner. expire: `{"after_s": 3600, "reward": 0}`
        gives decisions up after an hour, with this reward or, without one, with none.
        """
        settings = _settings(policy, dimension, noise, rewards, seed, expire)
        return self.experiment(self._transport.send(create(name, contexts, settings)))

    def experiment(self, name: str, *, columns: Sequence[str] | None = None) -> "Experiment":
        """An experiment by name; nothing is sent.

        columns: names of the features, in the service's order: columns of data frames are then
        taken by name. Without them they are taken as they come.
        """
        return Experiment(self._transport, name, columns)

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<client: {self._transport.connection.url}>"


class Experiment:
    """An experiment of a service."""

    def __init__(
        self, transport: "Transport", name: str, columns: Sequence[str] | None = None
    ) -> None:
        self.name, self._transport = name, transport
        self._requests = ExperimentRequests(name, columns)

    def choose(
        self,
        context: Any,
        names: Sequence[str] | None = None,
        available: Sequence[str] | None = None,
        *,
        id: str | None = None,
    ) -> RemoteDecision:
        """Choose an arm.

        context: the name of a listed context, or features (K, d), also as a data frame. names: of
        K arms. available: names of the arms on offer. id: of the decision, a new UUID by default.
        """
        asked = _asked(context, names, available, id)
        return self._transport.send(self._requests.choose(asked))

    def choose_many(self, contexts: Iterable[Any]) -> list[RemoteDecision]:
        """Several decisions at once, all or none; at most 1,000.

        contexts: of each the name or the features, or a mapping with context or features, and
        perhaps names, available and id.
        """
        return self._transport.send(self._requests.choose_many(contexts))

    def learn(self, decision: RemoteDecision | str, reward: float) -> str:
        """Report the reward of a decision, or of its id: `learned`, or `already` if known."""
        return self._transport.send(self._requests.learn(decision, reward))

    def learn_many(self, rewards: Iterable[tuple[RemoteDecision | str, float]]) -> list[str]:
        """Report pairs of a decision and its reward, all or none; at most 1,000."""
        return self._transport.send(self._requests.learn_many(rewards))

    def explain(self, decision: RemoteDecision | str) -> RemoteExplanation:
        """Why an arm was chosen, with the present estimates."""
        return self._transport.send(self._requests.explain(decision))

    def info(self) -> Json:
        """Settings, counts, estimates and history."""
        return self._transport.send(self._requests.info())

    def change(self, /, **changes: Any) -> Json:
        """Change policy, expire, status, or arms and contexts, all or nothing; returns `info`.

        changes: status, policy, expire, add_context, remove_context, add_arm, remove_arm.
        """
        return self._transport.send(self._requests.change(changes))

    def pause(self) -> Json:
        """Take no decisions until `resume`; rewards are still learned."""
        return self.change(status="paused")

    def resume(self) -> Json:
        """Take decisions again."""
        return self.change(status="active")

    def archive(self) -> Json:
        """End the experiment; its log stays."""
        return self.change(status="archived")

    def log(self, after: int = 0) -> Iterator[LogEntry]:
        """All entries of the log after a sequence number, in order, a page at a time."""
        while page := self._transport.send(self._requests.log(after)):
            yield from page
            after = page[-1].seq

    def to_frame(self) -> "DataFrame":
        """The log as a data frame of pandas.

        A row per entry, with seq, kind, at, decision, and a column for each key of their bodies.
        """
        return frame("experiment.to_frame()", log_columns(list(self.log())))

    def __repr__(self) -> str:
        return f"<experiment {self.name!r} of {self._transport.connection.url}>"


class AsyncClient:
    """The same as Client, for asyncio: its methods are awaited.

    Parameters
    ----------
    url, token, timeout, retries : as for Client
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 10.0, retries: int = 5
    ) -> None:
        MissingPackage.check("thrifty.AsyncClient", "httpx", extra="service")
        from thrifty.service.client.transports import AsyncTransport, Connection

        self._transport = AsyncTransport(Connection(url, token, timeout, retries))

    async def experiments(self) -> list[Json]:
        """All experiments: name, status, policy, counts, mean reward, exploration."""
        return await self._transport.send(list_experiments())

    async def create(
        self,
        name: str,
        *,
        policy: "Policy | str | None" = None,
        contexts: ActionSets | Sequence[Json] | None = None,
        dimension: int | None = None,
        noise: float | str | None = None,
        rewards: str | None = None,
        seed: int | None = None,
        expire: Mapping[str, Any] | None = None,
    ) -> "AsyncExperiment":
        """Make an experiment; parameters as for Client.create."""
        settings = _settings(policy, dimension, noise, rewards, seed, expire)
        return self.experiment(await self._transport.send(create(name, contexts, settings)))

    def experiment(self, name: str, *, columns: Sequence[str] | None = None) -> "AsyncExperiment":
        """An experiment by name; nothing is sent. columns: as for Client.experiment."""
        return AsyncExperiment(self._transport, name, columns)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<client: {self._transport.connection.url}>"


class AsyncExperiment:
    """The same as Experiment, for asyncio."""

    def __init__(
        self, transport: "AsyncTransport", name: str, columns: Sequence[str] | None = None
    ) -> None:
        self.name, self._transport = name, transport
        self._requests = ExperimentRequests(name, columns)

    async def choose(
        self,
        context: Any,
        names: Sequence[str] | None = None,
        available: Sequence[str] | None = None,
        *,
        id: str | None = None,
    ) -> RemoteDecision:
        """Choose an arm; parameters as for Experiment.choose."""
        asked = _asked(context, names, available, id)
        return await self._transport.send(self._requests.choose(asked))

    async def choose_many(self, contexts: Iterable[Any]) -> list[RemoteDecision]:
        """Several decisions at once, as Experiment.choose_many."""
        return await self._transport.send(self._requests.choose_many(contexts))

    async def learn(self, decision: RemoteDecision | str, reward: float) -> str:
        """Report the reward of a decision, or of its id: `learned`, or `already` if known."""
        return await self._transport.send(self._requests.learn(decision, reward))

    async def learn_many(self, rewards: Iterable[tuple[RemoteDecision | str, float]]) -> list[str]:
        """Report pairs of a decision and its reward, all or none; at most 1,000."""
        return await self._transport.send(self._requests.learn_many(rewards))

    async def explain(self, decision: RemoteDecision | str) -> RemoteExplanation:
        """Why an arm was chosen, with the present estimates."""
        return await self._transport.send(self._requests.explain(decision))

    async def info(self) -> Json:
        """Settings, counts, estimates and history."""
        return await self._transport.send(self._requests.info())

    async def change(self, /, **changes: Any) -> Json:
        """Change the experiment, as Experiment.change."""
        return await self._transport.send(self._requests.change(changes))

    async def pause(self) -> Json:
        """Take no decisions until `resume`; rewards are still learned."""
        return await self.change(status="paused")

    async def resume(self) -> Json:
        """Take decisions again."""
        return await self.change(status="active")

    async def archive(self) -> Json:
        """End the experiment; its log stays."""
        return await self.change(status="archived")

    async def log(self, after: int = 0) -> AsyncIterator[LogEntry]:
        """All entries of the log after a sequence number, in order, a page at a time."""
        while page := await self._transport.send(self._requests.log(after)):
            for entry in page:
                yield entry
            after = page[-1].seq

    async def to_frame(self) -> "DataFrame":
        """The log as a data frame of pandas, as Experiment.to_frame."""
        return frame("experiment.to_frame()", log_columns([entry async for entry in self.log()]))

    def __repr__(self) -> str:
        return f"<experiment {self.name!r} of {self._transport.connection.url}>"


def _settings(
    policy: "Policy | str | None",
    dimension: int | None,
    noise: float | str | None,
    rewards: str | None,
    seed: int | None,
    expire: Mapping[str, Any] | None,
) -> Json:
    """The settings of a new experiment, by name."""
    if expire is not None and not isinstance(expire, Mapping):
        raise InvalidInput.expected(
            "expire", 'a rule such as {"after_s": 3600, "reward": 0}', expire
        )
    settings = {"policy": policy, "dimension": dimension, "noise": noise, "rewards": rewards}
    return {**settings, "seed": seed, "expire": None if expire is None else dict(expire)}


def _asked(
    context: Any,
    names: Sequence[str] | None,
    available: Sequence[str] | None,
    id: str | None,
) -> Json:
    """What `ExperimentRequests.choose` takes."""
    kind = "context" if isinstance(context, str) else "features"
    return {kind: context, "names": names, "available": available, "id": id}
