"""Attack: random problems with base information; bounds against rational arithmetic."""

import numpy as np

import thrifty as th
from tests.fuzz import exact

TRUE = 2e-10  # relative error of a bound, and excess of a constraint, that rounding may have


def problem(rng):
    """Features, gaps, best, noise and base; units, conditions and gaps far apart."""
    k, d = int(rng.integers(2, 10)), int(rng.integers(1, 6))
    features = rng.normal(size=(k, d)) * 10 ** rng.uniform(-4, 4, size=rng.choice([1, d]))
    gaps, best = 10 ** rng.uniform(-3, 1, k), np.arange(k) == 0
    gaps[0] = 0
    directions = np.linalg.qr(rng.normal(size=(d, d)))[0]
    base = (directions * 10 ** rng.uniform(-9, 6, size=d)) @ directions.T
    if rng.random() < 0.5:  # in the units of the features
        units = np.abs(features).max(axis=0)
        base *= np.outer(units, units)
    return features, gaps, best, 10 ** rng.uniform(-2, 1), (base + base.T) / 2


def check(problem, warm=None):
    """Solved means: the pulls meet every constraint, and the bounds are those that they prove."""
    features, gaps, best, noise, base = problem
    found = th.allocate(features, gaps, best, noise=noise, base=base, warm=warm)
    if found.status != "solved" or found.remarks:
        return
    proved = exact.certificate(features, gaps, best, found.pulls, found.prices, noise, base)
    assert proved.violation <= TRUE
    assert found.upper == proved.cost or abs(found.upper / proved.cost - 1) <= TRUE
    assert found.lower <= proved.lower * (1 + TRUE)
    assert proved.lower <= proved.cost * (1 + TRUE)


def attack(rng):
    """One problem, solved, changed a little and solved again from the solution."""
    first = features, gaps, best, noise, base = problem(rng)
    check(first)
    warm = th.allocate(features, gaps, best, noise=noise, base=base)
    check((features, gaps * rng.uniform(0.8, 1.25, len(gaps)), best, noise, base), warm=warm)
