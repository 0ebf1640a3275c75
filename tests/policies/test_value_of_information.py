"""Value-of-information formulas against the integrals that they stand for."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from thrifty.numerics.dense import add_outer
from thrifty.policies.shared.selection import least_ratio
from thrifty.policies.shared.value_of_information import (
    expected_improvement,
    expected_squared_shift,
    quadratic_forms,
)


@pytest.mark.parametrize("gap", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("error", [0.1, 1.0, 7.0])
def test_expected_improvement(gap, error):
    wanted = quad(
        lambda better: better * norm.pdf(better, loc=-gap, scale=error),
        0,
        12 * error,
        points=[error],
    )[0]
    assert expected_improvement(gap, error) == pytest.approx(wanted, rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("z", [0.0, 0.5, 3.0, 6.0])
def test_expected_squared_shift(z):
    first = quad(lambda x: x * norm.pdf(x), z, z + 10)[0]
    assert expected_squared_shift(z) == pytest.approx(first**2 / norm.sf(z), rel=1e-6)


def test_an_arm_that_is_known_has_no_value_of_information():
    assert expected_improvement(0.5, 0.0) == 0
    assert expected_squared_shift(60.0) == 0  # the tail probability underflows


def test_quadratic_forms_of_a_sum_of_outer_products():
    rng = np.random.default_rng(0)
    rows, directions, weights = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), rng.random(4)
    matrix, forms = np.zeros((3, 3)), np.zeros(5)
    for weight, direction in zip(weights, directions, strict=True):
        add_outer(matrix, weight, direction)
    quadratic_forms(rows, matrix, forms)
    assert forms == pytest.approx((rows @ directions.T) ** 2 @ weights)


@pytest.mark.parametrize(
    ("gap", "information", "other_gap", "other_information"),
    [(0.1, 0.2, 0.5, 1.0), (0.3, 0.0, 0.4, 2.0), (0.1, 0.9, 0.5, 1.0), (0.2, 0.1, 0.2, 0.3)],
)
def test_mixtures_have_the_least_ratio(gap, information, other_gap, other_information):
    mixture = least_ratio(gap, information, other_gap, other_information)
    p = np.linspace(0, 1, 100_001)[1:]  # at 0 the information may be 0
    mixed = (1 - p) * information + p * other_information
    ratios = ((1 - p) * gap + p * other_gap) ** 2 / mixed
    assert mixture.ratio == pytest.approx(ratios.min(), rel=1e-4)
    assert mixture.probability == pytest.approx(p[ratios.argmin()], abs=2e-5)
