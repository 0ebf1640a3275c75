"""Information that pending decisions will bring: V as it will be once all rewards have come.

Rewards can be late, and some never come. A policy that looks at V alone asks the same again until
they do. Here pulls count when they are made: `await_reward` and `take_reward` are called with each
decision and each reward, `give_up_reward` where none will come. Without a pending decision nothing
is computed: V is all there is.
"""

from typing import NamedTuple

import numpy as np

from thrifty.compiler.compilation import kernel
from thrifty.compiler.records import Record, Records
from thrifty.numerics.arrays import Floats, Ints, ThetaFloats, WorkSpace
from thrifty.numerics.inversion import Totals
from thrifty.numerics.regression import Regression


class Awaited(Record):
    """How many decisions are pending, and whether the inverse holds for them."""

    count: int
    current: bool
    several: bool  # whether more than one was pending since none was: differences leave roundings
    first: int  # the first entry of theta that the latest decision is about


class ExpectedInformation(NamedTuple):
    """What pending decisions will add to V, for theta in R^d in blocks of width w."""

    information: ThetaFloats  # (d, w) sum of x x^T over pending decisions
    inverse: ThetaFloats  # (d, w) of V with that, if it is current
    latest: Floats  # (w,) x of the latest decision
    awaited: Records  # (1,) of Awaited
    step: WorkSpace  # (w,) the inverse times x
    sum: WorkSpace  # (d, w) the base of V with the information
    totals: Records  # (1,) of Totals: of V with the information


def start_expected(regression: Regression) -> ExpectedInformation:
    """Before the first decision."""
    d, width = regression.inverse.shape
    return ExpectedInformation(
        information=np.zeros((d, width)),
        inverse=np.zeros((d, width)),
        latest=np.zeros(width),
        awaited=Awaited.new(),
        step=np.zeros(width),
        sum=np.zeros((d, width)),
        totals=Totals.new(),
    )


def carry_expected(
    old: ExpectedInformation, new: ExpectedInformation, origins: Ints | None = None
) -> None:
    """Copy what is pending to a state for other arms.

    origins (blocks,): where blocks of theta come from, if they are others; -1 for a new one. What
    is pending for those that are gone is not expected any more, but stays in the count.
    """
    if origins is None:
        new.information[:], new.awaited[:] = old.information, old.awaited
    else:
        blocks = new.information.reshape(len(origins), -1)
        blocks[origins < 0] = 0.0
    new.awaited[0].current = False
    new.awaited[0].several = True  # the latest decision may be about a removed arm


@kernel
def await_reward(expected: ExpectedInformation, features: Floats, first: int) -> None:
    """Count a decision for an arm with features (w,), about entries of theta from first on."""
    awaited, information = expected.awaited, expected.information
    for i in range(features.size):
        for j in range(features.size):
            information[first + i, j] += features[i] * features[j]
    if awaited[0].count == 0:
        for i in range(features.size):
            expected.latest[i] = features[i]
        awaited[0].first = first
        awaited[0].current, awaited[0].several = False, False
    else:
        awaited[0].several = True
        if awaited[0].current:
            _add_to_inverse(expected, features, first)
    awaited[0].count += 1


@kernel
def take_reward(expected: ExpectedInformation, features: Floats, first: int) -> None:
    """Count a reward: V has the pull of an arm with features (w,) by now."""
    awaited, information = expected.awaited, expected.information
    awaited[0].count = max(0, awaited[0].count - 1)
    if awaited[0].count == 0 and awaited[0].several:
        for i in range(information.shape[0]):
            for j in range(information.shape[1]):
                information[i, j] = 0.0
    else:
        for i in range(features.size):
            for j in range(features.size):
                information[first + i, j] -= features[i] * features[j]


@kernel
def give_up_reward(expected: ExpectedInformation, features: Floats, first: int) -> None:
    """Uncount a decision: no reward will come."""
    take_reward(expected, features, first)
    expected.awaited[0].current = False


@kernel
def forget_share(expected: ExpectedInformation, regression: Regression) -> None:
    """After a reward: V was computed anew, or a share of it was forgotten."""
    kept, inverse = regression.kept, expected.inverse
    if regression.totals[0].roundings == 0.0:
        expected.awaited[0].current = False
    elif kept < 1.0 and expected.awaited[0].count > 0:
        # what is pending fades with the rest, until V is computed anew
        for i in range(inverse.shape[0]):
            for j in range(inverse.shape[1]):
                inverse[i, j] /= kept


@kernel
def look_ahead(expected: ExpectedInformation, regression: Regression) -> bool:
    """Whether decisions are pending; then the inverse holds for all of them."""
    awaited, inverse, now = expected.awaited, expected.inverse, regression.inverse
    if awaited[0].count == 0:
        return False
    if awaited[0].current:
        return True
    if not awaited[0].several:  # one decision: a rank-one step from V
        for i in range(now.shape[0]):
            for j in range(now.shape[1]):
                inverse[i, j] = now[i, j]
        width = expected.latest.size
        first = min(awaited[0].first, now.shape[0] - width)  # whatever a file says
        _add_to_inverse(expected, expected.latest, first)
    else:
        for i in range(now.shape[0]):
            for j in range(now.shape[1]):
                expected.sum[i, j] = regression.base[i, j] + expected.information[i, j]
        columns, pulls, outside = regression.columns, regression.pulls, regression.outside
        regression.invert(columns, pulls, expected.sum, inverse, outside, expected.totals)
    awaited[0].current = True
    return True


@kernel
def _add_to_inverse(expected: ExpectedInformation, features: Floats, first: int) -> None:
    """(M + x x^T)^-1 = M^-1 - (M^-1 x)(M^-1 x)^T / (1 + ||x||^2) for x = features (w,)."""
    inverse, step, norm = expected.inverse, expected.step, 0.0
    for i in range(features.size):
        step[i] = 0.0
        for j in range(features.size):
            step[i] += inverse[first + i, j] * features[j]
        norm += step[i] * features[i]
    for i in range(features.size):
        for j in range(features.size):
            inverse[first + i, j] -= step[i] * step[j] / (1.0 + norm)
