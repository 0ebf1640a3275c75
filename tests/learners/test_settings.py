"""What a learner is told: the noise, the kind of rewards, how long decisions may wait."""

import tracemalloc

import numpy as np
import pytest

import thrifty as th
from tests.learners.open_play import D


def test_decisions_that_wait_too_long_are_given_up():
    cancelled = th.Thrifty().learner(dimension=D, expire={"after": 10})
    learned = th.Thrifty().learner(dimension=D, expire={"after": 10, "reward": 0.0})
    for learner in (cancelled, learned):
        first = learner.choose(np.eye(D))
        for _ in range(30):
            learner.choose(np.eye(D))
        assert min(learner.pending) == 21
        with pytest.raises(th.InvalidInput, match="is not pending"):
            learner.learn(first, 1.0)
    assert cancelled.state.ledger.counters[0].rounds == 10
    assert learned.state.ledger.counters[0].rounds == 31
    assert learned.state.model[0].rewards == 21


def test_waiting_decisions_are_bounded_in_number():
    learner = th.Greedy().learner(dimension=D, most_waiting=5)
    for _ in range(8):
        learner.choose(np.eye(D))
    assert list(learner.pending) == [3, 4, 5, 6, 7]
    assert th.Learner.load(learner.to_bytes()).settings.most_waiting == 5


def test_bad_bounds():
    for value in (0, -1, 1.5, True, "many"):
        with pytest.raises(th.InvalidInput, match=r"^most_waiting: a whole number from 1"):
            th.Greedy().learner(dimension=D, most_waiting=value)
        with pytest.raises(th.InvalidInput, match=r"^expire\.after: a whole number from 1"):
            th.Greedy().learner(dimension=D, expire={"after": value})


@pytest.mark.parametrize(
    ("expire", "message"),
    [
        (1000, "expire: a rule such as"),
        ({}, "expire: a rule such as"),
        ({"after_s": 3600}, "unknown key of expire 'after_s'; did you mean 'after'?"),
        ({"reward": "no"}, "expire.reward: a finite number expected"),
        ({"after": 5, "reward": 0.5}, "expire.reward: 0 or 1 (rewards are bernoulli) expected"),
    ],
)
def test_bad_rules(expire, message):
    with pytest.raises(th.ThriftyError) as refused:
        th.Greedy().learner(dimension=D, expire=expire, rewards="bernoulli")
    assert str(refused.value).startswith(message)


def test_the_former_names_of_expiry_work_and_warn_whoever_has_called():
    new = th.learner("greedy", dimension=D, expire={"after": 7, "reward": 0.5})
    for make in (
        lambda **old: th.learner("greedy", dimension=D, **old),
        lambda **old: th.Greedy().learner(dimension=D, **old),
    ):
        with pytest.warns(DeprecationWarning, match="is now expire=") as said:
            old = make(expire_after=7, expired_reward=0.5)
        assert [str(one.message) for one in said] == [
            "expire_after=... is now expire={'after': ...}; the old name goes in 0.4",
            "expired_reward=... is now expire={'reward': ...}; the old name goes in 0.4",
        ]
        assert {one.filename for one in said} == {__file__}
        assert old.settings == new.settings
    assert th.Learner.load(new.to_bytes()).settings == new.settings  # without a warning


def test_an_unknown_keyword_suggests_one():
    message = r"^unknown argument of learner 'fetures'; did you mean 'features'\?$"
    for make in (lambda **kw: th.learner("greedy", **kw), lambda **kw: th.Greedy().learner(**kw)):
        with pytest.raises(TypeError, match=message):
            make(fetures=3)
    with pytest.raises(th.UnknownName, match="'most_waitin'; did you mean 'most_waiting'"):
        th.learner("greedy", dimension=2, most_waitin=3)


@pytest.mark.parametrize(
    ("policy", "noise", "rewards", "known", "told"),
    [
        (th.Thrifty(), None, "gaussian", False, 1.0),
        (th.Thrifty(), "estimate", "gaussian", False, 1.0),
        (th.Thrifty(), 0.3, "gaussian", True, 0.3),
        (th.Thrifty(), None, "bernoulli", False, 0.5),
        (th.Thrifty(noise="known"), None, "bernoulli", True, 0.5),
        (th.Thrifty(noise="known"), "estimate", "gaussian", False, 1.0),
        (th.LinTS(), None, "bernoulli", None, 0.5),
        (th.LinTS(), 2.0, "bernoulli", None, 2.0),
    ],
)
def test_what_noise_means(policy, noise, rewards, known, told):
    learner = policy.learner(dimension=2, noise=noise, rewards=rewards)
    assert learner.noise == told
    assert known is None or learner.state.known == known


def test_bad_noise():
    with pytest.raises(th.InvalidInput, match="lints: noise: a number expected, got 'estimate'"):
        th.LinTS().learner(dimension=2, noise="estimate")
    with pytest.raises(th.InvalidInput, match="thrifty: noise: a number or estimate expected"):
        th.Thrifty().learner(dimension=2, noise="guess")


def test_clicks_are_0_or_1():
    learner = th.Thrifty().learner(dimension=2, rewards="bernoulli")
    decision = learner.choose(np.eye(2))
    for mistake in (lambda: learner.learn(decision, 0.5), lambda: learner.observe(np.eye(2), 0, 2)):
        before = learner.to_bytes()
        with pytest.raises(th.InvalidInput, match="reward: 0 or 1"):
            mistake()
        assert learner.to_bytes() == before
    learner.learn(decision, True)
    learner.learn(learner.choose(np.eye(2)), 0)
    assert th.Learner.load(learner.to_bytes()).settings.rewards == "bernoulli"
    with pytest.raises(th.InvalidInput, match="rewards: gaussian or bernoulli"):
        th.Thrifty().learner(dimension=2, rewards="clicks")


@pytest.mark.parametrize("policy", [th.Thrifty(noise="known"), th.OAM(horizon=1000)])
def test_cancelling_uncounts_exploration_rounds(policy):
    learner = policy.learner(th.ActionSets([np.eye(3)]))
    for _ in range(12):
        decision = learner.choose(0)
        learner.learn(decision, (1.0, 0.9, 0.2)[decision.arm])
    explored = learner.state.ledger.counters[0].explored
    decisions = [learner.choose(0) for _ in range(20)]
    assert learner.state.ledger.counters[0].explored > explored
    restored = th.Learner.load(learner.to_bytes())
    for decision in decisions:
        learner.cancel(decision)
        restored.cancel(decision.id)
    assert learner.state.ledger.counters[0].explored == explored
    assert restored.state.ledger.counters[0].explored == explored


@pytest.mark.parametrize("dimension", [4, 200])
def test_memory_of_decisions_that_wait(dimension):
    """As documented: at most 700 + 8 d bytes each."""
    learner, features = th.LinTS().learner(dimension=dimension), np.eye(3, dimension)
    learner.choose(features)
    tracemalloc.start()
    for _ in range(2000):
        learner.choose(features)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    print(used / 2000)
    assert used / 2000 < 700 + 8 * dimension


@pytest.mark.parametrize("settings", [{"most_waiting": 1}, {"expire": {"after": 1}}])
def test_a_decision_that_is_refused_lets_none_expire(settings):
    open_learner = th.Thrifty().learner(dimension=2, **settings)
    listed = th.Thrifty().learner(th.ActionSets([np.eye(2)]), **settings)
    for learner, good, bad in (
        (open_learner, np.eye(2), np.full((2, 2), np.nan)),
        (listed, 0, "nobody"),
    ):
        waiting = learner.choose(good)
        with pytest.raises(th.ThriftyError):
            learner.choose(bad)
        learner.learn(waiting, 1.0)


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (th.Thrifty(), th.Thrifty(caution=0.0)),
        (th.LinTS(), th.LinTS(scale=1e-9)),
        (th.VIDS(draws="anew", samples=10), th.VIDS(draws="anew", samples=20)),
        (th.EGreedy(), th.EGreedy(forgetting=1000)),
        (th.EGreedy(forgetting=1e9), th.EGreedy()),
        (th.Thrifty(), th.Thrifty(forgetting=1000)),
    ],
)
def test_other_parameters_of_a_policy_in_use(opened, before, after):
    """What was learned is kept, decisions still wait, and the new parameters count."""
    sets, rng = th.ActionSets([np.eye(3)]), np.random.default_rng(0)
    learner = before.learner(dimension=3) if opened else before.learner(sets)
    offer = np.eye(3) if opened else 0
    for _ in range(50):
        decision = learner.choose(offer)
        learner.learn(decision, decision.arm / 10 + rng.normal())
    waiting = learner.choose(offer)
    theta = learner.state.regression.theta.copy()
    learner.change_policy(after)
    assert learner.policy == after
    assert learner.state.regression.theta == pytest.approx(theta)
    assert learner.state.ledger.counters[0].rounds == 51
    learner.learn(waiting, 0.3)
    again = th.Learner.load(learner.to_bytes())
    decisions = [learner.choose(offer) for _ in range(300)]
    assert decisions == [again.choose(offer) for _ in range(300)]
    if isinstance(after, th.LinTS):
        assert len({decision.arm for decision in decisions}) == 1
    with pytest.raises(th.InvalidInput, match="with other parameters expected, got 'greedy'"):
        learner.change_policy(th.Greedy())
