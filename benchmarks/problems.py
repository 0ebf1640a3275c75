"""The problems that benchmarks share."""

from typing import NamedTuple

import numpy as np


class Arms(NamedTuple):
    """Flat rows, as `thrifty.allocate` takes them."""

    features: np.ndarray  # (k, d)
    gaps: np.ndarray  # (k,)
    best: np.ndarray  # (k,)


def random_arms(d: int, arms: int, contexts: int, seed: int) -> Arms:
    """Unit vectors in random directions, theta normal: each context has its own optimal arm."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(contexts, arms, d))
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    means = rows @ rng.normal(size=d)
    gaps = (means.max(axis=1, keepdims=True) - means).ravel()
    return Arms(rows.reshape(-1, d), gaps, gaps == 0)


def common_optimum(contexts: int, arms: int, d: int, seed: int = 0) -> Arms:
    """Random directions and one optimal arm that all contexts share, so that d - 1 directions
    remain to be explored.
    """
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(contexts, arms, d))
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    theta = rows[0, 0].copy()
    rows[:, 0] = theta
    rows = rows.reshape(-1, d)
    best = np.arange(len(rows)) % arms == 0
    return Arms(rows, np.where(best, 0.0, 1.0 - rows @ theta), best)
