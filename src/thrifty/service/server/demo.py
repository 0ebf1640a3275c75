"""Visitors of a demonstration: two experiments, and people who come to them by themselves."""

import random
import time
from contextlib import suppress
from threading import Thread
from typing import Any

import httpx

ARMS = ["banner", "video", "list"]
SHOP: dict[str, Any] = {
    "name": "demo-shop",
    "rewards": "bernoulli",
    "contexts": [
        {"name": "phone", "arms": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], "arm_names": ARMS},
        {"name": "desktop", "arms": [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]], "arm_names": ARMS},
    ],
    "expire": {"after_s": 3, "reward": 0.0},
}
CLICKS = (0.12, 0.3, 0.2, 0.15)  # theta of the shop
PRICES: dict[str, Any] = {"name": "demo-prices", "dimension": 3, "policy": "thrifty"}
SILENT = 0.1  # share of visitors without a reward: their decisions expire
STARTING = 6  # attempts to connect while the server starts, for about 15 seconds
PAUSE = 0.05  # seconds between visitors


def start_visitors(url: str) -> None:
    """Play visitors in a thread, until the process ends."""
    Thread(target=_visit, args=(url,), name="visitors", daemon=True).start()


def _visit(url: str) -> None:
    rng, patient = random.Random(0), httpx.HTTPTransport(retries=STARTING)
    with (
        suppress(httpx.HTTPError),  # the server has ended
        httpx.Client(base_url=url, timeout=60, transport=patient) as client,
    ):
        for experiment in (SHOP, PRICES):
            client.post("/v1/experiments", json=experiment)  # 409: it is there already
        while True:
            _visit_shop(client, rng)
            _ask_for_price(client, rng)
            time.sleep(PAUSE)


def _visit_shop(client: httpx.Client, rng: random.Random) -> None:
    """A visitor sees one of three, and clicks or not; one in ten leaves without a word."""
    number = rng.randrange(2)
    context = SHOP["contexts"][number]
    made = client.post("/v1/experiments/demo-shop/decisions", json={"context": context["name"]})
    if made.status_code == 200:
        decision = made.json()
        vector = context["arms"][decision["arm"]]
        mean = sum(x * theta for x, theta in zip(vector, CLICKS, strict=True))
        clicks = rng.random() < mean
        if rng.random() > SILENT:
            reward = {"decision": decision["id"], "reward": float(clicks)}
            client.post("/v1/experiments/demo-shop/rewards", json=reward)


def _ask_for_price(client: httpx.Client, rng: random.Random) -> None:
    """A customer is shown one of four prices; the reward is the profit."""
    wealth = rng.uniform(0.5, 1.5)
    prices = [0.2, 0.5, 0.8, 1.1]
    features = [[1.0, price, price * price / wealth] for price in prices]
    asked = {"features": features, "names": [f"{price:.2f}" for price in prices]}
    made = client.post("/v1/experiments/demo-prices/decisions", json=asked)
    if made.status_code == 200:
        decision = made.json()
        price = prices[decision["arm"]]
        profit = price * max(0.0, 1 - price / (1.6 * wealth)) + 0.1 * rng.gauss(0, 1)
        reward = {"decision": decision["id"], "reward": profit}
        client.post("/v1/experiments/demo-prices/rewards", json=reward)
