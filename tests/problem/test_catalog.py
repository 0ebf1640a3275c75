"""The named instances: definitions, formulas, names with parameters."""

import numpy as np
import pytest

import thrifty as th
from thrifty.numerics.streams import streams
from thrifty.problem.catalog import CATALOG, FAMILIES, describe
from thrifty.problem.catalog import problem as named_problem
from thrifty.simulation.replication import simulate


@pytest.mark.parametrize("name", CATALOG)
def test_every_instance_loads_under_its_name(name):
    problem = th.instance(name)
    assert problem.name == name
    assert problem.probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "constant"),
    [
        ("fixed-u0.1", 20),
        ("fixed-u0.2", 10),
        ("fixed-u0.01", 50),
        ("fixed-u0.02", 50),
        ("fixed:u=0.04", 50),
        ("scenario-one", 20),
        ("scenario-two", 0),
        ("bounded", 0),
        ("end-of-optimism", 8),
        ("end-of-optimism:eps=0.5,a=3", 4),
        ("end-of-optimism:a=4", 32),
        ("two-contexts", 8),
        ("two-contexts:eps=0.5", 4),
        ("weighing", 62.2),
        ("weighing:order=2,gap=0.05,size=1", 124.4),
        ("weighing:order=1", 40),
        ("weighing:order=4", 16 * 2 / 3.11 / 0.1),
        ("orthogonal", 2 / 0.2 + 2 / 0.4 + 2 / 0.6 + 2 / 0.8),
        ("orthogonal:d=3,gap=0.1", 20 + 10),
        ("orthogonal:d=1", 0),
        ("ids-eoo", 3.2),
        ("solid-toy", 10),
        ("solid-toy:xi=0.01,p=0.99", 10),
    ],
)
def test_constants_known_in_closed_form(name, constant):
    assert th.lower_bound(th.instance(name)).constant == pytest.approx(constant, rel=1e-8)


def test_exploration_moves_to_the_third_arm_above_u_of_a_twentyfifth():
    """For u < 0.04 the informative arm is (0,1), above it is (1-u,5u) itself: 2 (5u)^2 / u^2 = 50
    against 2 / u.
    """
    below = th.lower_bound(th.instance("fixed:u=0.039")).allocation[0]
    above = th.lower_bound(th.instance("fixed:u=0.041")).allocation[0]
    assert (below[1] > 0, below[2] > 0) == (True, False)
    assert (above[1] > 0, above[2] > 0) == (False, True)


def test_draws_are_fixed_by_their_seed():
    assert th.instance("circle:arms=7,seed=3") == th.instance("circle:arms=7,seed=3")
    assert th.instance("circle:arms=7,seed=3").sets != th.instance("circle:arms=7,seed=4").sets
    np.testing.assert_allclose(np.linalg.norm(th.instance("large-100").sets.rows, axis=1), 1)
    assert len(th.instance("large-100").sets.rows) == 100
    assert len(th.instance("small-5").sets.rows) == 5


@pytest.mark.parametrize(("name", "arms"), [("large-100", 100), ("small-5", 5)])
def test_the_fixed_draws_are_of_median_hardness(name, arms):
    constants = [
        th.lower_bound(th.instance(f"circle:arms={arms},seed={seed}")).constant
        for seed in range(101)
    ]
    assert th.lower_bound(th.instance(name)).constant == np.median(constants)


def test_random_theta_keeps_its_arms_and_draws_a_unit_theta():
    first, second = th.instance("random-theta"), th.instance("random-theta:seed=1")
    assert first.sets == second.sets == th.instance("large-100").sets
    assert not np.array_equal(first.theta, second.theta)
    assert np.linalg.norm(first.theta) == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("scenario-on", "unknown instance 'scenario-on'; did you mean 'scenario-one'?"),
        (
            "end-of-optimism:epsilon=1",
            "unknown parameter of end-of-optimism 'epsilon'; did you mean 'eps'?",
        ),
        ("fixed:v=1", "unknown parameter of fixed 'v'; known: u"),
    ],
)
def test_unknown_names_get_the_nearest(name, message):
    with pytest.raises(th.UnknownName) as caught:
        th.instance(name)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fixed:u=x", "fixed:u: a number expected, got 'x'"),
        ("fixed:u", "fixed: u has no value: write u=NUMBER"),
        ("fixed:u=2", "fixed:u: a number between 0 and 1 expected, got 2.0"),
        ("orthogonal:d=2.5", "orthogonal:d: a whole number expected, got '2.5'"),
        ("orthogonal:d=0", "orthogonal:d: a number from 1 to 1000 expected, got 0"),
        ("solid-toy:p=1", "solid-toy:p: a number between 0 and 1 expected, got 1.0"),
        (
            "end-of-optimism:a=nan",
            "end-of-optimism:a: a number between 0 and 1e+100 expected, got nan",
        ),
        ("orthogonal:d=3,d=4", "orthogonal:d: one value expected, got 'd=3,d=4'"),
        ("orthogonal:d=100000", "orthogonal:d: a number from 1 to 1000 expected, got 100000"),
        ("random-theta:arms=0", "random-theta:arms: a number from 1 to 1000000 expected, got 0"),
        ("circle:seed=-1", "circle:seed: at least 0 expected, got -1"),
        ("drifting:kind=fast", "drifting:kind: slow or abrupt expected, got 'fast'"),
        ("drifting:d=1", "drifting:d: a number from 2 to 1000 expected, got 1"),
        ("drifting:period=0", "drifting:period: a number from 1 to 1000000000 expected, got 0"),
        ("drifting:period=9", "drifting:steps: a number from 1 to 9 expected, got 50"),
        (
            "drifting:period=100,rounds=20001",
            "drifting:rounds: a number from 1 to 20000 expected, got 20001",
        ),
    ],
)
def test_bad_parameters_are_named(name, message):
    with pytest.raises(th.InvalidInput) as caught:
        th.instance(name)
    assert str(caught.value) == message


def test_catalog_describes_itself():
    entries = describe()
    assert [entry["name"] for entry in entries] == list(CATALOG)
    assert {entry["family"] for entry in entries} == set(FAMILIES)
    assert all(entry["definition"] for entry in entries)


def test_an_ensemble_is_another_instance_in_each_replication_and_the_same_for_all_policies():
    ensemble = named_problem("random-theta:arms=20,seed=each")
    first, second = ensemble.instance(3, 0), ensemble.instance(3, 1)
    assert first == ensemble.instance(3, 0)
    assert first != second
    assert first.sets == second.sets  # the arms stay
    assert first != ensemble.instance(4, 0)
    assert th.instance(first.name) == first  # the name it was drawn by gives it again
    study = th.run(ensemble, "lints", horizon=200, replications=3, seed=3)
    for i in range(3):
        own = ensemble.instance(3, i)
        alone = simulate(own, th.LinTS(), horizon=200, seed=3, replication=i)
        assert np.array_equal(study.results[0].regret[i], alone.regret)
    assert study.results[0].constant is None


@pytest.mark.parametrize(
    "family", [family for family in FAMILIES.values() if "seed" in family.parameters]
)
def test_a_family_says_whether_its_sizes_vary_with_the_seed(family):
    ensemble = named_problem(f"{family.name}:seed=each")
    sizes = {tuple(ensemble.instance(0, i).sets.offsets) for i in range(20)}
    assert ensemble.sizes_vary == family.sizes_vary == (len(sizes) > 1)


def test_an_ensemble_draws_from_a_stream_of_its_own():
    drawn = named_problem("random-theta:seed=each").instance(3, 7).name.partition("seed=")[2]
    others = [stream.bit_generator.seed_seq.generate_state(1)[0] for stream in streams(3, 7)]
    assert int(drawn) not in others


def test_directions_of_a_random_theta_are_uniform():
    thetas = np.array(
        [
            named_problem("random-theta:seed=each").instance(0, replicate).theta
            for replicate in range(400)
        ]
    )
    assert np.allclose(np.linalg.norm(thetas, axis=1), 1)
    assert np.abs(thetas.mean(axis=0)).max() < 4 / np.sqrt(2 * 400)  # four standard errors


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fixed:seed=each", "unknown parameter of fixed 'seed'"),
        ("circle:seed=each,arm=5", "unknown parameter of circle 'arm'"),
        ("circle:seed=each,seed=1", "circle:seed: one value expected"),
        ("large-100:seed=each", "unknown instance 'large-100:seed=each'"),
    ],
)
def test_ensembles_that_cannot_be(name, message):
    with pytest.raises(th.ThriftyError, match=message):
        named_problem(name)


def test_drawn_instances_are_the_same_for_the_same_seed_and_of_all_kinds():
    first, again, other = (th.instance(f"drawn:seed={seed}") for seed in (3, 3, 4))
    assert first == again
    assert not np.array_equal(first.theta, other.theta)
    for seed in range(60):
        drawn = th.instance(f"drawn:seed={seed}")
        assert 2 <= drawn.sets.dimension <= 20
        assert 1 <= drawn.sets.contexts <= 10
        assert len(drawn.sets.rows) <= 200
        assert drawn.probabilities.min() >= 0.009
        # something to lose everywhere
        assert all(gaps.max() > 0 for gaps in np.split(drawn.gaps, drawn.sets.offsets[1:-1]))


def test_the_arms_of_drawn_instances_are_in_random_order():
    """The first arm is among the two best as often as chance has it; so are those of the other
    families that the arena draws from.
    """
    for names in (
        [f"drawn:seed={seed}" for seed in range(300)],
        [f"k-armed:arms=5,seed={seed}" for seed in range(300)],
        [f"product:seed={seed}" for seed in range(100)],
    ):
        problems = map(th.instance, names)
        contexts = [problem.sets.split(problem.gaps)[0] for problem in problems]
        chances = np.array([2 / gaps.size for gaps in contexts])
        seen = sum(np.sum(gaps < gaps[0]) < 2 for gaps in contexts)
        assert abs(seen - chances.sum()) < 3 * np.sqrt((chances * (1 - chances)).sum())


def test_a_plain_bandit_has_the_bound_of_lai_and_robbins():
    problem = th.instance("k-armed:arms=7,seed=3")
    gaps = problem.means.max() - problem.means
    expected = sum(2 * 0.5**2 / gap for gap in gaps if gap > 0)
    assert th.lower_bound(problem).constant == pytest.approx(expected)
    assert {int(th.instance(f"k-armed:seed={seed}").best_arms[0]) for seed in range(8)} != {0}


def test_products_of_the_features_of_contexts_and_arms():
    sets = th.instance("product:contexts=4,arms=3,seed=2").sets
    assert (sets.contexts, sets.rows.shape) == (4, (12, 9))
    for m in range(4):
        for arm in sets.arms(m):
            outer = arm.reshape(3, 3)
            assert np.linalg.matrix_rank(outer) == 1
            assert outer[0, 0] == 1
    # the first row of each product is the features of the arm: the same in every context
    assert (sets.arms(0)[:, :3] == sets.arms(3)[:, :3]).all()


def test_slow_drift_turns_theta_in_a_plane():
    problem = th.instance("drifting:period=100,steps=8,rounds=250,arms=6,d=4,seed=2")
    assert [change.round for change in problem.changes] == [
        *(12, 25, 37, 50, 62, 75, 87, 100, 112, 125, 137, 150, 162, 175, 187, 200, 212, 225, 237),
    ]
    thetas = np.array([piece.theta for piece in problem.pieces])
    assert np.linalg.matrix_rank(thetas, tol=1e-9) == 2
    np.testing.assert_allclose(np.linalg.norm(thetas, axis=1), 1)
    cosines = (thetas[1:] * thetas[:-1]).sum(axis=1)
    np.testing.assert_allclose(cosines, np.cos(2 * np.pi / 8))
    np.testing.assert_allclose(thetas[8], thetas[0], atol=1e-12)
    np.testing.assert_allclose(thetas[4], -thetas[0], atol=1e-12)


def test_abrupt_drift_draws_theta_anew():
    problem = th.instance("drifting:kind=abrupt,period=100,rounds=1000,arms=6,d=4")
    assert [change.round for change in problem.changes] == list(range(100, 1000, 100))
    thetas = np.array([piece.theta for piece in problem.pieces])
    np.testing.assert_allclose(np.linalg.norm(thetas, axis=1), 1)
    assert np.linalg.matrix_rank(thetas) == 4
    assert problem.sets == th.instance("drifting:arms=6,d=4").sets


def test_drift_is_drawn_by_its_seed():
    names = [f"drifting:kind={kind},seed={seed}" for kind in ("slow", "abrupt") for seed in (1, 2)]
    assert len({th.instance(name).to_toml().partition("\n")[2] for name in names}) == 4
    assert th.instance(names[0]) == th.instance(names[0])
    ensemble = named_problem("drifting:period=100,rounds=1000,seed=each")
    assert ensemble.instance(0, 0).changes[0].round == 2
    assert ensemble.instance(0, 0) != ensemble.instance(0, 1)
