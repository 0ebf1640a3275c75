"""Policies as a user would write them: in plain Python, and on top of thrifty's."""

from dataclasses import dataclass
from typing import ClassVar

from thrifty.policies import OAM, Policy


class FirstArm:
    """Plays one arm for ever."""

    name = "first"

    def __init__(self, arm):
        self.arm = arm

    def start(self, sets, *, noise, horizon, rng):
        pass

    def choose(self, context):
        return self.arm

    def learn(self, context, arm, reward):
        pass


@dataclass(frozen=True, kw_only=True)
class Needy(Policy):
    """Has a parameter without a default."""

    arm: float

    name: ClassVar[str] = "needy"
    labels: ClassVar[tuple[str, ...]] = ("played",)


class Inherited(OAM):
    """Builds on a policy of thrifty's."""
