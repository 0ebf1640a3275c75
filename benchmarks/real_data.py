"""Errors of open policies on real data: classification as a bandit, with disjoint arms.

Rows come in random order. The learner sees the features of a row, names a class, and is told
whether that was right.
"""

import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from sklearn import datasets

import thrifty as th

TITLE = "Errors on real data"
DATA: dict[str, tuple[Callable[..., tuple[np.ndarray, np.ndarray]], int]] = {
    "wine": (datasets.load_wine, 200),
    "breast cancer": (datasets.load_breast_cancer, 200),
    "digits": (datasets.load_digits, 20),
}
OWN = "thrifty"
POLICIES = (
    OWN,
    "linucb:width=alpha,alpha=1",
    "linucb:width=alpha,alpha=2",
    "vids",
    "lints",
    "lints:scale=0.5",
    "squarecb",
    "squarecb:c=100",
    "egreedy",
    "greedy",
)


class Errors(NamedTuple):
    """Over permutations: the rates of wrong classes, and of rounds that are not greedy."""

    wrong: np.ndarray
    explored: np.ndarray


def measure() -> str:
    """Mean error rates with standard errors, in brackets the share of rounds that explore."""
    with ProcessPoolExecutor() as pool:
        found = {
            data: dict(
                zip(POLICIES, pool.map(_errors, POLICIES, [data] * len(POLICIES)), strict=True)
            )
            for data in DATA
        }
    lines = [
        f"| policy | {' | '.join(_described(data) for data in DATA)} |",
        f"|---|{'---:|' * len(DATA)}",
    ]
    for policy in POLICIES:
        cells = (_cell(found[data][policy]) for data in DATA)
        lines.append(f"| `{policy}` | {' | '.join(cells)} |")
    lines.append(
        f"| {OWN} / the best rival | {' | '.join(_against(own) for own in found.values())} |"
    )
    permutations = ", ".join(f"{count} of {data}" for data, (_, count) in DATA.items())
    lines += [
        "",
        "Share of wrong classes in one pass (rows, columns, classes), and the share of rounds that "
        f"were not greedy. Permutations: {permutations}; policies see the same ones.",
    ]
    return "\n".join(lines)


def _described(data: str) -> str:
    values, classes = DATA[data][0](return_X_y=True)
    return f"{data} ({len(values):,}, {values.shape[1]}, {len(set(classes.tolist()))})"


def _cell(errors: Errors) -> str:
    error = errors.wrong.std(ddof=1) / math.sqrt(len(errors.wrong))
    return f"{errors.wrong.mean():.4f} ± {error:.4f} ({errors.explored.mean():.3f})"


def _against(found: dict[str, Errors]) -> str:
    """The ratio to the best rival, with the standard error of paired differences."""
    best = min(
        (policy for policy in found if policy != OWN), key=lambda one: found[one].wrong.mean()
    )
    mine, rival = found[OWN].wrong, found[best].wrong
    ratio = mine.mean() / rival.mean()
    error = (mine / rival.mean() - ratio * rival / rival.mean()).std(ddof=1) / math.sqrt(len(mine))
    return f"**{ratio:.3f}** ± {error:.3f}"


def _errors(spec: str, data: str) -> Errors:
    load, count = DATA[data]
    values, classes = load(return_X_y=True)
    arms = [str(one) for one in range(int(classes.max()) + 1)]
    columns = [f"x{i}" for i in range(values.shape[1])]
    features = th.features.disjoint(arms, columns).fit(values)
    found = [_play(spec, features, values, classes, seed) for seed in range(count)]
    return Errors(*np.array(found).T)


def _play(
    spec: str, features: th.features.FeatureMap, values: np.ndarray, classes: np.ndarray, seed: int
) -> tuple[float, float]:
    """The shares of errors and of exploration in a pass over the rows, in an order of their own."""
    learner = th.policy(spec).learner(features=features, rewards="bernoulli", seed=seed)
    wrong = explored = 0
    for row in np.random.default_rng(seed).permutation(len(values)):
        decision = learner.choose(values[row])
        right = decision.arm == classes[row]
        learner.learn(decision, float(right))
        wrong += not right
        explored += decision.gap > 0
    return wrong / len(values), explored / len(values)
