"""What a learner is told about rewards and pending decisions, and the check of a reward."""

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from thrifty.errors import InvalidInput, UnknownName
from thrifty.numerics.arrays import RANGE, Floats, finite_number, finite_numbers

REWARDS = ("gaussian", "bernoulli")
LARGEST_REWARD = 1 / RANGE
SMALLER = f"a number below {LARGEST_REWARD:g}"
MOST_DRAWS = 1_000_000
MOST_DECISIONS = 10**15
# Keys of `expire`, in a learner's settings and files. They were keywords of their own once.
EXPIRE = {"after": "expire_after", "reward": "expired_reward"}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a learner; `expire={"after": ..., "reward": ...}` gives the two of expiry.

    Attributes
    ----------
    rewards : `gaussian`, any numbers; or `bernoulli`, 0 and 1 only, as clicks are
    expire_after : a decision without a reward is given up after so many later ones; never by
        default
    expired_reward : the reward it is then learned with; by default it is cancelled
    most_waiting : at most so many decisions are pending; then the oldest is given up
    probability_draws : posterior draws that estimate `Decision.probability` where it has no closed
        form (lints); 0 leaves it None
    """

    rewards: str = "gaussian"
    expire_after: int | None = None
    expired_reward: float | None = None
    most_waiting: int = 1_000_000
    probability_draws: int = 0

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Settings":
        """Settings by name."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise UnknownName("setting of a learner", name, known)
        return cls(**values)

    def __post_init__(self) -> None:
        if self.rewards not in REWARDS:
            raise InvalidInput.expected("rewards", " or ".join(REWARDS), self.rewards)
        if self.expire_after is not None:
            self._whole("expire_after", 1, MOST_DECISIONS)
        if self.expired_reward is not None:
            try:
                reward = self.check_reward(self.expired_reward)
            except InvalidInput as error:
                raise InvalidInput("expire.reward", error.message) from None
            object.__setattr__(self, "expired_reward", reward)
        self._whole("most_waiting", 1, MOST_DECISIONS)
        self._whole("probability_draws", 0, MOST_DRAWS)

    def _whole(self, key: str, least: int, most: int) -> None:
        """Check that a setting is a whole number between two bounds."""
        value = getattr(self, key)
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or not least <= value <= most:
            where = "expire.after" if key == "expire_after" else key
            raise InvalidInput.expected(where, f"a whole number from {least} to {most:,}", value)
        object.__setattr__(self, key, int(value))

    def check_reward(self, reward: float) -> float:
        """A reward as a number; raises what `learn` would raise about it."""
        if type(reward) is not float or not -LARGEST_REWARD < reward < LARGEST_REWARD:
            reward = _number(reward)
        if reward != 0.0 and reward != 1.0 and self.rewards == "bernoulli":
            raise _no_click(reward)
        return reward

    def check_rewards(self, rewards: Any, count: int) -> Floats:
        """Rewards (n,) of as many decisions that were taken elsewhere."""
        numbers = finite_numbers(rewards, "rewards")
        for i in np.flatnonzero(~(np.abs(numbers) < LARGEST_REWARD)):
            raise InvalidInput.expected(f"rewards[{i}]", SMALLER, numbers[i])
        if len(numbers) != count:
            expected = f"{count} numbers (one for each row)"
            raise InvalidInput.expected("rewards", expected, len(numbers))
        if self.rewards == "bernoulli":
            for reward in numbers[(numbers != 0) & (numbers != 1)]:
                raise _no_click(float(reward))
        return numbers


def told_settings(values: Mapping[str, Any], expire: Any) -> dict[str, Any]:
    """Settings as a user gives them, by the names of Settings.

    expire : such as {"after": 1000, "reward": 0}; its former names warn
    """
    settings = dict(values)
    for key, name in EXPIRE.items():
        if name in settings:
            message = f"{name}=... is now expire={{{key!r}: ...}}; the old name goes in 0.4"
            warnings.warn(message, DeprecationWarning, stacklevel=_users_level())
    if expire is None:
        return settings
    if not isinstance(expire, Mapping) or not expire:
        raise InvalidInput.expected("expire", 'a rule such as {"after": 1000, "reward": 0}', expire)
    for key, value in expire.items():
        if key not in EXPIRE:
            raise UnknownName("key of expire", str(key), EXPIRE)
        settings[EXPIRE[key]] = value
    return settings


def _users_level() -> int:
    """How many calls above is the first one that is not of thrifty: warnings show its line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals["__name__"]).startswith("thrifty."):
        level, frame = level + 1, frame.f_back
    return level


def _number(reward: float) -> float:
    click = isinstance(reward, bool | np.bool_)
    number = finite_number(int(reward) if click else reward, "reward")
    if not abs(number) < LARGEST_REWARD:
        raise InvalidInput.expected("reward", SMALLER, reward)
    return number


def _no_click(reward: float) -> InvalidInput:
    return InvalidInput.expected("reward", "0 or 1 (rewards are bernoulli)", reward)
