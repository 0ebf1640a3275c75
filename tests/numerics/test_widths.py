"""Widths against the numbers of the literature."""

import math

import numpy as np
import pytest

from thrifty.numerics.regression import start_regression
from thrifty.numerics.widths import level, oful_width


def test_the_papers_level_at_ten_thousand_rounds():
    """f_n = 2 (1 + 1/log n) log n + d log(d log n): about 26 at n = 1e4, d = 2."""
    log_n = math.log(1e4)
    assert level(log_n, log_n, 1.0, 2) == pytest.approx(2 * log_n + 2 + 2 * math.log(2 * log_n))
    assert 25 < level(log_n, log_n, 1.0, 2) < 27
    assert level(log_n, 0.0, 0.0, 2) == 0.0


def seen(logdet, ridge):
    """A regression in two dimensions that has come to a log det V."""
    regression = start_regression(np.eye(2), ridge=ridge)
    regression.totals[0].logdet = logdet
    return regression


def test_oful_width_is_wider_than_the_level():
    """About 50 in square at n = 1e4, d = 2, once V has grown."""
    logdet = 2 * math.log(5e3)
    assert oful_width(seen(logdet, 1.0), 1.0, math.log(1e4), 1.0, 1.0) == pytest.approx(
        math.sqrt(2 * math.log(1e4) + logdet) + 1
    )
    assert 45 < oful_width(seen(logdet, 1.0), 1.0, math.log(1e4), 1.0, 1.0) ** 2 < 55
    # log det V = d log ridge: nothing seen
    assert oful_width(seen(math.log(4.0), 2.0), 2.0, 0.5, 0.5, 0.0) == pytest.approx(0.5)
