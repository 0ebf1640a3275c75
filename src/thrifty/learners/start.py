"""A learner for a policy: for listed or for open contexts, and what noise it is told."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from inspect import signature
from typing import Any, cast, overload

from thrifty.errors import InvalidInput, UnknownArgument
from thrifty.learners.learner import Learner
from thrifty.learners.maps import FeatureMap
from thrifty.learners.open_contexts import OpenSets
from thrifty.learners.plain import PlainLearner
from thrifty.learners.settings import EXPIRE, Settings, told_settings
from thrifty.policies import check_open
from thrifty.policies import policy as named_policy
from thrifty.policies.base import Policy
from thrifty.policies.shared.plain import AnyPolicy, PlainPolicy, check_plain, name_of
from thrifty.problem.action_sets import ActionSets

__all__ = ["FeatureMap", "Learner", "learner"]

CLICK_NOISE = 0.5  # the deviation of a reward of 0 or 1 is at most that


@overload
def learner(
    policy: Policy | str,
    sets: ActionSets | None = None,
    seed: int = 0,
    *,
    dimension: int | None = None,
    columns: Sequence[str] | None = None,
    features: FeatureMap | None = None,
    noise: float | str | None = None,
    horizon: float | None = None,
    expire: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Learner: ...
@overload
def learner(policy: PlainPolicy, sets: ActionSets, **options: Any) -> PlainLearner: ...
def learner(
    policy: AnyPolicy | str,
    sets: ActionSets | None = None,
    seed: int = 0,
    *,
    dimension: int | None = None,
    columns: Sequence[str] | None = None,
    features: FeatureMap | None = None,
    noise: float | str | None = None,
    horizon: float | None = None,
    expire: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Learner | PlainLearner:
    """Use a policy online: choose, learn, explain.

    Parameters
    ----------
    policy : such as `th.Thrifty()`, or its spec; or a plain policy, for listed contexts
    sets : the arms of all contexts, where contexts are listed
    seed : random seed of the policy
    dimension, columns, features : for open contexts: how many features arms will have when they
        come; or the names of these; or a map that makes them
    noise : standard deviation of the rewards, or `estimate` where a policy can; by default
        `estimate` or else 1, or 1/2 for clicks
    horizon : rounds to plan for, unless the policy has a horizon of its own
    expire : gives decisions up: {"after": 1000, "reward": 0} after 1,000 later ones, with this
        reward or, without one, with none; `reward` alone is for those beyond most_waiting
    settings : rewards, most_waiting, probability_draws (see Settings)
    """
    _check_names(settings)
    settings = told_settings(settings, expire)
    if isinstance(policy, str):
        policy = named_policy(policy)
    opened = {"dimension": dimension, "columns": columns, "features": features}
    asked = {name: value for name, value in opened.items() if value is not None}
    default = CLICK_NOISE if settings.get("rewards") == "bernoulli" else 1.0
    if not isinstance(policy, Policy):
        check_plain(policy)
        if sets is None or asked:
            expected = "listed contexts: learner(policy, th.ActionSets(...))"
            raise InvalidInput.expected(name_of(policy), expected, sets or asked)
        told = default if noise is None else cast(float, noise)
        return PlainLearner(policy, sets, seed=seed, noise=told, horizon=horizon, **settings)
    if horizon is not None:
        policy = with_horizon(policy, horizon)
    policy, told = with_noise(policy, noise, default)
    return Learner(policy, _known(policy, sets, asked), seed=seed, noise=told, **settings)


def _check_names(settings: Mapping[str, Any]) -> None:
    """Raise UnknownArgument for the first keyword that no learner takes."""
    names = [field.name for field in fields(Settings)]
    parameters = [name for name in signature(learner).parameters if name != "settings"]
    former = EXPIRE.values()
    for name in settings:
        if name not in names:
            known = parameters + [other for other in names if other not in former]
            raise UnknownArgument("argument of learner", name, known)


def _known(
    policy: Policy, sets: ActionSets | None, asked: Mapping[str, Any]
) -> ActionSets | OpenSets:
    """What a policy is told of its arms: action sets, or what was asked of open contexts."""
    if sets is not None:
        if asked:
            raise InvalidInput("learner", "pass action sets, or what open contexts need, not both")
        return sets
    check_open(policy)
    return OpenSets(**asked)


def with_horizon(policy: Policy, horizon: float) -> Policy:
    """The policy with a horizon of its own, if it plans for one and has none."""
    if "horizon" not in policy.parameters() or getattr(policy, "horizon", None) is not None:
        return policy
    changes: Any = {"horizon": horizon}
    return replace(policy, **changes)


def with_noise(policy: Policy, noise: float | str | None, default: float) -> tuple[Policy, float]:
    """The policy, and the noise that it is told.

    A number is believed, also by policies that would estimate the noise otherwise.
    """
    can_estimate, any_policy = hasattr(policy, "noise"), cast(Any, policy)
    if noise is None:
        return policy, default
    if isinstance(noise, str):
        if noise != "estimate" or not can_estimate:
            known = "a number or estimate" if can_estimate else "a number"
            raise InvalidInput.expected(f"{policy.name}: noise", known, noise)
        return replace(any_policy, noise="estimate"), default
    return (replace(any_policy, noise="known") if can_estimate else policy), noise
