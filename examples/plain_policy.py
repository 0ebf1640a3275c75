"""A policy of your own in plain Python: a class with start, choose and learn.

Run me: python examples/plain_policy.py

It plays all arms in turn for a while, then commits to the one that looks best: simple, and linear
in regret whenever it commits to the wrong arm.
"""

import numpy as np

import thrifty as th


class ExploreThenCommit:
    """Play the arms of each context in turn, `pulls` times each; then the best by least squares."""

    def __init__(self, pulls: int = 20) -> None:
        self.pulls = pulls
        self.name = f"explore-then-commit:{pulls}"  # how results call it; optional

    def start(
        self, sets: th.ActionSets, *, noise: float, horizon: int, rng: np.random.Generator
    ) -> None:
        """Begin anew, for these action sets; rng is yours if you need chance."""
        self.sets = sets
        self.visits = np.zeros(sets.contexts, dtype=int)
        self.V = np.eye(sets.dimension)
        self.b = np.zeros(sets.dimension)

    def choose(self, context: int) -> int:
        """The arm to play, counted within its context."""
        arms = self.sets.arms(context)
        self.visits[context] += 1
        if self.visits[context] <= self.pulls * len(arms):
            return int(self.visits[context] % len(arms))
        return int(np.argmax(arms @ np.linalg.solve(self.V, self.b)))

    def learn(self, context: int, arm: int, reward: float) -> None:
        """Take in its reward."""
        x = self.sets.arms(context)[arm]
        self.V += np.outer(x, x)
        self.b += reward * x


if __name__ == "__main__":
    study = th.run(
        "fixed-u0.1",
        [ExploreThenCommit(), ExploreThenCommit(100), th.LinTS()],
        horizon=2000,
        replications=20,
    )
    for row in study.summary():
        print(f"{row['policy']:25} {row['mean']:6.1f} ± {row['se']:.1f}")

    learner = th.learner(ExploreThenCommit(), th.instance("fixed-u0.1").sets)  # one at a time
    learner.learn(learner.choose(0), reward=0.7)
