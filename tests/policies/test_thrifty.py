"""What is particular about thrifty: the noise it estimates, arms that are not on offer, and that it
does what it was made for.
"""

import numpy as np
import pytest

import thrifty as th

SETS = th.ActionSets(
    [np.random.default_rng(1).normal(size=(6, 3)), np.random.default_rng(2).normal(size=(4, 3))]
)
THETA = np.array([0.5, -0.3, 0.2])


def play(learner, rounds, *, noise=0.3, unit=1.0):
    """Decisions over some rounds on the truth above, its rewards in other units."""
    rng = np.random.default_rng(0)
    decisions = []
    for t in range(rounds):
        decision = learner.choose(t % 3 % 2)
        mean = learner.sets.arms(t % 3 % 2)[decision.arm] @ THETA
        learner.learn(decision, unit * (mean + noise * rng.normal()))
        decisions.append((decision.arm, decision.label))
    return decisions


def test_estimated_noise_makes_decisions_independent_of_the_unit_of_rewards():
    # powers of two round alike
    played = [
        play(th.Thrifty(noise="estimate").learner(SETS), 1500, unit=unit)
        for unit in (1.0, 2.0**20, 2.0**-20)
    ]
    assert played[0] == played[1] == played[2]
    assert {label for _, label in played[0]} == {"exploit", "explore"}


@pytest.mark.parametrize("noise", [0.1, 2.0])
def test_the_noise_is_found(noise):
    learner = th.Thrifty(noise="estimate").learner(SETS)
    play(learner, 3000, noise=noise)
    assert learner.state.model[0].noise == pytest.approx(noise, rel=0.06)
    known = th.Thrifty().learner(SETS, noise=noise)
    play(known, 3000, noise=noise)
    assert known.state.model[0].noise == noise


def test_explanations_have_the_estimated_noise():
    per_unit = []
    for learner in (
        th.Thrifty(noise="estimate").learner(SETS),
        th.Thrifty().learner(SETS, noise=0.3),
    ):
        play(learner, 3000)
        widths = np.array([arm.width for arm in learner.explain(learner.choose(0)).arms])
        rows = SETS.arms(0)
        per_unit.append(
            widths / np.sqrt(np.einsum("ki,ij,kj->k", rows, learner.state.regression.inverse, rows))
        )
    assert per_unit[0] == pytest.approx(per_unit[1], rel=0.06)


def test_no_rewards_at_all_are_no_reason_to_stop_looking():
    """A click rate of a percent starts with zeros: the noise seems to be 0, and arms in all
    directions must be tried all the same.
    """
    learner = th.Thrifty(noise="estimate").learner(SETS)
    for _ in range(200):
        learner.learn(learner.choose(0), 0.0)
    played = SETS.arms(0) * np.sqrt(learner.state.ledger.chosen[:6, None])
    assert np.linalg.eigvalsh(played.T @ played).min() > 10  # in every direction


def test_what_was_learned_of_the_noise_survives_a_change_of_arms(tmp_path):
    learner = th.Thrifty(noise="estimate").learner(SETS)
    play(learner, 500)
    late = learner.choose(0)
    before = learner.state.model.copy()
    learner.remove_arm(0, late.arm)
    assert learner.state.model[0].squares == before[0].squares > 0
    assert learner.state.model[0].rewards == before[0].rewards == 500
    assert learner.state.model[0].ridge == before[0].ridge
    assert learner.state.model[0].scale == before[0].scale > 0
    learner.learn(late, 2.0)
    assert learner.state.model[0].squares == before[0].squares + 4.0
    assert learner.state.model[0].rewards == 501
    learner.save(tmp_path / "state.json")
    assert th.Learner.load(tmp_path / "state.json").state.model == learner.state.model


def test_rewards_that_are_late_do_not_make_it_ask_the_same_again():
    """Until rewards come there is nothing to learn from asking once more, and other arms tell other
    things.
    """
    learner = th.Thrifty().learner(SETS, noise=0.3)
    for _ in range(60):
        learner.choose(0)
    chosen = learner.state.ledger.chosen[:6]
    waiting = SETS.arms(0) * np.sqrt(chosen[:, None])
    assert np.linalg.eigvalsh(waiting.T @ waiting).min() > 1  # in every direction
    assert chosen.max() < 50


def test_arms_that_are_not_on_offer_cost_no_solves():
    """That the best arm is not on offer is no change of the best arm: solves are for what was
    learned, det V or t a tenth larger, alone.
    """
    learner = th.Thrifty().learner(SETS, noise=0.3)
    play(learner, 1000)
    best = learner.explain(learner.choose(0)).arms
    without = [i for i, arm in enumerate(best) if arm.gap > 0]
    solves, known = (
        learner.state.ledger.counters[0].solves,
        learner.state.regression.totals[0].logdet,
    )
    for _ in range(90):
        decision = learner.choose(0, available=without)
        assert decision.arm in without
        learner.learn(decision, float(SETS.arms(0)[decision.arm] @ THETA))
    learned = (learner.state.regression.totals[0].logdet - known) / np.log(1.1)
    assert 0 < learner.state.ledger.counters[0].solves - solves <= learned + 2 < 60


@pytest.mark.parametrize(
    "name", ["end-of-optimism:eps=0.05,a=2", "fixed-u0.02", "scenario-two", "solid-toy"]
)
def test_less_regret_than_thompson_sampling_and_the_papers_algorithm(name):
    """The two open ends of the paper: the heuristic that beats its algorithm, and the rare
    context.
    """
    study = th.run(
        name, ["thrifty", "lints", "oam"], horizon=30_000, replications=100, progress=False
    )
    mine = study[name, "thrifty"]
    for rival in ("lints", "oam"):
        lead = study[name, rival].final - mine.final
        assert lead.mean() > 2 * lead.std(ddof=1) / np.sqrt(100)


@pytest.mark.parametrize("noise", ["known", "estimate"])
@pytest.mark.parametrize(
    ("size", "deviation"), [(1, 1), (10, 10), (10, 3), (100, 100), (1, 0.01), (100, 1e-3)]
)
def test_long_parameters_do_not_make_it_stop_too_early(noise, size, deviation):
    """The prior is N(0, I), or in proportion to an estimated noise; data that contradict it
    prevail.
    """
    problem = th.Instance(
        th.ActionSets([[[0.9, 0.5], [0, 1], [1, 0]]]), theta=[size, 0], noise=deviation
    )
    result = th.run(
        problem, th.Thrifty(noise=noise), horizon=20_000, replications=20, progress=False
    ).results[0]
    last = result.final - result.curves[:, list(result.times).index(10_000)]
    # of twenty runs that end on an arm that is worse by a tenth; a rare one may
    assert (last > 0.05 * size * 10_000).sum() <= 1


def test_little_noise_is_no_reason_to_expect_little_of_what_was_not_tried():
    arms = np.random.default_rng(0).normal(size=(10, 4))
    for noise in (0.05, 0.02, 1e-4):
        problem = th.Instance(th.ActionSets([arms]), theta=[-1, 0.5, 0.3, 0.8], noise=noise)
        study = th.run(
            problem,
            [th.Thrifty(noise="estimate"), th.Thrifty()],
            horizon=2000,
            replications=20,
            progress=False,
        )
        # of 1,500 that playing a wrong arm throughout costs
        assert max(result.max for result in study.results) < 150
