"""Classification as a bandit: a learner sees the features of a row, names a class, and is told
whether that was right. Every class has coefficients of its own.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn import datasets

import thrifty as th
from benchmarks import keel

OF_SKLEARN = {
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
MOST_ROWS = 10_000  # of a permutation
FEWEST, MOST, NUMBERS = 20, 200, 8_000_000  # permutations, and numbers in all of them


class Errors(NamedTuple):
    """Over permutations: the rates of wrong classes, and of rounds that are not greedy."""

    wrong: np.ndarray
    explored: np.ndarray


@cache
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, p), without those that are constant, and classes (n,) of a set."""
    if name in OF_SKLEARN:
        values, classes = OF_SKLEARN[name](return_X_y=True)
    else:
        values, classes = keel.load(name)
    return values[:, (values != values[0]).any(axis=0)], classes


def permutations(rows: int, columns: int) -> int:
    """How many permutations of a set are played: many of a small one, few of a large one."""
    return min(MOST, max(FEWEST, NUMBERS // (min(rows, MOST_ROWS) * columns)))


def errors(name: str, policy: str, count: int) -> Errors:
    """What a policy gets wrong in `count` passes over a set; all policies see the same ones."""
    values, classes = load(name)
    arms = [str(arm) for arm in range(int(classes.max()) + 1)]
    columns = [f"x{i}" for i in range(values.shape[1])]
    features = th.features.disjoint(arms, columns).fit(values)
    found = [_play(policy, features, values, classes, seed) for seed in range(count)]
    return Errors(*np.array(found).T)


def _play(
    spec: str, features: th.features.FeatureMap, values: np.ndarray, classes: np.ndarray, seed: int
) -> tuple[float, float]:
    """The shares of errors and of exploration in a pass over the rows, in an order of their own."""
    learner = th.policy(spec).learner(features=features, rewards="bernoulli", seed=seed)
    order = np.random.default_rng(seed).permutation(len(values))[:MOST_ROWS]
    wrong = explored = 0
    for row, label in zip(values[order], classes[order].tolist(), strict=True):
        decision = learner.choose(row)
        right = decision.arm == label
        learner.learn(decision, float(right))
        wrong += not right
        explored += decision.gap > 0
    return wrong / len(order), explored / len(order)
