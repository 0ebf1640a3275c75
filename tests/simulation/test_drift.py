"""Instances whose theta changes: when it does, and the regret against the best arm of the moment.

The oracle computes means and regret of each round from the arms and the theta of that round.
"""

import numpy as np
import pytest

import thrifty as th
from tests.plain import FirstArm
from thrifty.extending.conformance import LearnerPlayer
from thrifty.numerics.streams import streams
from thrifty.simulation.loop import truth_of
from thrifty.simulation.replication import simulate

SETS = th.ActionSets([[[1, 0], [0, 1], [0.6, 0.6]], [[0.2, 0.9], [-0.5, 0.1]]])
THETAS = np.array([[1, 0], [-0.3, 0.8], [0.4, 0.5], [0.9, -1]])
ROUNDS = (70, 71, 300)
CHANGING = th.Instance(
    SETS,
    theta=THETAS[0],
    probabilities=[0.7, 0.3],
    noise=0.4,
    changes=list(zip(ROUNDS, THETAS[1:], strict=True)),
)
FLIPPED = th.Instance(
    th.ActionSets([[[1.0], [-1.0]]]), theta=[0.5], noise=1e-9, changes=[(5, [-0.5])]
)
EVERY = {"horizon": 500, "seed": 3, "times": np.arange(1, 501), "pulls": True}


def theta_of(t):
    """The theta of round t, counted from 1: that of a change comes after its round."""
    return THETAS[sum(t > last for last in ROUNDS)]


def expected_regret(rows):
    """(n,) cumulated regret if the rows (n,) are chosen."""
    total, found = 0.0, []
    for t, row in enumerate(rows, start=1):
        context = SETS.arms(0) if row < 3 else SETS.arms(1)
        total += (context @ theta_of(t)).max() - SETS.rows[row] @ theta_of(t)
        found.append(total)
    return np.array(found)


@pytest.mark.parametrize("spec", ["linucb", "lints:forgetting=100", "thrifty", "oam", "plain"])
def test_regret_is_against_the_best_arm_of_the_moment(spec):
    policy = LearnerPlayer(th.policy("lints"), seed=3) if spec == "plain" else th.policy(spec)
    played = simulate(CHANGING, policy, **EVERY)
    rows = np.diff(played.pulls, axis=0, prepend=0).argmax(axis=1)
    assert len(set(rows)) >= 4
    np.testing.assert_allclose(played.regret.sum(axis=1), expected_regret(rows), rtol=1e-12)


@pytest.mark.parametrize("name", ["lints", "oam", "thrifty"])
def test_plain_and_compiled_policies_see_the_same_rewards(name):
    """One other reward would soon lead to other decisions."""
    policy = th.policy(name)
    compiled, plain = (
        simulate(CHANGING, player, **EVERY) for player in (policy, LearnerPlayer(policy, seed=3))
    )
    assert (compiled.pulls == plain.pulls).all()
    np.testing.assert_allclose(compiled.regret.sum(axis=1), plain.regret.sum(axis=1), rtol=1e-12)


class Rewarded(FirstArm):
    """Plays one arm for ever and keeps its rewards."""

    def __deepcopy__(self, memo):
        return self

    def start(self, sets, *, noise, horizon, rng):
        self.contexts, self.rewards = [], []

    def learn(self, context, arm, reward):
        self.contexts.append(context)
        self.rewards.append(reward)


def test_rewards_have_the_means_of_the_moment():
    player = Rewarded(1)
    simulate(CHANGING, player, horizon=500, seed=3)
    noise = streams(3, 0).rewards
    for t, (context, reward) in enumerate(zip(player.contexts, player.rewards, strict=True), 1):
        mean = SETS.arms(context)[1] @ theta_of(t)
        assert reward == pytest.approx(mean + 0.4 * noise.standard_normal(), abs=1e-12)


def test_the_change_comes_after_its_round():
    """After round 5: round 6 is the first with the new theta."""
    player = Rewarded(0)
    played = simulate(FLIPPED, player, horizon=8, times=np.arange(1, 9))
    assert played.regret[:, 0].tolist() == [0, 0, 0, 0, 0, 1, 2, 3]
    assert np.sign(player.rewards).tolist() == [1, 1, 1, 1, 1, -1, -1, -1]
    assert simulate(FLIPPED, Rewarded(0), horizon=6).regret[-1].sum() == 1
    # greedy learns from them that the first arm is best, and then that it is not
    compiled = simulate(FLIPPED, th.Greedy(forgetting=1.5), horizon=8, times=np.arange(1, 9))
    assert compiled.regret.sum(axis=1).tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


def test_a_run_that_ends_before_a_change_does_not_know_of_it():
    stationary = CHANGING.pieces[0]
    assert not stationary.changes
    for horizon in (69, 70):
        one, other = (
            simulate(instance, th.LinTS(), horizon=horizon) for instance in (CHANGING, stationary)
        )
        assert (one.regret == other.regret).all()


def test_every_replication_begins_with_the_first_theta():
    """What a replication changes is its own: also where several threads share an instance."""
    alone = [simulate(CHANGING, th.LinTS(), horizon=500, replication=r).regret for r in range(6)]
    for threads in (1, 2):
        study = th.run(CHANGING, "lints", horizon=500, replications=6, threads=threads)
        assert (study.results[0].regret == np.array(alone)).all()
    assert (CHANGING.means == CHANGING.pieces[0].means).all()


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_blocks_and_changes_do_not_interfere(block, monkeypatch):
    whole = simulate(CHANGING, th.LinTS(), **EVERY)
    monkeypatch.setattr("thrifty.simulation.replication.BLOCK", block)
    ticks = []
    parts = simulate(CHANGING, th.LinTS(), **EVERY, tick=ticks.append)
    assert (parts.regret == whole.regret).all()
    assert sum(ticks) == 500
    assert len(ticks) <= -(-500 // block)


def test_bernoulli_rewards_need_means_between_zero_and_one_after_each_change():
    sets = th.ActionSets([[[1.0], [0.5]]])
    instance = th.Instance(sets, theta=[0.4], changes=[(10, [0.9]), (20, [1.2])], name="clicks")
    with pytest.raises(
        th.InvalidInput,
        match=r"need means between 0 and 1; clicks has 1\.2",
    ):
        truth_of(instance, "bernoulli")
    within = th.Instance(sets, theta=[0.4], changes=[(10, [0.9])])
    player = Rewarded(0)
    simulate(within, player, horizon=4000, rewards="bernoulli")
    assert set(player.rewards) == {0.0, 1.0}
    assert np.mean(player.rewards) == pytest.approx(0.9, abs=4 * 0.3 / np.sqrt(4000))


@pytest.mark.parametrize("kind", ["slow", "abrupt"])
def test_forgetting_pays_where_theta_moves(kind):
    study = th.run(
        f"drifting:kind={kind},period=2000,arms=5,d=2,steps=20",
        ["lints", "lints:forgetting=300"],
        horizon=6000,
        replications=20,
    )
    remembering, forgetting = study.results
    assert forgetting.mean < 0.7 * remembering.mean
