"""Every policy passes the conformance suite, and the suite finds policies that should not pass."""

import pytest

import thrifty as th
from thrifty.extending.conformance import CHECKS, check_policy
from thrifty.policies import POLICIES

VARIANTS = [
    *POLICIES,
    "oam:epsilon=literal",
    "oam:epsilon=0.05,forced=spanner,c=0",
    "linucb:width=fn",
    "lints:inflation=theory",
    "ids:correction=all",
    "ossb:epsilon=0.1,gamma=0.1",
    "thrifty:noise=estimate",
    "solid:kappa=0,price_step=1,decay=0.5,reset=no",
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("spec", VARIANTS)
def test_conformance(spec, check):
    """A check raises what it finds."""
    check(th.policy(spec))


class FirstArm:
    """The simplest plain policy."""

    def start(self, sets, *, noise, horizon, rng):
        self.rng = rng

    def choose(self, context):
        return 0

    def learn(self, context, arm, reward):
        pass


def test_a_plain_policy_can_be_checked():
    check_policy(FirstArm())


class Forgetful(FirstArm):
    """Keeps its state outside of itself: replicates meet in it."""

    total = 0

    def choose(self, context):
        Forgetful.total += 1
        return 0 if context else Forgetful.total % 2

    def start(self, sets, *, noise, horizon, rng):
        self.sets = sets

    def learn(self, context, arm, reward):
        Forgetful.total += int(reward > 0)


def test_the_suite_finds_a_policy_that_is_not_a_function_of_its_seed():
    sets_of_two = th.Instance(th.ActionSets([[[1.0, 0], [0, 1]]]), theta=[1, 0])
    first = th.run(sets_of_two, Forgetful(), horizon=99, replications=1).results[0].final
    second = th.run(sets_of_two, Forgetful(), horizon=99, replications=1).results[0].final
    assert first != second
    with pytest.raises((AssertionError, th.InvalidInput)):
        check_policy(Forgetful())
