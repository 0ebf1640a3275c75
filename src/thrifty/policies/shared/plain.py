"""Policies in plain Python: what they must have, and how a simulation or a learner calls them."""

import copy
from inspect import signature
from typing import Any, Protocol, cast

import numpy as np
from numpy.random import Generator

from thrifty.errors import InvalidInput
from thrifty.policies.base import Policy
from thrifty.problem.action_sets import ActionSets


class PlainPolicy(Protocol):
    """An object with these methods, and perhaps a `name`. Replications and learners play a copy."""

    def start(self, sets: ActionSets, *, noise: float, horizon: int, rng: Generator) -> None:
        """Begin anew; horizon is None for a learner that was given none."""

    def choose(self, context: int) -> int:
        """The arm to play, counted within its context."""

    def learn(self, context: int, arm: int, reward: float) -> None:
        """Learn from its reward."""


AnyPolicy = Policy | PlainPolicy


def name_of(policy: AnyPolicy) -> str:
    """The name of a policy in results."""
    if isinstance(policy, Policy):
        return policy.spec
    return str(getattr(policy, "name", type(policy).__name__))


def label_names(policy: AnyPolicy) -> tuple[str, ...]:
    """The labels of a policy's rounds; a plain policy has one."""
    return policy.labels if isinstance(policy, Policy) else ("played",)


def check_plain(policy: Any) -> None:
    """Refuse what is no plain policy."""
    if isinstance(policy, type):
        raise InvalidInput("policy", f"pass {policy.__name__}(), not the class {policy.__name__}")
    methods = ("start", "choose", "learn")
    missing = [name for name in methods if not callable(getattr(policy, name, None))]
    if len(missing) == len(methods):
        raise InvalidInput.expected("policy", 'a policy object or a spec such as "lints"', policy)
    if missing:
        raise InvalidInput("policy", f"{name_of(policy)} has no method {missing[0]}")
    for method in methods:
        _check_call(policy, method)


def _check_call(policy: Any, method: str) -> None:
    """Refuse a method that cannot be called with the arguments of PlainPolicy's."""
    arguments = list(signature(getattr(PlainPolicy, method)).parameters.values())[1:]
    keywords = [argument.name for argument in arguments if argument.kind is argument.KEYWORD_ONLY]
    positional = arguments[: len(arguments) - len(keywords)]
    try:
        signature(getattr(policy, method)).bind(*positional, **dict.fromkeys(keywords))
    except TypeError as error:
        names = ", ".join(argument.name for argument in arguments)
        raise InvalidInput(name_of(policy), f"{method}({names}) is called; {error}") from None


def start_plain(
    policy: PlainPolicy, sets: ActionSets, *, noise: float, horizon: int | None, rng: Generator
) -> PlainPolicy:
    """A copy of a plain policy, started."""
    check_plain(policy)
    player = copy.deepcopy(policy)
    player.start(sets, noise=noise, horizon=cast(int, horizon), rng=rng)
    return player


def choose_plain(player: PlainPolicy, sets: ActionSets, context: int) -> int:
    """The arm that a plain policy chooses, counted within its context, checked."""
    arm = player.choose(context)
    arms = int(sets.offsets[context + 1] - sets.offsets[context])
    if not isinstance(arm, int | np.integer) or not 0 <= arm < arms:
        expected = f"an arm from 0 to {arms - 1}"
        raise InvalidInput.expected(f"{name_of(player)}: choose", expected, arm)
    return int(arm)
