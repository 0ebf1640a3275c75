"""Alternatives to the estimate: the nearest parameters for which another arm would be best.

For a context with greedy arm x^ and another arm z, with norms in V^-1:

    r_z  = <x^ - z, theta_hat>^2 / ||x^ - z||^2                  evidence against z
    nu_z = theta_hat - slope_z V^-1 (x^ - z)                     nearest parameter with z as good
    slope_z = <x^ - z, theta_hat> / ||x^ - z||^2
    q_z  proportional to exp(-r_z / eta)                         weights over all contexts and arms
"""

import math
from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import kernel
from thrifty.compiler.records import Record, Records
from thrifty.numerics.arrays import Floats
from thrifty.numerics.regression import Regression
from thrifty.numerics.vectors import fill
from thrifty.policies.shared.ledger import Ledger
from thrifty.policies.shared.selection import best_row
from thrifty.problem.action_sets import ActionSets

NEGLIGIBLE = 1e-20  # a weight below this share of the largest changes no sum of doubles


class Extremes(Record):
    """Numbers over all alternatives."""

    current: bool  # whether the arrays are those of the present estimate
    least: float  # min_z r_z
    largest_least: float  # its maximum over exploration rounds
    total: float  # sum of q_z


class Alternatives(NamedTuple):
    """One alternative per row z; recomputed when the estimate has changed."""

    shifts: Floats  # (d, k) V^-1 (x^ - z)
    slopes: Floats  # (k,) theta_hat - nu_z is slope times shift
    ratios: Floats  # (k,) r_z; inf where z is not an alternative
    weights: Floats  # (k,) q_z, as shares of the largest
    moments: Floats  # (d, d) sum of q_z (nu_z - theta_hat)(nu_z - theta_hat)^T
    shift: Floats  # (d,) work space
    distances: Floats  # (k,) ||x^ - z||^2
    extremes: Records  # (1,) of Extremes


def start_alternatives(sets: ActionSets) -> Alternatives:
    """Arrays before the first round, not current."""
    k, d = sets.rows.shape
    return Alternatives(
        shifts=np.zeros((d, k)),
        slopes=np.zeros(k),
        ratios=np.full(k, np.inf),
        weights=np.zeros(k),
        moments=np.zeros((d, d)),
        shift=np.zeros(d),
        distances=np.zeros(k),
        extremes=Extremes.new(),
    )


@kernel
def find_alternatives(alternatives: Alternatives, ledger: Ledger, regression: Regression) -> None:
    """Compute r_z and nu_z of all rows at the present estimate."""
    offsets, ids, means = ledger.offsets, ledger.vector_ids, regression.means
    distances, slopes, ratios = alternatives.distances, alternatives.slopes, alternatives.ratios
    least = math.inf
    for m in range(ledger.visits.size):
        best = best_row(means, offsets[m], offsets[m + 1])
        _find_shifts(alternatives, regression, offsets[m], offsets[m + 1], best)
        for row in range(offsets[m], offsets[m + 1]):
            differs = distances[row] > 0.0 and ids[row] != ids[best]
            slopes[row] = (means[best] - means[row]) / distances[row] if differs else 0.0
            ratios[row] = (means[best] - means[row]) * slopes[row] if differs else math.inf
            least = min(least, ratios[row])
    alternatives.extremes[0].least = least
    alternatives.extremes[0].current = True


@kernel
def _find_shifts(
    alternatives: Alternatives, regression: Regression, first: int, stop: int, best: int
) -> None:
    """V^-1 (x^ - z) and ||x^ - z||^2 of the rows z from first to stop - 1."""
    columns, inverse = regression.columns, regression.inverse
    distances = alternatives.distances[first:stop]
    fill(distances, 0.0)
    for i in range(columns.shape[0]):
        shifts, values = alternatives.shifts[i, first:stop], columns[i, first:stop]
        fill(shifts, 0.0)
        for j in range(columns.shape[0]):
            add_differences(shifts, -inverse[i, j], columns[j, first:stop], columns[j, best])
        for n in range(distances.size):
            distances[n] += shifts[n] * (columns[i, best] - values[n])


@kernel
def weigh_alternatives(alternatives: Alternatives) -> None:
    """The weights q_z, and the second moments of nu_z - theta_hat under them.

    eta is the root of the largest min_z r_z over exploration rounds, at least 1.
    """
    extremes, shift = alternatives.extremes, alternatives.shift
    ratios, slopes, shifts = alternatives.ratios, alternatives.slopes, alternatives.shifts
    weights, moments = alternatives.weights, alternatives.moments
    least = extremes[0].least
    extremes[0].largest_least = max(extremes[0].largest_least, least)
    eta, total = math.sqrt(max(1.0, extremes[0].largest_least)), 0.0
    for i in range(shift.size):
        fill(moments[i], 0.0)
    for row in range(ratios.size):
        weight = math.exp((least - ratios[row]) / eta)
        weights[row] = weight if weight > NEGLIGIBLE else 0.0
        if weights[row] > 0.0:
            total += weight
            for i in range(shift.size):
                shift[i] = shifts[i, row]
            for i in range(shift.size):
                add_differences(moments[i], weight * slopes[row] ** 2 * shift[i], shift, 0.0)
    extremes[0].total = total


@kernel
def add_differences(out: Floats, share: float, values: Floats, start: float) -> None:
    """out (n,) += share (values - start). Loops like this, on slices from 0 on, are vectorised."""
    for n in range(out.size):
        out[n] += share * (values[n] - start)
