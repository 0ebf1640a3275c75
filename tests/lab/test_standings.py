"""The ranking of policies, against direct computations from the same results."""

import math

import numpy as np
import pytest

import thrifty as th
from tests.plain import FirstArm
from thrifty.lab.arena.relative import contrast, cvar, cvar_ratio
from thrifty.lab.arena.standings import rank_ranges, standings, stuck_runs
from thrifty.studies.results import Result

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
    assert standing.worst == pytest.approx(max(ratios.values()))
    assert standing.where == max(ratios, key=ratios.get)
    assert (standing.instances, standing.replications, standing.runs) == (2, 30, 60)
    medians = [
        study[name, "linucb", 400].median / study[name, "lints", 400].median for name in NAMES
    ]
    assert standing.median == pytest.approx(math.sqrt(math.prod(medians)))
    logs = np.log(list(ratios.values()))
    assert standing.instance_error == pytest.approx(
        standing.ratio * logs.std(ddof=1) / math.sqrt(2)
    )
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
    assert contrast([mine], [base]).error == pytest.approx(np.std(logs), rel=0.15)
    [standing] = [
        one for one in standings([mine, base]) if one.policy == "linucb"
    ]  # on one instance, which is then the worst
    assert standing.worst_error == pytest.approx(standing.worst * np.std(logs), rel=0.15)


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
    assert contrast([few], [base]).ratio == pytest.approx(few.mean / base.final[:10].mean())


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
    assert contrast([perfect], [base]).ratio == pytest.approx(0.6 / 20 / base.mean)


def test_few_runs_have_no_tail_and_one_has_no_error_and_no_rank(study):
    few = th.run(NAMES, ["linucb", "lints"], horizon=50, replications=9, progress=False)
    for standing in standings(few.results):
        assert math.isnan(standing.tail)
        assert math.isnan(standing.cvar)
        assert standing.rank is not None
    one = th.run(NAMES, ["linucb", "lints"], horizon=50, replications=1, progress=False)
    for standing in standings(one.results):
        entry = standing.to_json()
        assert (entry["error"], entry["rank"]) == (None, None)


def test_policies_without_a_rank_come_last(study):
    """A policy that has not played everything, and one with a single replication."""
    best = th.run("fixed-u0.1", FirstArm(0), horizon=400, replications=30, progress=False)
    once = th.run(NAMES, "oam", horizon=400, replications=1, progress=False)
    found = standings([*study.results, *best.results, *once.results])[3:]
    assert [one.policy for one in found][-2:] == ["oam", "first"]
    assert [one.rank is None for one in found] == [False] * 3 + [True] * 2


def test_rewards_tell_results_on_an_instance_apart():
    name, rewards = "fixed-u0.1", ("gaussian", "gaussian:told=2", "student")
    results = [
        result
        for kind in rewards
        for result in th.run(
            name,
            ["linucb", "lints"],
            horizon=200,
            replications=10,
            rewards=kind,
            progress=False,
        ).results
    ]
    [standing] = [one for one in standings(results) if one.policy == "linucb"]
    ratios = {
        kind: np.divide(*(result.mean for result in results if result.rewards == kind))
        for kind in rewards
    }
    assert standing.instances == 3
    assert standing.ratio == pytest.approx(math.prod(ratios.values()) ** (1 / 3))
    worst = max(ratios, key=ratios.get)
    assert standing.where == (name if worst == "gaussian" else f"{name}, {worst}")


@pytest.mark.parametrize(("runs", "worst"), [(1, 1), (50, 1), (51, 2), (100, 2), (400, 8)])
def test_cvar_is_the_mean_of_the_worst_two_percent(runs, worst):
    finals = np.random.default_rng(1).permutation(runs).astype(float)
    assert cvar(finals) == pytest.approx(np.sort(finals)[-worst:].mean())


def made_up(policy, finals, name="fixed-u0.1"):
    """A result with these regrets (R,) after ten rounds."""
    runs, instance = len(finals), th.instance(name)
    return Result(
        instance=instance,
        policy=policy,
        labels=("any",),
        seed=0,
        rewards="gaussian",
        times=np.array([9, 10]),
        regret=np.stack([np.zeros(runs), finals], axis=1)[:, :, None],
        rounds=np.tile([[9], [10]], (runs, 1, 1)),
        solves=np.zeros(runs, np.int64),
        unsolved=np.zeros(runs, np.int64),
        seconds=1.0,
        constant=None,
        pulls=np.zeros((runs, 2, 0), np.int64),
    )


def test_the_ratio_of_cvars_and_its_standard_error():
    """Against many independent samples of the same law, paired across instances and policies."""
    rng = np.random.default_rng(2)

    def sample(runs):
        shared = rng.exponential(size=runs)
        return [
            (
                made_up("a", shared + rng.exponential(size=runs), name),
                made_up("lints", shared, name),
            )
            for name in ("fixed-u0.1", "fixed-u0.2")
        ]

    pairs = sample(400)
    ratio, error = cvar_ratio(*zip(*pairs, strict=True))
    direct = [
        np.sort(mine.final)[-8:].mean() / np.sort(base.final)[-8:].mean() for mine, base in pairs
    ]
    assert ratio == pytest.approx(math.sqrt(math.prod(direct)))
    others = [cvar_ratio(*zip(*sample(400), strict=True))[0] for _ in range(100)]
    assert error == pytest.approx(np.std(others), rel=0.4)
    assert cvar_ratio(*zip(*pairs, strict=True)) == (ratio, error)
    assert all(map(math.isnan, cvar_ratio(*zip(*sample(99), strict=True))))


def test_ranks_are_ranges():
    """Policies `a` and `b` cannot be told apart; `c` is worse than both; `d` scatters over
    instances so that it is clearly worse than nobody.
    """
    names = [f"fixed:u=0.{digit}" for digit in range(1, 9)]
    rng = np.random.default_rng(3)
    runs = 100 + rng.normal(size=(8, 50))
    levels = {
        "a": np.ones(8),
        "b": 1 + 0.001 * np.tile([1, -1], 4),
        "c": np.full(8, 1.5),
        "d": np.tile([0.2, 9.0], 4),
    }
    played = {
        policy: [
            made_up(policy, level * own + 0.5 * rng.normal(size=50), name)
            for level, own, name in zip(levels[policy], runs, names, strict=True)
        ]
        for policy in levels
    }
    assert rank_ranges(played) == {"a": (1, 3), "b": (1, 3), "c": (3, 4), "d": (1, 4)}
    few = {policy: own[:1] for policy, own in played.items()}  # no scatter over one instance
    assert set(rank_ranges(few).values()) == {(1, 4)}


def test_equal_policies_differ_clearly_in_one_of_twenty_pairs_at_most():
    rng = np.random.default_rng(4)
    names = [f"fixed:u=0.{digit}" for digit in range(1, 9)]
    clear = 0
    for _ in range(200):
        mine, other = (
            [made_up("a", rng.exponential(size=30), name) for name in names] for _ in range(2)
        )
        clear += contrast(mine, other).clear
    assert clear <= 10


def test_two_standard_errors_are_of_both_sources():
    """A difference of two standard errors over replications alone, or over instances alone."""
    names = ("fixed-u0.1", "fixed-u0.2", "fixed-u0.01")
    base = [made_up("lints", np.ones(4), name) for name in names]
    steady = [
        made_up("a", np.full(4, level), name)
        for name, level in zip(names, (1.1, 1.2, 1.3), strict=True)
    ]
    found = contrast(steady, base)
    assert found.error == 0.0
    assert found.clear
    noisy = [made_up("a", 1.2 + np.array([-1.2, 1.2, -1.2, 1.2]), name) for name in names]
    found = contrast(noisy, base)
    assert found.instance_error == pytest.approx(0.0)
    assert not found.clear
