"""Open contexts: a learner against a NumPy loop as people write it, whole and in blocks; its
slowest decisions; decisions of others, at once and one by one; a million decisions that wait.
"""

import math
import os
import subprocess
import sys
import time
from statistics import median

import numpy as np

import thrifty as th

TITLE = "Open contexts"
POLICIES = ("linucb:width=alpha", "lints", "thrifty")
ROUNDS, REPEATS = 20_000, 5
WAITING = 1_000_000


class NumPyThompson:
    """Thompson sampling as one writes it: an incremental inverse, its Cholesky factor for draws."""

    def __init__(self, d: int) -> None:
        self.inverse, self.b, self.rng = np.eye(d), np.zeros(d), np.random.default_rng(0)

    def choose(self, rows: np.ndarray) -> int:
        root = np.linalg.cholesky(self.inverse)
        theta = self.inverse @ self.b + root @ self.rng.standard_normal(len(self.b))
        return int(np.argmax(rows @ theta))

    def learn(self, x: np.ndarray, reward: float) -> None:
        u = self.inverse @ x
        self.inverse -= np.outer(u, u) / (1 + x @ u)
        self.b += reward * x


class NumPyLinUCB(NumPyThompson):
    """LinUCB, vectorised over arms."""

    def choose(self, rows: np.ndarray) -> int:
        norms = ((rows @ self.inverse) * rows).sum(axis=1)
        return int(np.argmax(rows @ (self.inverse @ self.b) + np.sqrt(norms)))


def measure() -> str:
    """Medians of several runs, side by side."""
    return "\n\n".join([_against_numpy(), _latency(), _described(), _past(), _waiting()])


def _against_numpy() -> str:
    lines = [
        "| choose + learn | policy | µs | NumPy's LinUCB, µs | ratio | NumPy's LinTS, µs | ratio |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for arms, width, blocks in ((10, 20, False), (26, 17, True)):
        where = f"K = {arms}, d = {arms * width if blocks else width}"
        for policy in POLICIES:
            rows = [_side_by_side(policy, arms, width, blocks) for _ in range(REPEATS)]
            mine, ucb, sampling = (median(column) for column in zip(*rows, strict=True))
            to_ucb, to_sampling = (median(row[i] / row[0] for row in rows) for i in (1, 2))
            lines.append(
                f"| {where}{', in blocks' if blocks else ''} | {policy} | {mine:.1f} | {ucb:.1f} | "
                f"**{to_ucb:.1f}** | {sampling:.1f} | **{to_sampling:.1f}** |"
            )
    return "\n".join(lines)


def _side_by_side(policy: str, arms: int, width: int, blocks: bool) -> tuple[float, ...]:
    """Microseconds per round of the learner and of both loops, which know no blocks."""
    rounds = ROUNDS // 10 if blocks else ROUNDS
    few = rounds // 10 if blocks else rounds // 2  # for the slower loops
    rng = np.random.default_rng(0)
    theta = rng.normal(size=arms * width if blocks else width)
    if blocks:
        given = rng.normal(size=(rounds, width)) / math.sqrt(width)
        offers = np.array([np.kron(np.eye(arms), context) for context in given[:few]])
        means = given @ theta.reshape(arms, width).T
        names, columns = ([str(i) for i in range(count)] for count in (arms, width))
        features = th.features.disjoint(names, columns, bias=False)
        learner = th.policy(policy).learner(features=features)
    else:
        given = rng.normal(size=(rounds, arms, width)) / math.sqrt(width)
        offers, means = given[:few], given @ theta
        learner = th.policy(policy).learner(dimension=width)
    rewards = (means + rng.normal(size=(rounds, 1))).tolist()
    loops = (kind(len(theta)) for kind in (NumPyLinUCB, NumPyThompson))
    mine = _learner_microseconds(learner, given, rewards)
    return mine, *(_loop_microseconds(loop, offers, rewards) for loop in loops)


def _learner_microseconds(
    learner: th.Learner, given: np.ndarray, rewards: list[list[float]]
) -> float:
    learner.learn(learner.choose(given[0]), 0.0)  # compiled before the clock runs
    begun = time.perf_counter()
    for features, possible in zip(given, rewards, strict=True):
        decision = learner.choose(features)
        learner.learn(decision, possible[decision.arm])
    return (time.perf_counter() - begun) / len(given) * 1e6


def _loop_microseconds(
    loop: NumPyThompson, offers: np.ndarray, rewards: list[list[float]]
) -> float:
    begun = time.perf_counter()
    for rows, possible in zip(offers, rewards, strict=False):
        arm = loop.choose(rows)
        loop.learn(rows[arm], possible[arm])
    return (time.perf_counter() - begun) / len(offers) * 1e6


def _latency() -> str:
    lines = [
        "| choose at K = 10, d = 20 | median, µs | p99, µs | p99.9, µs | p99.9 / median |",
        "|---|---:|---:|---:|---:|",
    ]
    rng = np.random.default_rng(0)
    offers, theta = rng.normal(size=(50_000, 10, 20)) / math.sqrt(20), rng.normal(size=20)
    for policy in POLICIES:
        learner = th.policy(policy).learner(dimension=20)
        learner.learn(learner.choose(offers[0]), 0.0)
        times = np.empty(len(offers))
        for i, rows in enumerate(offers):
            begun = time.perf_counter()
            decision = learner.choose(rows)
            times[i] = time.perf_counter() - begun
            learner.learn(decision, float(rows[decision.arm] @ theta + rng.normal()))
        middle, late, latest = np.quantile(times, (0.5, 0.99, 0.999)) * 1e6
        lines.append(
            f"| {policy} | {middle:.1f} | {late:.1f} | {latest:.1f} | **{latest / middle:.1f}** |"
        )
    return "\n".join(lines)


def _described() -> str:
    """Contexts as dicts of two numbers, a category and a bool, by a map with a block per arm."""
    lines = [
        "| a dict of 4 columns, K = 9, d = 162 | choose, µs | choose + learn, µs | p99.9, µs "
        "| p99.9 / median |",
        "|---|---:|---:|---:|---:|",
    ]
    levels = [f"level {i}" for i in range(14)]
    scale = {"kind": "number", "mean": 0, "deviation": 1}
    columns = {"age": scale, "income": scale, "country": levels, "member": "bool"}
    features = th.features.disjoint([str(i) for i in range(9)], columns)
    assert features.dimension == 162
    rng = np.random.default_rng(0)
    contexts = [
        dict(zip(columns, (*numbers, levels[place], bool(member)), strict=True))
        for numbers, place, member in zip(
            rng.normal(size=(50_000, 2)).tolist(),
            rng.integers(14, size=50_000).tolist(),
            rng.random(50_000) < 0.5,
            strict=True,
        )
    ]
    for policy in POLICIES:
        learner = th.policy(policy).learner(features=features)
        learner.learn(learner.choose(contexts[0]), 0.0)
        times = np.empty((len(contexts), 2))
        for i, context in enumerate(contexts):
            begun = time.perf_counter()
            decision = learner.choose(context)
            chosen = time.perf_counter()
            learner.learn(decision, context["age"] * (decision.arm - 4) / 8)
            times[i] = chosen - begun, time.perf_counter() - begun
        choice, middle = np.median(times, axis=0) * 1e6
        latest = np.quantile(times[:, 1], 0.999) * 1e6
        lines.append(
            f"| {policy} | {choice:.1f} | {middle:.1f} | {latest:.1f} | **{latest / middle:.1f}** |"
        )
    return "\n".join(lines)


def _past() -> str:
    """`observe` of many rows in one call, against one call for each, and a loop in NumPy."""
    lines = [
        "| past decisions, d = 20 | at once, µs each | one by one, µs each | ratio "
        "| NumPy loop, µs each | ratio |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    rng = np.random.default_rng(0)
    rows, rewards = rng.normal(size=(200_000, 20)), rng.normal(size=200_000)
    few = 20_000
    for policy in POLICIES:
        runs = []
        for _ in range(REPEATS):
            many, single = (th.policy(policy).learner(dimension=20) for _ in range(2))
            many.observe(rows[:1], reward=rewards[:1])
            single.observe(rows[:1], reward=rewards[:1])
            start = time.perf_counter()
            many.observe(rows, reward=rewards)
            middle = time.perf_counter()
            for i in range(few):
                single.observe(rows[i : i + 1], reward=rewards[i : i + 1])
            end = time.perf_counter()
            loop = NumPyThompson(20)
            for i in range(few):
                loop.learn(rows[i], float(rewards[i]))
            last = time.perf_counter()
            runs.append(((middle - start) / len(rows), (end - middle) / few, (last - end) / few))
        at_once, alone, loops = (median(column) * 1e6 for column in zip(*runs, strict=True))
        lines.append(
            f"| {policy} | {at_once:.2f} | {alone:.1f} | **{alone / at_once:.0f}** | {loops:.1f} "
            f"| **{loops / at_once:.0f}** |"
        )
    return "\n".join(lines)


def _waiting() -> str:
    """A million decisions that wait, in a process of their own: memory, saving, loading."""
    code = f"from benchmarks.open_contexts import keep_waiting; keep_waiting({WAITING})"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ
    )
    head = f"| {WAITING:,} decisions wait | MB | bytes each | save, s | MB | load, s | same |"
    return "\n".join([head, "|---|---:|---:|---:|---:|---:|---|", done.stdout.strip()])


def keep_waiting(count: int) -> None:
    """Print a line of the table."""
    rng = np.random.default_rng(0)
    learner = th.Thrifty().learner(dimension=20)
    offers = rng.normal(size=(1000, 5, 20))
    for rows in offers:
        learner.learn(learner.choose(rows), float(rng.normal()))
    before = _resident()
    for i in range(count):
        learner.choose(offers[i % 1000])
    used = _resident() - before
    start = time.perf_counter()
    state = learner.to_bytes()
    middle = time.perf_counter()
    loaded = th.Learner.load(state)
    end = time.perf_counter()
    same = loaded.pending.keys() == learner.pending.keys() and all(
        loaded.choose(rows) == learner.choose(rows) for rows in offers
    )
    print(
        f"| thrifty | {used / 1e6:.0f} | {used / count:.0f} | {middle - start:.0f} | "
        f"{len(state) / 1e6:.0f} | {end - middle:.0f} | {'yes' if same else 'no'} |"
    )


def _resident() -> int:
    """Bytes of memory that this process holds."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
