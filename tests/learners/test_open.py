"""Open contexts: features that come at decision time."""

import copy
import json
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import thrifty as th
from tests.learners.open_play import OPEN, THETA, D, drive
from thrifty.learners.pending import MOST_ENDED
from thrifty.learners.saving import content_of
from thrifty.learners.state_files import to_text


@pytest.mark.parametrize("spec", OPEN)
def test_open_policies_learn(spec):
    _, regret = drive(th.policy(spec).learner(dimension=D, noise=0.3), 2000)
    assert regret < 150  # of 1,200 at random


@pytest.mark.parametrize("name", sorted({"oam", "ids", "solid", "ossb", "linmed", "endoa", "del"}))
def test_the_others_say_that_they_need_listed_contexts(name):
    advice = f"{name}: needs listed contexts.* thrifty, penalty, linucb"
    with pytest.raises(th.InvalidInput, match=advice):
        th.policy(name).learner(dimension=3)


@pytest.mark.parametrize("spec", ["greedy", "linucb:width=alpha", "lints"])
def test_open_and_listed_learners_decide_alike(spec):
    rng = np.random.default_rng(3)
    arms = [rng.normal(size=(k, D)) for k in (3, 5, 2)]
    listed = th.policy(spec).learner(th.ActionSets(arms), seed=5, noise=0.3)
    opened = th.policy(spec).learner(dimension=D, seed=5, noise=0.3)
    for _ in range(6000):  # the inverse is recomputed in between
        m = int(rng.integers(3))
        one, other = listed.choose(m), opened.choose(arms[m])
        assert (one.arm, one.label, one.probability) == (other.arm, other.label, other.probability)
        assert one.gap == pytest.approx(other.gap, abs=1e-9)
        reward = float(arms[m][one.arm] @ THETA + 0.3 * rng.normal())
        listed.learn(one, reward)
        opened.learn(other, reward)


def test_more_arms_than_ever_before_change_nothing_that_was_learned():
    learner = th.Thrifty().learner(dimension=D)
    drive(learner, 300)
    before = learner.state
    theta, model = before.regression.theta.copy(), before.model.copy()
    decision = learner.choose(np.random.default_rng(1).normal(size=(100, D)))
    assert learner.state is not before
    assert (learner.state.regression.theta == theta).all()
    assert learner.state.model[0].squares == model[0].squares
    learner.learn(decision, 1.0)


@pytest.mark.parametrize("spec", OPEN)
def test_saved_copied_and_pickled_learners_go_on_alike(spec, tmp_path):
    learner = th.policy(spec).learner(dimension=D, seed=3)
    drive(learner, 200)
    late = learner.choose(np.eye(D))
    learner.save(tmp_path / "state.json")
    others = [
        th.Learner.load(tmp_path / "state.json"),
        th.Learner.load(learner.to_bytes()),
        pickle.loads(pickle.dumps(learner)),
        copy.deepcopy(learner),
        copy.copy(learner),
    ]
    learner.learn(late, 0.5)
    wanted = drive(learner, 200, seed=1)
    for other in others:
        other.learn(late.id, 0.5)
        assert drive(other, 200, seed=1) == wanted


@pytest.mark.parametrize("spec", ["thrifty", "egreedy", "squarecb", "vids"])
def test_probabilities_are_frequencies(spec):
    """The same state many times over, with other random numbers: how often each arm is chosen."""
    learner = th.policy(spec).learner(dimension=D, noise=1.0)
    drive(learner, 6, noise=1.0)
    rng, trials, mixed = np.random.default_rng(9), 500, 0
    for _ in range(20):
        features = rng.normal(size=(4, D))
        chosen, chances = np.zeros(4), np.full(4, np.nan)
        for _ in range(trials):
            learner._draws.uniforms[:] = rng.random(learner._draws.uniforms.shape)
            decision = learner.choose(features)
            learner.cancel(decision)
            chosen[decision.arm] += 1
            chances[decision.arm] = decision.probability
        played = chosen > 0
        p = chances[played]
        assert p.sum() > 1 - 10 / trials  # arms that were not chosen are unlikely
        error = np.sqrt(trials * p * (1 - p))
        assert (np.abs(chosen[played] - trials * p) <= 4.5 * error + 1e-9).all()
        mixed += int((p < 0.9).all())
    assert mixed > 0


def test_files_of_version_4_are_read():
    """They have what was known of the arms of the last offer, which is not used."""
    learner = th.Thrifty().learner(dimension=D, seed=3)
    drive(learner, 50)
    content = content_of(learner)
    content["state"]["ledger"].update(played=[0] * 17, chosen=[0] * 17)
    content["state"]["regression"].update(means=[7.0] * 17, norms=[7.0] * 17, outside=[False] * 17)
    epoch = int(learner.state.schedule[0].epoch)
    known = {"best": [0], "epochs": [epoch], "losses": [7.0], "improvements": [7.0] * 17}
    content["state"]["values"] = known
    document = json.loads(to_text(content)) | {"version": 4}
    assert drive(th.Learner.load(json.dumps(document).encode()), 50) == drive(learner, 50)


def test_probabilities_of_policies_without_random_numbers_and_of_thompson_sampling():
    features = np.eye(D)
    assert th.Greedy().learner(dimension=D).choose(features).probability == 1
    assert th.LinUCB(width="alpha").learner(dimension=D).choose(features).probability == 1
    assert th.LinTS().learner(dimension=D).choose(features).probability is None


def test_names_and_lists():
    learner = th.Thrifty().learner(dimension=2)
    decision = learner.choose([[1, 0], [0, 1]], names=["red", "blue"])
    assert decision.name == ("red", "blue")[decision.arm]
    assert decision.context == ""
    assert learner.choose([[1, 0]]).name == "0"


class Frame(SimpleNamespace):
    """As much of a data frame as is asked of one."""

    def to_numpy(self):
        return np.array(self.values)


def test_columns_of_a_data_frame_are_taken_by_name():
    learner = th.Greedy().learner(columns=["age", "price"])
    learner.observe([[1.0, 0.0]], arm=0, reward=1.0)
    straight = learner.choose(Frame(columns=["age", "price"], values=[[0, 1], [1, 0]]))
    swapped = learner.choose(Frame(columns=["price", "age"], values=[[1, 0], [0, 1]]))
    assert straight.arm == swapped.arm == 1
    restored = th.Learner.load(learner.to_bytes())
    assert restored.sets.columns == ("age", "price")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["age"], "missing price"),
        (["age", "price", "size"], "unknown size"),
        (["age", "cost"], "missing price; unknown cost"),
        (["age", "age"], "columns with distinct names"),
    ],
)
def test_wrong_columns(columns, message):
    learner = th.Greedy().learner(columns=["age", "price"])
    with pytest.raises(th.InvalidInput, match=message):
        learner.choose(Frame(columns=columns, values=np.zeros((2, len(columns)))))


def test_a_data_frame_needs_columns():
    learner = th.Greedy().learner(dimension=2)
    with pytest.raises(th.InvalidInput, match="columns="):
        learner.choose(Frame(columns=["age", "price"], values=[[0, 1]]))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.zeros((2, 3)), r"4 columns expected, got the shape \(2, 3\)"),
        (np.zeros((0, 4)), "at least one arm"),
        (np.zeros(4), "a list of arms"),
        ([[0, 0, np.nan, 0]], r"features\[0\]\[2\]: a finite number"),
        ([[0, 0, 0, 0], [0, -np.inf, 0, 0]], r"features\[1\]\[1\]"),
        ([[1e80, 0, 0, 0]], "a finite number of at most 1e"),
        ([["a", "b", "c", "d"]], "rows of 4 numbers"),
        (None, "rows of 4 numbers"),
    ],
)
def test_bad_features_change_nothing(features, message):
    learner = th.Thrifty().learner(dimension=D)
    drive(learner, 50)
    before = learner.to_bytes()
    with pytest.raises(th.InvalidInput, match=message):
        learner.choose(features)
    with pytest.raises(th.InvalidInput):
        learner.observe(features, arm=0, reward=1.0)
    assert learner.to_bytes() == before
    drive(learner, 5)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "2 names"),
        (["a", "a"], "is used before"),
        ("ab", "a list of names"),
        ([1, 2], "a string"),
    ],
)
def test_bad_names(names, message):
    with pytest.raises(th.InvalidInput, match=message):
        th.Greedy().learner(dimension=1).choose([[1.0], [2.0]], names=names)


@pytest.mark.parametrize("dimension", [0, -1, 1.5, True, 10**6, None])
def test_bad_dimensions(dimension):
    with pytest.raises(th.InvalidInput):
        th.Greedy().learner(dimension=dimension)


def test_a_learner_in_a_line():
    learner = th.Thrifty().learner(dimension=D)
    learner.choose(np.eye(D))
    assert (
        repr(learner) == "<learner: thrifty, open contexts of 4 features, 1 decisions, 1 pending>"
    )


def test_explanations():
    learner = th.Thrifty().learner(dimension=D)
    drive(learner, 300)
    features = np.eye(D)
    decision = learner.choose(features, names=list("abcd"))
    [report] = learner.explain(decision).arms
    assert report.name == decision.name
    assert report.pulls is None
    reports = learner.explain(decision, features).arms
    means = np.array([one.mean for one in reports])
    assert means == pytest.approx(learner.state.regression.theta)
    assert reports[decision.arm] == report
    assert reports[decision.arm].gap == pytest.approx(decision.gap)
    assert str(decision.name) in str(learner.explain(decision))


def test_a_decision_is_explained_after_its_reward_too():
    learner = th.Thrifty().learner(dimension=D)
    decision = learner.choose(np.eye(D), names=list("abcd"))
    before = learner.explain(decision).arms[0]
    learner.learn(decision, 2.0)
    for known in (decision, decision.id, type(decision)(*decision)):
        explanation = learner.explain(known)
        [after] = explanation.arms
        assert (explanation.decision, after.name) == (decision, decision.name)
        assert after.mean > before.mean
    cancelled = learner.choose(np.eye(D))
    learner.cancel(cancelled)
    assert learner.explain(cancelled).arms[0].mean == learner.coefficients()[str(cancelled.arm)][0]


def test_features_of_decisions_long_ago_are_not_kept(monkeypatch):
    learner = th.Greedy().learner(dimension=D)
    first = learner.choose(np.eye(D))
    learner.learn(first, 1.0)
    foreign = th.Greedy().learner(dimension=D, seed=1).choose(2 * np.eye(D)[::-1])._replace(gap=0.5)
    kept = r"features are kept of pending decisions and of the last 1,000 others: pass them to expl"
    with pytest.raises(th.InvalidInput, match=f"^decision 0: {kept}"):
        learner.explain(foreign)
    for _ in range(MOST_ENDED):
        learner.learn(learner.choose(np.eye(D)), 0.0)
    assert len(learner.pending.ended) == MOST_ENDED
    with pytest.raises(th.InvalidInput, match=f"^decision 0: {kept}"):
        learner.explain(first)
    assert learner.explain(first, np.eye(D)).arms[first.arm].name == first.name
    with pytest.raises(th.InvalidInput, match="decision 0 is not pending"):
        learner.explain(0)
    with pytest.raises(th.InvalidInput, match=f"^decision {MOST_ENDED}: {kept}"):  # not in a file
        th.Learner.load(learner.to_bytes()).explain(learner.pending.ended[-1].decision)
