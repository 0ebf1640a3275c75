"""Random streams of a replication.

Contexts and the noise of rewards depend on the seed and the replication number only. All policies
see the same, so comparisons are paired. Each policy draws its own randomness from other streams.
"""

from typing import NamedTuple

import numpy as np

from thrifty.errors import InvalidInput


class Streams(NamedTuple):
    """The random generators of one replication."""

    contexts: np.random.Generator
    rewards: np.random.Generator  # their noise
    normals: np.random.Generator  # of the policy
    uniforms: np.random.Generator  # of the policy


def streams(seed: int, replication: int) -> Streams:
    """The random generators of a replication."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput.expected("seed", "a whole number of at least 0", seed)
    sequences = (np.random.SeedSequence(seed, spawn_key=(replication, i)) for i in range(4))
    return Streams(*(np.random.Generator(np.random.PCG64(sequence)) for sequence in sequences))
