"""Results on disk: written atomically, verified when read, never deleted."""

import io
import json
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thrifty as th
from tests.agreement import same
from tests.command_line import without_compiling
from thrifty.errors import SetAside
from thrifty.report.html import write_html
from thrifty.report.pages import study_page
from thrifty.studies.batches import ARRAYS, Batch, assemble, missing_ranges
from thrifty.studies.store import ResultStore, read_results
from thrifty.studies.tasks import Task, _code, _source_files, compute

SETTINGS = {"horizon": 400, "replications": 6, "seed": 3}


def batch(first, stop):
    numbers = np.arange(first, stop)
    return Batch(
        first,
        numbers.reshape(-1, 1, 1) * 1.0,
        numbers.reshape(-1, 1, 1),
        numbers.reshape(-1, 1, 1),
        numbers,
        numbers,
        float(stop - first),
    )


def files_of(folder):
    return sorted(folder.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("ranges", "missing"),
    [
        ([], [range(10)]),
        ([(0, 10)], []),
        ([(0, 3), (5, 7)], [range(3, 5), range(7, 10)]),
        ([(5, 20), (0, 2)], [range(2, 5)]),
        ([(0, 4), (2, 6), (1, 3)], [range(6, 10)]),
        ([(12, 20)], [range(10)]),
    ],
)
def test_gaps(ranges, missing):
    assert missing_ranges([batch(*ends) for ends in ranges], 10) == missing


def test_assembling_takes_each_replication_once():
    whole = assemble([batch(4, 9), batch(0, 5), batch(3, 4), batch(8, 12)], 10)
    assert whole.solves.tolist() == list(range(10))
    assert whole.regret.ravel().tolist() == whole.pulls.ravel().tolist() == list(range(10))
    assert whole.seconds == pytest.approx(10)


@pytest.mark.parametrize("pulls", [False, True])
def test_what_is_written_is_read_back_bit_for_bit(tmp_path, pulls):
    task = Task(th.instance("scenario-one"), th.OAM(), 500, pulls=pulls)
    store = ResultStore(tmp_path)
    [chunk] = task.chunks(range(3))
    played = compute(chunk)
    store.write(task, played)
    [found] = store.read(task)
    for name in ARRAYS:
        assert np.array_equal(getattr(found, name), getattr(played, name))
        assert getattr(found, name).dtype == getattr(played, name).dtype
    assert (found.first, found.stop, found.seconds) == (0, 3, played.seconds)


def as_first_format(path):
    """Write a file of results as versions up to 0.3 did: under the key question."""
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[b"thrifty"])
    head |= {"format": 1, "question": head.pop("task")}
    pq.write_table(table.replace_schema_metadata({b"thrifty": json.dumps(head)}), path)


def test_files_of_the_first_format_are_read_and_continued(tmp_path):
    first = th.run("fixed-u0.1", "oam", out=tmp_path, **SETTINGS)
    [path] = files_of(tmp_path)
    as_first_format(path)
    old = path.read_bytes()
    assert b"question" in old
    assert same(th.Study(read_results(tmp_path)), first)
    more = th.run("fixed-u0.1", "oam", out=tmp_path, **SETTINGS | {"replications": 9})
    assert np.array_equal(more.results[0].regret[:6], first.results[0].regret)
    assert path.read_bytes() == old
    assert len(files_of(tmp_path)) == 2


def test_a_file_of_a_later_format_is_set_aside(tmp_path):
    th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS)
    [path] = files_of(tmp_path)
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[b"thrifty"]) | {"format": 99}
    pq.write_table(table.replace_schema_metadata({b"thrifty": json.dumps(head)}), path)
    with pytest.warns(SetAside, match="not a results file of thrifty"):
        th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS)


def test_files_are_tables_for_anybody(tmp_path):
    study = th.run("fixed-u0.1", "oam", out=tmp_path, **SETTINGS)
    [path] = files_of(tmp_path)
    table = pq.read_table(path).to_pydict()
    assert set(table) == {
        "instance",
        "policy",
        "replicate",
        "round",
        "label",
        "rounds",
        "regret",
        "solves",
        "unsolved",
    }
    final = [row for row, t in enumerate(table["round"]) if t == 400]
    assert sum(table["regret"][row] for row in final) / 6 == pytest.approx(study.results[0].mean)
    assert set(table["instance"]) == {"fixed-u0.1"}


def test_nothing_is_computed_twice(tmp_path):
    first = th.run(["fixed-u0.1", "bounded"], ["lints", "oam"], out=tmp_path, **SETTINGS)
    before = {path: path.stat().st_mtime_ns for path in files_of(tmp_path)}
    again = th.run(["fixed-u0.1", "bounded"], ["lints", "oam"], out=tmp_path, **SETTINGS)
    assert same(first, again)
    assert {path: path.stat().st_mtime_ns for path in files_of(tmp_path)} == before


def test_more_replications_compute_only_the_new_ones(tmp_path):
    th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS)
    more = th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS | {"replications": 15})
    assert [path.name for path in files_of(tmp_path)] == [
        "000000-000006.parquet",
        "000006-000015.parquet",
    ]
    assert same(more, th.run("fixed-u0.1", "lints", **SETTINGS | {"replications": 15}))
    fewer = th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS | {"replications": 9})
    assert np.array_equal(fewer.results[0].regret, more.results[0].regret[:9])


@pytest.mark.parametrize(
    "change", [{"horizon": 401}, {"seed": 4}, {"rewards": "bernoulli"}, {"pulls": True}]
)
def test_another_task_is_another_file(tmp_path, change):
    problem = th.Instance(th.instance("fixed-u0.1").sets, theta=[0.8, 0.2], name="mine")
    th.run(problem, "lints", out=tmp_path, **SETTINGS)
    th.run(problem, "lints", out=tmp_path, **SETTINGS | change)
    assert len({path.parent for path in files_of(tmp_path)}) == 2


def test_another_truth_under_the_same_name_is_another_file(tmp_path):
    truths = [
        {"theta": [1, 0]},
        {"theta": [1, 0.01]},
        {"theta": [1, 0], "changes": [(100, [0, 1])]},
        {"theta": [1, 0], "changes": [(101, [0, 1])]},
    ]
    for truth in truths:
        th.run(
            th.Instance(th.instance("fixed-u0.1").sets, **truth, name="mine"),
            "lints",
            out=tmp_path,
            **SETTINGS,
        )
    assert len({path.parent for path in files_of(tmp_path)}) == 4


@pytest.mark.slow
def test_results_of_instances_with_changes_are_kept_continued_and_reported(tmp_path):
    mine = th.Instance(
        th.instance("fixed-u0.1").sets, theta=[1, 0], changes=[(100, [0, 1])], name="mine"
    )
    problems = [mine, "drifting:period=100,rounds=400", "drifting:period=100,rounds=400,seed=each"]
    th.run(problems, "lints", out=tmp_path, **SETTINGS | {"replications": 2})
    study = th.run(problems, "lints", out=tmp_path, **SETTINGS)
    assert len(files_of(tmp_path)) == 6
    assert same(study, th.run(problems, "lints", **SETTINGS))
    found = th.Study(read_results(tmp_path))
    assert same(study, found)
    assert found.results[0].instance == mine
    assert [result.constant for result in found.results] == [None] * 3
    write_html(study_page(found.results, tmp_path), tmp_path)
    assert th.instance(tmp_path / "instances" / "0-mine.toml") == mine


def test_a_change_of_the_code_that_computes_is_another_key(tmp_path, monkeypatch):
    task = Task(th.instance("fixed-u0.1"), th.LinTS(), 100)
    others = {
        Task(th.instance("fixed-u0.1"), policy, 100).code for policy in (th.OAM(), th.LinUCB())
    }
    assert task.code not in others  # each hashes its own file
    monkeypatch.setattr("thrifty.studies.tasks._code", _code.__wrapped__)  # not from memory
    assert Task(th.instance("fixed-u0.1"), th.LinTS(), 100).key == task.key
    monkeypatch.setattr("thrifty.compiler.fingerprints.version", lambda package: "another")
    assert Task(th.instance("fixed-u0.1"), th.LinTS(), 100).key != task.key


def spoil_nonsense(path):
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[b"thrifty"])
    head["task"]["horizon"] = 10**400
    pq.write_table(table.replace_schema_metadata({b"thrifty": json.dumps(head)}), path)


def spoil_cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def spoil_empty(path):
    path.write_bytes(b"")


def spoil_foreign(path):
    path.write_bytes(b"replicate,regret\n0,1.0\n")


def spoil_numbers(path):
    table = pq.read_table(path)
    regret = table.column("regret").to_numpy().copy()
    regret[-1] += 1e-9
    pq.write_table(
        table.set_column(
            table.schema.get_field_index("regret"), "regret", [regret]
        ).replace_schema_metadata(table.schema.metadata),
        path,
    )


def spoil_pulls(path, change):
    table = pq.read_table(path)
    pulls = table.column("pulls").to_pylist()
    change(pulls)
    at, kind = table.schema.get_field_index("pulls"), table.schema.field("pulls").type
    pq.write_table(
        table.set_column(at, "pulls", pa.array(pulls, kind)).replace_schema_metadata(
            table.schema.metadata
        ),
        path,
    )


def spoil_metadata(path):
    pq.write_table(pq.read_table(path).replace_schema_metadata({}), path)


def spoil_task(path):
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[b"thrifty"])
    head["task"]["seed"] = 99
    pq.write_table(table.replace_schema_metadata({b"thrifty": json.dumps(head)}), path)


SPOILERS = [
    spoil_nonsense,
    spoil_cut,
    spoil_empty,
    spoil_foreign,
    spoil_numbers,
    spoil_metadata,
    spoil_task,
]


@pytest.mark.parametrize("spoil", SPOILERS)
def test_a_file_that_cannot_be_trusted_is_named_set_aside_and_computed_again(tmp_path, spoil):
    first = th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS)
    [path] = files_of(tmp_path)
    spoil(path)
    spoiled = path.read_bytes()
    with pytest.warns(SetAside, match=path.name):
        again = th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS)
    assert same(first, again)
    [aside] = path.parent.glob("*.aside")
    assert aside.read_bytes() == spoiled
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(first, th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS))


@pytest.mark.parametrize(
    "change",
    [
        lambda pulls: pulls[0].reverse(),
        lambda pulls: pulls[-1].reverse(),  # of a label whose pulls are not taken
        lambda pulls: pulls[0].append(pulls[1].pop()),
        lambda pulls: pulls.__setitem__(3, None),
        lambda pulls: pulls.__setitem__(3, [None] * 3),
        lambda pulls: pulls[3].append(0),
    ],
)
def test_wrong_pulls_are_set_aside_and_computed_again(tmp_path, change):
    first = th.run("fixed-u0.1", "oam", out=tmp_path, pulls=True, **SETTINGS)
    [path] = files_of(tmp_path)
    spoil_pulls(path, change)
    with pytest.raises(th.BadFile, match=path.name):
        read_results(tmp_path)
    with pytest.warns(SetAside, match=path.name):
        again = th.run("fixed-u0.1", "oam", out=tmp_path, pulls=True, **SETTINGS)
    assert same(first, again)
    assert len(list(path.parent.glob("*.aside"))) == 1


def test_a_file_without_the_pulls_of_its_task_is_set_aside(tmp_path):
    first = th.run("fixed-u0.1", "oam", out=tmp_path, pulls=True, **SETTINGS)
    [path] = files_of(tmp_path)
    table = pq.read_table(path)
    pq.write_table(
        table.drop_columns(["pulls"]).replace_schema_metadata(table.schema.metadata), path
    )
    with pytest.warns(SetAside, match="its size is not that of its task"):
        assert same(first, th.run("fixed-u0.1", "oam", out=tmp_path, pulls=True, **SETTINGS))


def test_pulls_are_a_column_only_where_they_are_kept(tmp_path):
    settings = SETTINGS | {"horizon": 50}
    kept = th.run(["scenario-one", "fixed-u0.1"], "oam", out=tmp_path, pulls=True, **settings)
    th.run("fixed-u0.1", "oam", out=tmp_path, **settings)
    with_pulls = [path for path in files_of(tmp_path) if "pulls" in pq.read_schema(path).names]
    assert len(with_pulls) == len(files_of(tmp_path)) - 1 == 2
    table = pq.read_table(next(path for path in with_pulls if "scenario" in str(path))).to_pylist()
    pulls = kept["scenario-one", "oam"].pulls
    times = kept.results[0].times.tolist()
    assert len(table) == 6 * len(times) * 5
    for row in table:
        assert row["pulls"] == pulls[row["replicate"], times.index(row["round"])].tolist()
    assert pq.read_table(tmp_path / "chunks").num_rows == 3 * len(table)


def test_kept_pulls_are_read_continued_and_reported(tmp_path):
    names = ["scenario-one", "random-theta:arms=7,seed=each"]
    settings = SETTINGS | {"pulls": True}
    th.run(names, "lints", out=tmp_path, **settings | {"replications": 2})
    study = th.run(names, "lints", out=tmp_path, **settings)
    assert len(files_of(tmp_path)) == 4
    assert same(study, th.run(names, "lints", **settings))
    found = th.Study(read_results(tmp_path))
    assert same(study, found)
    assert found.to_json() == study.to_json() == json.loads((tmp_path / "results.json").read_text())
    assert [len(result.pulls[0, 0]) for result in found.results] == [6, 7]
    assert "pulls = true\n" in (tmp_path / "study.toml").read_text()
    write_html(study_page(found.results, tmp_path), tmp_path)


def test_a_chunk_with_many_pulls_has_fewer_replications():
    problem = th.instance("circle:arms=20000")
    sizes = [
        len({chunk.first for chunk in Task(problem, th.LinTS(), 10, pulls=pulls).chunks(range(99))})
        for pulls in (False, True)
    ]
    assert sizes == [1, 5]


def test_a_bit_that_flips_anywhere_changes_no_number(tmp_path):
    task = Task(th.instance("fixed-u0.1"), th.OAM(), 400)
    store = ResultStore(tmp_path)
    [chunk] = task.chunks(range(4))
    played = compute(chunk)
    store.write(task, played)
    [path] = files_of(tmp_path)
    content, noticed = path.read_bytes(), 0
    for position in range(0, len(content), 37):
        path.write_bytes(
            content[:position] + bytes([content[position] ^ 4]) + content[position + 1 :]
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = store.read(task)
        noticed += len(caught)
        assert len(caught) + len(found) == 1
        assert all(
            np.array_equal(batch.regret, played.regret)
            and np.array_equal(batch.rounds, played.rounds)
            for batch in found
        )
    assert noticed > 100


def test_a_file_of_another_task_is_set_aside(tmp_path):
    th.run("fixed-u0.1", ["lints", "greedy"], out=tmp_path, **SETTINGS)
    one, other = files_of(tmp_path)
    right = one.read_bytes()
    one.write_bytes(other.read_bytes())
    with pytest.warns(SetAside, match="it belongs to another task"):
        th.run("fixed-u0.1", ["lints", "greedy"], out=tmp_path, **SETTINGS)
    assert pq.read_table(one).equals(pq.read_table(io.BytesIO(right)))


def test_a_file_under_the_name_of_another_chunk_is_set_aside(tmp_path):
    study = th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS)
    [path] = files_of(tmp_path)
    path.rename(path.with_name("000006-000012.parquet"))
    with pytest.warns(SetAside, match="000006-000012"):
        again = th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS)
    assert files_of(tmp_path) == [path]
    assert same(study, again)


def test_kept_results_are_read_without_computing(tmp_path):
    study = th.run(
        ["fixed-u0.1", "random-theta:seed=each"],
        ["lints", "oam"],
        out=tmp_path,
        **SETTINGS | {"horizon": [100, 300]},
    )
    found = read_results(tmp_path)
    assert same(study, th.Study(found))
    for result, kept in zip(study.results, found, strict=True):
        assert (result.instance, result.policy, result.horizon, result.constant) == (
            kept.instance,
            kept.policy,
            kept.horizon,
            kept.constant,
        )


@pytest.mark.parametrize(
    "change",
    [
        {"replications": 0},
        {"replications": 7},
        {"replications": 10**30},
        {"constant": "x"},
        {"chunks": "../../elsewhere"},
        {"policy": "greedy"},
        {"seed": 4},
        {"seconds": None},
    ],
)
def test_an_edited_index_is_refused_and_nothing_is_renamed(tmp_path, change):
    th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS)
    [entry] = json.loads((tmp_path / "results.json").read_text())
    (tmp_path / "results.json").write_text(json.dumps([entry | change]))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(th.BadFile):
        read_results(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("content", ["", "[]", "{}", "[1]", "[" * 100_000])
def test_an_index_that_is_none(tmp_path, content):
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(th.BadFile, match=r"results\.json(: cannot be used| is not valid JSON)"):
        read_results(tmp_path)


def test_chunks_of_another_task_are_not_reported(tmp_path):
    th.run("fixed-u0.1", ["lints", "greedy"], out=tmp_path, **SETTINGS)
    one, other = files_of(tmp_path)
    one.write_bytes(other.read_bytes())
    with pytest.raises(th.BadFile, match="it belongs to another task"):
        read_results(tmp_path)


def test_the_instance_beside_the_chunks_must_be_the_one_played(tmp_path):
    th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS)
    [path] = tmp_path.rglob("_instance.toml")
    path.write_text(path.read_text().replace("0.9", "0.8"))
    with pytest.raises(th.BadFile, match="not the instance of these results"):
        read_results(tmp_path)


def test_mistakes_leave_the_study_file_of_another_study_alone(tmp_path):
    th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS)
    before = (tmp_path / "study.toml").read_text()
    with pytest.raises(th.InvalidInput):
        th.run("scenario-one", "endoa", out=tmp_path, **SETTINGS)
    assert (tmp_path / "study.toml").read_text() == before


@pytest.mark.parametrize("name", ["", ".hidden", "../../x", "_x", "a" * 300, "\u4e2d"])
def test_strange_names_stay_in_the_folder_and_can_be_read(tmp_path, name):
    problem = th.Instance(th.instance("fixed-u0.1").sets, theta=[1, 0], name=name)
    th.run(problem, "lints", out=tmp_path / "out", **SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert pq.read_table(tmp_path / "out" / "chunks").num_rows > 0
    assert read_results(tmp_path / "out")[0].instance == problem


def test_a_study_that_has_not_ended_has_no_report(tmp_path):
    with pytest.raises(th.BadFile, match="pass the folder of a completed study"):
        read_results(tmp_path)


FULL_DISK = """
import resource, sys
import thrifty as th
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from thrifty.cli import app as cli
sys.argv = [
    *("thrifty", "run", "fixed-u0.1", "--policy", "lints"),
    *("--horizon", "300", "--replications", "20", "--out", sys.argv[1]),
]
cli.main()
"""


@pytest.mark.slow
def test_a_disk_that_takes_no_more_ends_in_one_line_and_leaves_no_broken_file(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2
    [line] = without_compiling(done.stderr).splitlines()
    assert line.startswith("thrifty: ")
    assert line.endswith("cannot be written: File too large")
    assert files_of(tmp_path) == []
    # small enough to fit
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [
        "study.toml",
        "_instance.toml",
    ]


def test_compiled_policies_of_ones_own_differ_by_all_their_parameters_and_all_their_files():
    from tests.plain import Inherited, Needy

    problem = th.instance("fixed-u0.1")
    keys = {
        Task(problem, policy, 100).key
        for policy in (Needy(arm=0), Needy(arm=1), Inherited(), th.OAM())
    }
    assert len(keys) == 4
    assert {path.name for path in _source_files(Inherited)} == {"plain.py", "oam.py", "base.py"}


def test_a_policy_without_a_file_cannot_be_kept(tmp_path):
    made = type(
        "Made", (), {"__module__": "nowhere", "start": None, "choose": None, "learn": None}
    )()
    with pytest.raises(th.InvalidInput, match="define the policy in a file"):
        Task(th.instance("fixed-u0.1"), made, 100).code  # noqa: B018


def test_policies_of_ones_own_are_kept_by_their_parameters_and_their_code(tmp_path):
    from tests.plain import FirstArm

    for arm in (0, 1, 0):
        th.run("fixed-u0.1", FirstArm(arm), out=tmp_path, horizon=50, replications=2)
    assert len(files_of(tmp_path)) == 2
    assert not (tmp_path / "study.toml").exists()
    th.run("fixed-u0.1", "greedy", out=tmp_path, horizon=50, replications=2)
    assert (tmp_path / "study.toml").exists()
    th.run("fixed-u0.1", FirstArm(2), out=tmp_path, horizon=50, replications=2)
    # it was of another study
    assert [path.name for path in tmp_path.glob("*study.toml*")] == ["_study.toml.aside"]


def bomb_of_rows(path):
    """As many rows of zeros as fit into a small file, under the name and head of a chunk."""
    table = pq.read_table(path)
    zeros = pa.table({name: np.zeros(10**6) for name in table.column_names})
    pq.write_table(zeros.replace_schema_metadata(table.schema.metadata), path)


def bomb_of_text(path):
    """The right number of rows, one with a text of 100 MB."""
    table = pq.read_table(path)
    texts = ["x" * 10**8, *[""] * (len(table) - 1)]
    column = table.schema.get_field_index("instance")
    pq.write_table(table.set_column(column, "instance", [texts]), path, compression="zstd")


def bomb_of_pulls(path):
    """The right number of rows, one with a list of ten million zeros, which take few bytes."""
    spoil_pulls(path, lambda pulls: pulls.__setitem__(0, [0] * 10**7))


@pytest.mark.slow
@pytest.mark.parametrize("bomb", [bomb_of_rows, bomb_of_text, bomb_of_pulls])
def test_a_file_larger_than_its_task_is_refused_before_it_is_decompressed(
    tmp_path, monkeypatch, bomb
):
    settings = SETTINGS | {"pulls": bomb is bomb_of_pulls}
    th.run("fixed-u0.1", "lints", out=tmp_path, **settings)
    [path] = files_of(tmp_path)
    bomb(path)
    assert path.stat().st_size < 10**6
    for owner, name in ((pq.ParquetFile, "read"), (pq, "read_table")):
        monkeypatch.setattr(owner, name, lambda *_, **__: pytest.fail("decompressed"))
    with pytest.warns(SetAside, match="its size is not that of its task"):
        th.run("fixed-u0.1", "lints", out=tmp_path, **settings)


@pytest.mark.parametrize("spoil", SPOILERS)
def test_a_report_names_the_file_that_cannot_be_trusted(tmp_path, spoil):
    th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS)
    [path] = files_of(tmp_path)
    spoil(path)
    with pytest.raises(th.BadFile) as caught:
        read_results(tmp_path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_folder_whose_name_is_not_utf8(tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    first = th.run("fixed-u0.1", "lints", out=folder, **SETTINGS)
    [path] = files_of(folder)
    before = path.stat().st_mtime_ns
    assert same(first, th.run("fixed-u0.1", "lints", out=folder, **SETTINGS))
    assert path.stat().st_mtime_ns == before
    page = study_page(read_results(folder), folder)
    assert r"\udcff" in write_html(page, folder).read_text()


def test_a_bound_that_cannot_be_computed_is_left_out(tmp_path, monkeypatch):
    bound = th.lower_bound(th.instance("fixed-u0.1"))
    failed = replace(bound, solution=replace(bound.solution, status="failed", upper=np.inf))
    monkeypatch.setattr("thrifty.studies.study.lower_bound", lambda _: failed)
    [result] = th.run("fixed-u0.1", "lints", out=tmp_path, **SETTINGS).results
    assert (result.constant, result.ratio) == (None, None)
    assert "Infinity" not in (tmp_path / "results.json").read_text()
