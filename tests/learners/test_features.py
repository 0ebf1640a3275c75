"""Feature maps, and blocks of theta."""

import pickle

import numpy as np
import pandas
import pytest
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import thrifty as th
from tests.learners.open_play import OPEN

ARMS, COLUMNS = ("red", "green", "blue"), ("age", "income")
DATA = np.random.default_rng(0).normal([40, 3e4], [10, 1e4], size=(200, 2))


@pytest.mark.parametrize("spec", OPEN)
def test_blocks_decide_as_whole_matrices_do(spec):
    """One block for each arm, against the same features with zeros everywhere else."""
    blocks = th.policy(spec).learner(features=th.features.disjoint(ARMS, COLUMNS), seed=1)
    whole = th.policy(spec).learner(dimension=9, seed=1)
    rng = np.random.default_rng(2)
    for _ in range(3000):
        context = rng.normal(size=2)
        rows = np.kron(np.eye(3), np.concatenate([[1.0], context]))
        one, other = blocks.choose(context), whole.choose(rows)
        assert (one.arm, one.label) == (other.arm, other.label)
        assert one.probability == pytest.approx(other.probability, nan_ok=True)
        reward = float(context @ [0.3, -0.2] * (one.arm - 1) + 0.2 * rng.normal())
        blocks.learn(one, reward)
        whole.learn(other, reward)
    assert blocks.state.regression.theta == pytest.approx(whole.state.regression.theta, rel=1e-6)
    assert blocks.state.regression.totals[0].logdet == pytest.approx(
        whole.state.regression.totals[0].logdet
    )


@pytest.mark.parametrize("forgetting", [None, 100])
def test_blocks_after_observations(forgetting):
    policy = th.Thrifty(forgetting=forgetting)
    blocks = policy.learner(features=th.features.disjoint(ARMS, COLUMNS))
    whole = policy.learner(dimension=9)
    rng = np.random.default_rng(2)
    contexts, arms, rewards = rng.normal(size=(500, 2)), rng.integers(3, size=500), rng.random(500)
    blocks.observe(contexts, arms, rewards)
    rows = np.zeros((500, 3, 3))
    rows[np.arange(500), arms] = np.hstack([np.ones((500, 1)), contexts])
    whole.observe(rows.reshape(500, 9), reward=rewards)
    assert blocks.state.regression.theta == pytest.approx(whole.state.regression.theta)
    assert blocks.coefficients()["green: income"] == pytest.approx(whole.coefficients()["5"])


def test_names_and_rows_of_disjoint_arms():
    known = th.features.disjoint(ARMS, COLUMNS)
    assert known.names[:4] == ("red: bias", "red: age", "red: income", "green: bias")
    assert (known.dimension, known.blocks, known.width) == (9, 3, 3)
    learner = th.Greedy().learner(features=known)
    learner.observe([[1.0, 2.0]], ["blue"], [1.0])
    decision = learner.choose({"income": 2.0, "age": 1.0})
    assert decision.name == "blue"
    assert learner.choose([1.0, 2.0], available=["red", "green"]).name in ("red", "green")
    frame = pandas.DataFrame({"income": [2.0], "age": [1.0]})
    assert learner.choose(frame).name == "blue"
    assert [arm.name for arm in learner.explain(decision, [1.0, 2.0]).arms] == list(ARMS)


def test_rows_of_a_product():
    arms = pandas.DataFrame({"price": [1.0, 2.0], "size": [5.0, 7.0]})
    known = th.features.product(arms, COLUMNS, names=["small", "large"])
    rows, blocks, names, _ = known.rows([3.0, 4.0])
    assert names == ("small", "large")
    assert known.names[3:6] == ("price x bias", "price x age", "price x income")
    assert rows.tolist() == [
        [1, 3, 4, 1, 3, 4, 5, 15, 20],
        [1, 3, 4, 2, 6, 8, 7, 21, 28],
    ]
    assert blocks.tolist() == [0, 0]


def test_shared_features_are_scaled_to_a_length_of_about_1():
    known = th.features.shared(COLUMNS).fit(DATA)
    rows, _, names, _ = known.rows(DATA)
    assert names is None
    assert np.sqrt((rows**2).sum(axis=1).mean()) == pytest.approx(1.0)
    assert known.names == ("bias", "age", "income")
    plain = th.features.shared(COLUMNS, bias=False).rows(DATA)[0]
    assert (plain == DATA).all()


def test_transformers_of_scikit_learn():
    frame = pandas.DataFrame({"city": ["Rome", "Oslo", "Rome"]})
    encoder = OneHotEncoder().fit(frame)
    known = th.features.disjoint(ARMS, transformer=encoder)
    assert known.names[:3] == ("red: bias", "red: city_Oslo", "red: city_Rome")
    learner = th.Thrifty().learner(features=known)
    learner.learn(learner.choose(frame[:1]), 1.0)
    again = th.Learner.load(learner.to_bytes(), features=known)
    assert again.choose(frame[1:2]) == learner.choose(frame[1:2])
    with pytest.raises(th.BadFile, match="the map with its transformer"):
        th.Learner.load(learner.to_bytes())
    scaler = StandardScaler().fit(pandas.DataFrame(DATA, columns=COLUMNS))
    assert th.features.shared(transformer=scaler).dimension == 3


@pytest.mark.parametrize("spec", OPEN)
def test_learners_with_maps_are_saved(spec):
    learner = th.policy(spec).learner(features=th.features.disjoint(ARMS, COLUMNS).fit(DATA))
    for context in DATA[:50]:
        learner.learn(learner.choose(context), 1.0)
    late = learner.choose(DATA[0])
    for again in (th.Learner.load(learner.to_bytes()), pickle.loads(pickle.dumps(learner))):
        again.learn(late, 0.5)
        assert again.sets == learner.sets
    learner.learn(late, 0.5)
    assert again.choose(DATA[1]) == learner.choose(DATA[1])


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: th.features.disjoint(ARMS), "columns, or a fitted transformer"),
        (lambda: th.features.disjoint(["a", "a"], COLUMNS), "is used before"),
        (lambda: th.features.disjoint("ab", COLUMNS), "a list of names"),
        (lambda: th.features.product([[1.0], [np.nan]], COLUMNS), "finite rows"),
        (lambda: th.features.product([[1.0]], COLUMNS, names=["a", "b"]), "1 names"),
        (lambda: th.Greedy().learner(features="disjoint"), "a map such as"),
        (lambda: th.Greedy().learner(dimension=2, columns=["a"]), "2 names"),
        (lambda: th.Greedy().learner(), "dimension=, columns= or features="),
    ],
)
def test_maps_that_cannot_be(mistake, message):
    with pytest.raises(th.InvalidInput, match=message):
        mistake()


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ([1.0], r"rows of 2 values \(age, income\)"),
        ([[1.0, 2.0], [3.0, 4.0]], "one row expected, of the context, got 2"),
        ({"age": 1.0}, "missing income"),
        ({"age": 1.0, "income": 2.0, "size": 3.0}, "unknown size"),
        ([1.0, np.nan], r"^features\['income'\]: missing \(nan\)"),
        ([1.0, np.inf], r"^features\['income'\]: a finite number"),
        (["a", "b"], r"^features\['age'\]: a number expected, got 'a'; declare text"),
    ],
)
def test_contexts_that_cannot_be_mapped(context, message):
    learner = th.Thrifty().learner(features=th.features.disjoint(ARMS, COLUMNS))
    before = learner.to_bytes()
    with pytest.raises(th.InvalidInput, match=message):
        learner.choose(context)
    assert learner.to_bytes() == before


def test_arms_that_are_not_there():
    learner = th.Thrifty().learner(features=th.features.disjoint(ARMS, COLUMNS))
    with pytest.raises(th.UnknownName, match="unknown arm 'gren'; did you mean 'green'"):
        learner.choose([1.0, 2.0], available=["gren"])
    with pytest.raises(th.InvalidInput, match="at least one arm"):
        learner.choose([1.0, 2.0], available=[])
    with pytest.raises(th.InvalidInput, match="an index below 3"):
        learner.observe([[1.0, 2.0]], [3], [1.0])
    with pytest.raises(th.InvalidInput, match="one for each context"):
        learner.observe([[1.0, 2.0]], [1, 2], [1.0, 2.0])
