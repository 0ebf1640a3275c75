"""Every policy passes the conformance suite, and the suite finds policies that should not pass."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

import thrifty as th
from thrifty.extending import CHECKS, check_policy
from thrifty.policies import POLICIES, Greedy

VARIANTS = [
    *POLICIES,
    "oam:epsilon=literal",
    "oam:epsilon=0.05,forced=spanner,c=0",
    "linucb:width=fn",
    "linucb:width=alpha",
    "lints:inflation=theory",
    "ids:correction=all",
    "vids:samples=10,draws=anew",
    "linmed:alpha_emp=0,alpha_opt=1",
    "ossb:epsilon=0.1,gamma=0.1",
    "thrifty:noise=known",
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


class SharedState(FirstArm):
    """Legal, but keeps its state in the class: replications share it."""

    total = 0

    def start(self, sets, *, noise, horizon, rng):
        self.sets = sets

    def choose(self, context):
        SharedState.total += 1
        return SharedState.total % len(self.sets.arms(context))


class OutOfRange(FirstArm):
    """Plays an arm that its context does not have."""

    def choose(self, context):
        return 99


def test_a_policy_that_is_not_a_function_of_its_seed_is_found():
    with pytest.raises(AssertionError, match="the same bits again expected"):
        check_policy(SharedState())


def test_a_policy_that_plays_an_arm_that_does_not_exist_is_found():
    with pytest.raises(th.InvalidInput, match="OutOfRange: choose: an arm from 0 to "):
        check_policy(OutOfRange())


@dataclass(frozen=True, kw_only=True)
class Faulty(Greedy):
    """Greedy with one fault."""

    fault: str = ""

    name: ClassVar[str] = "faulty"

    def learn_removed(self, state, features, reward):
        if self.fault == "removed":
            raise AssertionError("late reward refused")
        super().learn_removed(state, features, reward)

    def carry(self, old, new, renumbering):
        if self.fault == "carry":
            raise AssertionError("nothing was carried over")
        super().carry(old, new, renumbering)


@pytest.mark.parametrize(
    ("fault", "message"),
    [("removed", "late reward refused"), ("carry", "nothing was carried over")],
)
def test_changing_arms_reach_every_part_of_a_policy(fault, message):
    check_policy(Faulty())
    with pytest.raises(AssertionError, match=message):
        check_policy(Faulty(fault=fault))
