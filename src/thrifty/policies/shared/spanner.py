"""Barycentric spanners (Awerbuch and Kleinberg 2008).

In the coordinates of a spanner every arm of the set has entries between -1 and 1.
"""

import numpy as np

from thrifty.numerics.arrays import Bools, Floats, Ints
from thrifty.problem.action_sets import ActionSets

SLACK = 1e-9  # a swap must enlarge the volume by this share: rounding must not swap for ever


def barycentric_spanner(arms: Floats) -> Ints:
    """Indices (r,) of a spanner of arms (K, d) within their span, of dimension r.

    Starts from r arms found by pivoting and swaps one for another while that enlarges the volume
    that they span; at the largest volume, coordinates lie between -1 and 1 by Cramer's rule.
    """
    singular, right = np.linalg.svd(arms, full_matrices=False)[1:]
    rank = int((singular > 1e-10 * singular[0]).sum()) if singular[0] > 0 else 0
    inside = arms @ right[:rank].T  # coordinates in the span
    chosen = np.empty(rank, dtype=np.int64)
    rest = inside.copy()
    for pick in range(rank):
        chosen[pick] = (rest**2).sum(axis=1).argmax()
        direction = rest[chosen[pick]] / np.linalg.norm(rest[chosen[pick]])
        rest -= np.outer(rest @ direction, direction)
    while rank > 0:
        # in coordinates of the chosen arms, swapping arm i for x multiplies the volume by |x_i|
        coordinates = np.abs(np.linalg.solve(inside[chosen].T, inside.T))
        i, better = np.unravel_index(coordinates.argmax(), coordinates.shape)
        if coordinates[i, better] <= 1 + SLACK:
            break
        chosen[i] = better
    return np.sort(chosen)


def spanner_rows(sets: ActionSets) -> Bools:
    """Flags (k,) of the rows that are in the spanner of their context."""
    marked = np.zeros(len(sets.rows), dtype=np.bool_)
    for m in range(sets.contexts):
        marked[sets.offsets[m] + barycentric_spanner(sets.arms(m))] = True
    return marked
