"""Feature maps as JSON: what the service takes, and what files keep."""

import json

import numpy as np
import pandas
import pytest
from sklearn.preprocessing import StandardScaler

import thrifty as th
from thrifty.learners.saving import content_of
from thrifty.learners.state_files import to_text

CONTRACT = {
    "kind": "disjoint",
    "arms": ["red", "blue"],
    "columns": {
        "age": {"kind": "number", "mean": 40, "deviation": 12},
        "country": {"kind": "category", "levels": ["DE", "FR"]},
        "member": {"kind": "bool"},
    },
}
TABLE = {"red": {"price": 0.2}, "blue": {"price": 0.9}}
MAPS = {
    "disjoint": CONTRACT,
    "product": CONTRACT | {"kind": "product", "arms": TABLE},
    "shared": {"kind": "shared", "columns": CONTRACT["columns"]},
    "numbers": {"kind": "shared", "columns": {"x": {"kind": "number"}}},
    "to be fitted": {"kind": "shared", "columns": {"x": {"kind": "category"}}},
    "options": CONTRACT | {"bias": False, "missing": "mean", "extra": "ignore"},
    "whole levels": {"kind": "shared", "columns": {"size": {"kind": "category", "levels": [1, 2]}}},
}


@pytest.mark.parametrize("content", MAPS.values(), ids=MAPS)
def test_maps_are_what_their_json_says(content):
    known = th.features.from_json(content)
    text = json.dumps(known.to_json())
    assert json.loads(text) == content
    assert list(json.loads(text)["columns"]) == list(content["columns"])  # the order, too
    assert th.features.from_json(json.loads(text)) == known


def test_the_short_forms_mean_the_same():
    columns = CONTRACT["columns"] | {"country": ["DE", "FR"], "member": "bool"}
    assert th.features.from_json(CONTRACT | {"columns": columns}) == th.features.disjoint(
        ["red", "blue"], columns
    )
    frame = pandas.DataFrame(TABLE).T
    assert th.features.product(TABLE, columns) == th.features.product(frame, columns)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"kind": "disjont"},
            r"^map\.kind: disjoint, product or shared expected, .*; did you mean 'disjoint'",
        ),
        ({"kind": ["disjoint"]}, r"^map\.kind: disjoint, product or shared expected"),
        ({"kind": None}, r"^map\.kind: "),
        ({"colums": {}}, "^map: unknown key 'colums'; did you mean 'columns'"),
        ({"arms": None}, r"^map\.arms: a list of names expected, got None"),
        ({"arms": "red"}, r"^map\.arms: a list of names expected, got 'red'"),
        ({"arms": []}, r"^map\.arms: at least one is needed"),
        ({"arms": ["red", "red"]}, r"^map\.arms\[1\]: 'red' is used before"),
        ({"arms": [1]}, r"^map\.arms\[0\]: a string expected"),
        ({"arms": TABLE}, r"^map\.arms: a list of names expected, .*; a product has a table"),
        ({"kind": "product"}, r"^map\.arms: a row for each arm expected, .* such as \{'red'"),
        ({"kind": "product", "arms": {}}, r"^map\.arms: a row for each arm expected"),
        ({"kind": "product", "arms": {"red": 1}}, r"^map\.arms\['red'\]: an object with a number"),
        ({"kind": "product", "arms": {"red": {}}}, r"^map\.arms\['red'\]: an object with a number"),
        (
            {"kind": "product", "arms": TABLE | {"x": {"size": 1}}},
            r"^map\.arms\['x'\]: the columns price expected, got missing price; unknown size",
        ),
        (
            {"kind": "product", "arms": TABLE | {"x": {"price": "low"}}},
            r"^map\.arms\['x'\]\['price'\]: a number expected, got 'low'",
        ),
        (
            {"kind": "product", "arms": TABLE | {"x": {"price": None}}},
            r"^map\.arms\['x'\]\['price'\]: missing \(None\): pass a number",
        ),
        ({"kind": "shared"}, r"^map\.arms: not used: a shared map has no arms"),
        ({"columns": None}, r"^map\.columns: a list of names expected"),
        ({"columns": {"age": {"kind": "nmber"}}}, r"^map\.columns\['age'\].kind: .*'number'\?"),
        ({"bias": 1}, r"^map\.bias: True or False expected, got 1"),
        ({"missing": "median"}, r"^map\.missing: refuse or mean expected, got 'median'"),
        ({"extra": True}, r"^map\.extra: refuse or ignore expected, got True"),
    ],
)
def test_mistakes_are_one_line_that_says_where(change, message):
    with pytest.raises(th.InvalidInput, match=message) as refused:
        th.features.from_json(CONTRACT | change)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [None, [], "disjoint", 7])
def test_what_is_no_object_is_refused(content):
    with pytest.raises(th.InvalidInput, match=r"^map: an object with kind, arms and columns"):
        th.features.from_json(content)


@pytest.mark.parametrize("name", ["disjoint", "product", "shared", "options"])
def test_learners_keep_their_map(name):
    features = th.features.from_json(MAPS[name])
    learner = th.Thrifty().learner(features=features, seed=0)
    row = {"age": 31, "country": "DE", "member": True}
    learner.learn(learner.choose(row), 1.0)
    again = th.Learner.load(learner.to_bytes(), features=features)
    assert again.sets.features == features
    assert again.choose(row) == learner.choose(row)
    other = th.features.from_json(CONTRACT | {"arms": ["red", "green"]})
    with pytest.raises(th.BadFile, match="the same map as in the file expected"):
        th.Learner.load(learner.to_bytes(), features=other)


def before(content, described):
    """A file of version 5, with a map as it was described then."""
    content["open"]["features"] = described
    del content["unknown_levels"]
    return json.dumps(json.loads(to_text(content)) | {"version": 5}).encode()


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("kind", ["disjoint", "product", "shared"])
def test_files_of_version_5_are_read(kind, fitted):
    """All columns were numbers, and a product had its rows beside its arms."""
    arms = {"disjoint": [["red", "blue"]], "product": [TABLE], "shared": []}[kind]
    features = getattr(th.features, kind)(*arms, ["age", "income"])
    if fitted:
        features = features.fit([[30.0, 1.0], [50.0, 2.0]])
    learner = th.LinTS().learner(features=features, seed=0)
    for n in range(20):
        learner.learn(learner.choose([40.0 + n, 1.5]), 0.5)
    described = {
        "kind": kind,
        "columns": ["age", "income"],
        "arms": list(features.arms),
        "bias": True,
        "centre": [40.0, 1.5] if fitted else None,
        "scale": [10.0, 0.5] if fitted else None,
        "transformed": False,
    }
    if kind == "product":
        described |= {"arm_columns": ["price"], "arm_rows": [[0.2], [0.9]]}
    again = th.Learner.load(before(content_of(learner), described))
    assert again.sets == learner.sets
    assert again.choose([31.0, 1.2]) == learner.choose([31.0, 1.2])


def test_files_of_version_5_with_a_transformer_are_read():
    scaler = StandardScaler().fit([[30.0, 1.0], [50.0, 2.0]])
    features = th.features.disjoint(["red", "blue"], transformer=scaler).fit([[30.0, 1.0]] * 2)
    learner = th.Greedy().learner(features=features)
    learner.learn(learner.choose([[31.0, 1.0]]), 1.0)
    described = {
        "kind": "disjoint",
        "columns": [],
        "arms": ["red", "blue"],
        "bias": True,
        "centre": list(features.columns.centre),
        "scale": list(features.columns.scale),
        "transformed": True,
    }
    again = th.Learner.load(before(content_of(learner), described), features=features)
    assert again.choose([[31.0, 1.0]]) == learner.choose([[31.0, 1.0]])
    with pytest.raises(th.BadFile, match="the map with its transformer"):
        th.Learner.load(learner.to_bytes())


@pytest.mark.parametrize("unknown", [{"age": -1}, {"age": "many"}, [1], None])
def test_counts_of_unknown_levels_in_a_file_are_checked(unknown):
    learner = th.Greedy().learner(features=th.features.from_json(CONTRACT))
    content = content_of(learner) | {"unknown_levels": unknown}
    with pytest.raises(th.BadFile, match="unknown_levels: a count for each column"):
        th.Learner.load(to_text(content).encode())


@pytest.mark.parametrize("change", [{"kind": "category"}, {"mean": 1}, {"kind": 7}])
def test_a_map_in_a_file_is_checked(change):
    learner = th.Greedy().learner(features=th.features.from_json(MAPS["numbers"]))
    content = content_of(learner)
    content["open"]["features"]["columns"]["x"] |= change
    with pytest.raises(th.BadFile, match=r"columns\['x'\]"):
        th.Learner.load(to_text(content).encode())


def test_a_pending_decision_in_a_file_is_of_a_block_that_is_there_or_was_removed():
    learner = th.Greedy().learner(features=th.features.from_json(CONTRACT))
    learner.choose({"age": 31, "country": "DE", "member": True})
    for row, fits in ((1, True), (-1, True), (2, False), (-2, False)):
        content = content_of(learner)
        content["pending"][0]["row"] = row
        if fits:
            assert len(th.Learner.load(to_text(content).encode()).pending) == 1
        else:
            with pytest.raises(th.BadFile, match="pending: a row expected"):
                th.Learner.load(to_text(content).encode())
    plain = th.Greedy().learner(dimension=2)
    plain.choose(np.eye(2))
    content = content_of(plain)
    content["pending"][0]["row"] = -1
    with pytest.raises(th.BadFile, match="pending: a row expected"):
        th.Learner.load(to_text(content).encode())
