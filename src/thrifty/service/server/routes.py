"""The routes under /v1, and those for whoever runs the service."""

from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
from sqlalchemy import Connection

from thrifty.errors import InvalidInput
from thrifty.service.ids import new_ids
from thrifty.service.server import schemas
from thrifty.service.server.actions import Alter, Ask, Create, Decide, Explain, Learn
from thrifty.service.server.answers import answer
from thrifty.service.server.experiment import DECISION, check_settings
from thrifty.service.server.exports import parquet
from thrifty.service.server.guard import Guarded, Scope
from thrifty.service.server.listing import Listing
from thrifty.service.server.metrics import metrics_text
from thrifty.service.server.refusals import NotFound, Unavailable
from thrifty.service.server.schemas import DecisionReply, Name, RewardReply
from thrifty.service.server.views import experiment_reply, iso
from thrifty.service.storage.store import (
    find_decisions,
    last_events,
    last_seq,
    read_events,
    statuses,
)

if TYPE_CHECKING:
    from thrifty.service.server.app import Service

CHUNK = 2**20  # bytes of a file that are sent at once
PARQUET = "application/vnd.apache.parquet"
ALL = "/v1/experiments"
NAMED = f"{ALL}/{{name}}"
Decisions = Annotated[schemas.DecisionRequest | schemas.DecisionBatch, Body()]
Rewards = Annotated[schemas.RewardRequest | schemas.RewardBatch, Body()]


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


def _needs(name: str, reply: Any, **others: Any) -> dict[str, Any]:
    """Options of a route: the scope that it needs, and the schema of its replies."""
    return {"dependencies": [Depends(Scope(name))], "response_model": reply, **others}


def _add_experiments(routes: APIRouter) -> None:
    @routes.post(ALL, **_needs("admin", schemas.ExperimentReply, status_code=201))
    async def create(request: Request, new: schemas.NewExperiment) -> Response:
        settings = new.model_dump(exclude={"name"}, exclude_none=True)
        await run_in_threadpool(check_settings, settings)  # compiles, which takes its time
        shown = await service_of(request).writer.submit(Create(new.name, settings))
        return _with_leader(request, shown, 201)

    @routes.get(ALL, **_needs("read", list[schemas.ExperimentLine]))
    async def list_all(request: Request) -> Response:
        lines = await Listing(request, service_of(request)).lines()
        return await run_in_threadpool(answer, lines)

    @routes.get(NAMED, **_needs("read", schemas.ExperimentReply))
    async def show(request: Request, name: Name) -> Response:
        shown = await service_of(request).writer.submit(Ask(name, experiment_reply))
        return await run_in_threadpool(_with_leader, request, shown)

    @routes.patch(NAMED, **_needs("admin", schemas.ExperimentReply))
    async def change(request: Request, name: Name, change: schemas.ExperimentChange) -> Response:
        asked = change.model_dump(exclude_none=True)
        if "expire" in change.model_fields_set:
            asked.setdefault("expire", None)  # null: decisions are given up no longer
        if not asked:
            raise InvalidInput("body", "must have a change")
        return _with_leader(request, await service_of(request).writer.submit(Alter(name, asked)))


def _with_leader(request: Request, shown: dict[str, Any], status: int = 200) -> Response:
    """An experiment that is led here."""
    return answer({**shown, "leader": service_of(request).own_url}, status)


def _add_decisions(routes: APIRouter) -> None:
    @routes.post(f"{NAMED}/decisions", **_needs("decide", DecisionReply | list[DecisionReply]))
    async def decide(request: Request, name: Name, asked: Decisions) -> Response:
        items, many = (asked, True) if isinstance(asked, list) else ([asked], False)
        brought = [item.id for item in items if item.id is not None]
        fresh = iter(new_ids(len(items) - len(brought)))
        decisions = [(item.id or next(fresh), item.__dict__) for item in items]
        action = Decide(name, decisions, brought, many)
        replies = await service_of(request).writer.submit(action)
        return answer(replies if many else replies[0])

    @routes.post(f"{NAMED}/rewards", **_needs("reward", RewardReply | list[RewardReply]))
    async def learn(request: Request, name: Name, rewards: Rewards) -> Response:
        items, many = (rewards, True) if isinstance(rewards, list) else ([rewards], False)
        pairs = [(item.decision, item.reward) for item in items]
        replies = await service_of(request).writer.submit(Learn(name, pairs, many))
        return answer(replies if many else replies[0])

    @routes.get(f"{NAMED}/decisions", **_needs("read", list[schemas.DecisionDetail]))
    async def show_last(
        request: Request, name: Name, last: Annotated[int, Query(ge=1, le=100)] = 20
    ) -> Response:
        events = await _read(request, last_events, name, DECISION, last)
        details = await _details(request, name, [event.decision for event in events])
        return await run_in_threadpool(answer, details)

    @routes.get(f"{NAMED}/decisions/{{id}}", **_needs("read", schemas.DecisionDetail))
    async def show_decision(request: Request, name: Name, id: Name) -> Response:
        details = await _details(request, name, [id])
        if not details:
            raise NotFound("decision", f"no decision {id}")
        return answer(details[0])

    as_parquet: dict[str, Any] = {"responses": {200: {"content": {PARQUET: {}}}}}

    @routes.get(f"{NAMED}/log", **_needs("read", list[schemas.LogEntry], **as_parquet))
    async def show_log(
        request: Request,
        name: Name,
        after: Annotated[int, Query(ge=0, lt=2**63)] = 0,
        format: Literal["json", "parquet"] = "json",
    ) -> Response:
        if format == "parquet":
            file = await _read(request, parquet, name, after)
            headers = {"Content-Disposition": f'attachment; filename="{name}.parquet"'}
            return StreamingResponse(_content(file), headers=headers, media_type=PARQUET)
        shown: Response = await _read(request, _entries, name, after)
        return shown


def _entries(connection: Connection, name: str, after: int) -> Response:
    """LogEntries: a page of them, as JSON; headers say if there are more."""
    events = read_events(connection, name, after)
    response = answer([{**event._asdict(), "at": iso(event.at)} for event in events])
    seq, last = events[-1].seq if events else after, last_seq(connection, name)
    complete = seq >= last
    response.headers["Thrifty-Complete"] = "yes" if complete else f"no, until {seq} of {last}"
    if not complete:
        response.headers["Link"] = f'<?after={seq}&format=json>; rel="next"'
    return response


def _content(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk


async def _read(request: Request, read: Callable[..., Any], name: str, *arguments: Any) -> Any:
    """Read something of an experiment that exists."""
    service = service_of(request)

    def reading() -> Any:
        with service.store.reading() as connection:
            service.writer.memory.check_file()
            if name not in statuses(connection):
                raise NotFound("experiment", f"no experiment {name}")
            return read(connection, name, *arguments)

    return await run_in_threadpool(reading)


async def _details(request: Request, name: str, ids: list[str]) -> list[dict[str, Any]]:
    """DecisionDetails of those decisions that there are."""
    events = await _read(request, find_decisions, name, ids)
    there = [events[id] for id in ids if DECISION in events.get(id, {})]
    if not there:
        return []
    details: list[dict[str, Any]] = await service_of(request).writer.submit(Explain(name, there))
    return details


def _add_operations(routes: APIRouter) -> None:
    @routes.get("/healthz", include_in_schema=False)
    async def healthy() -> Response:
        return PlainTextResponse("ok\n")

    @routes.get("/readyz", include_in_schema=False)
    async def ready(request: Request) -> Response:
        if not service_of(request).writer.is_ready():
            raise Unavailable("service", "the store does not answer")
        return PlainTextResponse("ready\n")

    @routes.get("/metrics", **_needs("read", None, include_in_schema=False))
    async def metrics(request: Request) -> Response:
        return PlainTextResponse(metrics_text(service_of(request).writer))
