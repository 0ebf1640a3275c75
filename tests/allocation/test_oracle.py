"""The solver against a conic solver, closed forms, and a certificate in plain NumPy."""

import numpy as np
import pytest

import thrifty as th
from tests.bank import from_sets, random_problem
from tests.oracles import certificate, conic_value, normal_form
from tests.seeds import for_seeds


@pytest.mark.slow
@for_seeds(range(64))
def test_agrees_with_a_conic_solver(seed):
    arms, noise = random_problem(seed)
    found = th.allocate(*arms, noise=noise)
    assert found.status == "solved"
    assert found.value == pytest.approx(conic_value(*arms, noise=noise), rel=1e-6)


@pytest.mark.slow
@for_seeds(range(16))
def test_agrees_with_a_conic_solver_with_base_information(seed):
    arms, noise = random_problem(seed)
    rng = np.random.default_rng(seed)
    d = arms.features.shape[1]
    rows = rng.normal(size=(int(rng.integers(1, d + 2)), d)) * 10 ** rng.uniform(-1, 2)
    base = rows.T @ rows
    found = th.allocate(*arms, noise=noise, base=base)
    assert found.status == "solved"
    expected = conic_value(*arms, noise=noise, base=base)
    assert found.value == pytest.approx(
        expected, rel=2e-6, abs=1e-9 * th.allocate(*arms, noise=noise).value
    )


@pytest.mark.parametrize("tol", [1e-6, 1e-9])
def test_certificate_holds_when_recomputed_in_plain_numpy(tol):
    for seed in range(300):
        arms, noise = random_problem(seed)
        found = th.allocate(*arms, noise=noise, tol=tol)
        lower, upper = certificate(*arms, found.pulls, found.prices, noise)
        assert found.status == "solved"
        assert found.gap <= tol
        # 1e-10 for the rounding of the twin
        assert lower * (1 - 1e-10) <= upper <= lower * (1 + tol + 1e-10)
        assert (found.lower, found.upper) == (
            pytest.approx(lower, rel=1e-8),
            pytest.approx(upper, rel=1e-8),
        )


def test_certificate_with_base_information_holds_when_recomputed_in_plain_numpy():
    for seed in range(300):
        arms, noise = random_problem(seed)
        rng = np.random.default_rng(seed)
        rows = rng.normal(
            size=(int(rng.integers(1, 10)), arms.features.shape[1])
        ) * 10 ** rng.uniform(-2, 3)
        found = th.allocate(*arms, noise=noise, base=rows.T @ rows)
        lower, upper = certificate(*arms, found.pulls, found.prices, noise, base=rows.T @ rows)
        assert found.status == "solved"
        assert lower * (1 - 1e-9) <= upper <= lower * (1 + 1e-6 + 1e-9)


def test_the_certificate_is_not_vacuous():
    """Pulls that are not optimal leave a wide gap, and too few pulls are scaled up."""
    arms, noise = random_problem(0)
    found = th.allocate(*arms, noise=noise)
    worse = np.where(np.isfinite(found.pulls), found.pulls + 1.0, np.inf)
    lower, upper = certificate(*arms, worse, found.prices, noise)
    assert lower < found.value < upper
    assert upper / lower > 1.001
    _, halved = certificate(*arms, found.pulls / 2, found.prices, noise)
    assert halved == pytest.approx(found.value, rel=1e-6)


def test_pulls_meet_every_constraint_and_cost_the_value():
    for seed in range(50):
        arms, noise = random_problem(seed)
        found = th.allocate(*arms, noise=noise)
        form = normal_form(*arms, noise)
        if len(form.rows) == 0:
            continue
        pulls = found.pulls[form.rows]
        information = np.einsum("j,jk,jl->kl", pulls, form.v, form.v)
        widths = np.einsum("ik,ki->i", form.z, np.linalg.solve(information, form.z.T))
        assert widths.max() <= 1 + 1e-9
        assert form.costs @ pulls == pytest.approx(found.value, rel=1e-12)


def fixed(u, a=5.0, sigma=1.0):
    return from_sets([np.array([[1, 0], [0, 1], [1 - u, a * u]])], [1, 0]), sigma


@pytest.mark.parametrize(
    ("u", "a", "sigma", "constant"),
    [
        (0.1, 5, 1, 20),
        (0.2, 5, 1, 10),
        (0.01, 5, 1, 50),
        (0.02, 5, 1, 50),
        (0.01, 2, 1, 8),
        (0.05, 2, 1, 8),
        (0.3, 2, 1, 2 / 0.3),
        (0.01, 4, np.sqrt(0.1), 3.2),
    ],
)
def test_three_arms_in_the_plane(u, a, sigma, constant):
    """C = sigma^2 min(2 a^2, 2 / u) for (1,0), (0,1), (1-u, a u)."""
    arms, noise = fixed(u, a, sigma)
    assert th.allocate(*arms, noise=noise).value == pytest.approx(constant, rel=1e-8)


@pytest.mark.parametrize("d", [2, 3, 5, 10, 20])
def test_orthogonal_arms_cost_what_lai_and_robbins_say(d):
    theta = np.random.default_rng(d).uniform(size=d)
    arms = from_sets([np.eye(d)], theta)
    constant = (2 / arms.gaps[~arms.best]).sum()
    found = th.allocate(*arms, tol=1e-10)
    assert found.status == "solved"
    assert found.value == pytest.approx(constant, rel=1e-8)
    np.testing.assert_allclose(found.pulls[~arms.best], 2 / arms.gaps[~arms.best] ** 2, rtol=1e-4)


def test_three_contexts_of_twenty_arms():
    """At this size a large number in place of infinite pulls fails; the reduction does not.

    benchmarks/against_cvxpy.py measures it.
    """
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(20, 5)) for _ in range(3)]
    arms = from_sets(
        [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in sets], rng.normal(size=5)
    )
    assert th.allocate(*arms).value == pytest.approx(conic_value(*arms), rel=1e-6)
