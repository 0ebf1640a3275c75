"""Rounds per second: LinUCB against a NumPy loop as people write it, OAM and thrifty against
LinUCB, one decision at a time, two threads; in one process.
"""

import math
import time
from statistics import median

import numpy as np

import thrifty as th
from thrifty.simulation.replication import simulate

TITLE = "Rounds per second"
SIZES = [(3, 2), (20, 10), (100, 20)]
REPEATS = 5


def random_instance(arms: int, d: int, seed: int = 0) -> th.Instance:
    """Arms uniform on the sphere, theta too; the paper's fixed set for three arms in the plane."""
    if (arms, d) == (3, 2):
        return th.instance("fixed-u0.1")
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(arms + 1, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return th.Instance(th.ActionSets([rows[1:]]), theta=rows[0], name=f"random ({arms}, {d})")


class NumPyLinUCB:
    """LinUCB as one writes it: vectorised over arms, with an incremental inverse."""

    def __init__(self, X: np.ndarray, n: int) -> None:
        self.X, self.d, self.log_n = X, X.shape[1], math.log(n)
        self.inverse, self.b, self.logdet = np.eye(self.d), np.zeros(self.d), 0.0

    def choose(self) -> int:
        width = math.sqrt(2 * self.log_n + self.logdet) + 1
        norms = ((self.X @ self.inverse) * self.X).sum(axis=1)
        return int(np.argmax(self.X @ (self.inverse @ self.b) + width * np.sqrt(norms)))

    def learn(self, arm: int, reward: float) -> None:
        x = self.X[arm]
        u = self.inverse @ x
        s = 1 + x @ u
        self.inverse -= np.outer(u, u) / s
        self.b += reward * x
        self.logdet += math.log(s)


def numpy_loop(instance: th.Instance, rounds: int) -> float:
    """Seconds that the loop takes for so many rounds."""
    policy, rng, means = (
        NumPyLinUCB(np.array(instance.sets.rows), rounds),
        np.random.default_rng(0),
        instance.means,
    )
    start = time.perf_counter()
    for _ in range(rounds):
        arm = policy.choose()
        policy.learn(arm, means[arm] + rng.standard_normal())
    return time.perf_counter() - start


def compiled(instance: th.Instance, policy: th.Policy, rounds: int) -> float:
    """Seconds that the simulator takes."""
    start = time.perf_counter()
    simulate(instance, policy, horizon=rounds)
    return time.perf_counter() - start


def measure() -> str:
    """Medians of several runs, side by side."""
    return "\n\n".join([_against_numpy(), _planners(), _learner(), _threads()])


def _against_numpy() -> str:
    lines = [
        "| LinUCB at K, d | NumPy loop, µs a round | thrifty, µs a round | M rounds/s | ratio |",
        "|---|---|---|---|---|",
    ]
    for arms, d in SIZES:
        instance, rounds = random_instance(arms, d), 20_000
        compiled(instance, th.LinUCB(), 10)
        many = max(rounds, int(2e6 / (arms * d)))
        pairs = [
            (numpy_loop(instance, rounds) / rounds, compiled(instance, th.LinUCB(), many) / many)
            for _ in range(REPEATS)
        ]
        slow, fast, ratio = (
            median(column) for column in zip(*((a, b, a / b) for a, b in pairs), strict=True)
        )
        lines.append(
            f"| {arms}, {d} | {slow * 1e6:.1f} | {fast * 1e6:.3f} | {1e-6 / fast:.2f} "
            f"| **{ratio:.0f}** |"
        )
    return "\n".join(lines)


def _planners() -> str:
    """Policies that solve the allocation program, solves included, against LinUCB."""
    lines = [
        "| policy | on | rounds | M rounds/s | LinUCB's | share | solves |",
        "|---|---|---|---|---|---|---|",
    ]
    for policy in (th.OAM(), th.Thrifty()):
        cases = [
            (random_instance(3, 2), 10**6),
            *((random_instance(20, 5, seed), 10**5) for seed in range(3)),
            (random_instance(20, 5), 10**6),
        ]
        for instance, rounds in cases:
            for warm in (policy, th.LinUCB()):
                simulate(instance, warm, horizon=10)
            pairs = [
                (compiled(instance, policy, rounds), compiled(instance, th.LinUCB(), rounds))
                for _ in range(REPEATS)
            ]
            mine, other, share = (
                median(column) for column in zip(*((a, b, b / a) for a, b in pairs), strict=True)
            )
            solves = simulate(instance, policy, horizon=rounds).solves
            speeds = f"{rounds / mine / 1e6:.2f} | {rounds / other / 1e6:.2f} | **{share:.2f}**"
            lines.append(
                f"| {policy.name} | {instance.name} | {rounds:.0e} | {speeds} | {solves} |"
            )
    return "\n".join(lines)


def _learner() -> str:
    """choose + learn of the learner against choose + learn of the NumPy class above."""
    instance, rounds = random_instance(3, 2), 50_000
    noise = np.random.default_rng(0).standard_normal(rounds).tolist()
    means = instance.means.tolist()
    lines = ["| choose + learn at K = 3, d = 2 | µs | NumPy's, µs | ratio |", "|---|---|---|---|"]
    for policy in (th.LinUCB(horizon=rounds), th.LinTS(), th.OAM(horizon=rounds)):
        policy.learner(instance.sets).choose(0)
        times = []
        for _ in range(REPEATS):
            learner, plain = (
                policy.learner(instance.sets),
                NumPyLinUCB(np.array(instance.sets.rows), rounds),
            )
            start = time.perf_counter()
            for z in noise:
                decision = learner.choose("0")
                learner.learn(decision, means[decision.arm] + z)
            middle = time.perf_counter()
            for z in noise[: rounds // 5]:
                arm = plain.choose()
                plain.learn(arm, means[arm] + z)
            times.append(
                ((middle - start) / rounds, (time.perf_counter() - middle) / (rounds // 5))
            )
        mine, other, ratio = (
            median(column) for column in zip(*((a, b, b / a) for a, b in times), strict=True)
        )
        lines.append(f"| {policy.name} | {mine * 1e6:.1f} | {other * 1e6:.1f} | **{ratio:.1f}** |")
    return "\n".join(lines)


def _threads() -> str:
    """1,000 replications with one thread and with two; the fastest of several runs, since whatever
    else runs on the machine takes a core away.
    """
    lines = [
        "| 1,000 replications of 1e5 rounds on fixed-u0.1, fastest of 7 | one thread, s "
        "| two threads, s | ratio |",
        "|---|---|---|---|",
    ]
    for name in ("linucb", "oam"):
        fastest = {1: math.inf, 2: math.inf}
        for _ in range(7):
            for threads in fastest:
                start = time.perf_counter()
                th.run(
                    "fixed-u0.1",
                    name,
                    horizon=1e5,
                    replications=1000,
                    threads=threads,
                    progress=False,
                )
                fastest[threads] = min(fastest[threads], time.perf_counter() - start)
        lines.append(
            f"| {name} | {fastest[1]:.2f} | {fastest[2]:.2f} | **{fastest[1] / fastest[2]:.2f}** |"
        )
    return "\n".join(lines)
