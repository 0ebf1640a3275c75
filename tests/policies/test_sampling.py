"""Policies that draw arms from a distribution: squarecb, linmed, vids."""

import numpy as np
import pytest

import thrifty as th
from tests.policies.test_solid import RANDOM, SETS, played

SCALED = th.Instance(SETS, theta=4 * RANDOM.theta, noise=4 * RANDOM.noise)


@pytest.mark.parametrize("spec", ["squarecb:ridge=1"])
def test_the_unit_of_rewards_does_not_matter(spec):
    decisions = [
        [(decision.arm, decision.label) for decision in played(instance, th.policy(spec), 1000)[1]]
        for instance in (RANDOM, SCALED)
    ]
    assert decisions[0] == decisions[1]


def test_squarecb_draws_uniformly_where_means_are_equal_and_less_with_time():
    _, decisions = played(RANDOM, th.SquareCB(c=0), 2000)
    counts = np.bincount([decision.arm for decision in decisions], minlength=20)
    assert ((counts - 100) ** 2 / 100).sum() < 45  # chi-squared with 19 degrees of freedom
    _, decisions = played(RANDOM, th.SquareCB(), 4000)
    sampled = np.array([decision.label == "sampled" for decision in decisions])
    assert 0 < sampled[2000:].sum() < 0.75 * sampled[:2000].sum()
