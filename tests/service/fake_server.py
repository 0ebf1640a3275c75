"""A small server with the contract of the service, which can be told to fail.

It plays arms in turn and keeps everything in memory. Faults are used up one per request:

    ("answer", status, retry_after)   refuse, without doing anything
    ("drop",)                         carry the request out, then break the connection
    ("slow", seconds)                 carry the request out, then answer late

`speaking` serves whatever a function writes, for answers that no server of HTTP would make.
"""

import asyncio
import json
import socket
from collections import deque
from contextlib import contextmanager, suppress
from threading import Event, Thread

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse

from thrifty.service.server.guard import check
from thrifty.service.server.refusals import Conflict, NotFound, Refusal
from thrifty.service.server.schemas import (
    DecisionRequest,
    ExperimentChange,
    NewExperiment,
    RewardRequest,
)

AT = "2026-01-02T03:04:05.000006Z"
PAGE = 3  # entries of the log in an answer
NOTHING = {  # what is counted of an experiment: these tests do not look at it
    "counts": {"decisions": 0, "rewards": 0, "waiting": 0, "expired": 0},
    "mean_reward": None,
    "exploration": {"rounds": 0, "share": 0, "cost": 0, "expected": 0, "expected_rounds": 100},
}


class FakeService:
    """Experiments, what was asked, and what is to fail."""

    def __init__(self):
        self.experiments, self.log, self.bodies = {}, [], {}
        self.faults, self.requests, self.tokens = deque(), [], None

    def add(self, kind, decision, body):
        self.log.append(
            {"seq": len(self.log) + 1, "kind": kind, "at": AT, "decision": decision, "body": body}
        )
        return len(self.log)

    def experiment(self, name):
        if name not in self.experiments:
            raise NotFound("experiment", f"unknown experiment {name!r}")
        return self.experiments[name]

    def decide(self, name, asked):
        own = self.experiment(name)
        if asked.id in self.bodies:
            body, reply = self.bodies[asked.id]
            if body != asked:
                raise Conflict("id", "another decision has this id")
            return reply
        if own["status"] != "active":
            raise Conflict("experiment", f"active expected, got {own['status']}")
        arms = asked.names or [str(i) for i in range(len(asked.features or "ab"))]
        arm = len(self.bodies) % len(arms)
        reply = {"context": asked.context, "arm": arm, "name": arms[arm], "label": "turn"}
        reply |= {"id": asked.id, "probability": 1.0, "gap": 0.5}
        reply["seq"] = self.add("decision", asked.id, {"arm": arm})
        self.bodies[asked.id] = (asked, reply)
        return reply

    def reward(self, name, given):
        self.experiment(name)
        if given.decision not in self.bodies:
            raise NotFound("decision", f"unknown decision {given.decision!r}")
        for entry in self.log:
            if (entry["kind"], entry["decision"]) == ("reward", given.decision):
                if entry["body"]["reward"] != given.reward:
                    raise Conflict("reward", "this decision has another reward")
                return {"decision": given.decision, "seq": entry["seq"], "status": "already"}
        seq = self.add("reward", given.decision, {"reward": given.reward})
        return {"decision": given.decision, "seq": seq, "status": "learned"}

    def explain(self, name, id):
        self.experiment(name)
        known = {"name": "0", "mean": 0.25, "error": None, "gap": 0.0, "pulls": 3, "chosen": True}
        why = {"text": "0 (turn)\n  0: unknown", "arms": [known]}
        detail = {"at": AT, "status": "waiting", "reward": None, "rewarded_at": None}
        return {"decision": self.bodies[id][1], "why": why, **detail}


def make_app(service):
    """The app; each request is answered by one of the functions below, or fails as told."""
    app = FastAPI()
    app.add_exception_handler(Refusal, _refused)
    base = "/v1/experiments"

    def authorize(request, scope):
        check(service.tokens, request.headers.get("authorization"), scope)

    @app.post(base, status_code=201)
    async def create(request: Request, new: NewExperiment):
        authorize(request, "admin")
        if new.name in service.experiments:
            raise Conflict("name", "a name not used before expected")
        service.experiments[new.name] = new.model_dump() | {"status": "active", **NOTHING}
        return service.experiments[new.name]

    @app.get(base)
    async def listing():
        return list(service.experiments.values())

    @app.get(base + "/{name}")
    async def info(name: str):
        return service.experiment(name)

    @app.patch(base + "/{name}")
    async def change(name: str, change: ExperimentChange):
        service.experiment(name).update(change.model_dump(exclude_none=True))
        return service.experiment(name)

    @app.post(base + "/{name}/decisions")
    async def decide(request: Request, name: str, asked: DecisionRequest | list[DecisionRequest]):
        authorize(request, "decide")
        if isinstance(asked, list):
            return [service.decide(name, one) for one in asked]
        return service.decide(name, asked)

    @app.post(base + "/{name}/rewards")
    async def reward(name: str, given: RewardRequest | list[RewardRequest]):
        if isinstance(given, list):
            return [service.reward(name, one) for one in given]
        return service.reward(name, given)

    @app.get(base + "/{name}/decisions/{id}")
    async def explain(name: str, id: str):
        return service.explain(name, id)

    @app.get(base + "/{name}/log")
    async def log(name: str, after: int, format: str):
        service.experiment(name)
        return service.log[after : after + PAGE]

    @app.get("/v1/nonsense/v1/experiments")
    async def nonsense():
        return PlainTextResponse("a page of something else")

    return _Failing(app, service)


async def _refused(request, refusal):
    message = str(refusal).removeprefix(f"{refusal.where}: ")
    error = {"where": refusal.where, "message": message}
    return JSONResponse({"error": error}, refusal.status)


class _Failing:
    """Counts requests and fails as told, around an app."""

    def __init__(self, app, service):
        self.app, self.service = app, service

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self.service.requests.append((scope["method"], scope["raw_path"].decode()))
        fault, *how = self.service.faults.popleft() if self.service.faults else ("none",)
        if fault == "answer":
            await self._answer(send, *how)
            return
        answer = []
        await self.app(scope, receive, lambda message: _keep(answer, message))
        if fault == "drop":  # an answer that ends too early: uvicorn closes the connection
            head = [(b"content-length", b"100")]
            await send({"type": "http.response.start", "status": 200, "headers": head})
            return
        if fault == "slow":
            await asyncio.sleep(*how)
        for message in answer:
            await send(message)

    async def _answer(self, send, status, retry_after=None):
        head = [] if retry_after is None else [(b"retry-after", str(retry_after).encode())]
        error = {"where": "service", "message": f"told to answer {status}"}
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": json.dumps({"error": error}).encode()})


async def _keep(answer, message):
    answer.append(message)


@contextmanager
def serving(app):
    """The address of an app that uvicorn serves in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="critical", ws="none", lifespan="off")
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


class Talk:
    """A connection to a server that says what a test tells it to.

    Attributes
    ----------
    connection : the socket
    over : set when the test has ended
    """

    def __init__(self, connection, file, over):
        self.connection, self._read, self.over = connection, file, over

    def request(self):
        """The next request: its first line, its headers by name in lower case, and its body."""
        line, headers = self._read.readline().decode(), {}
        while (header := self._read.readline().decode().strip()) != "":
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        return line.strip(), headers, self._read.read(int(headers.get("content-length", 0)))

    def send(self, *parts, pause=0.0):
        """Send parts, and wait after each; as long as the test runs."""
        for part in parts:
            self.connection.sendall(part)
            if self.over.wait(pause):
                return

    def answer(self, body=b"[]", status="200 OK", **headers):
        """Send an answer; names of headers have underscores."""
        lines = {"Content-Type": "application/json", "Content-Length": len(body), **headers}
        head = "".join(f"{name.replace('_', '-')}: {lines[name]}\r\n" for name in lines)
        self.send(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)


@contextmanager
def speaking(talk, host="127.0.0.1"):
    """The address of a server that calls `talk` with each connection in a thread, and closes it."""
    family, named = (socket.AF_INET6, f"[{host}]") if ":" in host else (socket.AF_INET, host)
    listener, over, threads = socket.create_server((host, 0), family=family), Event(), []
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)  # who does not read is felt
    listener.settimeout(0.05)  # to see that the test is over

    def converse(connection):
        connection.settimeout(30)
        with connection, connection.makefile("rb") as file, suppress(OSError):
            talk(Talk(connection, file, over))  # whoever has asked may be gone

    def accept():
        while not over.is_set():
            with suppress(TimeoutError):
                threads.append(Thread(target=converse, args=listener.accept()[:1]))
                threads[-1].start()

    accepting = Thread(target=accept)
    accepting.start()
    try:
        yield f"http://{named}:{listener.getsockname()[1]}"
    finally:
        over.set()
        accepting.join()
        for thread in threads:
            thread.join()
        listener.close()
