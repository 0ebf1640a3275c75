"""Evidence against alternatives: how far the data are from a parameter for which another arm than
the greedy one is best.
"""

import math
from typing import NamedTuple

import numpy as np

from thrifty.actions import ActionSets
from thrifty.arrays import Floats
from thrifty.compilation import kernel
from thrifty.policies.base import Ledger
from thrifty.regression import Regression

LEAST, MOST, TOTAL = range(3)  # entries of Evidence.numbers
NEGLIGIBLE = 1e-20  # a weight below this share of the largest changes no sum of doubles


class Evidence(NamedTuple):
    """What the exploration data say against each row z of a context with the greedy row x^; made
    anew when they have changed.
    """

    leans: Floats  # (d, k) V^-1 (x^ - z)
    slopes: Floats  # (k,) <x^ - z, theta> / ||x^ - z||^2, so that theta - nu_z is slope times lean
    ratios: Floats  # (k,) r_z; infinite where z is no alternative
    weights: Floats  # (k,) q_z, as shares of the largest
    moments: Floats  # (d, d) sum of q_z (nu_z - theta)(nu_z - theta)^T
    lean: Floats  # (d,) work space
    spreads: Floats  # (k,) ||x^ - z||^2
    # (3,) the least r_z, NaN where evidence is out of date; the largest of them in exploration
    # rounds; the sum of q
    numbers: Floats


def start_evidence(sets: ActionSets) -> Evidence:
    """Out of date before the first round."""
    k, d = sets.rows.shape
    return Evidence(
        np.zeros((d, k)),
        np.zeros(k),
        np.full(k, np.inf),
        np.zeros(k),
        np.zeros((d, d)),
        np.zeros(d),
        np.zeros(k),
        np.array([np.nan, 0.0, 0.0]),
    )


@kernel
def weigh_evidence(evidence: Evidence, ledger: Ledger, regression: Regression) -> None:
    """How far each row is from being as good as the greedy one of its context."""
    offsets, ids, means = ledger.offsets, ledger.vector_ids, regression.means
    spreads, slopes, ratios = evidence.spreads, evidence.slopes, evidence.ratios
    least = math.inf
    for m in range(ledger.visits.size):
        best = offsets[m]
        for row in range(offsets[m] + 1, offsets[m + 1]):
            if means[row] > means[best]:
                best = row
        _lean(evidence, regression, offsets[m], offsets[m + 1], best)
        for row in range(offsets[m], offsets[m + 1]):
            alternative = spreads[row] > 0.0 and ids[row] != ids[best]
            slopes[row] = (means[best] - means[row]) / spreads[row] if alternative else 0.0
            ratios[row] = (means[best] - means[row]) * slopes[row] if alternative else math.inf
            least = min(least, ratios[row])
    evidence.numbers[LEAST] = least


@kernel
def _lean(evidence: Evidence, regression: Regression, first: int, stop: int, best: int) -> None:
    """Write V^-1 (x^ - z) of the rows z from first to stop - 1, and ||x^ - z||^2."""
    columns, inverse, spreads = regression.columns, regression.inverse, evidence.spreads[first:stop]
    fill(spreads, 0.0)
    for i in range(columns.shape[0]):
        leans, values, start = (
            evidence.leans[i, first:stop],
            columns[i, first:stop],
            columns[i, best],
        )
        fill(leans, 0.0)
        for j in range(columns.shape[0]):
            add(leans, -inverse[i, j], columns[j, first:stop], columns[j, best])
        for n in range(spreads.size):
            spreads[n] += leans[n] * (start - values[n])


@kernel
def weigh_alternatives(evidence: Evidence) -> None:
    """The weights q_z, and the second moments of nu_z - theta under them."""
    numbers, lean = evidence.numbers, evidence.lean
    ratios, slopes, leans, weights, moments = (
        evidence.ratios,
        evidence.slopes,
        evidence.leans,
        evidence.weights,
        evidence.moments,
    )
    numbers[MOST] = max(numbers[MOST], numbers[LEAST])
    eta, total = math.sqrt(max(1.0, numbers[MOST])), 0.0
    for i in range(lean.size):
        fill(moments[i], 0.0)
    for row in range(ratios.size):
        weight = math.exp((numbers[LEAST] - ratios[row]) / eta)
        weights[row] = weight if weight > NEGLIGIBLE else 0.0
        if weights[row] > 0.0:
            total += weight
            for i in range(lean.size):
                lean[i] = leans[i, row]
            for i in range(lean.size):
                add(moments[i], weight * slopes[row] ** 2 * lean[i], lean, 0.0)
    numbers[TOTAL] = total


@kernel
def fill(out: Floats, value: float) -> None:
    """out (n,) = value."""
    for n in range(out.size):
        out[n] = value


@kernel
def add(out: Floats, share: float, values: Floats, start: float) -> None:
    """out (n,) += share (values - start): loops like this one, on slices from 0 on, are those that
    processors take several steps of at a time.
    """
    for n in range(out.size):
        out[n] += share * (values[n] - start)
