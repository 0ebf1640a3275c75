"""Clients of the service: `Client` waits for answers, `AsyncClient` is for asyncio.

Both make the same requests, which stand here once, and repeat them in the same way (transports.py).
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, overload

from thrifty.errors import MissingPackage, UnknownArgument, no_attribute
from thrifty.service.client import arguments, replies, requests
from thrifty.service.client.replies import RemoteDecision, RemoteEvent, RemoteExplanation
from thrifty.service.client.requests import Json, Request, Rule

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow import Table

    import thrifty as th

P = ParamSpec("P")
T = TypeVar("T")
E = TypeVar("E", bound="_Experiment")
EXPERIMENTS = "/v1/experiments"


def named(function: Callable[P, T]) -> Callable[P, T]:
    """The function, with advice for a keyword that it does not take."""

    @wraps(function)
    def call(*arguments: P.args, **given: P.kwargs) -> T:
        try:
            return function(*arguments, **given)
        except TypeError:
            UnknownArgument.check(function, given)
            raise

    return call


class sent(Generic[P, T]):  # noqa: N801  # a decorator
    """A method that makes a request. Callers get what is read from the reply, or a coroutine."""

    def __init__(self, make: Callable[Concatenate[Any, P], Request[T]]) -> None:
        self._make = make
        make.__annotations__["return"] = get_args(make.__annotations__["return"])[0]  # for help()

    @overload
    def __get__(self, of: "Client | RemoteExperiment", kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, of: "AsyncClient | AsyncRemoteExperiment", kind: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, of: None, kind: type) -> Callable[Concatenate[Any, P], Request[T]]: ...
    def __get__(self, of: Any, kind: type) -> Any:
        if of is None:
            return self._make
        make: Callable[P, Request[T]] = named(MethodType(self._make, of))

        @wraps(make)
        def send(*arguments: P.args, **given: P.kwargs) -> Any:
            return of._transport.send(make(*arguments, **given))

        return send


class _Advising:
    """Suggests a name for an attribute that is not there."""

    if not TYPE_CHECKING:  # which would accept any name then

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(type(self).__name__, name, dir(type(self)))


class _Client(_Advising, Generic[E]):
    """What Client and AsyncClient share."""

    _experiment: type[E]

    @named
    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 10.0, retries: int = 5
    ) -> None:
        MissingPackage.check(f"thrifty.{type(self).__name__}", "httpx", "httpcore", extra="service")
        from thrifty.service.client.transports import AsyncTransport, Connection, Transport

        connection = Connection(url, token, timeout, retries)
        kind = AsyncTransport if isinstance(self, AsyncClient) else Transport
        self._transport: Any = kind(connection)

    @sent
    def experiments(self) -> Request[list[Json]]:
        """All experiments: name, status, policy, counts, mean reward, exploration."""
        return Request("GET", EXPERIMENTS, replies.read_experiments)

    @sent
    def create(
        self,
        name: str,
        *,
        policy: "th.Policy | str | None" = None,
        contexts: "th.ActionSets | Sequence[Json] | None" = None,
        dimension: int | None = None,
        noise: float | str | None = None,
        rewards: str | None = None,
        seed: int | None = None,
        expire: Rule | None = None,
    ) -> Request[E]:
        """Make an experiment.

        contexts: listed ones, with their arms; or dimension: how many features arms will have.
        policy, noise, rewards, seed: as for a learner. expire: `{"after_s": 3600, "reward": 0}`
        gives decisions up after an hour, with this reward or, without one, with none.
        """
        settings: Json = {"policy": policy, "contexts": contexts, "dimension": dimension}
        settings |= {"noise": noise, "rewards": rewards, "seed": seed, "expire": expire}
        body = requests.experiment_body({"name": name, **settings})

        def read(reply: Any) -> E:
            return self.experiment(replies.read_experiment(reply, name)["name"])

        return Request("POST", EXPERIMENTS, read, body, repeatable=False)

    @named
    def experiment(self, name: str, *, columns: Sequence[str] | None = None) -> E:
        """An experiment by name; nothing is sent.

        columns: names of the features, in the service's order: columns of data frames are then
        taken by name. Without them they are taken as they come.
        """
        return self._experiment(self._transport, name, columns)

    def __repr__(self) -> str:
        return f"<client: {self._transport.connection.url}>"


class _Experiment(_Advising):
    """What RemoteExperiment and AsyncRemoteExperiment share."""

    def __init__(self, transport: Any, name: str, columns: Sequence[str] | None = None) -> None:
        self.name, self._transport = name, transport
        self._columns = None if columns is None else arguments.name_list(columns, "columns")
        self._path = f"{EXPERIMENTS}/{requests.path_part(name, 'experiment')}"

    @sent
    def choose(
        self,
        context: Any,
        names: Sequence[str] | None = None,
        available: Sequence[str] | None = None,
        *,
        id: str | None = None,
    ) -> Request[RemoteDecision]:
        """Choose an arm.

        context: the name of a listed context, or features (K, d), also as a data frame. names: of
        K arms. available: names of the arms on offer. id: of the decision, a new UUID by default.
        """
        kind = "context" if isinstance(context, str) else "features"
        asked = {kind: context, "names": names, "available": available, "id": id}
        body = requests.decision_body(asked, self._columns)
        read = partial(replies.read_decision, id=body["id"])
        return Request("POST", f"{self._path}/decisions", read, body)

    @sent
    def choose_many(self, contexts: Iterable[Any]) -> Request[list[RemoteDecision]]:
        """Several decisions at once, all or none; at most 1,000.

        contexts: of each the name or the features, or a mapping with context or features, and
        perhaps names, available and id.
        """
        bodies = requests.decision_bodies(contexts, self._columns)
        read = partial(replies.read_decisions, ids=[body["id"] for body in bodies])
        return Request("POST", f"{self._path}/decisions", read, bodies)

    @sent
    def learn(self, decision: RemoteDecision | str, reward: float) -> Request[str]:
        """Report the reward of a decision, or of its id: `learned`, or `already` if known."""
        body = requests.reward_body(decision, reward)
        read = partial(replies.read_reward, id=body["decision"])
        return Request("POST", f"{self._path}/rewards", read, body)

    @sent
    def learn_many(
        self, rewards: Iterable[tuple[RemoteDecision | str, float]]
    ) -> Request[list[str]]:
        """Report pairs of a decision and its reward, all or none; at most 1,000."""
        bodies = requests.reward_bodies(rewards)
        read = partial(replies.read_rewards, ids=[body["decision"] for body in bodies])
        return Request("POST", f"{self._path}/rewards", read, bodies)

    @sent
    def explain(self, decision: RemoteDecision | str) -> Request[RemoteExplanation]:
        """Why an arm was chosen, with the present estimates."""
        id = requests.id_of(decision)
        path = f"{self._path}/decisions/{requests.path_part(id, 'decision')}"
        return Request("GET", path, partial(replies.read_explanation, id=id))

    @sent
    def info(self) -> Request[Json]:
        """Settings, counts, estimates and history."""
        return Request("GET", self._path, partial(replies.read_experiment, name=self.name))

    @sent
    def change(self, /, **changes: Any) -> Request[Json]:
        """Change policy, expire, status, or arms and contexts, all or nothing; returns `info`.

        changes: status, policy, expire, add_context, remove_context, add_arm, remove_arm.
        """
        return self._changed(changes)

    @sent
    def pause(self) -> Request[Json]:
        """Take no decisions until `resume`; rewards are still learned."""
        return self._changed({"status": "paused"})

    @sent
    def resume(self) -> Request[Json]:
        """Take decisions again."""
        return self._changed({"status": "active"})

    @sent
    def archive(self) -> Request[Json]:
        """End the experiment; its log stays."""
        return self._changed({"status": "archived"})

    def _changed(self, changes: Json) -> Request[Json]:
        # only another status may be asked for twice
        repeatable = set(changes) <= {"status"}
        read = partial(replies.read_experiment, name=self.name)
        return Request("PATCH", self._path, read, changes, repeatable)

    @sent
    def decisions(self, after: int = 0) -> Request["Table"]:
        """All decisions as a table of pyarrow, with their rewards; needs pyarrow.

        A row per decision after a sequence number of the log: what was asked, the arm and its
        probability, the reward and when it came. `to_pandas()` makes a data frame of it.
        """
        MissingPackage.check("experiment.decisions()", "pyarrow", extra=None)
        path = f"{self._path}/log?after={arguments.whole_number(after, 'after')}&format=parquet"
        return Request("GET", path, replies.read_table, table=True)

    @sent
    def _page(self, after: int) -> Request[list[RemoteEvent]]:
        """A page of the log."""
        after = arguments.whole_number(after, "after")
        path = f"{self._path}/log?after={after}&format=json"
        return Request("GET", path, partial(replies.read_log, after=after))

    def __repr__(self) -> str:
        return f"<experiment {self.name!r} of {self._transport.connection.url}>"


class RemoteExperiment(_Experiment):
    """An experiment of a service."""

    def log(self, after: int = 0) -> Iterator[RemoteEvent]:
        """All entries of the log after a sequence number, in order, a page at a time."""
        while page := self._page(after):
            yield from page
            after = page[-1].seq

    def to_frame(self) -> "DataFrame":
        """The log as a data frame of pandas: seq, kind, at, decision, and all keys of bodies."""
        return replies.log_frame(list(self.log()))


class AsyncRemoteExperiment(_Experiment):
    """The same as RemoteExperiment, for asyncio: its methods are awaited."""

    async def log(self, after: int = 0) -> AsyncIterator[RemoteEvent]:
        """All entries of the log after a sequence number, in order, a page at a time."""
        while page := await self._page(after):
            for event in page:
                yield event
            after = page[-1].seq

    async def to_frame(self) -> "DataFrame":
        """The log as a data frame of pandas, as RemoteExperiment.to_frame."""
        return replies.log_frame([event async for event in self.log()])


class Client(_Client[RemoteExperiment]):
    """A connection to a service; it may be used by several threads, and after a fork.

    Each decision gets an id from the client. A request that got no answer, 429 or 503 is made
    again, and gives the same decision.

    Parameters
    ----------
    url : of the service, such as http://127.0.0.1:8080
    token : as `thrifty tokens make` has printed it
    timeout : seconds for each attempt as a whole, at most a day
    retries : attempts after the first; all together take at most (retries + 1) * timeout seconds,
        and the last of them its own timeout
    """

    _experiment = RemoteExperiment

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Client[AsyncRemoteExperiment]):
    """The same as Client, for asyncio: its methods are awaited, in one event loop or in several.

    Parameters
    ----------
    url, token, timeout, retries : as for Client
    """

    _experiment = AsyncRemoteExperiment

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
