"""LinUCB in released libraries, on a problem of three arms and two features, one decision and one
reward at a time.

They are optional: `pip install 'thrifty[bench]'`. MABWiser keeps one regression an arm over context
features, so its context has two features; coba and Vowpal Wabbit describe the arms themselves, as
we do. Vowpal Wabbit has no LinUCB of this kind: its epsilon-greedy over action-dependent features
stands for what its users would run.
"""

import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np

import thrifty as th
from benchmarks.rounds import compiled

TITLE = "Against released libraries at K = 3, d = 2"
ROUNDS = 1000
REPEATS = 3


def measure() -> str:
    """One row a library that is installed."""
    instance = th.instance("fixed-u0.1")
    compiled(instance, th.LinUCB(), 10)
    lines = [
        "| library | µs a round | thrifty's simulator, µs | ratio | thrifty's learner, "
        "µs | ratio |",
        "|---|---|---|---|---|---|",
    ]
    missing = []
    for name, play in (
        ("MABWiser", _mabwiser),
        ("coba", _coba),
        ("Vowpal Wabbit (cb_explore_adf)", _vowpal),
    ):
        try:
            step = play(instance)
        except ImportError:
            missing.append(name)
            continue
        rows = []
        for _ in range(REPEATS):
            theirs, ours, online = (
                _seconds(step),
                compiled(instance, th.LinUCB(), 10**6) / 10**6,
                _seconds(_learner(instance)),
            )
            rows.append((theirs, ours, theirs / ours, online, theirs / online))
        theirs, ours, ratio, online, online_ratio = (
            median(column) for column in zip(*rows, strict=True)
        )
        lines.append(
            f"| {name} | {theirs * 1e6:.0f} | {ours * 1e6:.3f} | **{ratio:.0f}** | "
            f"{online * 1e6:.1f} | {online_ratio:.0f} |"
        )
    if missing:
        lines += ["", f"Not installed: {', '.join(missing)}."]
    return "\n".join(lines)


def _seconds(step: Callable[[float], None]) -> float:
    """Seconds a round, warmed up."""
    noise = np.random.default_rng(0).standard_normal(2 * ROUNDS).tolist()
    for z in noise[:ROUNDS]:
        step(z)
    start = time.perf_counter()
    for z in noise[ROUNDS:]:
        step(z)
    return (time.perf_counter() - start) / ROUNDS


def _learner(instance: th.Instance) -> Callable[[float], None]:
    learner, means = th.LinUCB(horizon=1e6).learner(instance.sets), instance.means.tolist()

    def step(z: float) -> None:
        decision = learner.choose("0")
        learner.learn(decision, means[decision.arm] + z)

    return step


def _mabwiser(instance: th.Instance) -> Callable[[float], None]:
    from mabwiser.mab import MAB, LearningPolicy

    means = instance.means.tolist()
    bandit = MAB([0, 1, 2], LearningPolicy.LinUCB(alpha=1.0))
    context = [[1.0, 0.5]]
    bandit.fit([0, 1, 2], means, context * 3)

    def step(z: float) -> None:
        arm = bandit.predict(context)
        bandit.partial_fit([arm], [means[arm] + z], context)

    return step


def _coba(instance: th.Instance) -> Callable[[float], None]:
    from coba.learners import LinUCBLearner

    means, arms = instance.means.tolist(), [tuple(row) for row in instance.sets.rows.tolist()]
    learner = LinUCBLearner(alpha=1.0, features=["a"])

    def step(z: float) -> None:
        arm, probability = learner.predict(None, arms)[:2]
        learner.learn(None, arm, means[arms.index(arm)] + z, probability)

    return step


def _vowpal(instance: th.Instance) -> Callable[[float], None]:
    from vowpalwabbit import Workspace

    means, rows = instance.means.tolist(), instance.sets.rows.tolist()
    workspace = Workspace("--cb_explore_adf --epsilon 0.1 --quiet")
    described = [f"|a x:{x} y:{y}" for x, y in rows]
    uniform: Iterator[float] = iter(np.random.default_rng(0).random(10**6).tolist())

    def step(z: float) -> None:
        law = workspace.predict(described)
        arm = int(np.searchsorted(np.cumsum(law), next(uniform) * sum(law)))
        labelled = [
            f"{i}:{-(means[i] + z)}:{law[i]} {line}" if i == arm else line
            for i, line in enumerate(described)
        ]
        workspace.learn(labelled)

    return step
