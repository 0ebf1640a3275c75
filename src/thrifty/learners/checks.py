"""Checks of what a learner is given: decisions, rewards, settings."""

from typing import Any

import numpy as np

from thrifty.errors import InvalidInput
from thrifty.learners.decisions import Decision
from thrifty.numerics.arrays import RANGE, Floats, finite_number, finite_numbers

LARGEST_REWARD = 1 / RANGE
MOST_DRAWS = 1_000_000


def check_decision(decision: Any) -> None:
    if not isinstance(decision, Decision) or not isinstance(decision.id, int):
        raise InvalidInput.expected("decision", "what choose returned, or its id", decision)


def checked_reward(reward: float) -> float:
    click = isinstance(reward, bool | np.bool_)
    number = finite_number(int(reward) if click else reward, "reward")
    if not abs(number) < LARGEST_REWARD:
        raise InvalidInput.expected("reward", f"a number below {LARGEST_REWARD:g}", reward)
    return number


def checked_rewards(rewards: Any) -> Floats:
    """Rewards (n,) of decisions that were taken elsewhere."""
    numbers = finite_numbers(rewards, "rewards")
    if not (np.abs(numbers) < LARGEST_REWARD).all():
        i = int(np.abs(numbers).argmax())
        raise InvalidInput.expected(
            f"rewards[{i}]", f"a number below {LARGEST_REWARD:g}", numbers[i]
        )
    return numbers


def no_click(reward: float) -> InvalidInput:
    return InvalidInput.expected("reward", "0 or 1 (rewards are bernoulli)", reward)


def positive_count(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInput.expected(where, "a whole number of at least 1", value)
    return int(value)


def number_of_draws(value: Any) -> int:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not 0 <= value <= MOST_DRAWS:
        raise InvalidInput.expected(
            "probability_draws", f"a number from 0 to {MOST_DRAWS:,}", value
        )
    return int(value)
