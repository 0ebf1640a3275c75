"""The noise and the prior of theta, learned from the rewards: theta ~ N(0, scale I).

For states with the fields regression, model, responses, known and least_ridge.
"""

import math
from typing import Any

import numpy as np

from thrifty.compiler.compilation import kernel
from thrifty.compiler.records import Record, Records
from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.regression import set_ridge

PRIOR_DIMENSIONS = 2.0  # how many dimensions of data the first prior counts for
LEAST_PRIOR = 0.2  # its deviation, as a share of a noise that is estimated
LEAST_RIDGE = 1e-13  # as a share of the longest arm squared: less would be rounding
RIDGE_CHANGE = 0.1  # of the ridge, as a share, until it is changed


class Model(Record):
    """Noise and prior: theta ~ N(0, noise^2 / ridge I)."""

    noise: float  # standard deviation of the rewards, known or estimated
    scale: float  # the first prior variance of an entry of theta; it only grows
    squares: float  # sum of squared rewards
    rewards: float  # how many


def least_ridge(rows: Floats) -> float:
    """The least ridge for arms (k, w)."""
    return LEAST_RIDGE * float((rows**2).sum(axis=1).max())


@kernel
def count_reward(model: Records, reward: float, kept: float) -> None:
    model[0].squares = kept * model[0].squares + reward * reward
    model[0].rewards = kept * model[0].rewards + 1.0


def forget_blocks(state: Any, model: Records, origins: Ints) -> None:
    """Take out of a model the rewards that blocks of theta which are gone explain.

    The squared residuals, and how many rewards the noise is estimated from, stay as they were.
    """
    regression, width = state.regression, state.regression.inverse.shape[1]
    ridge = regression.totals[0].ridge
    for block in set(range(regression.theta.size // width)) - set(origins.tolist()):
        entries = slice(block * width, (block + 1) * width)
        theta = regression.theta[entries]
        explained = ridge * (theta @ theta) + state.responses[entries] @ theta
        determined = (1.0 - ridge * np.diag(regression.inverse[entries])).clip(0.0).sum()
        model[0].squares = max(0.0, model[0].squares - explained)
        model[0].rewards = max(0.0, model[0].rewards - determined)


@kernel
def fit_model(state: Any) -> bool:
    """The noise, if it is unknown, and the prior N(0, scale I), scale = noise^2 / ridge.

    The data determine d - ridge tr V^-1 dimensions. The rewards beyond these determine the noise;
    the estimate before counts for one reward. |theta_hat|^2 is expected to be scale times as many
    as these dimensions: the fixed point of MacKay's evidence procedure, in which the first scale
    counts for PRIOR_DIMENSIONS more. A shorter theta is no reason to explore less: it may be long
    where it was not looked at.

    Returns whether the ridge, and with it V, has changed.
    """
    regression, totals, model = state.regression, state.regression.totals, state.model
    length, determined, width = 0.0, 0.0, regression.inverse.shape[1]
    for i in range(regression.theta.size):
        length += regression.theta[i] ** 2
        determined += max(0.0, 1.0 - totals[0].ridge * regression.inverse[i, i % width])
    if not state.known and model[0].rewards > 0.0:
        _estimate_noise(state, length, determined)
    first, prior = model[0].scale, PRIOR_DIMENSIONS
    scale = max(first, (prior * first + length) / (prior + determined))
    # less noise than that is rounding; with a ridge that is not in proportion, e would be wrong
    model[0].noise = max(model[0].noise, math.sqrt(state.least_ridge * scale))
    ridge = model[0].noise ** 2 / scale
    if abs(ridge - totals[0].ridge) < RIDGE_CHANGE * totals[0].ridge:
        return False
    set_ridge(regression, ridge)
    return True


@kernel
def _estimate_noise(state: Any, length: float, determined: float) -> None:
    """noise^2 = (the one before + squared residuals) / (1 + rewards - determined).

    And what it says about the first scale: a prior far narrower than the noise would take rewards
    in small units for noise.
    """
    theta, model = state.regression.theta, state.model
    residuals = model[0].squares - state.regression.totals[0].ridge * length
    for i in range(theta.size):
        residuals -= state.responses[i] * theta[i]
    freedom = 1.0 + max(0.0, model[0].rewards - determined)
    variance = (model[0].noise ** 2 + max(0.0, residuals)) / freedom
    model[0].noise = math.sqrt(variance)
    least = LEAST_PRIOR**2 * min(variance, model[0].squares / model[0].rewards)
    model[0].scale = max(model[0].scale, least)
