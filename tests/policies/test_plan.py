"""The plan that policies share: gaps and ties at the estimated means."""

import numpy as np
import pytest

from thrifty.policies.shared.plan import estimate_gaps, start_plan


@pytest.mark.parametrize("unit", [1.0, 1e-20, 1e20])
def test_what_is_a_tie_does_not_depend_on_the_unit_of_rewards(unit):
    plan = start_plan(np.eye(3))
    means = unit * np.array([1.0, 1.0 - 1e-15, 0.5])
    assert estimate_gaps(plan, means, np.array([0, 3])) == pytest.approx(0.5 * unit)
    assert plan.best.tolist() == [True, True, False]
    assert plan.gaps == pytest.approx(unit * np.array([0.0, 0.0, 0.5]))
