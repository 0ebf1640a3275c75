"""The routes under /v1, and those for whoever runs the service."""

import asyncio
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Body, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
from pydantic import Field

from thrifty.errors import NOTHING, InvalidInput
from thrifty.service.ids import new_ids
from thrifty.service.server.actions import Alter, Ask, Create, Decide, Learn
from thrifty.service.server.answers import answer
from thrifty.service.server.experiment import DECISION, Experiment, check_settings
from thrifty.service.server.exports import parquet
from thrifty.service.server.guard import Guarded, scope
from thrifty.service.server.metrics import metrics_text
from thrifty.service.server.refusals import NotFound, Unavailable
from thrifty.service.server.schemas import (
    MOST_BATCH,
    Change,
    DecisionDetail,
    DecisionReply,
    DecisionRequest,
    ExperimentLine,
    ExperimentReply,
    LogEntry,
    Name,
    NewExperiment,
    RewardReply,
    RewardRequest,
)
from thrifty.service.server.views import decision_detail, experiment_line, experiment_reply, iso
from thrifty.service.storage.leases import Elsewhere
from thrifty.service.storage.store import find_decisions, last_events, read_events, statuses

if TYPE_CHECKING:
    from thrifty.service.server.app import Service

CHUNK = 2**20  # bytes of a file that are sent at once
AT_ONCE = 100  # experiments of the list that are asked for together
PARQUET = "application/vnd.apache.parquet"
Decisions = Annotated[
    DecisionRequest | Annotated[list[DecisionRequest], Field(max_length=MOST_BATCH)],
    Body(),
]
Rewards = Annotated[
    RewardRequest | Annotated[list[RewardRequest], Field(max_length=MOST_BATCH)],
    Body(),
]


def service_of(request: Request) -> "Service":
    service: Service = request.app.state.service
    return service


def make_routes() -> APIRouter:
    """All routes but the page."""
    routes = APIRouter(route_class=Guarded)
    _add_experiments(routes)
    _add_decisions(routes)
    _add_operations(routes)
    return routes


def _add_experiments(routes: APIRouter) -> None:
    @routes.post(
        "/v1/experiments",
        status_code=201,
        response_model=ExperimentReply,
        dependencies=[scope("admin")],
    )
    async def create(request: Request, new: NewExperiment) -> Response:
        settings = new.model_dump(exclude={"name"}, exclude_none=True)
        await run_in_threadpool(check_settings, settings)  # compiles, which takes its time
        found = await service_of(request).ask(request, Create(new.name, settings))
        return _shown(request, found, 201)

    @routes.get(
        "/v1/experiments", response_model=list[ExperimentLine], dependencies=[scope("read")]
    )
    async def list_all(request: Request) -> Response:
        names = await run_in_threadpool(_names, service_of(request))
        lines: list[dict[str, Any]] = []
        broken: list[BaseException] = []
        for first in range(0, len(names), AT_ONCE):
            part = names[first : first + AT_ONCE]
            asked = (_line(request, name) for name in part)
            found = await asyncio.gather(*asked, return_exceptions=True)
            lines += [one for one in found if isinstance(one, dict)]  # the others are in the log
            broken += [one for one in found if isinstance(one, BaseException)]
        if broken and not lines:
            raise broken[0]
        return answer(lines)

    @routes.get(
        "/v1/experiments/{name}", response_model=ExperimentReply, dependencies=[scope("read")]
    )
    async def show(request: Request, name: Name) -> Response:
        return _shown(request, await service_of(request).ask(request, Ask(name, experiment_reply)))

    @routes.patch(
        "/v1/experiments/{name}", response_model=ExperimentReply, dependencies=[scope("admin")]
    )
    async def change(request: Request, name: Name, change: Change) -> Response:
        asked = change.model_dump(exclude_none=True)
        if "expire" in change.model_fields_set:
            asked.setdefault("expire", None)  # null: decisions are given up no longer
        if not asked:
            raise InvalidInput.expected("body", "a change", NOTHING)
        return _shown(request, await service_of(request).ask(request, Alter(name, asked)))


def _shown(request: Request, found: Any, status: int = 200) -> Response:
    """An experiment, with its leader; or the response of that."""
    if isinstance(found, Response):
        return found
    return answer({**found, "leader": service_of(request).own_url}, status)


async def _line(request: Request, name: str) -> dict[str, Any]:
    """An ExperimentLine, from whichever server leads the experiment."""
    service = service_of(request)
    found: Any = await service.writer.submit(Ask(name, experiment_line))
    if isinstance(found, Elsewhere):
        reply = await service.pass_on(request, found, "GET", f"/v1/experiments/{quote(name)}")
        if reply.status_code != 200:
            raise Unavailable("experiment", f"the leader of {name} does not answer; try again")
        whole = reply.json()
        found = {key: whole[key] for key in ExperimentLine.model_fields}
    line: dict[str, Any] = found
    return line


def _names(service: "Service") -> list[str]:
    """Experiments that are not archived."""
    with service.store.reading() as connection:
        return [name for name, status in statuses(connection).items() if status != "archived"]


def _add_decisions(routes: APIRouter) -> None:
    @routes.post(
        "/v1/experiments/{name}/decisions",
        response_model=DecisionReply | list[DecisionReply],
        dependencies=[scope("decide")],
    )
    async def decide(request: Request, name: Name, asked: Decisions) -> Response:
        many = isinstance(asked, list)
        items = asked if isinstance(asked, list) else [asked]
        own = [one.id for one in items if one.id is not None]
        new = iter(new_ids(len(items) - len(own)))
        decisions = [(one.id or next(new), one.__dict__) for one in items]
        found = await service_of(request).ask(request, Decide(name, decisions, own, many))
        return _single_or_many(found, many)

    @routes.post(
        "/v1/experiments/{name}/rewards",
        response_model=RewardReply | list[RewardReply],
        dependencies=[scope("reward")],
    )
    async def learn(request: Request, name: Name, rewards: Rewards) -> Response:
        many = isinstance(rewards, list)
        items = rewards if isinstance(rewards, list) else [rewards]
        pairs = [(one.decision, one.reward) for one in items]
        found = await service_of(request).ask(request, Learn(name, pairs, many))
        return _single_or_many(found, many)

    @routes.get(
        "/v1/experiments/{name}/decisions",
        response_model=list[DecisionDetail],
        dependencies=[scope("read")],
    )
    async def show_last(
        request: Request, name: Name, last: Annotated[int, Query(ge=1, le=100)] = 20
    ) -> Response:
        service = service_of(request)
        ids = await run_in_threadpool(_last_ids, service, name, last)
        return await _details(request, name, ids)

    @routes.get(
        "/v1/experiments/{name}/decisions/{id}",
        response_model=DecisionDetail,
        dependencies=[scope("read")],
    )
    async def show_one(request: Request, name: Name, id: Name) -> Response:
        return await _details(request, name, [id], single=True)

    @routes.get(
        "/v1/experiments/{name}/log",
        response_model=list[LogEntry],
        responses={200: {"content": {PARQUET: {}}}},
        dependencies=[scope("read")],
    )
    async def show_log(
        request: Request,
        name: Name,
        after: Annotated[int, Query(ge=0, lt=2**63)] = 0,
        format: Literal["json", "parquet"] = "json",
    ) -> Response:
        service = service_of(request)
        if format == "parquet":
            file = await run_in_threadpool(_reading, service, parquet, name, after)
            headers = {"Content-Disposition": f'attachment; filename="{name}.parquet"'}
            return StreamingResponse(_content(file), headers=headers, media_type=PARQUET)
        found = await run_in_threadpool(_reading, service, _log, name, after)
        return answer(found)


def _content(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk


def _single_or_many(found: Any, many: bool) -> Response:
    if isinstance(found, Response):
        return found
    return answer(found if many else found[0])


def _reading(service: "Service", read: Callable[..., Any], name: str, *arguments: Any) -> Any:
    """Read something of an experiment that exists."""
    with service.store.reading() as connection:
        if name not in statuses(connection):
            raise NotFound("experiment", f"no experiment {name}")
        return read(connection, name, *arguments)


def _last_ids(service: "Service", name: str, most: int) -> list[str]:
    found = _reading(service, last_events, name, DECISION, most)
    return [event.decision for event in found]


def _log(connection: Any, name: str, after: int) -> list[dict[str, Any]]:
    return [
        {**event._asdict(), "at": iso(event.at)} for event in read_events(connection, name, after)
    ]


async def _details(
    request: Request, name: str, ids: list[str], *, single: bool = False
) -> Response:
    """DecisionDetails of some decisions."""
    service = service_of(request)
    events = await run_in_threadpool(_reading, service, find_decisions, name, ids)
    if single and DECISION not in events.get(ids[0], {}):
        raise NotFound("decision", f"no decision {ids[0]}")

    def described(experiment: Experiment) -> list[dict[str, Any]]:
        return [decision_detail(experiment, events[id]) for id in ids]

    found = await service.ask(request, Ask(name, described))
    if isinstance(found, Response):
        return found
    return answer(found[0] if single else found)


def _add_operations(routes: APIRouter) -> None:
    @routes.get("/healthz", include_in_schema=False)
    async def healthy() -> Response:
        return PlainTextResponse("ok\n")

    @routes.get("/readyz", include_in_schema=False)
    async def ready(request: Request) -> Response:
        if not service_of(request).writer.is_ready():
            raise Unavailable("service", "the store does not answer")
        return PlainTextResponse("ready\n")

    @routes.get("/metrics", include_in_schema=False, dependencies=[scope("read")])
    async def metrics(request: Request) -> Response:
        return PlainTextResponse(metrics_text(service_of(request).writer))
