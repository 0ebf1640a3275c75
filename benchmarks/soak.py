"""A million decisions and their rewards through the service: memory and latency, tenth by tenth."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

from benchmarks.service import NEW

TITLE = "A million decisions through the service"
DECISIONS, BATCH = 1_000_000, 100


def measure() -> str:
    """One client, in batches; rewards come a hundred batches later."""
    lines = [
        "| decisions | resident, MB | median of a batch, ms | p99, ms |",
        "|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store.db")
        command = [sys.executable, "-m", "thrifty", "serve", "--store", store, "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            address = process.stderr.readline().partition(" at ")[2].split()[0]
            try:
                lines += _soak(address, process.pid)
            finally:
                process.terminate()
        audited = subprocess.run(
            [sys.executable, "-m", "thrifty", "audit", "--store", store],
            capture_output=True,
            text=True,
            check=True,
        )
    return "\n".join([*lines, "", f"Audit afterwards: {audited.stdout.strip()}."])


def _soak(address: str, pid: int) -> list[str]:
    rng = np.random.default_rng(0)
    asked = json.dumps([{"context": "c1"}] * BATCH)
    headers = {"content-type": "application/json"}
    lines, late = [], []
    with httpx.Client(base_url=address, timeout=120) as client:
        _wait(client)
        client.post("/v1/experiments", json=NEW).raise_for_status()
        for tenth in range(10):
            times = []
            for _ in range(DECISIONS // BATCH // 10):
                begun = time.perf_counter()
                made = client.post(
                    "/v1/experiments/bench/decisions", content=asked, headers=headers
                )
                times.append(time.perf_counter() - begun)
                made.raise_for_status()
                late.append([one["id"] for one in made.json()])
                if len(late) > 100:
                    _reward(client, late.pop(0), rng)
            middle, slow = np.quantile(times, (0.5, 0.99)) * 1e3
            done = (tenth + 1) * DECISIONS // 10
            lines.append(f"| {done:,} | {_resident(pid):.0f} | {middle:.1f} | {slow:.1f} |")
        for ids in late:
            _reward(client, ids, rng)
    return lines


def _reward(client: httpx.Client, ids: list[str], rng: np.random.Generator) -> None:
    rewards = [
        {"decision": id, "reward": reward}
        for id, reward in zip(ids, rng.normal(size=len(ids)).tolist(), strict=True)
    ]
    client.post("/v1/experiments/bench/rewards", json=rewards).raise_for_status()


def _wait(client: httpx.Client) -> None:
    for _ in range(200):
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.1)


def _resident(pid: int) -> float:
    """Megabytes of memory that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1e3
