"""Study files give what the command line gives, and name the line of a mistake."""

import json
import re
from dataclasses import fields

import pytest

import thrifty as th
from tests.agreement import same
from tests.command_line import thrifty
from thrifty.studies.design import StudyDesign, read_study
from thrifty.studies.store import read_results

STUDY = """# a comment
instances = ["fixed-u0.1", "mine.toml", "random-theta:arms=7,seed=each"]
policies = ["oam:c=1", "lints"]
horizon = [1e2, 500]
replications = 4
seed = 9
"""


@pytest.fixture
def study_file(tmp_path):
    th.Instance(th.instance("scenario-one").sets, theta=[1, 0, 0.9], name="mine").save(
        tmp_path / "mine.toml"
    )
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def entries(done):
    assert (done.returncode, done.stderr) == (0, "")
    return [
        {
            key: value
            for key, value in entry.items()
            if key not in ("seconds", "rounds_per_second", "chunks")
        }
        for entry in json.loads(done.stdout)
    ]


@pytest.mark.slow
def test_a_file_and_the_command_line_give_the_same(study_file, tmp_path):
    by_file = entries(thrifty("run", "--study", study_file, "--json"))
    options = (
        "--policy",
        "oam:c=1",
        "--policy",
        "lints",
        "--horizon",
        "100",
        "--horizon",
        "500",
        "--replications",
        "4",
        "--seed",
        "9",
        "--json",
    )
    by_hand = entries(
        thrifty(
            "run", "fixed-u0.1", tmp_path / "mine.toml", "random-theta:arms=7,seed=each", *options
        )
    )
    assert by_file == by_hand
    assert len(by_file) == 3 * 2 * 2


@pytest.mark.slow
def test_options_beside_a_file_win(study_file):
    found = entries(
        thrifty(
            "run",
            "--study",
            study_file,
            "--policy",
            "greedy",
            "--horizon",
            "50",
            "--replications",
            "2",
            "--json",
        )
    )
    assert {
        (entry["policy"], entry["horizon"], entry["replications"], entry["seed"]) for entry in found
    } == {("greedy", 50, 2, 9)}


@pytest.mark.slow
def test_a_kept_study_can_be_run_again_from_its_folder(study_file, tmp_path):
    out = tmp_path / "out"
    assert thrifty("run", "--study", study_file, "--out", out).returncode == 0
    kept = read_results(out)
    (tmp_path / "mine.toml").unlink()  # the folder has its own copy
    again = th.run(**read_study(out / "study.toml"), out=out)
    assert same(th.Study(kept), again)
    assert len(list(out.rglob("*.parquet"))) == len(kept)  # nothing was computed twice


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "number", "message"),
    [
        ("polices = []", 7, "unknown key 'polices'; did you mean 'policies'?"),
        ("[extra]", 7, "unknown key 'extra'; known: "),
        ("[[contexts]]", 7, "unknown key 'contexts'; "),
    ],
)
def test_an_unknown_key_is_named_with_its_line(study_file, line, number, message):
    study_file.write_text(STUDY + line + "\n")
    done = thrifty("run", "--study", study_file)
    assert done.returncode == 2
    assert done.stderr.startswith(f"thrifty: {study_file}, line {number}: {message}")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (r"policies = .*", 'policies = "lints', r"not valid TOML: .*line 3"),
        (r"policies = .*", "", r"study.toml: the key 'policies' is missing"),
        (
            r"policies = .*",
            "policies = [1]",
            r"line 3: policies: a list of names expected, got \[1\]",
        ),
        (
            r"instances = .*",
            "instances = []",
            r"line 2: instances: a list of names expected, got \[\]",
        ),
        (r"instances = .*", 'instances = ["gone.toml"]', r"gone.toml: No such file"),
        (
            r"horizon = .*",
            "horizon = 0.5",
            r"horizon: a whole number from 1 to 1e\+12 expected, got 0.5",
        ),
        (
            r"horizon = .*",
            "horizon = [10, 10]",
            r"horizon\[1\]: 10 is already in the list",
        ),
        (
            r"replications = .*",
            'replications = "many"',
            r"study.toml: replications: a finite number expected, got 'many'",
        ),
        (
            r"horizon = .*",
            'horizon = "1e3"',
            r"study.toml: horizon: '1e3' is text: remove the quotes",
        ),
        (r"seed = .*", "seed = true", r"seed: a finite number expected, got True"),
        (r"seed = .*", "pulls = 1", r"study.toml: pulls: true or false expected, got 1"),
    ],
)
def test_mistakes_in_a_file_end_in_one_line(study_file, old, new, message):
    study_file.write_text(re.sub(old, new, STUDY))
    done = thrifty("run", "--study", study_file)
    assert done.returncode == 2
    assert re.search(message, done.stderr)
    assert len(done.stderr.splitlines()) == 1


def test_a_study_file_keeps_every_argument(tmp_path):
    design = StudyDesign.of(
        ["fixed-u0.1", "random-theta:arms=7,seed=each"],
        ["oam:c=1", "lints"],
        horizon=[100, 500],
        replications=4,
        seed=9,
        rewards="student",
        pulls=True,
    )
    design.write(tmp_path)
    again = StudyDesign.of(**read_study(tmp_path / "study.toml"))
    for field in fields(design):
        assert getattr(again, field.name) == getattr(design, field.name)
        default = StudyDesign.__dataclass_fields__[field.name].default
        assert getattr(again, field.name) != default


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_reported_before_the_work(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = thrifty("run", "fixed-u0.1", "--horizon", "1e9", "--out", blocked / "out")
    assert done.returncode == 2
    assert done.stderr == f"thrifty: {blocked / 'out'}: cannot be written into: Not a directory\n"
