"""A learner for a policy: for listed or for open contexts, and what noise it is told."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from thrifty.errors import InvalidInput
from thrifty.online.features import FeatureMap
from thrifty.online.listed import ListedLearner
from thrifty.online.open_contexts import OpenLearner, OpenSets
from thrifty.policies.base import Policy
from thrifty.problem.action_sets import ActionSets

__all__ = ["FeatureMap", "ListedLearner", "OpenLearner", "start_learner"]

CLICK_NOISE = 0.5  # the deviation of a reward of 0 or 1 is at most that


def start_learner(
    policy: Policy,
    sets: ActionSets | None,
    opened: Mapping[str, Any],
    *,
    seed: int,
    noise: float | str | None,
    settings: Mapping[str, Any],
) -> ListedLearner | OpenLearner:
    """A learner; opened: arguments of OpenSets, settings: further ones of Learner."""
    clicks = settings.get("rewards") == "bernoulli"
    policy, told = _with_noise(policy, noise, CLICK_NOISE if clicks else 1.0)
    if sets is not None:
        if any(one is not None for one in opened.values()):
            raise InvalidInput("learner", "action sets or open contexts, not both", dict(opened))
        return ListedLearner(policy, sets, seed=seed, noise=told, **settings)
    if not policy.open:
        raise InvalidInput(policy.name, "listed contexts: learner(th.ActionSets(...))", "none")
    return OpenLearner(policy, OpenSets(**opened), seed=seed, noise=told, **settings)


def _with_noise(policy: Policy, noise: float | str | None, default: float) -> tuple[Policy, float]:
    """The policy, and the noise that it is told.

    A number is believed, also by policies that would estimate the noise otherwise.
    """
    can_estimate, any_policy = hasattr(policy, "noise"), cast(Any, policy)
    if noise is None:
        return policy, default
    if isinstance(noise, str):
        if noise != "estimate" or not can_estimate:
            known = "a number or estimate" if can_estimate else "a number"
            raise InvalidInput(f"{policy.name}: noise", known, noise)
        return replace(any_policy, noise="estimate"), default
    return (replace(any_policy, noise="known") if can_estimate else policy), noise
