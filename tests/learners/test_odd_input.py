"""Input that NumPy or pandas would take for something else: one sentence, and nothing is read."""

import numpy as np
import pandas
import pytest

import thrifty as th

SETS = th.ActionSets([[[1.0, 0.0], [0.0, 1.0]]])
MASKED = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[True, False], [False, False]])


def listed():
    return th.Greedy().learner(SETS)


def open_learner():
    return th.learner("greedy", dimension=2)


def mapped():
    return th.learner("greedy", features=th.features.disjoint(["a", "b"], ["x", "y"]))


@pytest.mark.parametrize("available", [7, np.int64(0), np.array(0), 0.5, True, "ab", object()])
@pytest.mark.parametrize(("learner", "context"), [(listed, 0), (mapped, [1.0, 2.0])])
def test_arms_on_offer_must_be_a_list(learner, context, available):
    with pytest.raises(th.InvalidInput, match=r"^available: a list of arms expected, got "):
        learner().choose(context, available=available)


@pytest.mark.parametrize(("learner", "context"), [(listed, 0), (mapped, [1.0, 2.0])])
@pytest.mark.parametrize("available", [["a"], np.array([0]), {0}, range(1)])
def test_anything_like_a_list_is_one(learner, context, available):
    if learner is listed and available == ["a"]:
        available = ["0"]
    assert learner().choose(context, available=available).arm == 0


@pytest.mark.parametrize(
    ("call", "where"),
    [
        (lambda: th.ActionSets([MASKED]), "contexts[0].arms"),
        (lambda: th.ActionSets([[MASKED[0], MASKED[1]]]), "contexts[0].arms"),
        (lambda: th.Instance(SETS, theta=MASKED[0]), "theta"),
        (lambda: listed().observe([0, 0], [0, 1], MASKED[0]), "rewards"),
        (lambda: listed().choose(0, available=np.ma.array([0, 1], mask=[1, 0])), "available"),
        (lambda: open_learner().choose(MASKED), "features"),
        (lambda: open_learner().choose(list(MASKED)), "features"),
        (lambda: mapped().choose(MASKED[0]), "features"),
        (lambda: th.features.product(MASKED, ["x"]), "arms"),
        (lambda: th.features.disjoint(["a"], ["x", "y"]).fit(MASKED), "features"),
    ],
)
def test_masked_values_are_not_read(call, where):
    with pytest.raises(th.InvalidInput) as refused:
        call()
    assert str(refused.value).startswith(where)
    assert ": has masked values" in str(refused.value)


def test_a_masked_array_without_masked_values_is_an_array():
    found = open_learner().choose(np.ma.array([[1.0, 2.0], [3.0, 4.0]]))
    assert found.arm in (0, 1)
    masked = np.ma.masked
    with pytest.raises(th.InvalidInput, match="reward: a finite number expected"):
        listed().learn(listed().choose(0), masked)


FRAMES = {
    "numbers": pandas.DataFrame([[1.0, 2.0]]),
    "one number": pandas.DataFrame({"x": [1.0], 1: [2.0]}),
    "pairs": pandas.DataFrame({("a", "b"): [1.0], ("a", "c"): [2.0]}),
    "missing": pandas.DataFrame([[1.0, 2.0]], columns=["x", None]),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize(
    "use",
    [
        lambda frame: th.ActionSets([frame]),
        lambda frame: listed().add_arm(0, frame),
        lambda frame: th.learner("greedy", columns=[*map(str, frame.columns)]).choose(frame),
        lambda frame: mapped().choose(frame),
        lambda frame: mapped().choose(dict(zip(frame.columns, [1.0, 2.0], strict=True))),
        lambda frame: th.features.product(frame, ["x"]),
        lambda frame: th.features.disjoint(["a"], ["x", "y"]).fit(frame),
    ],
    ids=["sets", "arm", "open", "map", "mapping", "product", "fit"],
)
def test_a_name_of_a_column_that_is_no_string(frame, use):
    with pytest.raises(th.InvalidInput, match=r"^(columns|features)\[[01]\]: a string expected"):
        use(frame)
