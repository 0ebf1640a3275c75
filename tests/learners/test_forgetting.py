"""Forgetting: what was learned counts less with time."""

import numpy as np
import pytest

import thrifty as th
from tests.learners.open_play import OPEN, THETA, D


@pytest.mark.parametrize("spec", OPEN)
def test_what_was_learned_fades(spec):
    """After theta has turned round, a learner that forgets soon plays well again."""
    separator = "," if ":" in spec else ":"
    ends = []
    for forgetting in ("none", "200"):
        learner = th.policy(f"{spec}{separator}forgetting={forgetting}").learner(
            dimension=D, noise=0.3
        )
        rng = np.random.default_rng(0)
        late = 0.0
        for t in range(4000):
            theta = THETA if t < 2500 else -THETA
            features = rng.normal(size=(4, D))
            decision = learner.choose(features)
            means = features @ theta
            learner.learn(decision, means[decision.arm] + 0.3 * rng.normal())
            late += means.max() - means[decision.arm] if t >= 3000 else 0.0
        ends.append(late)
    assert ends[1] < 0.5 * ends[0]


def test_a_memory_is_a_sum_with_weights():
    """V and theta_hat after many rewards, from their definition."""
    learner = th.Greedy(forgetting=50, ridge=2.0).learner(dimension=D)
    rng = np.random.default_rng(0)
    features, rewards = rng.normal(size=(1000, D)), rng.normal(size=1000)
    learner.observe(features, reward=rewards)
    weights = (1 - 1 / 50) ** np.arange(999, -1, -1)
    V = 2.0 * np.eye(D) + (features.T * weights) @ features
    assert learner.state.regression.base == pytest.approx(V, rel=1e-9)
    # the ridge fades by a tenth at most until the inverse is computed again
    theta = np.linalg.solve(V, features.T @ (weights * rewards))
    assert learner.state.regression.theta == pytest.approx(theta, abs=0.01)
    assert learner.state.regression.totals[0].logdet == pytest.approx(
        np.linalg.slogdet(V)[1], abs=0.05
    )


@pytest.mark.parametrize("spec", ["thrifty", "lints"])
def test_forgetting_in_the_simulator(spec):
    study = th.run(
        "fixed-u0.1",
        [spec, f"{spec}:forgetting=300"],
        horizon=3000,
        replications=20,
        progress=False,
    )
    remembering, forgetting = (result.final.mean() for result in study.results)
    assert forgetting > remembering  # nothing changes there


@pytest.mark.parametrize("value", [0, 1, -5, "x", float("nan")])
def test_bad_memories(value):
    with pytest.raises(th.InvalidInput, match="forgetting"):
        th.Thrifty(forgetting=value)
