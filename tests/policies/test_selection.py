"""Mixtures of two arms with the least information ratio, against a search."""

import numpy as np
import pytest

from thrifty.policies.shared.selection import least_ratio


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
