"""Random streams of a replication.

Contexts and noise depend on the seed and the replication number only, so that all policies see the
same: comparisons are paired. A policy's own randomness comes from streams of its own.
"""

from typing import NamedTuple

import numpy as np

from thrifty.errors import InvalidInput


class Streams(NamedTuple):
    """The random generators of one replication."""

    contexts: np.random.Generator
    noise: np.random.Generator
    normals: np.random.Generator  # of the policy
    uniforms: np.random.Generator  # of the policy


def streams(seed: int, replication: int) -> Streams:
    """The random generators of a replication."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput.expected("seed", "a whole number of at least 0", seed)
    sequences = (np.random.SeedSequence(seed, spawn_key=(replication, i)) for i in range(4))
    return Streams(*(np.random.Generator(np.random.PCG64(sequence)) for sequence in sequences))
