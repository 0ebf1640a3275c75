"""What may be hoped of an arm, against the integrals that it stands for."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from thrifty.policies.shared.selection import mix
from thrifty.policies.shared.value_of_information import (
    add_square,
    expected_loss,
    surprise,
    weigh_news,
)


@pytest.mark.parametrize("gap", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("error", [0.1, 1.0, 7.0])
def test_expected_loss(gap, error):
    wanted = quad(
        lambda better: better * norm.pdf(better, loc=-gap, scale=error),
        0,
        12 * error,
        points=[error],
    )[0]
    assert expected_loss(gap, error) == pytest.approx(wanted, rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("z", [0.0, 0.5, 3.0, 6.0])
def test_surprise(z):
    first = quad(lambda x: x * norm.pdf(x), z, z + 10)[0]
    assert surprise(z) == pytest.approx(first**2 / norm.sf(z), rel=1e-6)


def test_nothing_is_hoped_of_what_is_known():
    assert expected_loss(0.5, 0.0) == 0
    assert surprise(60.0) == 0  # the chance of that is not even a number


def test_news():
    rng = np.random.default_rng(0)
    rows, directions, weights = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), rng.random(4)
    telling, news = np.zeros((3, 3)), np.zeros(5)
    for weight, direction in zip(weights, directions, strict=True):
        add_square(telling, weight, direction)
    weigh_news(rows, telling, news)
    assert news == pytest.approx((rows @ directions.T) ** 2 @ weights)


@pytest.mark.parametrize(
    ("gap", "told", "other", "news"),
    [(0.1, 0.2, 0.5, 1.0), (0.3, 0.0, 0.4, 2.0), (0.1, 0.9, 0.5, 1.0), (0.2, 0.1, 0.2, 0.3)],
)
def test_mixtures_have_the_least_ratio(gap, told, other, news):
    mixture = mix(gap, told, other, news)
    # at 0 nothing may be told, and 0.1 / 0 is not a number to compare with
    chances = np.linspace(0, 1, 100_001)[1:]
    ratios = ((1 - chances) * gap + chances * other) ** 2 / ((1 - chances) * told + chances * news)
    assert mixture.ratio == pytest.approx(ratios.min(), rel=1e-4)
    assert mixture.chance == pytest.approx(chances[ratios.argmin()], abs=2e-5)
