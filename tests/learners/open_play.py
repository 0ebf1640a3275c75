"""What tests of open contexts share: the policies, a truth, and a way to play."""

import numpy as np

D = 4
OPEN = ["thrifty", "greedy", "egreedy", "linucb:width=alpha", "lints", "squarecb", "vids"]
THETA = np.array([0.5, -0.3, 0.2, 0.1])


def drive(learner, rounds, *, seed=0, noise=0.3):
    """Let a learner play random features; decisions and regret."""
    rng = np.random.default_rng(seed)
    decisions, regret = [], 0.0
    for _ in range(rounds):
        features = rng.normal(size=(rng.integers(1, 7), D))
        decision = learner.choose(features)
        means = features @ THETA
        learner.learn(decision, means[decision.arm] + noise * rng.normal())
        decisions.append(decision)
        regret += means.max() - means[decision.arm]
    return decisions, regret
