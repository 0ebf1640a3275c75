"""Whether two studies have the same results, bit for bit."""

import numpy as np

from thrifty.studies.batches import ARRAYS


def same(one, other):
    """Whether the arrays of all results are equal."""
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in zip(one.results, other.results, strict=True)
        for name in ARRAYS
    )
