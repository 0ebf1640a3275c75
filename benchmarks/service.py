"""Durable decisions per second over HTTP, against a route that only echoes the same JSON.

32 clients, each of which sends its next request when it has the answer to the last.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import httpx
import numpy as np
from tests.service.postgres import Postgres

TITLE = "The service"
CLIENTS, SECONDS, REPEATS, BATCH = 32, 3.0, 3, 100
NEW = {
    "name": "bench",
    "contexts": [
        {"name": f"c{m}", "arms": np.random.default_rng(m).normal(size=(5, 4)).tolist()}
        for m in range(3)
    ],
}
ONE = {"context": "c1"}


def measure() -> str:
    """Requests per second, side by side, and how long the slowest took."""
    lines = [
        "| store | what | per second | of echo | median, ms | p99, ms |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, store in (("SQLite", _file()), ("PostgreSQL", _postgres())):
        with store as url, _server(url) as address:
            httpx.post(f"{address}/v1/experiments", json=NEW, timeout=120).raise_for_status()
            lines += _compare(name, address)
    lines += [
        "",
        f"{CLIENTS} clients in one process, {SECONDS:g} s of each kind in turn, {REPEATS} times; "
        f"medians. A batch has {BATCH} decisions, and `per second` counts decisions.",
    ]
    return "\n".join(lines)


def _compare(store: str, address: str) -> list[str]:
    path = "/v1/experiments/bench/decisions"
    kinds = {
        "echo of one decision": ("/echo", ONE, 1),
        "decisions, one by one": (path, ONE, 1),
        f"echo of {BATCH} decisions": ("/echo", [ONE] * BATCH, BATCH),
        f"decisions, in batches of {BATCH}": (path, [ONE] * BATCH, BATCH),
    }
    runs: dict[str, list[tuple[float, float, float]]] = {kind: [] for kind in kinds}
    for _ in range(REPEATS):
        for kind, (where, body, size) in kinds.items():
            times = asyncio.run(_load(address, where, json.dumps(body).encode()))
            middle, late = np.quantile(times, (0.5, 0.99)) * 1e3
            runs[kind].append((len(times) * size / SECONDS, float(middle), float(late)))
    lines, echo = [], 0.0
    for kind, found in runs.items():
        rate, middle, late = (median(column) for column in zip(*found, strict=True))
        echo = rate if kind.startswith("echo") else echo
        share = "" if kind.startswith("echo") else f"**{rate / echo:.2f}**"
        lines.append(f"| {store} | {kind} | {rate:,.0f} | {share} | {middle:.1f} | {late:.1f} |")
    return lines


async def _load(address: str, path: str, body: bytes) -> np.ndarray:
    """Seconds of each request of all clients, within SECONDS."""
    host, _, port = address.removeprefix("http://").partition(":")
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    until = time.perf_counter() + SECONDS
    found = await asyncio.gather(
        *(_client(host, int(port), request, until) for _ in range(CLIENTS))
    )
    return np.concatenate(found)


async def _client(host: str, port: int, request: bytes, until: float) -> list[float]:
    reader, writer = await asyncio.open_connection(host, port, limit=2**22)
    times, begun = [], time.perf_counter()
    while begun < until:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        await reader.readexactly(length)
        ended = time.perf_counter()
        times.append(ended - begun)
        begun = ended
    writer.close()
    return times


@contextmanager
def _file() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "store.db")


@contextmanager
def _postgres() -> Iterator[str]:
    with Postgres() as server:
        yield server.make_database("bench")


@contextmanager
def _server(store: str) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.echo", store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        for _ in range(200):
            try:
                if httpx.get(f"{address}/readyz").status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.1)
        try:
            yield address
        finally:
            process.terminate()
