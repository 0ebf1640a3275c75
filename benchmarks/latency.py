"""Latency of single decisions of the learner: the slowest in a thousand against the median."""

import time

import numpy as np

import thrifty as th

TITLE = "Latency of decisions"
POLICIES = ("thrifty", "lints", "linucb:width=alpha")
SIZES = {"K = 10, d = 20": (1, 10, 20), "1,000 contexts of 6 arms, d = 10": (1000, 6, 10)}
DECISIONS = 50_000


def measure() -> str:
    """Quantiles of the time of `choose`, with rewards learned in between."""
    lines = [
        "| policy | on | median, µs | p99, µs | p99.9, µs | p99.9 / median |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for where, size in SIZES.items():
        for policy in POLICIES:
            median, late, latest = np.quantile(_times(policy, *size), (0.5, 0.99, 0.999)) * 1e6
            lines.append(
                f"| {policy} | {where} | {median:.1f} | {late:.1f} | {latest:.1f} | "
                f"**{latest / median:.1f}** |"
            )
    lines += ["", f"{DECISIONS:,} decisions each, on arms uniform on the sphere."]
    return "\n".join(lines)


def _times(policy: str, contexts: int, arms: int, d: int) -> np.ndarray:
    """(DECISIONS,) seconds of each decision."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(contexts * arms + 1, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    theta, sets = rows[0], th.ActionSets(np.split(rows[1:], contexts))
    learner = th.policy(policy).learner(sets)
    learner.learn(learner.choose(0), 0.0)  # compiled before the clock runs
    drawn = rng.integers(contexts, size=DECISIONS).tolist()
    noise, times = rng.normal(size=DECISIONS).tolist(), np.empty(DECISIONS)
    for i in range(DECISIONS):
        begun = time.perf_counter()
        decision = learner.choose(drawn[i])
        times[i] = time.perf_counter() - begun
        row = drawn[i] * arms + decision.arm
        learner.learn(decision, float(rows[1 + row] @ theta) + noise[i])
    return times
