"""A bank of allocation problems shared by tests: random families, known answers, degenerate cases,
past failures.
"""

from typing import NamedTuple

import numpy as np


class Arms(NamedTuple):
    """Flat rows, as `thrifty.allocate` takes them."""

    features: np.ndarray  # (k, d)
    gaps: np.ndarray  # (k,)
    best: np.ndarray  # (k,)


def from_sets(sets, theta) -> Arms:
    """Flat rows of action sets under theta, with ties up to rounding counted as optimal."""
    means = [np.asarray(arms, float) @ np.asarray(theta, float) for arms in sets]
    gaps = np.concatenate([mean.max() - mean for mean in means])
    gaps[gaps < 1e-14] = 0.0
    return Arms(np.concatenate(sets).astype(float), gaps, gaps == 0)


def random_sets(rng: np.random.Generator, d: int, contexts: int, arms: int) -> list[np.ndarray]:
    """Ragged sets of random directions; some vectors are shared between contexts, some stand twice
    in one.
    """
    sets = []
    for _ in range(contexts):
        size = int(rng.integers(max(2, arms // 2), arms + 1))
        rows = rng.normal(size=(size, d))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        if sets and rng.random() < 0.5:
            rows[0] = sets[-1][0]
        if rng.random() < 0.3:
            rows[-1] = rows[-2]
        sets.append(rows)
    return sets


def random_problem(seed: int) -> tuple[Arms, float]:
    """A random problem and a noise level; d from 2 to 8, one to three contexts, up to 16 arms
    each.
    """
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 9))
    contexts = int(rng.integers(1, 4)) if d > 3 else 1
    sets = random_sets(rng, d, contexts, int(rng.integers(6, 17)))
    return from_sets(sets, rng.normal(size=d)), float(rng.choice([0.1, 0.5, 1.0, 2.0]))
