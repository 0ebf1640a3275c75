"""Action sets: ragged sets, names, pooled vectors, errors that name context and arm."""

import numpy as np
import pytest

import thrifty as th


def test_rows_are_flat_and_contexts_are_slices():
    sets = th.ActionSets([np.eye(2), [[1, 2], [3, 4], [5, 6]]])
    assert (sets.contexts, sets.dimension) == (2, 2)
    assert sets.offsets.tolist() == [0, 2, 5]
    assert sets.arms(1).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert sets.context_of_row.tolist() == [0, 0, 1, 1, 1]
    assert [part.tolist() for part in sets.split(np.arange(5))] == [[0, 1], [2, 3, 4]]


def test_equal_vectors_are_pooled_across_contexts():
    sets = th.ActionSets([[[0, 1], [-1, 0], [-1, -0.0]], [[2, 2], [0.0, 1]]])
    assert sets.vector_ids.tolist() == [0, 1, 1, 2, 0]
    assert sets.vectors.tolist() == [[0, 1], [-1, 0], [2, 2]]
    assert np.array_equal(sets.vectors[sets.vector_ids], sets.rows)


def test_names_find_contexts():
    sets = th.ActionSets(
        [np.eye(2), np.eye(2)],
        context_names=["mobile", "desktop"],
        arm_names=[["a", "b"], ["a", "c"]],
    )
    assert sets.context_index("desktop") == 1
    assert sets.arms("mobile").tolist() == np.eye(2).tolist()
    with pytest.raises(th.UnknownName, match=r"unknown context 'mobil'; did you mean 'mobile'\?"):
        sets.context_index("mobil")
    with pytest.raises(th.InvalidInput, match="an index from 0 to 1 expected, got 2"):
        sets.context_index(2)


def test_contexts_and_arms_are_numbered_unless_named():
    sets = th.ActionSets([np.eye(2)])
    assert sets.context_names == ("0",)
    assert sets.arm_names == (("0", "1"),)


def test_nothing_can_be_changed_from_outside():
    source = np.eye(2)
    sets = th.ActionSets([source])
    source[0, 0] = 7
    assert sets.rows[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        sets.rows[0, 0] = 7


def test_equality_is_by_content():
    assert th.ActionSets([np.eye(2)]) == th.ActionSets([[[1, 0], [0, 1]]])
    assert hash(th.ActionSets([np.eye(2)])) == hash(th.ActionSets([[[1, 0], [0, 1]]]))
    assert th.ActionSets([np.eye(2)]) != th.ActionSets([np.eye(2)], context_names=["only"])
    assert repr(th.ActionSets([np.eye(2)])) == "ActionSets(1 contexts, 2 arms, d=2)"


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([], "contexts: at least one action set expected, got nothing"),
        ([[]], "contexts[0].arms: at least one arm expected, got nothing"),
        (
            [np.eye(2), np.eye(3)],
            "contexts[1].arms[0]: 2 numbers (as in contexts[0]) expected, got 3",
        ),
        (
            [[[1, 0], [1, 2, 3]]],
            "contexts[0].arms[1]: 2 numbers (as in contexts[0].arms[0]) expected, got 3",
        ),
        (
            [[[1, 0], [0, float("nan")]]],
            "contexts[0].arms[1][1]: a finite number expected, got nan",
        ),
        (
            [np.eye(2), [[1, float("inf")]]],
            "contexts[1].arms[0][1]: a finite number expected, got inf",
        ),
        ([[["a", "b"]]], "contexts[0].arms[0]: a list of numbers expected, got ['a', 'b']"),
        ([[1, 2]], "contexts[0].arms[0]: a list of numbers expected, got 1"),
        (None, "contexts: a list of action sets expected, got None"),
        ([3], "contexts[0].arms: a list of arms expected, got 3"),
        ([[[]]], "contexts[0].arms[0]: a list of numbers expected, got []"),
    ],
)
def test_bad_sets_are_named(sets, message):
    with pytest.raises(th.InvalidInput) as caught:
        th.ActionSets(sets)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"context_names": ["a"]},
            "context_names: one name per context expected: 2, got 1",
        ),
        (
            {"context_names": ["a", "a"]},
            "context_names[1]: 'a' is used before",
        ),
        ({"context_names": "ab"}, "context_names: a list of names expected, got 'ab'"),
        (
            {"arm_names": [["a", "b"]]},
            "arm_names: 2 lists of names expected, got [['a', 'b']]",
        ),
        (
            {"arm_names": [["a", "b"], ["a"]]},
            "arm_names[1]: one name per arm expected: 2, got 1",
        ),
        ({"arm_names": 3}, "arm_names: 2 lists of names expected, got 3"),
        ({"arm_names": [["a", "b"], 3]}, "arm_names[1]: a list of names expected, got 3"),
        (
            {"arm_names": [["a", 1], ["a", "b"]]},
            "arm_names[0][1]: a string expected, got 1",
        ),
    ],
)
def test_bad_names_are_named(names, message):
    with pytest.raises(th.InvalidInput) as caught:
        th.ActionSets([np.eye(2), np.eye(2)], **names)
    assert str(caught.value) == message
