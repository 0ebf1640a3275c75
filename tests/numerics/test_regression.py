"""Least squares against NumPy, before and after the space is spanned, and over long runs."""

import numpy as np
import pytest

from thrifty.compiler.compilation import compiled
from thrifty.numerics.regression import (
    MAX_ROUNDINGS,
    carry_regression,
    observe,
    observe_removed,
    start_regression,
    update_arms,
)


@compiled
def observe_all(regression, played, rewards):
    for t in range(played.size):
        observe(regression, played[t], rewards[t])


def drive(rows, ridge, rounds, seed=0, **options):
    """A regression and the rows and rewards that it has seen."""
    rng = np.random.default_rng(seed)
    regression = start_regression(rows, ridge=ridge, **options)
    played, rewards = rng.integers(len(rows), size=rounds), rng.normal(size=rounds)
    observe_all(regression, played, rewards)
    return regression, played, rewards


@pytest.mark.parametrize("ridge", [0.0, 1.0, 1e-3])
@pytest.mark.parametrize("rounds", [0, 1, 3, 30, 500])
def test_agrees_with_numpy(ridge, rounds):
    rows = np.random.default_rng(1).normal(size=(7, 4))
    regression, played, rewards = drive(rows, ridge, rounds)
    information = ridge * np.eye(4) + rows[played].T @ rows[played]
    inverse = np.linalg.pinv(information, rcond=1e-12, hermitian=True)
    theta = inverse @ (rows[played].T @ rewards)
    assert regression.inverse == pytest.approx(inverse, rel=1e-9, abs=1e-9)
    assert regression.theta == pytest.approx(theta, rel=1e-8, abs=1e-8)
    assert regression.means == pytest.approx(rows @ theta, rel=1e-8, abs=1e-8)
    assert regression.norms == pytest.approx(
        np.einsum("ki,ij,kj->k", rows, inverse, rows), rel=1e-8, abs=1e-8
    )
    if np.linalg.matrix_rank(information) == 4:
        assert regression.totals[0].logdet == pytest.approx(
            np.linalg.slogdet(information)[1], rel=1e-9, abs=1e-9
        )


def test_knows_which_arms_lie_outside_the_span():
    rows = np.array([[1.0, 0, 0], [2, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]])
    regression = start_regression(rows, ridge=0.0)
    # the zero vector lies in every span
    assert regression.outside.tolist() == [True, True, True, True, True, False]
    observe(regression, 0, 1.0)
    assert regression.outside.tolist() == [False, False, True, True, True, False]
    observe(regression, 3, 1.0)
    assert regression.outside.tolist() == [False, False, False, False, True, False]
    observe(regression, 4, 1.0)
    assert regression.totals[0].outside == 0


def test_untracked_arms_are_looked_at_on_demand():
    rows = np.random.default_rng(2).normal(size=(30, 2))
    tracked, _, _ = drive(rows, 1.0, 100)
    untracked, _, _ = drive(rows, 1.0, 100, largest_set=3)
    assert tracked.tracked
    assert not untracked.tracked
    update_arms(untracked, np.array([4, 5, 6]))
    assert untracked.norms[4:7] == pytest.approx(tracked.norms[4:7])
    assert untracked.means[4:7] == pytest.approx(tracked.means[4:7])
    assert (untracked.norms[:4] == 0).all()


@compiled
def play_round_robin(regression, rounds):
    """Arms in turn, some far more often than others."""
    for t in range(rounds):
        row = (t // 7) % regression.pulls.size if t % 7 == 0 else t % 2
        observe(regression, row, 1e-3 * (t % 11))


@compiled
def play_without_refreshing(rows, inverse, rounds):
    """The same pulls by Sherman and Morrison's formula alone."""
    step = np.empty(inverse.shape[0])
    for t in range(rounds):
        row = (t // 7) % rows.shape[0] if t % 7 == 0 else t % 2
        norm = 0.0
        for i in range(step.size):
            step[i] = 0.0
            for j in range(step.size):
                step[i] += inverse[i, j] * rows[row, j]
            norm += step[i] * rows[row, i]
        for i in range(step.size):
            for j in range(step.size):
                inverse[i, j] -= step[i] * step[j] / (1.0 + norm)


def inversion_error(information, inverse):
    """max |V V^-1 - I|, each direction in its own unit."""
    units = np.sqrt(np.outer(np.diag(information), np.diag(information)))
    return np.abs((information / units) @ (inverse * units) - np.eye(len(inverse))).max()


@pytest.mark.slow
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_ten_million_rounds_with_badly_scaled_arms(ridge):
    """Lengths over seven orders of magnitude: the error stays that of one inversion, rounding times
    condition; without refreshing it does not.
    """
    rows = np.random.default_rng(3).normal(size=(6, 4)) * np.logspace(-2, 5, 6)[:, None]
    regression = start_regression(rows, ridge=ridge)
    play_round_robin(regression, 10_000_000)
    assert regression.pulls.sum() == 10_000_000
    information = ridge * np.eye(4) + (rows.T * regression.pulls) @ rows
    one_inversion = np.finfo(float).eps * np.linalg.cond(information)
    assert inversion_error(information, regression.inverse) < one_inversion < 2e-6
    if ridge > 0:
        drifting = np.eye(4) / ridge
        play_without_refreshing(rows, drifting, 10_000_000)
        assert inversion_error(information, drifting) > 10 * one_inversion


def test_what_is_carried_to_other_arms_is_not_lost():
    rows = np.random.default_rng(4).normal(size=(5, 3))
    old, played, rewards = drive(rows, 1.0, 50)
    new = start_regression(np.vstack([rows[3], rows[1], [1.0, 1.0, 1.0]]), ridge=1.0)
    carry_regression(old, new, np.array([-1, 1, -1, 0, -1]))
    assert new.inverse == pytest.approx(old.inverse)
    assert new.theta == pytest.approx(old.theta)
    assert new.pulls.tolist() == [old.pulls[3], old.pulls[1], 0]
    observe_removed(new, rows[0], 2.0)
    observe(old, 0, 2.0)
    assert new.theta == pytest.approx(old.theta)
    seen = np.append(played, 0)
    information = np.eye(3) + rows[seen].T @ rows[seen]
    response = rows[seen].T @ np.append(rewards, 2.0)
    assert new.theta == pytest.approx(np.linalg.solve(information, response))
    assert new.inverse == pytest.approx(np.linalg.inv(information))


@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_removed_arms_in_units_far_apart_are_remembered(angle):
    """One was pulled 600,000 times at length 1,000, the other 50 times at length 1."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    old = start_regression(np.array([[1000.0, 0], [0, 1]]) @ turn.T, ridge=0.0)
    old.pulls[:], old.sums[:] = [600_000, 50], [600_000 * 1000 * 0.3, 50 * 0.7]
    new = start_regression(np.array([[0, 1.5]]) @ turn.T, ridge=0.0)
    carry_regression(old, new, np.array([-1, -1]))
    assert not new.outside.any()
    assert new.means == pytest.approx([1.5 * 0.7], rel=1e-3)
    assert new.norms == pytest.approx([1.5**2 / 50], rel=1e-3)


def test_rows_that_become_one_add_up():
    """An arm of two contexts, one of which is removed: one row gets the rewards of both."""
    rows = np.array([[1.0, 0.5], [0.2, 1.0], [1.0, 0.5]])
    old, _, _ = drive(rows, 1.0, 50)
    new = start_regression(rows[:2], ridge=1.0)
    carry_regression(old, new, np.array([0, 1, 0]))
    assert new.pulls.tolist() == [old.pulls[0] + old.pulls[2], old.pulls[1]]
    assert new.sums == pytest.approx([old.sums[0] + old.sums[2], old.sums[1]])
    assert new.inverse == pytest.approx(old.inverse)
    assert new.theta == pytest.approx(old.theta)


def test_roundings_are_counted_from_the_last_refresh():
    """Otherwise every reward after the first refresh would lead to another."""
    rows = np.random.default_rng(5).normal(size=(4, 2))
    regression, _, _ = drive(rows, 1.0, 3 * int(MAX_ROUNDINGS))
    assert regression.totals[0].roundings <= MAX_ROUNDINGS
