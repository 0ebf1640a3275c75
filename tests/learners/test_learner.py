"""The learner: late rewards, explanations, changing arms, saving, mistakes that change nothing.
Conformance is in tests/extending.
"""

import json
import math
import time
from dataclasses import asdict
from threading import Thread

import numpy as np
import pytest

import thrifty as th
from thrifty.learners.learner import Learner
from thrifty.learners.saving import content_of
from thrifty.learners.state_files import pack, to_text

SETS = th.ActionSets(
    [[[1, 0], [0, 1], [0.9, 0.5]], [[1, 0], [0.8, 0.3]]],
    context_names=["mobile", "desktop"],
    arm_names=[["a", "b", "c"], ["a", "d"]],
)


def trained(policy=None, rounds=300, seed=0):
    learner = (policy or th.LinUCB(horizon=1e4)).learner(SETS, seed)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        decision = learner.choose(("mobile", "desktop")[rng.integers(2)])
        learner.learn(decision, float(rng.normal()))
    return learner


def test_decisions_have_names():
    learner = th.OAM(horizon=1e4).learner(SETS, seed=0)
    decision = learner.choose("desktop")
    assert (decision.context, decision.name, decision.label) == (
        "desktop",
        SETS.arm_names[1][decision.arm],
        "init",
    )
    assert learner.choose(1).context == "desktop"
    assert learner.choose("mobile", available=["b"]).name == "b"
    assert learner.choose("mobile", available=[2, "c"]).name == "c"
    assert learner.choose("mobile", available=[False, True, False]).name == "b"
    assert learner.choose("mobile", available=np.array([False, False, True])).name == "c"


def test_pulls_in_flight_count_but_teach_nothing():
    learner = th.OAM(horizon=1e4).learner(th.instance("orthogonal").sets)
    waiting = [learner.choose(0) for _ in range(30)]
    assert learner.state.ledger.played.sum() == 30
    assert learner.state.regression.pulls.sum() == 0
    for decision in reversed(waiting):
        learner.learn(decision, 1.0)
    assert (learner.state.regression.pulls == learner.state.ledger.played).all()
    for policy in (th.OAM(horizon=1e4), th.OSSB(), th.DEL()):  # even before any reward is known
        fresh = policy.learner(SETS)
        assert {fresh.choose("mobile").name for _ in range(6)} == {"a", "b", "c"}
    first = th.OAM(horizon=1e4).learner(th.instance("fixed-u0.1").sets)
    for _ in range(3):
        first.learn(first.choose(0), 0.5)
    # no reward arrives: the plan still spreads the pulls
    arms = [first.choose(0).arm for _ in range(60)]
    assert len(set(arms)) > 1


def test_order_of_rewards_does_not_matter_but_for_rounding():
    learners = [th.LinUCB(horizon=1e4).learner(SETS) for _ in range(2)]
    waiting = [[learner.choose("mobile") for _ in range(10)] for learner in learners]
    for i in range(10):
        learners[0].learn(waiting[0][i], float(i))
        learners[1].learn(waiting[1][9 - i], float(9 - i))
    assert learners[0].state.regression.theta == pytest.approx(learners[1].state.regression.theta)


def test_a_cancelled_decision_is_no_pull():
    learner = trained()
    before = learner.state.ledger.played.copy()
    chosen = learner.state.ledger.chosen.copy()
    decision = learner.choose("mobile")
    assert learner.state.ledger.played.sum() == before.sum() + 1
    learner.cancel(decision)
    assert (learner.state.ledger.played == before).all()
    assert (learner.state.ledger.chosen == chosen).all()
    with pytest.raises(th.InvalidInput):
        learner.learn(decision, 1.0)


def test_explain_says_how_the_arms_stand():
    learner = trained(th.OAM(horizon=1e4), rounds=2000)
    decision = learner.choose("mobile")
    explanation = learner.explain(decision)
    assert [arm.name for arm in explanation.arms] == ["a", "b", "c"]
    theta, inverse = learner.state.regression.theta, learner.state.regression.inverse
    for arm, x in zip(explanation.arms, SETS.arms("mobile"), strict=True):
        assert arm.mean == pytest.approx(x @ theta)
        assert arm.standard_error == pytest.approx(np.sqrt(x @ inverse @ x))
        assert arm.target >= 0
    assert min(arm.gap for arm in explanation.arms) == 0
    # pooled: `a` stands in both contexts
    assert explanation.arms[0].pulls == learner.state.ledger.played[SETS.vector_ids[0]]
    assert f"mobile: {decision.name} ({decision.label})" in str(explanation)
    assert th.LinUCB(horizon=1e4).learner(SETS).explain(decision).arms[0].target is None


def test_targets_of_oam_on_orthogonal_arms_are_those_of_lai_and_robbins():
    """alpha_x = 2 / gap^2, so T_x = alpha_x f_n / 2 = f_n / gap^2; the best arm has the cap."""
    instance, rng = th.instance("orthogonal:d=3"), np.random.default_rng(0)
    learner = th.OAM(horizon=1e4, zeta=0).learner(instance.sets)
    decision = learner.choose(0)
    for _ in range(200):
        learner.learn(decision, float(instance.means[decision.arm] + rng.standard_normal()))
        decision = learner.choose(0)
    assert decision.label == "matched"  # solved in this round, at these gaps
    best, *others = sorted(learner.explain(decision).arms, key=lambda arm: arm.gap)
    f_n = 2 * math.log(1e4) + 2
    assert [arm.target for arm in others] == pytest.approx([f_n / arm.gap**2 for arm in others])
    assert best.target == pytest.approx(others[0].target)


def test_gaps_in_an_explanation_are_those_within_the_context():
    learner = th.Greedy().learner(th.ActionSets([[[1.0]], [[0.5], [0.2]]]))
    learner.learn(learner.choose(0), 3.0)
    mean = learner.explain(learner.choose(0)).arms[0].mean
    gaps = [arm.gap for arm in learner.explain(learner.choose(1)).arms]
    assert gaps == pytest.approx([0.0, 0.3 * mean])


def test_noise_scales_the_standard_errors():
    one, ten = (th.LinUCB(horizon=1e4, ridge=1).learner(SETS, noise=noise) for noise in (1.0, 10.0))
    errors = [
        learner.explain(learner.choose("mobile")).arms[0].standard_error for learner in (one, ten)
    ]
    assert errors[1] == pytest.approx(10 * errors[0])


def test_saving_resumes_bit_for_bit_in_the_middle_of_everything(tmp_path):
    """Random draws, late rewards, arms that are gone: all of it."""
    learner = trained(th.LinTS(), rounds=777)
    late = learner.choose("mobile", available=["b"])
    learner.remove_arm("mobile", "b")
    learner.save(tmp_path / "state.json")
    again = th.Learner.load(tmp_path / "state.json")
    assert again.sets == learner.sets
    for one in (learner, again):
        one.learn(late, 0.25)
    for _ in range(600):
        decisions = [one.choose("mobile") for one in (learner, again)]
        assert decisions[0] == decisions[1]
        for one, decision in zip((learner, again), decisions, strict=True):
            one.learn(decision, 0.1 * decision.arm)
    assert pack(learner.state) == pack(again.state)


def test_what_was_learned_survives_a_change_of_arms():
    learner = trained(rounds=500)
    theta = learner.state.regression.theta.copy()
    learner.add_arm("mobile", [0.5, 0.5], name="new")
    learner.remove_arm("mobile", "b")
    learner.add_context("tablet", [[1, 1], [0, 1]])
    learner.remove_context("desktop")
    assert learner.state.regression.theta == pytest.approx(theta)
    assert learner.sets.context_names == ("mobile", "tablet")
    assert learner.sets.arm_names == (("a", "c", "new"), ("0", "1"))
    assert learner.choose("tablet").name in ("0", "1")
    learner.add_arm("tablet", [2, 2])
    assert learner.sets.arm_names[1] == ("0", "1", "2")


def test_counts_follow_their_vectors():
    learner = trained(th.OSSB(), rounds=500)
    before = {
        vector.tobytes(): count
        for vector, count in zip(SETS.vectors, learner.state.ledger.played, strict=True)
    }
    learner.remove_arm("mobile", 1)
    # the vector that was just removed elsewhere: its pulls were dropped with it
    learner.add_arm("desktop", [0, 1])
    after = {
        vector.tobytes(): count
        for vector, count in zip(learner.sets.vectors, learner.state.ledger.played, strict=True)
    }
    gone = np.array([0.0, 1.0]).tobytes()
    assert after.pop(gone) == 0
    assert after == {key: count for key, count in before.items() if key != gone}


def mistakes():
    learner = trained()
    decision = learner.choose("mobile")
    other = th.LinUCB(horizon=1e4).learner(SETS).choose("mobile")
    done = learner.choose("mobile")
    learner.learn(done, 1.0)
    return learner, [
        (
            lambda: learner.learn(decision, float("nan")),
            "reward: a finite number expected, got nan",
        ),
        (lambda: learner.learn(decision, "1"), "reward: a finite number expected, got '1'"),
        (
            lambda: learner.learn(done, 1.0),
            f"decision {done.id} (arm {done.name!r}) is not pending: already rewarded",
        ),
        (lambda: learner.learn(other, 1.0), "is not pending"),
        (lambda: learner.learn(10**6, 1.0), "decision 1000000 is unknown"),
        (lambda: learner.learn(7, 1.0), "decision 7 is not pending"),
        (lambda: learner.choose("mobil"), "unknown context 'mobil'; did you mean 'mobile'?"),
        (lambda: learner.choose(2), "context: an index from 0 to 1 expected, got 2"),
        (lambda: learner.choose([1]), "context: contexts are listed"),
        (lambda: learner.learn(decision, 10**400), "reward: a number expected"),
        (lambda: learner.choose("mobile", available=[]), "available: at least one arm expected"),
        (lambda: learner.choose("mobile", available=["z"]), "unknown arm 'z'; known: a, b, c"),
        (
            lambda: learner.choose("mobile", available=[True]),
            "arm: an index from 0 to 2 expected, got True",
        ),
        (
            lambda: learner.choose("mobile", available=[0.7]),
            "arm: an index from 0 to 2 expected, got 0.7",
        ),
        (
            lambda: learner.choose("mobile", available="b"),
            "available: a list of arms expected, got 'b'",
        ),
        (
            lambda: learner.choose("mobile", available=0),
            "available: a list of arms expected, got 0",
        ),
        (lambda: learner.explain(10**6), "decision 1000000 is unknown"),
        (lambda: learner.change([[1.0, 0.0]]), "sets: thrifty.ActionSets expected"),
        (
            lambda: learner.choose("mobile", available=[3]),
            "arm: an index from 0 to 2 expected, got 3",
        ),
        (
            lambda: learner.add_arm("mobile", [1, 2, 3]),
            "contexts[0].arms[3]: 2 numbers (as in contexts[0].arms[0]) expected, got 3",
        ),
        (
            lambda: learner.add_arm("mobile", [1, float("nan")]),
            "features[1]: a finite number expected, got nan",
        ),
        (
            lambda: learner.add_arm("mobile", [1, 2], name="a"),
            "arm_names[0][3]: 'a' is used before",
        ),
        (
            lambda: learner.add_context("new", [[1, 2], [3]]),
            "contexts[0].arms[1]: 2 numbers (as in contexts[0].arms[0]) expected, got 1",
        ),
        (
            lambda: learner.change(th.ActionSets([[[1.0]]])),
            "sets: arms of dimension 2 expected, got 1",
        ),
    ]


def test_mistakes_are_named_and_change_nothing():
    learner, cases = mistakes()

    def everything():
        return pack(learner.state), learner.sets, dict(learner.pending), learner.decisions

    before = everything()
    for mistake, message in cases:
        with pytest.raises(th.ThriftyError) as caught:
            mistake()
        assert message in str(caught.value)
        assert (
            pack(learner.state),
            learner.sets,
            dict(learner.pending),
            learner.decisions,
        ) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document.update(version=7), "state version 7; this thrifty reads 2 to 6"),
        (lambda document: document.update(version=1), "written by thrifty 0.1; version 0.2 and"),
        (lambda document: document.update(format="other"), "not the state of a thrifty learner"),
        (lambda document: document.pop("digest"), "the digest does not match"),
        (lambda document: document.pop("learner"), "the digest does not match"),
        (lambda document: document["learner"].update(noise=2.0), "the digest does not match"),
    ],
)
def test_damaged_files_are_refused(tmp_path, change, message):
    path = tmp_path / "state.json"
    trained(rounds=20).save(path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(th.BadFile) as caught:
        th.Learner.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def forged(path, change, policy=None):
    """A file with a right digest for wrong content."""
    learner = trained(policy, rounds=20)
    learner.choose("mobile")
    learner.save(path)
    content = json.loads(path.read_text())["learner"]
    change(content)
    path.write_text(to_text(content))
    return path


FORGERIES = [
    (lambda content: content.update(policy="linucp"), "did you mean 'linucb'?"),
    (lambda content: content.update(policy=[]), "not a whole learner's state"),
    (
        lambda content: content["parameters"].update(ridge=-1),
        "ridge: a number above 1e-240 expected",
    ),
    (lambda content: content.update(noise=-1.0), "noise: a positive number expected"),
    (lambda content: content["contexts"].pop(), "expected"),
    (lambda content: content["state"].pop("ledger"), "state: a field 'ledger' expected"),
    (lambda content: content["state"]["ledger"]["played"].pop(), "state.ledger.played: an array"),
    (lambda content: content["state"]["ledger"]["played"].__setitem__(0, -1), "none below 0"),
    (lambda content: content["state"]["ledger"]["chosen"].__setitem__(0, 0.5), "of int64"),
    (lambda content: content["state"]["ledger"].update(counters=3), "an object expected"),
    (lambda content: content["state"]["regression"]["theta"].pop(), "state.regression.theta: an"),
    (lambda content: content["state"]["regression"]["theta"].__setitem__(0, "x"), "a number, or"),
    (lambda content: content["state"]["regression"].update(outside=[0] * 5), "of bool"),
    (lambda content: content.pop("draws"), "not a whole learner's state"),
    (lambda content: content["draws"].update(used=257), "draws.used: a number from 0 to 256"),
    (lambda content: content["draws"]["normals"].update(state=-1), "not a whole learner's state"),
    (lambda content: content.update(next_id=-1), "next_id: a whole number"),
    (lambda content: content["pending"][0].update(row=10**9), "pending: a row expected"),
    (lambda content: content["pending"][0].update(row=-1), "pending: a row expected"),
    (lambda content: content["pending"][0].update(label=7), "pending: the index of a label"),
    (lambda content: content["pending"][0].update(features=[1.0]), "pending: 2 features expected"),
    (lambda content: content["pending"][0].update(counted=[0, 9, 0]), "a context, a row and"),
    (lambda content: content["pending"][0]["decision"].__setitem__(0, 99), "pending: an id below"),
    (lambda content: content["pending"].append(content["pending"][0]), "distinct ids expected"),
]


@pytest.mark.parametrize(("change", "message"), FORGERIES)
def test_forged_files_are_refused(tmp_path, change, message):
    path = forged(tmp_path / "state.json", change)
    with pytest.raises(th.BadFile) as caught:
        th.Learner.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_indices_in_a_file_are_those_of_rows(tmp_path):
    def change(content):
        content["state"]["values"]["best"][0] = 5

    with pytest.raises(th.BadFile, match=r"state\.values\.best: indices below 5 expected"):
        th.Learner.load(forged(tmp_path / "state.json", change, th.Thrifty()))


def test_a_file_of_the_first_edition_of_thrifty_says_which_version_reads_it(tmp_path):
    def change(content):
        content["parameters"] = {"noise": "known", "pace": 15.0}

    with pytest.raises(th.BadFile, match=r"that of thrifty 0\.2, which reads this file"):
        th.Learner.load(forged(tmp_path / "state.json", change, th.Thrifty()))


def test_what_follows_from_the_action_sets_is_not_read(tmp_path):
    """Compiled code uses these arrays as indices."""

    def change(content):
        content["state"]["ledger"].update(offsets=[0, 10**9, 5], vector_ids=[10**9] * 5)

    learner = th.Learner.load(forged(tmp_path / "state.json", change))
    assert learner.state.ledger.offsets.tolist() == SETS.offsets.tolist()
    assert learner.state.ledger.vector_ids.tolist() == SETS.vector_ids.tolist()


def test_files_of_version_2_are_read(tmp_path):
    """They have no digest, and do not say where a decision was counted."""
    learner = trained(th.LinTS(), rounds=20)
    waiting = learner.choose("mobile")
    gone = [learner.choose("mobile", available=["b"]), learner.choose("desktop", available=["d"])]
    learner.remove_arm("mobile", "b")
    learner.remove_context("desktop")
    content = content_of(learner)
    for entry in content["pending"]:
        del entry["counted"]
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"format": "thrifty learner", "version": 2, **content}))
    again = th.Learner.load(path)
    assert again.choose("mobile") == learner.choose("mobile")
    for decision in (waiting, *gone):
        again.cancel(decision)
        learner.cancel(decision)
    assert pack(again.state) == pack(learner.state)


def test_a_file_from_before_ids_had_a_ridge_is_read_with_a_ridge_of_1(tmp_path):
    learner = th.IDS(ridge=1).learner(SETS, noise=0.1)
    content = content_of(learner)
    del content["parameters"]["ridge"]
    path = tmp_path / "state.json"
    path.write_text(to_text(content))
    assert th.Learner.load(path).policy == learner.policy


def test_other_action_sets_and_other_files_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    trained(rounds=20).save(path)
    assert th.Learner.load(path, SETS).sets == SETS
    with pytest.raises(th.BadFile, match="contexts: saved for other action sets"):
        th.Learner.load(path, th.instance("fixed-u0.1").sets)
    with pytest.raises(th.BadFile, match="policy: lints expected, got 'linucb'"):
        th.Learner.load(path, policy=th.LinTS())
    with pytest.raises(th.BadFile, match="No such file"):
        th.Learner.load(tmp_path / "nothing.json")
    with pytest.raises(th.BadFile, match="null byte"):
        th.Learner.load("a\0b")
    monkeypatch.setattr("thrifty.files.MOST_TEXT", 10)  # a state is larger: files may be
    with pytest.raises(th.BadFile, match="at most 1e-05 MB expected, got a longer one"):
        th.Learner.load("/dev/zero")
    assert th.Learner.load(path, SETS).sets == SETS
    path.write_text("{")
    with pytest.raises(th.BadFile, match="not valid JSON"):
        th.Learner.load(path)
    with pytest.raises(th.BadFile, match="cannot be written"):
        trained(rounds=1).save(tmp_path / "no" / "such" / "folder.json")


def test_the_same_policy_with_other_parameters_is_refused(tmp_path):
    path = tmp_path / "state.json"
    trained(rounds=20).save(path)
    assert th.Learner.load(path, policy=th.LinUCB(horizon=1e4)).policy == th.LinUCB(horizon=1e4)
    with pytest.raises(th.BadFile, match="policy: linucb:horizon=100 expected"):
        th.Learner.load(path, policy=th.LinUCB(horizon=100))


def test_the_file_is_plain_json(tmp_path):
    path = tmp_path / "state.json"
    learner = trained(th.OAM(horizon=1e4), rounds=200)  # its plan holds infinities
    learner.save(path)
    document = json.loads(
        path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON")
    )
    assert document["learner"]["parameters"] == asdict(learner.policy)


def test_only_compiled_policies_and_action_sets_make_a_learner():
    with pytest.raises(th.InvalidInput, match="policy: a compiled policy"):
        Learner(object(), SETS)
    with pytest.raises(th.InvalidInput, match=r"sets: thrifty.ActionSets expected"):
        th.LinTS().learner([[1, 0]])
    with pytest.raises(th.InvalidInput, match="noise: a positive number expected"):
        th.LinTS().learner(SETS, noise=0)
    with pytest.raises(
        th.InvalidInput, match="seed: a whole number of at least 0 expected, got -1"
    ):
        th.LinTS().learner(SETS, seed=-1)


def test_a_click_is_a_reward():
    """True and False come from a great many logs."""
    clicks, numbers = (th.LinTS().learner(SETS) for _ in range(2))
    for click in (True, np.True_, False, np.False_):
        clicks.learn(clicks.choose("mobile"), click)
        numbers.learn(numbers.choose("mobile"), float(click))
    assert (clicks.state.regression.theta == numbers.state.regression.theta).all()


@pytest.mark.parametrize(
    "policy", [th.OAM(horizon=np.int64(10**4)), th.OAM(horizon=np.float32(1e4))]
)
def test_parameters_may_be_numbers_of_numpy(tmp_path, policy):
    assert type(policy.horizon) in (int, float)
    learner = policy.learner(SETS)
    learner.save(tmp_path / "state.json")
    assert th.Learner.load(tmp_path / "state.json").choose(0) == learner.choose(0)


def test_cancel_undoes_what_was_counted_where_it_was_counted():
    """The vector of a removed arm lives on in another context, which did not count the choices."""
    sets = th.ActionSets(
        [[[1, 0], [0, 1]], [[1, 0], [1, 1]]],
        context_names=["A", "B"],
        arm_names=[["x", "y"], ["u", "v"]],
    )
    learner = th.LinUCB(horizon=1e4).learner(sets)
    ledger = learner.state.ledger
    before = [count.copy() for count in (ledger.chosen, ledger.played, ledger.visits)]
    one = learner.choose("A", available=["y"])
    learner.cancel(one)
    for count, known in zip((ledger.chosen, ledger.played, ledger.visits), before, strict=True):
        assert (count == known).all()
    assert ledger.counters[0].rounds == 0
    waiting = [learner.choose("A", available=["x"]) for _ in range(3)]
    learner.remove_arm("A", "x")
    for decision in waiting:
        learner.cancel(decision)
    ledger = learner.state.ledger
    assert ledger.chosen.tolist() == [0, 0, 0]
    assert ledger.played.tolist() == [0, 0, 0]
    assert ledger.visits.tolist() == [0, 0]


def test_cancel_after_a_context_was_removed():
    learner = trained()
    waiting = learner.choose("desktop", available=["d"])
    learner.remove_context("desktop")
    visits = learner.state.ledger.visits.copy()
    learner.cancel(waiting)
    assert (learner.state.ledger.visits == visits).all()
    assert not learner.pending


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: th.LinTS().learner(th.ActionSets([[[1e160, 0], [0, 1]]])), "arms"),
        (lambda: th.LinTS().learner(th.ActionSets([[[1e-160, 0], [0, 1e-170]]])), "arms"),
        (lambda: trained().add_arm("mobile", [1e160, 0]), "arms"),
        (lambda: th.LinTS().learner(SETS, noise=1e160), "noise: a number between"),
        (lambda: th.LinTS().learner(SETS, noise=1e-200), "noise: a number between"),
        (
            lambda: (lambda one: one.learn(one.choose(0), 1e308))(trained()),
            "reward: a number below",
        ),
        (
            lambda: trained().learn(th.Decision([], "mobile", 0, "a", "exploit", 0.0), 1.0),
            "decision: what choose returned, or its id expected",
        ),
    ],
)
def test_numbers_whose_squares_would_overflow_are_refused(mistake, message):
    with pytest.raises(th.InvalidInput, match=message):
        mistake()


@pytest.mark.parametrize("kind", [th.LinTS, th.Thrifty, th.SOLID, th.IDS, th.Greedy])
@pytest.mark.parametrize("reward", [1e100, -1e100, 1e-100])
@pytest.mark.parametrize("size", [1e50, 1e-50])
def test_no_number_within_the_ranges_spoils_the_state(kind, reward, size):
    sets = th.ActionSets([[[size, 0], [0, size], [0.9 * size, 0.5 * size]]])
    learner = kind(**({"horizon": 100} if "horizon" in kind.parameters() else {})).learner(sets)
    for t in range(30):
        learner.learn(learner.choose(0), reward * (1 + t % 3))
    assert np.isfinite(learner.state.regression.theta).all()
    assert np.isfinite(learner.state.regression.inverse).all()
    assert np.isfinite(learner.choose(0).gap)


def test_several_threads_may_use_one_learner():
    """Decisions, rewards, cancellations and changing arms at the same time: every pull counted."""
    learner = th.Thrifty().learner(SETS)
    errors = []

    def play(number):
        try:
            for t in range(300):
                decision = learner.choose("mobile")
                if t % 5 == 0:
                    learner.cancel(decision)
                else:
                    learner.learn(decision, 0.1)
                if number == 0 and t % 20 == 0:
                    learner.add_arm("desktop", [0.1 * t, 1.0], name=f"new {t}")
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=play, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert not learner.pending
    assert learner.state.ledger.played.sum() == learner.state.regression.pulls.sum() == 4 * 240
    assert learner.state.ledger.visits.sum() == learner.state.ledger.counters[0].rounds == 4 * 240
    assert learner.decisions == 4 * 300


def test_many_arms_change_quickly():
    sets = th.ActionSets([np.random.default_rng(0).normal(size=(20_000, 2))])
    learner = th.Greedy().learner(sets)
    learner.add_arm(0, [1.0, 2.0])  # compiled before the clock runs
    begun = time.process_time()
    learner.add_arm(0, [2.0, 1.0])
    assert time.process_time() - begun < 2  # 5 s when every name was compared with all others


@pytest.mark.parametrize("kind", ["listed", "open"])
@pytest.mark.parametrize("policy", [th.Thrifty(), th.LinTS(), th.LinUCB(width="alpha")])
def test_decisions_since_a_mark_can_be_undone(kind, policy):
    rng = np.random.default_rng(0)
    if kind == "listed":
        learner, asked = policy.learner(th.ActionSets([rng.normal(size=(4, 3))])), [0] * 300
    else:
        learner = policy.learner(dimension=3)
        asked = [rng.normal(size=(size, 3)) for size in [4] * 200 + [40] * 100]  # needs more room
    for one in asked[:20]:
        learner.learn(learner.choose(one), float(rng.normal()))
    waiting = learner.choose(asked[0])
    before, mark = learner.to_bytes(), learner.mark()
    made = [learner.choose(one) for one in asked]
    learner.rewind(mark)
    assert learner.to_bytes() == before
    assert [learner.choose(one) for one in asked] == made
    learner.learn(waiting, 1.0)
    learner.learn(made[-1], 1.0)
