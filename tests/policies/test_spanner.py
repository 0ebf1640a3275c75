"""Barycentric spanners: coordinates between -1 and 1, in the span, for any set."""

import numpy as np
import pytest

import thrifty as th
from tests.seeds import for_seeds
from thrifty.policies.shared.spanner import barycentric_spanner, spanner_rows


@for_seeds(range(20))
def test_every_arm_has_coordinates_between_minus_one_and_one(seed):
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(rng.integers(1, 30), rng.integers(1, 6)))
    if seed % 3 == 0:
        arms[:, -1] = arms[:, 0]  # a set that does not span
    chosen = barycentric_spanner(arms)
    assert len(set(chosen)) == np.linalg.matrix_rank(arms)
    coordinates, *_ = np.linalg.lstsq(arms[chosen].T, arms.T, rcond=None)
    assert arms[chosen].T @ coordinates == pytest.approx(arms.T)
    assert np.abs(coordinates).max() <= 1 + 1e-6


def test_rows_of_several_contexts():
    sets = th.ActionSets([[[1, 0], [0, 1], [0.1, 0.1]], [[0, 0]], [[2, 0], [1, 0]]])
    assert spanner_rows(sets).tolist() == [True, True, False, False, True, False]
