"""A learner for a policy: for listed or for open contexts, and what noise it is told."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast, overload

from thrifty.errors import InvalidInput
from thrifty.learners.features import FeatureMap
from thrifty.learners.listed import ListedLearner
from thrifty.learners.open_contexts import OpenLearner, OpenSets
from thrifty.learners.plain import PlainLearner
from thrifty.policies import check_open
from thrifty.policies import policy as named_policy
from thrifty.policies.base import Policy
from thrifty.policies.shared.plain import AnyPolicy, PlainPolicy, check_plain, name_of
from thrifty.problem.action_sets import ActionSets

__all__ = ["FeatureMap", "ListedLearner", "OpenLearner", "learner", "start_learner"]

CLICK_NOISE = 0.5  # the deviation of a reward of 0 or 1 is at most that


@overload
def learner(
    policy: AnyPolicy | str,
    sets: ActionSets,
    seed: int = 0,
    *,
    noise: float | str | None = None,
    horizon: float | None = None,
    **settings: Any,
) -> ListedLearner: ...
@overload
def learner(
    policy: Policy | str,
    *,
    seed: int = 0,
    dimension: int | None = None,
    columns: Sequence[str] | None = None,
    features: FeatureMap | None = None,
    noise: float | str | None = None,
    horizon: float | None = None,
    **settings: Any,
) -> OpenLearner: ...
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
    **settings: Any,
) -> ListedLearner | OpenLearner:
    """Use a policy online: choose, learn, explain.

    Parameters
    ----------
    policy : such as `th.Thrifty()`, or its spec; or a plain policy, for listed contexts
    sets, seed, dimension, columns, features, noise : as for `policy.learner(...)`
    horizon : rounds to plan for, unless the policy has a horizon of its own
    settings : rewards, expire_after, expired_reward, most_waiting, probability_draws (see Learner)
    """
    if isinstance(policy, str):
        policy = named_policy(policy)
    opened = {"dimension": dimension, "columns": columns, "features": features}
    if isinstance(policy, Policy):
        planned = policy if horizon is None else with_horizon(policy, horizon)
        return start_learner(planned, sets, opened, seed=seed, noise=noise, settings=settings)
    _check_listed(policy, sets, opened)
    told = _default_noise(settings) if noise is None else cast(float, noise)
    listed = cast(ActionSets, sets)
    return PlainLearner(policy, listed, seed=seed, noise=told, horizon=horizon, **settings)


def _check_listed(policy: PlainPolicy, sets: Any, opened: Mapping[str, Any]) -> None:
    check_plain(policy)
    if sets is None or any(one is not None for one in opened.values()):
        expected = "listed contexts: learner(policy, th.ActionSets(...))"
        raise InvalidInput.expected(name_of(policy), expected, sets or dict(opened))


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
    policy, told = with_noise(policy, noise, _default_noise(settings))
    if sets is not None:
        if any(one is not None for one in opened.values()):
            raise InvalidInput.expected(
                "learner", "action sets or open contexts, not both", dict(opened)
            )
        return ListedLearner(policy, sets, seed=seed, noise=told, **settings)
    check_open(policy)
    return OpenLearner(policy, OpenSets(**opened), seed=seed, noise=told, **settings)


def with_horizon(policy: Policy, horizon: float) -> Policy:
    """The policy with a horizon of its own, if it plans for one and has none."""
    if "horizon" not in policy.parameters() or getattr(policy, "horizon", None) is not None:
        return policy
    changes: Any = {"horizon": horizon}
    return replace(policy, **changes)


def _default_noise(settings: Mapping[str, Any]) -> float:
    return CLICK_NOISE if settings.get("rewards") == "bernoulli" else 1.0


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
