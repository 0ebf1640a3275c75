"""A policy in plain Python, as a user would write one."""


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
