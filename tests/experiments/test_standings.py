"""The ranking of policies, against direct computations from the same results."""

import math

import numpy as np
import pytest

import thrifty as th
from tests.plain import FirstArm
from thrifty.experiments.standings import relative, standings, stuck_runs

NAMES = ["fixed-u0.1", "scenario-one"]


@pytest.fixture(scope="module")
def study():
    return th.run(
        NAMES, ["lints", "greedy", "linucb"], horizon=[200, 400], replications=30, progress=False
    )


def test_a_standing_is_the_geometric_mean_of_ratios(study):
    found = {(standing.policy, standing.horizon): standing for standing in standings(study.results)}
    assert len(found) == 6
    ratios = {
        name: study[name, "linucb", 400].mean / study[name, "lints", 400].mean for name in NAMES
    }
    tails = [study[name, "linucb", 400].p95 / study[name, "lints", 400].p95 for name in NAMES]
    standing = found["linucb", 400]
    assert standing.ratio == pytest.approx(math.sqrt(math.prod(ratios.values())))
    assert standing.tail == pytest.approx(math.sqrt(math.prod(tails)))
    assert (standing.worst, standing.where) == (max(ratios.values()), max(ratios, key=ratios.get))
    assert (standing.instances, standing.runs) == (2, 60)
    assert standing.nanoseconds > 0
    assert (found["lints", 200].ratio, found["lints", 200].error) == (1.0, 0.0)


def test_the_best_comes_first_at_every_horizon(study):
    found = standings(study.results)
    assert [standing.horizon for standing in found] == [200] * 3 + [400] * 3
    for n in (200, 400):
        ratios = [standing.ratio for standing in found if standing.horizon == n]
        assert ratios == sorted(ratios)


def test_the_standard_error_is_that_of_resampling(study):
    mine, base = study["fixed-u0.1", "linucb", 400], study["fixed-u0.1", "lints", 400]
    rng = np.random.default_rng(0)
    draws = [rng.integers(30, size=30) for _ in range(2000)]
    logs = [math.log(mine.final[draw].mean() / base.final[draw].mean()) for draw in draws]
    influence = relative(mine, base).influence
    assert influence.std(ddof=1) / math.sqrt(30) == pytest.approx(np.std(logs), rel=0.15)


def test_the_standard_error_of_a_standing_pairs_replications_across_instances(study):
    pairs = [(study[name, "linucb", 400].final, study[name, "lints", 400].final) for name in NAMES]
    rng = np.random.default_rng(0)
    draws = [rng.integers(30, size=30) for _ in range(2000)]
    ratios = [
        math.exp(np.mean([math.log(mine[draw].mean() / base[draw].mean()) for mine, base in pairs]))
        for draw in draws
    ]
    [standing] = [
        standing
        for standing in standings(study.results)
        if (standing.policy, standing.horizon) == ("linucb", 400)
    ]
    assert standing.error == pytest.approx(np.std(ratios), rel=0.25)


def test_only_replications_that_both_have_count(study):
    few = th.run("fixed-u0.1", "linucb", horizon=400, replications=10, progress=False).results[0]
    base = study["fixed-u0.1", "lints", 400]
    assert relative(few, base).means == pytest.approx(few.mean / base.final[:10].mean())


def test_instances_without_the_baseline_are_ignored(study):
    other = th.run("fixed-u0.2", "linucb", horizon=400, replications=3, progress=False)
    assert standings([*study.results, *other.results]) == standings(study.results)


def test_runs_on_the_worst_arm_are_stuck_and_those_on_the_best_are_not():
    instance = th.Instance(th.ActionSets([[[1, 0], [0, 1], [0.4, 0]]]), theta=[1, 0])
    for arm, stuck in ((0, 0), (1, 4), (2, 4)):  # a gap of 0.6 is more than half of the largest, 1
        assert (
            stuck_runs(
                th.run(
                    instance, FirstArm(arm), horizon=100, replications=4, progress=False
                ).results[0]
            )
            == stuck
        )


def test_the_worst_arms_count_as_often_as_their_contexts_come():
    sets = th.ActionSets([[[1, 0], [0.9, 0]], [[1, 0], [0, 0]]])
    instance = th.Instance(sets, theta=[1, 0], probabilities=[0.9, 0.1])
    study = th.run(instance, FirstArm(1), horizon=1000, replications=4, progress=False)
    assert stuck_runs(study.results[0]) == 4  # 0.19 a round, and no arms are worse


def test_no_regret_at_all_counts_as_one_small_mistake():
    instance = th.Instance(th.ActionSets([[[1, 0], [0, 1], [0.4, 0]]]), theta=[1, 0], name="easy")
    perfect, base = (
        th.run(instance, policy, horizon=100, replications=20, progress=False).results[0]
        for policy in (FirstArm(0), "lints")
    )
    assert relative(perfect, base).means == pytest.approx(0.6 / 20 / base.mean)


def test_few_runs_have_no_tail_and_one_has_no_error(study):
    few = th.run(NAMES, ["linucb", "lints"], horizon=50, replications=9, progress=False)
    assert all(math.isnan(standing.tail) for standing in standings(few.results))
    one = th.run(NAMES, ["linucb", "lints"], horizon=50, replications=1, progress=False)
    assert all(standing.to_json()["error"] is None for standing in standings(one.results))


def test_policies_that_have_not_played_everything_come_last(study):
    best = th.run("fixed-u0.1", FirstArm(0), horizon=400, replications=30, progress=False)
    assert standings([*study.results, *best.results])[-1].policy == "first"
