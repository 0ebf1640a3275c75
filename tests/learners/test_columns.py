"""Columns of feature maps: numbers, bools and categories, in rows of any form."""

import json
import math
import pickle
from collections import namedtuple
from types import MappingProxyType

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import thrifty as th
from thrifty.learners.encoding import Encoded

ARMS = ("red", "blue")
COLUMNS = {
    "age": {"kind": "number", "mean": 40, "deviation": 12},
    "income": {"kind": "number", "mean": 3e4, "deviation": 1e4},
    "country": ["DE", "FR", "AT"],
    "member": "bool",
}
ROW = {"age": 31.5, "income": 28_000, "country": "FR", "member": True}
Visitor = namedtuple("Visitor", ROW)


# a row with names, in every form; the last three are several rows, too
FORMS = {
    "dict": dict,
    "json": lambda row: json.loads(json.dumps(row)),
    "mapping": MappingProxyType,
    "namedtuple": lambda row: namedtuple("Row", row)(**row),
    "series": lambda row: pandas.Series(row, dtype=object),
    "pandas": lambda row: pandas.DataFrame([row]),
    "polars": lambda row: polars.DataFrame([row], strict=False),
    "arrow": lambda row: pyarrow.Table.from_pylist([row]),
}
FRAMES = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "arrow": pyarrow.Table.from_pylist,
}


def plain_features(row, kinds, bias=True):
    """The features of a row, in plain Python, if all numbers have a scale."""
    length = math.sqrt(0.5 if bias else 1.0)
    features = [length] if bias else []
    for name, kind in kinds.items():
        share = length / math.sqrt(len(kinds))
        if isinstance(kind, list):
            features += [share if row[name] == level else 0.0 for level in kind]
        elif kind == "bool":
            features.append(share if row[name] else 0.0)
        else:
            features.append(share * (row[name] - kind["mean"]) / kind["deviation"])
    return features


def visitors(count, seed=0):
    rng = np.random.default_rng(seed)
    return [
        {
            "age": float(rng.normal(40, 12)),
            "income": int(rng.normal(3e4, 1e4)),
            "country": str(rng.choice(["DE", "FR", "AT"])),
            "member": bool(rng.random() < 0.5),
        }
        for _ in range(count)
    ]


def disjoint(columns=COLUMNS, **options):
    return th.features.disjoint(ARMS, columns, **options)


def learner(features=None):
    return th.Thrifty().learner(features=features or disjoint(), seed=0)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_rows_of_any_form_have_the_features_of_plain_python(form, bias):
    known = disjoint(bias=bias)
    for row in visitors(5):
        encoded = known.encode(FORMS[form](row))
        assert encoded.values[0] == pytest.approx(plain_features(row, COLUMNS, bias))
        assert encoded.values.tolist() == known.encode(row).values.tolist()  # to the last bit
        assert encoded.unknown == ()


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_rows_of_a_data_frame_and_lists_of_rows(make):
    rows = visitors(50)
    known = th.features.shared(COLUMNS)
    expected = [known.encode(row).values[0].tolist() for row in rows]
    ordered = [{name: row[name] for name in ("member", "country", "income", "age")} for row in rows]
    assert known.encode(make(ordered)).values.tolist() == expected
    assert known.encode(ordered).values.tolist() == expected
    assert known.encode([Visitor(**row) for row in rows]).values.tolist() == expected
    assert known.encode([list(row.values()) for row in rows]).values.tolist() == expected
    array = np.array([list(row.values()) for row in rows], dtype=object)
    assert known.encode(array).values.tolist() == expected
    assert known.encode(array[0]).values.tolist() == expected[:1]
    assert known.encode(list(rows[0].values())).values.tolist() == expected[:1]


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_fit_learns_scales_and_levels_from_any_data_frame(make):
    rows = visitors(200)
    kinds = {"age": "number", "income": "number", "country": "category", "member": "bool"}
    known = disjoint(kinds).fit(make(rows))
    for name, column in zip(known.columns.names[:2], known.columns.kinds[:2], strict=True):
        values = [row[name] for row in rows]
        assert column.mean == pytest.approx(sum(values) / 200)
        mean = sum(values) / 200
        assert column.deviation**2 == pytest.approx(sum((x - mean) ** 2 for x in values) / 200)
    assert known.columns.kinds[2].levels == ("AT", "DE", "FR")
    assert known == disjoint(kinds).fit(rows)
    assert known.names[:4] == ("red: bias", "red: age", "red: income", "red: country=AT")
    squares = (known.encode(make(rows)).values ** 2).sum(axis=1)
    assert np.sqrt(squares.mean()) == pytest.approx(1.0, abs=0.1)  # a bool is true half the time


def test_fit_keeps_what_is_declared():
    rows = visitors(50)
    kinds = COLUMNS | {"income": "number"}
    known = disjoint(kinds).fit(rows)
    assert known.columns.kinds[0].mean == 40
    assert known.columns.kinds[1].mean == pytest.approx(np.mean([row["income"] for row in rows]))
    assert known.columns.kinds[2].levels == ("DE", "FR", "AT")
    with pytest.raises(th.InvalidInput, match=r"^fit: nothing is left to learn"):
        known.fit(rows)
    constant = disjoint(["x"]).fit([[2.0], [2.0]])
    assert constant.columns.kinds[0].deviation == 1.0
    tiny = disjoint(["x"]).fit([[1e-100], [2e-100]])
    assert th.features.from_json(tiny.to_json()) == tiny


def test_without_a_scale_columns_are_used_as_they_are():
    known = disjoint({"age": "number", "country": ["DE", "FR"], "member": "bool"})
    row = {"age": 31, "country": "FR", "member": True}
    assert known.whole(row)[0].tolist() == [1, 31, 0, 1, 1, 0, 0, 0, 0, 0]
    partly = disjoint({"age": COLUMNS["age"], "income": "number"})
    assert partly.encode({"age": 64, "income": 5}).values.tolist() == [[1, 2, 5]]


def test_dummies_of_pandas_are_numbers():
    frame = pandas.get_dummies(pandas.DataFrame({"country": ["DE", "FR", "DE"]}))
    assert frame.dtypes.iloc[0].kind == "b"
    known = disjoint(list(frame.columns))
    assert known.encode(frame[:1]).values.tolist() == [[1, 1, 0]]
    assert known.encode(frame.iloc[1]).values.tolist() == [[1, 0, 1]]
    fitted = known.fit(frame)
    assert fitted.columns.kinds[0].mean == pytest.approx(2 / 3)


def test_levels_may_be_whole_numbers():
    known = disjoint({"size": [1, 2, 3]}, bias=False)
    for two in (2, 2.0, np.int64(2), np.float32(2)):
        assert known.encode({"size": two}).values.tolist() == [[0, 1, 0]]
    assert known.encode({"size": 7}).unknown == ("size",)
    large = 2**60 + 1  # more digits than a float has
    sizes = disjoint({"size": [large]}, bias=False)
    for data in ({"size": large}, [large], np.array([large]), pandas.DataFrame({"size": [large]})):
        assert sizes.encode(data).unknown == ()
        assert disjoint({"size": "category"}).fit([data] if type(data) is dict else data).names[
            1
        ] == (f"red: size={large}")
    learned = disjoint({"size": "category"}).fit(pandas.DataFrame({"size": [3, 1, 3]}))
    assert learned.columns.kinds[0].levels == (1, 3)
    for wrong in (True, "2", 2.5):
        with pytest.raises(th.InvalidInput, match=r"^features\['size'\]: "):
            known.encode({"size": wrong})


def test_unknown_levels_are_zeros_and_counted():
    row = ROW | {"country": "IT"}
    used = learner()
    assert used.sets.features.encode(row).unknown == ("country",)
    expected = plain_features(row, COLUMNS)
    assert used.sets.features.encode(row).values[0] == pytest.approx(expected)
    used.learn(used.choose(row), 1.0)
    used.choose(ROW)
    used.check_offer(row)  # no decision
    mark = used.mark()
    used.choose(row)
    used.rewind(mark)
    assert used.unknown_levels == {"country": 1}
    used.observe([row, ROW, row], ["red", "red", "blue"], [1.0, 0.0, 1.0])
    for kept in (used, th.Learner.load(used.to_bytes()), pickle.loads(pickle.dumps(used))):
        kept.choose(row)
        assert kept.unknown_levels == {"country": 4}
    several = th.Greedy().learner(features=th.features.shared({"brand": ["a", "b"]}))
    several.choose([{"brand": "c"}, {"brand": "a"}, {"brand": "d"}])
    assert several.unknown_levels == {"brand": 2}


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pandas.NA, pandas.NaT])
def test_missing_numbers_are_refused_or_the_mean(missing):
    row = ROW | {"age": missing}
    with pytest.raises(th.InvalidInput, match=r"^features\['age'\]: missing .*missing=\"mean\"$"):
        disjoint().encode(row)
    filled = disjoint(missing="mean").encode(row).values
    assert filled.tolist() == disjoint().encode(ROW | {"age": 40}).values.tolist()
    with pytest.raises(th.InvalidInput, match=r"^features\['x'\]: missing.*mean is not known"):
        disjoint(["x"], missing="mean").encode({"x": missing})


def test_missing_numbers_in_an_array_of_numbers_are_the_mean():
    known = th.features.shared(["x", "y"], missing="mean").fit([[1.0, 2.0], [3.0, 6.0]])
    assert known.encode([[np.nan, 6.0], [3.0, np.nan]]).values[:, 1:].tolist() == [
        [0, 0.5],
        [0.5, 0],
    ]


@pytest.mark.parametrize("form", FORMS)
def test_other_columns_are_ignored_on_request(form):
    row = {"id": 7, **ROW, "seen": "2024-01-01"}
    assert disjoint(extra="ignore").encode(FORMS[form](row)) == disjoint().encode(ROW)._replace(
        values=pytest.approx(disjoint().encode(ROW).values)
    )
    with pytest.raises(th.InvalidInput, match="unknown id, seen; leave others out"):
        disjoint().encode(FORMS[form](row))
    kinds = COLUMNS | {"age": "number"}
    fitted = disjoint(kinds, extra="ignore").fit([row, row | {"age": 40.5}])
    assert fitted.columns.kinds[0].mean == 36


# each kind of mistake: what is wrong with the row, and what the message says
MISTAKES = {
    "left out": ({"income": ...}, r"^features: .* expected, got missing income$"),
    "mistyped": (
        {"income": ..., "imcome": 3e4},
        r"^features: .* got missing income; unknown imcome \(did you mean income\?\)$",
    ),
    "one more": ({"height": 180}, r"^features: .* got unknown height; .* extra=\"ignore\"$"),
    "text for a number": (
        {"age": "31"},
        r"^features\['age'\]: a number expected, got '31'; declare text as \"category\"",
    ),
    "no number": ({"age": None}, r"^features\['age'\]: missing \((None|nan)\): pass a number"),
    "not a number": ({"age": math.nan}, r"^features\['age'\]: missing \((nan|None)\): pass a num"),
    "infinite": ({"age": math.inf}, r"^features\['age'\]: a finite number .* expected, got inf$"),
    "too large": ({"income": -1e70}, r"^features\['income'\]: a finite number of at most 1e\+60"),
    "a list for a number": ({"age": [31]}, r"^features\['age'\]: a number expected, got \[31\]$"),
    "a number for text": ({"country": 5}, r"^features\['country'\]: text such as 'DE' expected, "),
    "no level": (
        {"country": None},
        r"^features\['country'\]: missing \((None|nan)\): pass a level",
    ),
    "a bool for text": ({"country": True}, r"^features\['country'\]: text or a whole number exp"),
    "text for a bool": (
        {"member": "yes"},
        r"^features\['member'\]: True or False expected, got 'y",
    ),
    "two for a bool": ({"member": 2}, r"^features\['member'\]: True or False expected, got 2$"),
    "no bool": ({"member": None}, r"^features\['member'\]: missing \((None|nan)\): pass True or F"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_wrong_rows_are_refused_in_one_line_that_names_the_column(mistake, form):
    changes, message = MISTAKES[mistake]
    row = {key: value for key, value in (ROW | changes).items() if value is not ...}
    used = learner()
    before = used.to_bytes()
    for call in (
        lambda: used.choose(FORMS[form](row)),
        lambda: used.check_offer(FORMS[form](row)),
        lambda: used.observe(FORMS[form](row), "red", 1.0),
    ):
        with pytest.raises(th.InvalidInput, match=message) as refused:
            call()
        assert "\n" not in str(refused.value)
    assert used.to_bytes() == before


@pytest.mark.parametrize("form", ["dicts", "lists", "array", "pandas"])
@pytest.mark.parametrize(
    "mistake", [name for name, (_, message) in MISTAKES.items() if r"features\[" in message]
)
def test_wrong_rows_among_others_are_named_with_their_place(mistake, form):
    changes, message = MISTAKES[mistake]
    rows = [ROW, ROW | changes]
    lists = [list(row.values()) for row in rows]
    array = np.empty((2, 4), dtype=object)
    for i, values in enumerate(lists):
        array[i] = values
    data = {"dicts": rows, "lists": lists, "array": array, "pandas": pandas.DataFrame(rows)}[form]
    with pytest.raises(th.InvalidInput, match=message.replace("features", r"features\[1\]", 1)):
        th.features.shared(COLUMNS).encode(data)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ("mobile", "a dict, a row or a data frame with the columns age, income, country, member"),
        (None, "a dict, a row or a data frame"),
        (7, "a dict, a row or a data frame"),
        ({"DE"}, "a dict, a row or a data frame"),
        ([], r"rows of 4 values \(age, income, country, member\)"),
        ([1, 2, 3], "rows of 4 values"),
        ([[31, 3e4, "DE", True], [1]], "rows of 4 values"),
        ([ROW, ROW], "one row expected, of the context, got 2"),
        ({}, "missing age, income, country, member"),
        ({1: 2}, r"\[0\]: a string expected"),
        (pandas.Series([1, 2], ["age", "age"]), "columns with distinct names"),
        (pandas.DataFrame([[1, 2]], columns=["age", "age"]), "columns with distinct names"),
        (pandas.DataFrame([ROW])[:0], "one row expected, of the context, got 0"),
        (Encoded(np.zeros((1, 3))), "7 encoded features per row"),
        (Encoded([[0.0] * 7]), "7 encoded features per row"),
    ],
)
def test_what_is_no_row_is_refused(context, message):
    with pytest.raises(th.InvalidInput, match=rf"^features.*{message}"):
        learner().choose(context)


def test_data_frames_that_are_not_in_memory_are_refused():
    with pytest.raises(th.InvalidInput, match="a data frame of pandas, polars or Arrow in memory"):
        learner().choose(polars.DataFrame([ROW]).lazy())


@pytest.mark.parametrize("make", [list, *FRAMES.values()], ids=["rows", *FRAMES])
@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (
            "number",
            [1.0, None],
            r"^features\[1\]\['x'\]: missing \((nan|None)\): fill or drop such ",
        ),
        ("number", [1.0, math.nan], r"^features\[1\]\['x'\]: missing \((nan|None)\): fill or drop"),
        (
            "number",
            ["DE", "FR"],
            r"^features\[0\]\['x'\]: a number expected, got 'DE'; declare text",
        ),
        ("number", [1.0, math.inf], r"^features\[1\]\['x'\]: a finite number"),
        ("category", ["DE", None], r"^features\[1\]\['x'\]: missing .*: fill or drop such rows"),
        (
            "category",
            [1.5, 2.0],
            r"^features\[0\]\['x'\]: text or a whole number expected, got 1.5",
        ),
        (["DE"], ["DE", None], r"^features\[1\]\['x'\]: missing"),
        ("bool", [True, None], r"^features\[1\]\['x'\]: missing"),
    ],
)
def test_data_that_cannot_be_learned_from(make, kind, values, message):
    rows = [{"x": value, "y": 1.0} for value in values]
    with pytest.raises(th.InvalidInput, match=message):
        disjoint({"x": kind, "y": "number"}).fit(make(rows))


def test_fit_refuses_what_it_cannot_learn():
    with pytest.raises(th.InvalidInput, match=r"^features\['x'\]: has text and numbers"):
        disjoint({"x": "category"}).fit([{"x": "a"}, {"x": 1}])
    with pytest.raises(th.InvalidInput, match=r"^features\['x'\]: has 10,001 levels: is it an id"):
        disjoint({"x": "category"}).fit([[str(i)] for i in range(10_001)])
    with pytest.raises(th.InvalidInput, match="at least one row is needed"):
        disjoint({"x": "category"}).fit(pandas.DataFrame({"x": []}))
    with pytest.raises(
        th.InvalidInput, match=r"^columns\['x'\]: the levels are not known yet: fit"
    ):
        learner(disjoint({"x": "category"}))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "^columns: at least one is needed"),
        (
            {"age": "numbr"},
            r"^columns\['age'\].kind: number, .* got 'numbr'; did you mean 'number'",
        ),
        ({"age": {}}, r"^columns\['age'\].kind: number, bool or category expected, got None"),
        ({"age": 7}, r"^columns\['age'\]: a kind \(number, bool, category\) or a list of levels"),
        (
            {"age": {"kind": "number", "men": 1}},
            r"^columns\['age'\]: unknown key 'men'; did you me",
        ),
        ({"age": {"kind": "bool", "levels": [1]}}, r"^columns\['age'\]: unknown key 'levels'"),
        (
            {"age": {"kind": "number", "mean": 1}},
            r"^columns\['age'\]: mean and deviation go together",
        ),
        (
            {"age": {"kind": "number", "mean": 1, "deviation": 0}},
            r"^columns\['age'\].deviation: a positive number expected, got 0",
        ),
        (
            {"age": {"kind": "number", "mean": "1", "deviation": 1}},
            r"^columns\['age'\].mean: a finite number expected, got '1'",
        ),
        (
            {"age": {"kind": "number", "mean": 1e70, "deviation": 1}},
            r"^columns\['age'\]: a mean and",
        ),
        ({"country": []}, r"^columns\['country'\]: 1 to 10,000 levels expected, got 0"),
        ({"country": ["DE", "DE"]}, r"^columns\['country'\]\[1\]: 'DE' is a level before"),
        ({"country": ["DE", None]}, r"^columns\['country'\]\[1\]: missing"),
        ({"country": [True]}, r"^columns\['country'\]\[0\]: text or a whole number"),
        ({"country": ["\ud800"]}, r"^columns\['country'\]\[0\]: text without surrogates"),
        (
            {"country": {"kind": "category", "levels": "DE"}},
            r"^columns\['country'\].levels: a kind",
        ),
        ({1: "number"}, r"^columns\[0\]: a string expected"),
        ({"bias": "number"}, r"^columns\[1\]: 'bias' names two features: rename a column"),
        ({"a=b": "bool", "a": ["b"]}, r"^columns\[2\]: 'a=b' names two features"),
    ],
)
def test_columns_that_cannot_be(columns, message):
    with pytest.raises(th.InvalidInput, match=message):
        disjoint(columns)
    with pytest.raises(th.InvalidInput, match=message.replace("^columns", r"^map\.columns")):
        th.features.from_json({"kind": "shared", "columns": columns})


def test_encoded_features_are_taken_in_place_of_data():
    used = learner()
    encoded = used.sets.features.encode(ROW)
    assert used.choose(encoded).name in ARMS
    again = Encoded(np.array(json.loads(json.dumps(encoded.values.tolist()))), encoded.unknown)
    assert used.sets.features.whole(again).tolist() == used.sets.features.whole(ROW).tolist()


def test_coefficients_read_well():
    known = disjoint({"country": ["DE", "FR"], "member": "bool"})
    names = ["bias", "country=DE", "country=FR", "member"]
    assert list(learner(known).coefficients()) == [
        f"{arm}: {name}" for arm in ARMS for name in names
    ]
    crossed = th.features.product({"red": {"price": 0.2}}, {"country": ["DE"]})
    assert crossed.names == (
        "bias x bias",
        "bias x country=DE",
        "price x bias",
        "price x country=DE",
    )


def test_maps_say_what_they_are():
    assert repr(disjoint()) == (
        "<features: disjoint, arms red, blue; columns age (40 ± 12), income (3e+04 ± 1e+04), "
        "country (3 levels), member (bool); d = 14>"
    )
    unfitted = th.features.shared({"age": "number", "country": "category"})
    assert (
        repr(unfitted)
        == "<features: shared; columns age (number), country (category); to be fitted>"
    )


def test_maps_are_equal_by_what_they_do():
    assert disjoint() == disjoint({**COLUMNS, "member": {"kind": "bool"}})
    assert hash(disjoint()) == hash(disjoint())
    assert disjoint() != disjoint(missing="mean")
    assert disjoint() != disjoint(dict(reversed(COLUMNS.items())))
    assert disjoint() != disjoint(COLUMNS | {"country": ["DE", "FR"]})
    used = disjoint()
    used.whole(ROW)  # what is kept for speed is no part of it
    assert used == disjoint()
    assert pickle.loads(pickle.dumps(used)) == disjoint()


def test_learners_of_mixed_columns_learn_what_is_true():
    """Members in France like red, others blue: nothing else tells the arms apart."""
    used = learner()
    rng = np.random.default_rng(3)

    def likes(row, arm):
        return float((row["country"] == "FR" and row["member"]) == (arm == "red"))

    rows = visitors(3000, seed=5)
    for row in rows:
        decision = used.choose(row)
        used.learn(decision, likes(row, decision.name) + 0.1 * rng.normal())
    right = [likes(row, used.choose(row).name) for row in rows[:300]]
    assert np.mean(right) > 0.9


@pytest.mark.parametrize("with_names", [True, False])
def test_transformers_take_rows_of_any_form(with_names):
    frame = pandas.DataFrame({"age": [30.0, 50.0], "income": [1.0, 2.0]})
    scaler = StandardScaler().fit(frame if with_names else frame.to_numpy())
    known = th.features.disjoint(ARMS, ["age", "income"], transformer=scaler)
    expected = known.encode(frame[:1]).values.tolist()
    assert expected == [[1.0, -1.0, -1.0]]
    row = {"income": 1.0, "age": 30.0}
    forms = dict(FORMS)
    for form in forms.values():
        assert known.encode(form(row)).values.tolist() == expected
    assert known.encode([[30.0, 1.0]]).values.tolist() == expected
    with pytest.raises(
        th.InvalidInput, match="the columns age, income expected, got missing income"
    ):
        known.encode({"age": 30.0})
    loose = th.features.disjoint(ARMS, ["age", "income"], transformer=scaler, extra="ignore")
    assert loose.encode(row | {"id": 7}).values.tolist() == expected


def test_a_transformer_of_mixed_columns_takes_a_dict():
    frame = pandas.DataFrame({"age": [30.0, 50.0], "country": ["DE", "FR"]})
    mixed = ColumnTransformer(
        [("a", StandardScaler(), ["age"]), ("c", OneHotEncoder(), ["country"])]
    )
    known = th.features.disjoint(ARMS, transformer=mixed.fit(frame))
    assert known.encode({"country": "FR", "age": 30.0}).values.tolist() == [[1, -1, 0, 1]]
    assert repr(known) == (
        "<features: disjoint, arms red, blue; columns a__age, c__country_DE, c__country_FR "
        "(by ColumnTransformer); d = 8>"
    )
    with pytest.raises(th.InvalidInput, match=r"^missing: not used: let the transformer fill"):
        th.features.disjoint(ARMS, transformer=mixed, missing="mean")
    with pytest.raises(th.InvalidInput, match=r"^columns: pass names only"):
        th.features.disjoint(ARMS, COLUMNS, transformer=mixed)
