"""Arms of listed contexts from data frames."""

import pickle

import numpy as np
import pandas
import pytest
from sklearn.preprocessing import StandardScaler

import thrifty as th

FRAME = pandas.DataFrame(
    {"price": [1.0, 0.0, 0.9], "size": [0.0, 1.0, 0.5]}, index=["banner", "video", "both"]
)


def learner(sets=None):
    return th.Greedy().learner(sets or th.ActionSets([FRAME, FRAME[:2]]))


def test_action_sets_take_columns_by_name_and_arms_from_the_index():
    sets = th.ActionSets([FRAME, FRAME[["size", "price"]][:2], [[3, 4]]])
    assert sets.columns == ("price", "size")
    assert sets.arm_names == (("banner", "video", "both"), ("banner", "video"), ("0",))
    assert sets.arms(1).tolist() == [[1, 0], [0, 1]]
    assert sets.arms(2).tolist() == [[3, 4]]
    named = th.ActionSets([FRAME], columns=["size", "price"], arm_names=[["a", "b", "c"]])
    assert named.rows.tolist() == FRAME[["size", "price"]].to_numpy().tolist()
    assert named.arm_names == (("a", "b", "c"),)


def test_an_index_of_numbers_names_nothing():
    assert th.ActionSets([FRAME.reset_index(drop=True)[1:]]).arm_names == (("0", "1"),)


@pytest.mark.parametrize(
    ("sets", "options", "message"),
    [
        (
            [FRAME, FRAME.rename(columns={"size": "Size"})],
            {},
            "contexts[1].arms: the columns price, size expected, got 'missing size; unknown Size'",
        ),
        ([FRAME], {"columns": ["price"]}, "contexts[0].arms: the columns price expected"),
        ([[[1, 2]]], {"columns": ["price"]}, "columns: 2 names expected, got 1"),
        ([FRAME.set_axis(["a", "a"], axis=1)], {}, "columns[1]: 'a' is used before"),
        ([FRAME.set_axis(["x", "y", "x"])], {}, "arm_names[0][2]: 'x' is used before"),
        ([FRAME.assign(size="big")], {}, "contexts[0].arms[0]: a list of numbers expected"),
        ([FRAME.assign(size=np.nan)], {}, "contexts[0].arms[0][1]: a finite number expected"),
        ([FRAME[:0]], {}, "contexts[0].arms: at least one arm expected, got nothing"),
    ],
)
def test_frames_that_cannot_be_used(sets, options, message):
    with pytest.raises(th.InvalidInput) as caught:
        th.ActionSets(sets, **options)
    assert message in str(caught.value)


def test_a_row_of_a_data_frame_is_an_arm():
    changed = learner()
    more = pandas.DataFrame({"size": [0.2], "price": [0.4], "note": ["text"]}, index=["small"])
    changed.add_arm(0, more[["size", "price"]])
    changed.add_arm("1", more[["size", "price"]].loc["small"])
    changed.add_arm("1", pandas.Series({"size": 2, "price": 1}), name="large")
    changed.add_arm("1", [5, 6])
    assert changed.sets.arm_names[0][3:] == ("small",)
    assert changed.sets.arms(0)[3].tolist() == [0.4, 0.2]
    assert changed.sets.arm_names[1][2:] == ("small", "large", "4")
    assert changed.sets.arms(1)[2:].tolist() == [[0.4, 0.2], [1, 2], [5, 6]]
    assert changed.choose(0, available=["small"]).name == "small"


def test_several_rows_are_several_arms():
    changed = learner()
    changed.add_arm(1, FRAME.set_axis(["x", "y", "z"]))
    assert changed.sets.arm_names[1] == ("banner", "video", "x", "y", "z")
    changed.add_arm(1, FRAME.reset_index(drop=True))
    assert changed.sets.arm_names[1][5:] == ("5", "6", "7")
    assert changed.sets.arms(1)[5:].tolist() == FRAME.to_numpy().tolist()


def test_a_context_from_a_data_frame():
    changed = learner()
    changed.add_context("tablet", FRAME[["size", "price"]])
    assert changed.sets.arm_names[2] == ("banner", "video", "both")
    assert changed.sets.arms("tablet").tolist() == FRAME.to_numpy().tolist()
    changed.remove_context(0)
    changed.remove_arm("tablet", "both")
    changed.add_context(None, [[1, 2]])
    assert changed.sets.columns == ("price", "size")


def test_without_names_columns_are_taken_in_order():
    changed = learner(th.ActionSets([[[1, 0], [0, 1]]]))
    changed.add_arm(0, FRAME[["size", "price"]].loc["both"])
    assert changed.sets.arms(0)[2].tolist() == [0.5, 0.9]
    assert changed.sets.columns is None
    changed.add_context("more", FRAME)
    assert changed.sets.columns is None


@pytest.mark.parametrize(
    ("features", "name", "message"),
    [
        (FRAME[["price"]], None, "features: the columns price, size expected, got 'missing size'"),
        (FRAME.loc["both"].rename({"size": "s"}), None, "got 'missing size; unknown s'"),
        (
            FRAME[["price", "size", "size"]],
            None,
            "features: columns with distinct names expected, got ['price', 'size', 'size']",
        ),
        (pandas.Series([0.5, 0.9]), None, "index[0]: a string expected, got 0"),
        (FRAME[:0], None, "features: at least one row expected, got nothing"),
        (FRAME, "many", "name: none: the index names the 3 rows expected, got 'many'"),
        (FRAME[:1], None, "arm_names[0][3]: 'banner' is used before"),
        (FRAME[:1].assign(size="x"), "x", "features: a list of numbers expected"),
        (FRAME.assign(size=[1, 2, np.inf]), None, "features[2][1]: a finite number expected"),
    ],
)
def test_mistakes_change_nothing(features, name, message):
    unchanged = learner()
    before = unchanged.to_bytes()
    with pytest.raises(th.InvalidInput) as caught:
        unchanged.add_arm(0, features, name)
    assert message in str(caught.value)
    assert unchanged.to_bytes() == before


def test_the_number_of_columns_is_checked():
    with pytest.raises(th.InvalidInput, match=r"2 numbers .* expected, got 1"):
        learner(th.ActionSets([[[1, 0], [0, 1]]])).add_arm(0, FRAME[["size"]])


def test_columns_are_kept_with_the_state():
    for kept in (pickle.loads(pickle.dumps(learner())), th.Learner.load(learner().to_bytes())):
        assert kept.sets.columns == ("price", "size")
        kept.add_arm(0, FRAME[["size", "price"]].loc["both"], name="again")
        assert kept.sets.arms(0)[3].tolist() == [0.9, 0.5]


def test_open_contexts_and_maps_name_arms_by_the_index():
    chosen = th.Greedy().learner(columns=["price", "size"]).choose(FRAME)
    assert chosen.name in FRAME.index
    shared = th.Greedy().learner(features=th.features.shared(["price", "size"]))
    assert shared.choose(FRAME[1:2]).name == "video"
    assert shared.choose(FRAME[1:2], names=["mine"]).name == "mine"
    assert shared.choose(FRAME.reset_index(drop=True)[1:2]).name == "0"
    product = th.features.product(FRAME, ["age"])
    assert product.arms == ("banner", "video", "both")
    assert th.features.product(FRAME, ["age"], names=["a", "b", "c"]).arms == ("a", "b", "c")
    with pytest.raises(th.InvalidInput, match="is used before"):
        shared.choose(FRAME.set_axis(["x", "y", "x"]))


@pytest.mark.parametrize("transformed", [False, True])
def test_a_map_takes_the_row_of_a_data_frame_by_name(transformed):
    known = pandas.DataFrame({"age": [0.4, 0.2], "income": [0.3, 0.9]})
    scaler = StandardScaler().fit(known) if transformed else None
    columns = None if transformed else ["age", "income"]
    disjoint = th.features.disjoint(["a", "b"], columns, transformer=scaler)
    expected = disjoint.whole(known[:1]).tolist()
    assert disjoint.whole(known.iloc[0]).tolist() == expected
    assert disjoint.whole(pandas.Series({"income": 0.3, "age": 0.4})).tolist() == expected
    with pytest.raises(th.InvalidInput, match="the columns age, income expected"):
        disjoint.whole(pandas.Series({"income": 0.3, "height": 0.4}))
    with pytest.raises(th.InvalidInput, match="columns with distinct names expected"):
        disjoint.whole(pandas.Series([0.3, 0.4, 0.5], ["age", "income", "age"]))
    with pytest.raises(th.InvalidInput, match=r"features\[0\]: a string expected, got 0"):
        disjoint.whole(pandas.Series([0.3, 0.4]))


def test_a_map_gives_whole_features():
    disjoint = th.features.disjoint(["a", "b"], ["age"], bias=False)
    assert disjoint.whole({"age": 3.0}).tolist() == [[3, 0], [0, 3]]
    assert disjoint.whole({"age": 3.0}, ["b"]).tolist() == [[0, 3]]
    product = th.features.product([[2.0], [5.0]], ["age"], bias=False)
    assert product.whole([3.0]).tolist() == [[6], [15]]
