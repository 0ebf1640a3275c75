"""Base information in any units and of any condition: certificates are true in exact arithmetic."""

import numpy as np
import pytest

import thrifty as th
from tests.fuzz.certificates import check, problem
from tests.seeds import for_seeds

S = 1e5


def rotation(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@pytest.mark.slow
@pytest.mark.parametrize("angle", [0.0, 0.5])
def test_coordinates_in_units_far_apart(angle):
    """A direction with 1e-10 of the information of another is no rounding.

    Turned, the base itself is rounded, which leaves its small direction known to 1e-6.
    """
    turn = rotation(angle)
    features = np.array([[S, 0], [0, 1], [S, 1]]) @ turn.T
    base = turn @ np.diag([100 * S * S, 100]) @ turn.T
    found = th.allocate(features, [0, 0.1, 0.05], [True, False, False], base=(base + base.T) / 2)
    assert found.status == "solved" if angle == 0 else found.status != "failed"
    assert found.value == pytest.approx(38.54102, rel=1e-4)
    assert found.lower <= found.upper


def test_base_of_lower_rank_in_units_far_apart():
    """The third coordinate has no base information, the second little."""
    features = [[1e6, 0, 0], [0, 1e-4, 0], [0, 0, 1.0]]
    base = np.diag([1e12, 1e-8, 0.0])
    found = th.allocate(features, [0, 0.5, 0.5], [True, False, False], base=base)
    # each needs 2 / 0.5^2 = 8 in its own unit: seven pulls of the second arm, eight of the third
    assert found.pulls == pytest.approx([0, 7, 8], rel=1e-6)
    assert found.value == pytest.approx(7.5, rel=1e-6)


@for_seeds(range(150))
def test_certificates_are_true_in_rational_arithmetic(seed):
    check(problem(np.random.default_rng(seed)))


def test_a_warm_start_with_little_base_information_meets_its_constraints():
    rng = np.random.default_rng(3)
    features, gaps = rng.normal(size=(8, 4)), np.append(0, rng.uniform(1e-3, 1e-2, 7))
    best, base = np.arange(8) == 0, 1e-9 * np.eye(4)
    warm = th.allocate(features, gaps, best, base=base)
    for step in range(20):
        changed = gaps * np.random.default_rng(step).uniform(0.9, 1.1, 8)
        check((features, changed, best, 1.0, base), warm=warm)


def test_base_that_suffices_by_a_tolerance_is_remarked():
    arms = [[1.0, 0.0], [0.0, 1.0]]
    enough = th.allocate(arms, [0, 1], [True, False], base=np.diag([1.0, 2.0]))
    nearly = th.allocate(arms, [0, 1], [True, False], base=np.diag([1.0, 2.0 * (1 - 5e-8)]))
    assert (enough.value, enough.remarks) == (0, ())
    assert nearly.value == 0
    assert "misses a constraint by 5e-08" in nearly.remarks[0]
    assert th.allocate(arms, [0, 1], [True, False], base=np.diag([1.0, 2.0 * (1 - 5e-7)])).value > 0
