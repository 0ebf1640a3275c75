"""Decisions that somebody else took."""

import numpy as np
import pytest

import thrifty as th
from tests.learners.open_play import D


def test_observed_decisions_are_learned_like_own_ones():
    rng = np.random.default_rng(0)
    features, rewards = rng.normal(size=(500, D)), rng.normal(size=500)
    own, at_once, one_by_one = (th.Thrifty().learner(dimension=D) for _ in range(3))
    for row, reward in zip(features, rewards, strict=True):
        own.learn(own.choose(row[None, :]), reward)
        one_by_one.observe(np.vstack([row, -row]), arm=0, reward=reward)
    at_once.observe(features, reward=rewards)
    for other in (at_once, one_by_one):
        assert other.state.model[0].squares == own.state.model[0].squares
        assert other.state.regression.base == pytest.approx(own.state.regression.base, rel=0.2)
        assert other.state.ledger.counters[0].rounds == 500
    assert not at_once.pending


def test_observed_decisions_of_listed_contexts():
    arms = [np.eye(2), np.array([[1.0, 1.0], [0.5, 0.0], [0.0, 0.3]])]
    sets = th.ActionSets(arms, context_names=["a", "b"])
    rng = np.random.default_rng(0)
    contexts = [("a", "b")[i] for i in rng.integers(2, size=300)]
    played = [int(rng.integers(2)) for _ in contexts]
    rewards = rng.normal(size=300)
    for kind in (th.Thrifty, th.OAM, th.SOLID, th.IDS, th.LinTS):
        policy = kind(horizon=1000) if "horizon" in kind.parameters() else kind()
        many, single = policy.learner(sets), policy.learner(sets)
        many.observe(contexts, played, rewards)
        for one in zip(contexts, played, rewards, strict=True):
            single.observe(*one)
        assert many.to_bytes() == single.to_bytes()
        assert many.state.ledger.visits.tolist() == [contexts.count("a"), contexts.count("b")]
        assert many.state.regression.pulls.sum() == 300
        with pytest.raises(th.InvalidInput):
            many.observe(["a", "b"], [0], [1.0, 2.0])
        with pytest.raises(th.UnknownName):
            many.observe("c", 0, 1.0)
        assert many.to_bytes() == single.to_bytes()
