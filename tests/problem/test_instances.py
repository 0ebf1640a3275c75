"""The truth behind the action sets, and its file."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thrifty as th

finite = st.floats(-1e300, 1e300)


def two_segments() -> th.Instance:
    sets = th.ActionSets(
        [[[1, 0], [0, 1], [0.9, 0.5]], [[0, 1]]], context_names=["mobile", "desktop"]
    )
    return th.Instance(sets, theta=[1, 0], probabilities=[0.3, 0.7], noise=0.5, name="two segments")


def test_gaps_and_optimal_arms():
    problem = two_segments()
    np.testing.assert_allclose(problem.gaps, [0, 1, 0.1, 0], atol=1e-15)
    assert problem.optimal.tolist() == [True, False, False, True]
    assert problem.best_arms.tolist() == [0, 0]


def test_ties_up_to_rounding_are_all_optimal():
    """0.1 + 0.2 and 0.3 differ in the last bit; neither arm is worse than the other."""
    problem = th.Instance(th.ActionSets([[[0.1, 0.2], [0.3, 0.0], [0.0, 0.3]]]), theta=[1, 1])
    assert problem.optimal.all()


def test_a_gap_of_a_billionth_is_a_gap():
    problem = th.Instance(th.ActionSets([[[1.0, 0], [1 - 1e-9, 0], [-999, 1]]]), theta=[1, 1e-3])
    assert problem.optimal.tolist() == [True, False, False]
    assert problem.gaps[1] == pytest.approx(1e-9, rel=1e-6)


def test_a_huge_arm_does_not_blur_the_gaps_of_the_others():
    problem = th.Instance(th.ActionSets([[[1, 0], [0, 1], [0.9, 0.5], [-1e15, 0.5]]]), theta=[1, 0])
    assert problem.optimal.tolist() == [True, False, False, False]


def test_instances_and_bounds_say_what_they_want():
    with pytest.raises(th.InvalidInput, match=r"sets: thrifty\.ActionSets expected"):
        th.Instance([[1, 0]], theta=[1, 0])
    with pytest.raises(
        th.InvalidInput,
        match=r"a thrifty.Instance \(thrifty.instance\(name\) makes one\) expected, got 'fixed",
    ):
        th.lower_bound("fixed-u0.1")
    with pytest.raises(
        th.InvalidInput,
        match=r"probabilities\[1\]: 0 is not positive: leave out",
    ):
        th.Instance(th.ActionSets([np.eye(2), np.eye(2)]), theta=[1, 0], probabilities=[1, 0])


def test_contexts_are_equally_likely_unless_said():
    assert (
        th.Instance(th.ActionSets([np.eye(2)] * 4), theta=[1, 0]).probabilities.tolist()
        == [0.25] * 4
    )


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.lists(finite, min_size=6, max_size=6),
    st.lists(finite, min_size=2, max_size=2),
    st.text(),
    st.lists(st.text(), min_size=2, max_size=2, unique=True),
)
def test_file_gives_back_every_bit(tmp_path_factory, numbers, theta, name, names):
    sets = th.ActionSets(
        [np.reshape(numbers[:4], (2, 2)), [numbers[4:]]],
        context_names=names,
        arm_names=[names, ["only"]],
    )
    problem = th.Instance(sets, theta=theta, probabilities=[0.1, 0.9], noise=1 / 3, name=name)
    path = tmp_path_factory.mktemp("files") / "instance.toml"
    problem.save(path)
    assert th.Instance.load(path) == problem


def test_file_in_the_form_of_the_contract(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("""
name = "two segments"
theta = [1.0, 0.0]
noise = 1.0
[[contexts]]
name = "mobile"
probability = 0.3
arms = [[1, 0], [0, 1], [0.9, 0.5]]
arm_names = ["a", "b", "c"]
[[contexts]]
probability = 0.7
arms = [[1, 0]]
""")
    problem = th.instance(path)
    assert problem.name == "two segments"
    assert problem.sets.context_names == ("mobile", "1")
    assert problem.sets.arm_names == (("a", "b", "c"), ("0",))
    assert problem.probabilities.tolist() == [0.3, 0.7]


def test_name_and_noise_may_be_left_out(tmp_path):
    path = tmp_path / "short.toml"
    path.write_text("theta = [1]\n[[contexts]]\narms = [[1], [0]]\n")
    problem = th.instance(path)
    assert (problem.name, problem.noise) == ("short", 1.0)


def changing(*changes: tuple[float, list[float]]) -> th.Instance:
    one = two_segments()
    return th.Instance(one.sets, theta=[1, 0], noise=0.5, name="changing", changes=changes)


def test_changes_are_kept_in_the_file(tmp_path):
    problem = changing((1000, [0, 1]), (2000, [1 / 3, -2e-300]))
    problem.save(tmp_path / "changing.toml")
    text = (tmp_path / "changing.toml").read_text()
    assert text.endswith("\n[[changes]]\nround = 2000\ntheta = [0.3333333333333333, -2e-300]\n")
    assert th.instance(tmp_path / "changing.toml") == problem
    before, _, after = text.partition("\n[[changes]]")
    assert changing().to_toml() == before  # as it was before there were changes
    assert after


def test_changes_are_immutable_and_have_pieces():
    theta = np.array([0.0, 1.0])
    problem = changing((1e3, theta))
    theta[:] = 7
    assert problem.changes[0].round == 1000
    assert problem.changes[0].theta.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        problem.changes[0].theta[0] = 1
    first, second = problem.pieces
    assert first == th.Instance(problem.sets, theta=[1, 0], noise=0.5, name="changing")
    assert (first.changes, second.theta.tolist()) == ((), [0, 1])
    np.testing.assert_allclose(second.gaps, [1, 0, 0.5, 0], atol=1e-15)
    assert repr(problem) == "Instance('changing', 2 contexts, 4 arms, d=2, 1 changes)"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (3, "changes: a list of (round, theta) expected, got 3"),
        ("ab", "changes: a list of (round, theta) expected, got 'ab'"),
        ([5], "changes[0]: a round and a theta expected, got 5"),
        ([(5, [1, 0], 2)], "changes[0]: a round and a theta expected, got (5, [1, 0], 2)"),
        (
            [(0, [1, 0])],
            "changes[0].round: a whole number from 1 to 1e+12 expected, got 0",
        ),
        (
            [(9.5, [1, 0])],
            "changes[0].round: a whole number from 1 to 1e+12 expected, got 9.5",
        ),
        (
            [(9, [1, 0]), (9, [0, 1])],
            "changes[1].round: a whole number from 10 to 1e+12 expected, got 9",
        ),
        ([("x", [1, 0])], "changes[0].round: a finite number expected, got 'x'"),
        ([(True, [1, 0])], "changes[0].round: a finite number expected, got True"),
        ([(9, [1, 0, 0])], "changes[0].theta: 2 numbers (arms have 2) expected, got 3"),
        ([(9, [1, np.inf])], "changes[0].theta[1]: a finite number expected, got inf"),
        ([(9, "ab")], "changes[0].theta: a list of numbers expected, got 'ab'"),
    ],
)
def test_bad_changes_are_named(changes, message):
    with pytest.raises(th.InvalidInput) as caught:
        th.Instance(two_segments().sets, theta=[1, 0], changes=changes)
    assert str(caught.value) == message


HEAD = "theta = [1, 0]\n[[contexts]]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("theta = [1, 0\n", "not valid TOML: Unclosed array (at end of document)"),
        (
            'theta = [1, 0]\nname = "x\n',
            "not valid TOML: Illegal character '\\n' (at line 2, column 10)",
        ),
        ("theta = [1, 0]\n", "no [[contexts]]; add one with arms = [[...], ...]"),
        (
            "theta = [1, 0]\ncontexts = 3\n",
            "contexts: [[contexts]] tables expected, got 3",
        ),
        (HEAD, "contexts[0].arms is missing"),
        (HEAD + "arms = []\n", "contexts[0].arms: at least one arm expected, got nothing"),
        (HEAD + "arms = 3\n", "contexts[0].arms: a list of arms expected, got 3"),
        (
            HEAD + "arms = [[1, 0], [1, nan]]\n",
            "contexts[0].arms[1][1]: a finite number expected, got nan",
        ),
        (
            HEAD + "arms = [[1, 0], [1, 2, 3]]\n",
            "contexts[0].arms[1]: 2 numbers (as in contexts[0].arms[0]) expected, got 3",
        ),
        (HEAD + "arms = [[1, 0, 0]]\n", "theta: 3 numbers (arms have 3) expected, got 2"),
        (
            HEAD + "arms = [[1, 0]]\nprobability = -1\n",
            "contexts[0].probability: a positive number expected, got -1",
        ),
        (
            HEAD + "arms = [[1, 0]]\nprobability = 0.5\n",
            "probabilities sum to 0.5, not 1",
        ),
        (
            HEAD + 'arms = [[1, 0]]\nprobability = "x"\n',
            "contexts[0].probability: a positive number expected, got 'x'",
        ),
        (
            HEAD + "arms = [[1, 0]]\nprobability = 0.5\n[[contexts]]\narms = [[1, 0]]\n",
            "contexts[1].probability is missing; other contexts have one",
        ),
        (
            HEAD + "arms = [[1, 0]]\nprobablity = 1\n",
            "unknown key 'contexts[0].probablity'; did you mean 'contexts[0].probability'?",
        ),
        ("thetta = [1]\n", "unknown key 'thetta'; did you mean 'theta'?"),
        ("noise = 0\n" + HEAD + "arms = [[1, 0]]\n", "noise: a positive number expected, got 0"),
        (
            'noise = "loud"\n' + HEAD + "arms = [[1, 0]]\n",
            "noise: a positive number expected, got 'loud'",
        ),
        (
            HEAD + "arms = [[1, 0]]\narm_names = 5\n",
            "arm_names[0]: a list of names expected, got 5",
        ),
        (
            "noise = 1" + "0" * 400 + "\n" + HEAD + "arms = [[1, 0]]\n",
            "noise: a number expected, got 1" + "0" * 56 + "...",
        ),
        ("name = 3\n" + HEAD + "arms = [[1, 0]]\n", "name: a string expected, got 3"),
        (
            HEAD + 'arms = [[1, 0]]\narm_names = ["a", "b"]\n',
            "arm_names[0]: one name per arm expected: 1, got 2",
        ),
        (
            "changes = 3\n" + HEAD + "arms = [[1, 0]]\n",
            "changes: [[changes]] tables expected, got 3",
        ),
        (
            HEAD + "arms = [[1, 0]]\n[[changes]]\nround = 5\n",
            "changes[0].theta is missing",
        ),
        (
            HEAD + "arms = [[1, 0]]\n[[changes]]\nrounds = 5\ntheta = [0, 1]\n",
            "unknown key 'changes[0].rounds'; did you mean 'changes[0].round'?",
        ),
    ],
)
def test_bad_files_are_named_with_file_key_and_expectation(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(th.BadFile) as caught:
        th.instance(path)
    assert str(caught.value) == f"{path}: {message}"


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(th.BadFile, match="No such file"):
        th.instance(tmp_path / "none.toml")
    with pytest.raises(th.BadFile, match="Is a directory"):
        th.instance(f"{tmp_path}{os.sep}")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(th.BadFile, match="not valid TOML"):
        th.instance(tmp_path / "bytes.toml")


def test_nothing_is_half_written(tmp_path, monkeypatch):
    path = tmp_path / "kept.toml"
    two_segments().save(path)
    before = path.read_text()

    def power_cut(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", power_cut)
    with pytest.raises(th.BadFile, match=r"kept.toml: cannot be written: No space left on device"):
        th.Instance(th.ActionSets([np.eye(2)]), theta=[1, 0]).save(path)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(th.BadFile, match="cannot be written: No such file or directory"):
        two_segments().save(tmp_path / "nowhere" / "x.toml")


def test_equality_and_hash_are_by_content():
    assert two_segments() == two_segments()
    assert hash(two_segments()) == hash(two_segments())
    assert repr(two_segments()) == "Instance('two segments', 2 contexts, 4 arms, d=2)"


def test_means_do_not_depend_on_the_processor():
    """Summed one by one, each product rounded; BLAS may round otherwise on another machine."""
    rng = np.random.default_rng(0)
    rows, theta = rng.normal(size=(200, 7)), rng.normal(size=7)
    means = th.Instance(th.ActionSets([rows]), theta=theta).means
    for row, mean in zip(rows.tolist(), means.tolist(), strict=True):
        total = 0.0
        for x, weight in zip(row, theta.tolist(), strict=True):
            total += x * weight
        assert mean == total


@pytest.mark.parametrize(
    "change",
    [
        {"theta": [1, 0.1]},
        {"probabilities": [0.7, 0.3]},
        {"noise": 0.4},
        {"name": "other"},
        {"changes": [(10, [0, 1])]},
    ],
)
def test_every_part_counts_for_equality(change):
    one = two_segments()
    parts = {"theta": one.theta, "probabilities": one.probabilities, "noise": one.noise}
    assert th.Instance(one.sets, **parts | {"name": one.name}) == one
    assert th.Instance(one.sets, **parts | {"name": one.name} | change) != one


@pytest.mark.parametrize(
    "other", [(), [(11, [0, 1])], [(10, [0, 2])], [(10, [0, 1]), (11, [1, 1])]]
)
def test_every_part_of_a_change_counts_for_equality(other):
    assert changing((10, [0, 1])) == changing((10, [0.0, 1.0]))
    assert hash(changing((10, [0, 1]))) == hash(changing((10, [-0.0, 1.0])))
    assert changing((10, [0, 1])) != changing(*other)
