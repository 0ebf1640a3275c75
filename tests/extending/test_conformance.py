"""Every policy passes the conformance suite, and the suite finds policies that should not pass."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import thrifty as th
from thrifty.extending import (
    CHECKS,
    Choice,
    Ledger,
    Regression,
    WorkSpace,
    check_policy,
    choose,
    implements,
)
from thrifty.extending.conformance import check_map_arms, check_open_contexts
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


class Remembering(NamedTuple):
    """How many arms were on offer, and the arm that was played."""

    ledger: Ledger
    regression: Regression
    last: WorkSpace  # (2,)


@implements(choose, Remembering)
def _play_the_same_of_as_many_arms(state, context, arms):
    if state.last[0] != arms.size:
        state.last[0], state.last[1] = arms.size, state.ledger.counters[0].rounds % arms.size
    return Choice(arms[int(state.last[1])], 0)


@dataclass(frozen=True, kw_only=True)
class ByNumber(Greedy):
    """Looks up what it knows of an offer by how many arms it has."""

    name: ClassVar[str] = "by-number"

    def start(self, sets, *, noise, horizon):
        return Remembering(*super().start(sets, noise=noise, horizon=horizon), np.zeros(2))


class Undeclared(NamedTuple):
    """As for Greedy, and an array about arms that does not say so."""

    ledger: Ledger
    regression: Regression
    weights: np.ndarray  # (k,)


@implements(choose, Undeclared)
def _play_the_first_arm(state, context, arms):
    return Choice(arms[0], 0)


@dataclass(frozen=True, kw_only=True)
class Weighing(Greedy):
    """Keeps a number for each arm on offer."""

    name: ClassVar[str] = "weighing"

    of: str = "rows"

    def start(self, sets, *, noise, horizon):
        weights = np.zeros(len(sets.rows) if self.of == "rows" else sets.dimension)
        return Undeclared(*super().start(sets, noise=noise, horizon=horizon), weights)


def test_a_policy_that_looks_up_an_offer_by_its_size_is_found():
    with pytest.raises(AssertionError, match="a loaded learner to decide as the one in use does"):
        check_open_contexts(ByNumber())


def test_an_array_about_the_arms_on_offer_must_be_declared():
    with pytest.raises(th.InvalidInput, match=r"^state\.weights: .* \(17,\) .*\(33,\): declare"):
        check_open_contexts(Weighing())


def test_an_array_about_the_entries_of_theta_must_be_declared():
    with pytest.raises(
        th.InvalidInput, match=r"^state\.weights: .* \(6,\) .*\(9,\): declare.*Theta"
    ):
        check_map_arms(Weighing(of="theta"))
