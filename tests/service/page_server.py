"""A service without learners: the page, and made-up numbers in the shape of the real ones."""

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from thrifty.service.server.page_files import page_router
from thrifty.service.server.schemas import (
    ArmEstimate,
    Bucket,
    Counts,
    DecisionDetail,
    DecisionReply,
    ExperimentChange,
    ExperimentLine,
    ExperimentReply,
    Exploration,
    Why,
)
from thrifty.service.server.views import ending, reason
from thrifty.service.storage.store import Event

HOSTILE = "<script>document.title='hit'</script><img src=x onerror=\"document.title='hit'\">"
START = 1_760_000_000  # seconds since 1970: a day in October 2025


@dataclass
class Canned:
    """What the server answers; tests change it while it runs."""

    experiments: dict[str, ExperimentReply] = field(default_factory=dict)
    decisions: dict[str, list[DecisionDetail]] = field(default_factory=dict)  # newest first
    token: str | None = None  # that all requests must bring
    refuses_changes: bool = False

    def add(self, experiment, decisions=()):
        self.experiments[experiment.name] = experiment
        self.decisions[experiment.name] = list(decisions)


def utc(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def history(rng, buckets=120, size=250, seconds=3600):
    """Buckets in which exploration gets rarer and the reward grows; some have no reward yet."""
    result = []
    for index in range(buckets):
        explored = int(rng.binomial(size, 0.5 / (1 + index)))
        rewards = 0 if index in (40, 41) else size
        mean = 0.7 - 0.3 / (1 + index / 5) + rng.normal(scale=0.02)
        start = utc(START + seconds * index)
        cost = 0.12 * explored
        result.append(
            Bucket(start=start, decisions=size, explored=explored, cost=cost, rewards=rewards,
                   reward_sum=rewards * mean)
        )  # fmt: skip
    return result


def experiment(name, *, arms, contexts, buckets, status="active", policy="thrifty", **others):
    decisions = sum(bucket.decisions for bucket in buckets)
    rewards = sum(bucket.rewards for bucket in buckets)
    explored = sum(bucket.explored for bucket in buckets)
    cost = sum(bucket.cost for bucket in buckets)
    settings = {
        "noise": 0.4312, "noise_estimated": True, "rewards": "gaussian", "seed": 0, "expire": None,
        "dimension": 3, "created": utc(START), "leader": "server-1", "seq": decisions + rewards + 1,
        **others,
    }  # fmt: skip
    return ExperimentReply(
        name=name,
        status=status,
        policy=policy,
        contexts=contexts,
        counts=Counts(decisions=decisions, rewards=rewards, waiting=decisions - rewards, expired=0),
        mean_reward=sum(bucket.reward_sum for bucket in buckets) / rewards if rewards else None,
        exploration=Exploration(
            rounds=explored,
            share=explored / decisions if decisions else 0.0,
            cost=cost,
            expected=0.1 * cost,
            expected_rounds=decisions or 1000,
        ),
        arms=arms,
        history=buckets,
        **settings,
    )


def arms_of(contexts, names, rng):
    return [
        ArmEstimate(
            context=context,
            name=name,
            mean=rng.normal(0.5, 0.2),
            error=None if name == "new" else 0.2 / (1 + rng.poisson(5)),
            pulls=0 if name == "new" else int(rng.integers(5, 20_000)),
        )
        for context in contexts
        for name in names
    ]


def decision(number, arms, rng):
    """The decision of that number, with a reward unless it is one of the last."""
    chosen = int(rng.integers(len(arms)))
    best = max(arm.mean for arm in arms)
    gap = best - arms[chosen].mean
    reply = DecisionReply(
        id=f"0199a3c2-7b1e-7c40-9d51-{number:012x}", seq=number, context=arms[0].context,
        arm=chosen, name=arms[chosen].name, label="greedy" if gap == 0 else "other",
        probability=0.93 if gap == 0 else 0.0712, gap=gap,
    )  # fmt: skip
    compared = [
        {**arm.model_dump(exclude={"context"}), "gap": best - arm.mean, "chosen": i == chosen}
        for i, arm in enumerate(arms)
    ]
    at = START + 3600 * 119 + number
    pending = number % 5 == 0
    reward = None if pending else round(float(rng.normal(0.6, 0.4)), 4)
    made = Event(number, "decision", int(at * 1e6), reply.id, reply.model_dump())
    ended = Event(number + 1, "reward", int((at + 42) * 1e6), reply.id, {"reward": reward})
    return DecisionDetail(
        decision=reply,
        at=utc(at),
        status="waiting" if pending else "rewarded",
        reward=reward,
        rewarded_at=None if pending else utc(at + 42),
        why=Why(
            text=reason(made.body, compared),
            outcome=ending(made, None if pending else ended),
            arms=compared,
        ),
    )


def rich():
    """Listed and open contexts, many arms, hostile and long names, paused and archived ones."""
    rng = np.random.default_rng(0)
    canned = Canned()
    names = ["banner", "video", "both", HOSTILE, "new"]
    arms = arms_of(["mobile", "desktop"], names, rng)
    shop = experiment(
        "shop front", arms=arms, contexts=["mobile", "desktop"], buckets=history(rng),
        expire={"after_s": 86400, "reward": 0.0},
    )  # fmt: skip
    canned.add(shop, [decision(number, arms[:5], rng) for number in range(60_020, 60_000, -1)])
    coefficients = [
        ArmEstimate(context=None, name=f"price x segment {i}", mean=rng.normal(), error=0.1 * i,
                    pulls=None)
        for i in range(30)
    ]  # fmt: skip
    canned.add(
        experiment("pricing", arms=coefficients, contexts=None, buckets=history(rng, 12, 40),
                   policy="lints:scale=0.5", status="paused", dimension=30)
    )  # fmt: skip
    segments = [f"segment {i}" for i in range(20)]
    canned.add(
        experiment("wide-" + "x" * 60, arms=arms_of(segments, names, rng), contexts=segments,
                   buckets=history(rng, 30, 3, 60), status="archived")
    )  # fmt: skip
    canned.add(experiment(HOSTILE, arms=[], contexts=[HOSTILE], buckets=[], policy=HOSTILE))
    return canned


def make_app(canned):
    """The part of the service's API that the page uses."""
    app = FastAPI()
    app.include_router(page_router())

    def refuse(status, where, message):
        return JSONResponse({"error": {"where": where, "message": message}}, status_code=status)

    @app.middleware("http")
    async def check_token(request: Request, call_next):
        sent = request.headers.get("Authorization")
        if request.url.path.startswith("/v1") and canned.token and sent != f"Bearer {canned.token}":
            return refuse(401, "Authorization", "a token with the scope read expected")
        return await call_next(request)

    @app.get("/v1/experiments")
    def experiments() -> list[ExperimentLine]:
        return [ExperimentLine(**one.model_dump()) for one in canned.experiments.values()]

    @app.get("/v1/experiments/{name:path}/decisions")
    def last_decisions(name: str, last: int) -> list[DecisionDetail]:
        return canned.decisions.get(name, [])[:last]

    @app.get("/v1/experiments/{name:path}/decisions/{key}")
    def one_decision(name: str, key: str) -> DecisionDetail:
        return next(one for one in canned.decisions[name] if one.decision.id == key)

    @app.get("/v1/experiments/{name:path}/log")
    def log(name: str, format: str, after: int = 0) -> Response:
        if format == "json":
            entries = [{"seq": seq, "kind": name} for seq in range(after + 1, min(after + 3, 6))]
            return JSONResponse(entries)
        return Response(f"log of {name} as {format}".encode())

    @app.get("/v1/experiments/{name:path}", response_model=ExperimentReply)
    def one_experiment(name: str):
        if name not in canned.experiments:
            return refuse(404, "experiment", f"there is none with the name {name}")
        return canned.experiments[name]

    @app.patch("/v1/experiments/{name:path}", response_model=ExperimentReply)
    def change(name: str, body: ExperimentChange):
        if canned.refuses_changes:
            return refuse(403, "Authorization", "a token with the scope admin expected")
        changed = canned.experiments[name].model_copy(update={"status": body.status})
        canned.experiments[name] = changed
        return changed

    return app


@contextmanager
def serving(app):
    """The app on a port of its own; gives its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join()
