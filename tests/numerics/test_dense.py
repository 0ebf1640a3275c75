"""Dense linear algebra against NumPy, in plain loops and by BLAS."""

import numpy as np
import pytest

from thrifty.numerics.dense import MUCH, add_gram


@pytest.mark.parametrize("n", [10, MUCH // 64 + 1])
def test_a_gram_matrix_is_added_to_what_is_there(n):
    rng = np.random.default_rng(0)
    vectors, weights, out = rng.normal(size=(8, n)), rng.uniform(size=n), 100.0 * np.eye(8)
    add_gram(vectors, weights, out)
    assert out == pytest.approx(100.0 * np.eye(8) + (vectors * weights) @ vectors.T)
