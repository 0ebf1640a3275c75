"""The command line: output, JSON, errors, exit codes."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
import typer

import thrifty as th
from tests.command_line import thrifty
from thrifty.allocation import Status
from thrifty.cli.lookups import bound
from thrifty.lab.paper.panels import paper_panels
from thrifty.problem.catalog import CATALOG
from thrifty.report.wording import power
from thrifty.studies.warm_up import PARTS

pytestmark = pytest.mark.slow


def test_bound_prints_the_constant_and_the_allocation():
    done = thrifty("bound", "fixed-u0.1")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "C = 20   (solved, exact)" in done.stdout
    assert "No consistent policy has less regret than 20 log n" in done.stdout
    assert "100.0%" in done.stdout
    assert "The other arm needs no pulls of its own." in done.stdout


def test_bound_says_in_words_when_exploration_is_free():
    assert (
        "The optimal arms span the space: exploration is free" in thrifty("bound", "bounded").stdout
    )


def test_bound_json_keeps_the_contract():
    answer = json.loads(thrifty("bound", "scenario-two", "--json").stdout)
    assert answer == {
        "constant": 0.0,
        "lower": 0.0,
        "upper": 0.0,
        "gap": 0.0,
        "status": "solved",
        "reduced_dimension": 0,
        "optimal": [0, 0],
        "allocation": [["inf", 0.0, 0.0], ["inf", 0.0, 0.0]],
    }


def test_bound_of_the_whole_catalog():
    done = thrifty("bound", "--all")
    assert done.returncode == 0
    bounded = [name for name in CATALOG if name != "drifting"]
    assert all(name in done.stdout for name in bounded)
    answers = json.loads(thrifty("bound", "--all", "--json").stdout)
    assert [answer["instance"] for answer in answers] == bounded


def test_a_bound_that_failed_is_shown_and_ends_with_code_1(monkeypatch, capsys):
    found = th.lower_bound(th.instance("fixed-u0.1"))
    failed = replace(found, solution=replace(found.solution, status=Status.FAILED))
    monkeypatch.setattr("thrifty.allocation.bound.lower_bound", lambda problem: failed)
    with pytest.raises(typer.Exit) as caught:
        bound(["fixed-u0.1"])
    assert caught.value.exit_code == 1
    assert "FAILED" in capsys.readouterr().out


def test_bound_of_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    th.instance("fixed-u0.2").save(path)
    assert json.loads(thrifty("bound", str(path), "--json").stdout)["constant"] == pytest.approx(10)


def test_long_tables_are_cut(tmp_path):
    path = tmp_path / "many.toml"
    th.Instance(th.ActionSets([[[1.0], [0.5]]] * 40), theta=[1], name="many").save(path)
    done = thrifty("bound", str(path))
    assert "and 10 more (--json has all)" in done.stdout


def test_instances_lists_the_catalog_and_prints_one_as_toml(tmp_path):
    listing = thrifty("instances")
    assert all(name in listing.stdout for name in CATALOG)
    assert [entry["name"] for entry in json.loads(thrifty("instances", "--json").stdout)] == list(
        CATALOG
    )
    path = tmp_path / "start.toml"
    path.write_text(thrifty("instances", "scenario-one").stdout)
    assert th.instance(path) == th.instance("scenario-one")


def test_run_measures_regret():
    done = thrifty(
        "run",
        "fixed-u0.1",
        "bounded",
        "--policy",
        "lints",
        "--policy",
        "oam:c=1",
        "--horizon",
        "1e3",
        "--replications",
        "5",
        "--seed",
        "3",
    )
    assert done.returncode == 0
    assert done.stderr == ""
    assert "regret after 1,000 rounds, 5 replications, seed 3, gaussian rewards" in done.stdout
    expected = th.run("fixed-u0.1", "lints", horizon=1000, replications=5, seed=3).results[0]
    row = next(
        line.split()
        for line in done.stdout.splitlines()
        if line.split()[:2] == ["fixed-u0.1", "lints"]
    )
    assert row[2:] == [
        f"{number:.4g}"
        for number in (expected.mean, expected.se, expected.median, expected.p95, expected.max)
    ] + [f"{expected.ratio:.3g}"]
    row = next(
        line.split()
        for line in done.stdout.splitlines()
        if line.split()[:2] == ["bounded", "lints"]
    )
    assert len(row) == 7  # no ratio where C is 0
    assert re.search(r"oam:c=1 +matched", done.stdout)


def test_run_on_an_instance_whose_theta_changes(tmp_path):
    """Regret without a ratio to the bound, which there is none of."""
    options = ("--policy", "lints", "--horizon", "2000", "--replications", "3")
    name = "drifting:kind=abrupt,period=500"
    done = thrifty("run", name, *options)
    assert (done.returncode, done.stderr) == (0, "")
    [expected] = th.run(name, "lints", horizon=2000, replications=3).results
    row = next(line.split() for line in done.stdout.splitlines() if line.split()[:1] == [name])
    assert row[2:] == [
        f"{number:.4g}"
        for number in (expected.mean, expected.se, expected.median, expected.p95, expected.max)
    ]
    [answer] = json.loads(thrifty("run", name, *options, "--json").stdout)
    assert (answer["constant"], answer["ratio"]) == (None, None)
    assert answer["mean"] == expected.mean
    path = tmp_path / "mine.toml"
    path.write_text(thrifty("instances", name).stdout)
    [answer] = json.loads(thrifty("run", path, *options, "--json").stdout)
    assert answer["mean"] == expected.mean


def test_run_json_keeps_the_contract():
    answers = json.loads(
        thrifty(
            "run",
            "fixed-u0.1",
            "--policy",
            "linucb",
            "--horizon",
            "1e4",
            "--replications",
            "3",
            "--json",
        ).stdout
    )
    assert [
        (answer["instance"], answer["policy"], answer["horizon"], answer["replications"])
        for answer in answers
    ] == [("fixed-u0.1", "linucb", 10_000, 3)]
    [expected] = th.run("fixed-u0.1", "linucb", horizon=1e4, replications=3).to_json()
    for key in ("mean", "se", "median", "p95", "max", "checkpoints", "labels"):
        assert answers[0][key] == expected[key]
    assert answers[0]["seconds"] > 0
    assert answers[0]["rounds_per_second"] == pytest.approx(30_000 / answers[0]["seconds"])


def test_run_keeps_pulls_on_request(tmp_path):
    settings = ("run", "fixed-u0.1", "--policy", "lints", "--horizon", "200", "--json")
    settings += ("--replications", "3", "--pulls", "--out", tmp_path)
    [answer] = json.loads(thrifty(*settings).stdout)
    result = th.run("fixed-u0.1", "lints", horizon=200, replications=3, pulls=True).results[0]
    assert answer["pulls"] == [result.pulls[:, -1].mean(axis=0).tolist()]
    study = thrifty("run", "--study", tmp_path / "study.toml", "--json")
    assert json.loads(study.stdout)[0]["pulls"] == answer["pulls"]
    assert thrifty("report", tmp_path).returncode == 0


def test_several_policies_after_one_option():
    done = thrifty(
        "run",
        "fixed-u0.1",
        "--policy",
        "greedy",
        "lints",
        "--horizon",
        "10",
        "--replications",
        "2",
        "--json",
    )
    assert [answer["policy"] for answer in json.loads(done.stdout)] == ["greedy", "lints"]


def test_run_writes_results_and_figures(tmp_path):
    done = thrifty(
        "run",
        "fixed-u0.1",
        "--policy",
        "greedy",
        "--horizon",
        "100",
        "--replications",
        "2",
        "--out",
        str(tmp_path / "out"),
    )
    assert done.returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "chunks",
        "regret.png",
        "regret.svg",
        "results.json",
        "study.toml",
    ]
    assert (tmp_path / "out" / "regret.svg").read_bytes().startswith(b"<?xml")
    assert json.loads((tmp_path / "out" / "results.json").read_text())[0]["policy"] == "greedy"


def test_policies_are_listed_with_their_parameters():
    listing = thrifty("policies").stdout
    entries = json.loads(thrifty("policies", "--json").stdout)
    assert {"thrifty", "oam", "linucb", "lints", "ossb", "greedy", "egreedy", "endoa", "del"} <= {
        entry["name"] for entry in entries
    }
    for entry in entries:
        assert re.search(rf"^{entry['name']}( |$)", listing, flags=re.MULTILINE)
        assert all(f" {key}=" in listing for key in entry["parameters"])


def test_the_help_of_reproduce_has_the_size_of_a_full_reproduction():
    sizes = [panel.full.replications for panel in paper_panels()]
    longest = max(max(panel.full.horizons) for panel in paper_panels())
    text = " ".join(thrifty("reproduce", "--help").stdout.split())
    assert f"{min(sizes):,} to {max(sizes):,} replications" in text
    assert f"horizons up to {power(longest)}" in text


def test_version_and_help():
    assert thrifty("--version").stdout == f"thrifty {th.__version__}\n"
    for arguments in (("--help",), ()):
        done = thrifty(*arguments)
        assert done.returncode == 0
        assert "bound" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bound", "fixed-u0.15"), "unknown instance 'fixed-u0.15'; did you mean 'fixed-u0.1'?"),
        (("bound", "nothing.toml"), "nothing.toml: No such file or directory"),
        (("bound",), "bound: name an instance, or give --all for the whole catalog"),
        (
            ("bound", "drifting"),
            "drifting: no lower bound, since theta changes; bound one of instance.pieces or drop "
            "[[changes]]",
        ),
        (("bound", "fixed-u0.1", "--jsn"), "No such option: --jsn (Possible options: --json)"),
        (
            ("bound", "x" * 5000),
            "unknown instance '"
            + "x" * 5000
            + "'; known: "
            + ", ".join([*CATALOG, "fixed", "circle"]),
        ),
        (
            ("run", "fixed-u0.1", "--policy", "linucp"),
            "unknown policy 'linucp'; did you mean 'linucb'?",
        ),
        (
            ("run", "fixed-u0.1", "--policy", "oam:eps=1"),
            "unknown parameter of oam 'eps'; did you mean 'epsilon'?",
        ),
        (
            ("run", "fixed-u0.1", "--policy", "oam:epsilon=-1"),
            "oam: epsilon: a number of at least 0 expected, got -1.0",
        ),
        (
            ("run", "fixed-u0.1", "--horizon", "0"),
            "horizon: a whole number from 1 to 1e+12 expected, got 0.0",
        ),
        (
            ("run", "fixed-u0.1", "--horizon", "many"),
            "--horizon: a number expected, got 'many'",
        ),
        (
            ("run", "scenario-one", "--policy", "endoa"),
            "endoa: one context expected, got 2; use oam for several contexts",
        ),
        (("run", "linucb"), "run: name an instance, or a study file with --study FILE"),
        (
            ("run", "bounded", "--rewards", "bernoulli"),
            "rewards: bernoulli rewards need means between 0 and 1; bounded has -1",
        ),
        (
            ("run", "fixed-u0.1", "--out", "/dev/null/x", "--horizon", "10"),
            "/dev/null/x: cannot be written into: Not a directory",
        ),
        (
            ("arena", "--quick", "--full"),
            "arena: pass --quick or --full, not both",
        ),
        (
            ("arena", "--only", "unsen"),
            "unknown group of instances 'unsen'; did you mean 'unseen'?",
        ),
        (("arena", "--policy", "linucp"), "unknown policy 'linucp'; did you mean 'linucb'?"),
        (
            ("arena", "--out", "/dev/null/x"),
            "/dev/null/x/unseen/1000/thrifty: cannot be written into: Not a directory",
        ),
        (("bounds", "fixed-u0.1"), "No such command 'bounds'. Did you mean 'bound'?"),
    ],
)
def test_a_mistake_ends_with_one_line_and_code_2(arguments, message):
    done = thrifty(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"thrifty: {message}\n"


def test_a_bad_file_ends_with_file_key_and_expectation(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("theta = [1, 0]\n[[contexts]]\narms = [[1, 0], [1, nan]]\n")
    done = thrifty("bound", str(path))
    assert done.returncode == 2
    assert (
        done.stderr
        == f"thrifty: {path}: contexts[0].arms[1][1]: a finite number expected, got nan\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bound", "a\n\x1b[31mb.toml"), r"a\n\x1b[31mb.toml: No such file or directory"),
        (("report", "a\nb"), r"a\nb: no such folder"),
        (("report", "."), ". has no results.json: pass the folder of a completed study; "),
        (("run", "fixed-u0.1", "--seed", "1e3"), "--seed: a whole number expected, got '1e3'"),
        (("run", "--study", "/dev/zero"), "/dev/zero: a file of at most 500 MB expected"),
        (("bound", "digits.toml"), "digits.toml: not valid TOML: a whole number of more than 4300"),
        (("run", "--study", "digits.toml"), "digits.toml: not valid TOML: a whole number of more"),
        (("bound", "wide.toml"), "wide.toml: contexts[0].arms[0]: at most 10000 numbers"),
        (
            ("run", "fixed-u0.1", "--out", "digits.toml"),
            "digits.toml is a file: --out needs a folder",
        ),
        (("run", "fixed-u0.1", "--policy", "a\nb"), r"unknown policy 'a\nb'; known: "),
    ],
)
def test_strange_files_and_paths_end_with_one_line_and_code_2(tmp_path, arguments, message):
    (tmp_path / "digits.toml").write_text(f"horizon = {'9' * 5000}\n")
    (tmp_path / "wide.toml").write_text(f"theta = [1]\n[[contexts]]\narms = [{[0] * 60_000}]\n")
    done = thrifty(*arguments, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"thrifty: {message}")
    assert len(done.stderr.splitlines()) == 1


def test_an_error_about_memory_is_one_line():
    code = """
import sys
from unittest.mock import patch
import thrifty.cli.app as cli
sys.argv = ["thrifty", "policies"]
with patch("thrifty.cli.printing.print_policies", side_effect=MemoryError):
    cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (
        2,
        "thrifty: not enough memory: fewer arms or dimensions need less\n",
    )


def test_help_waits_for_neither_numpy_nor_the_compiler():
    code = """
import sys
sys.argv = ["thrifty", "--help"]
try:
    import thrifty.cli.app
    thrifty.cli.app.main()
except SystemExit:
    print(sorted({"numpy", "numba", "rich", "scipy"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.rstrip().endswith("[]")


def test_control_characters_in_names_are_shown_escaped(tmp_path):
    path = tmp_path / "tricks.toml"
    names = ["[/b]", ":smile:", "colour \x1b[31m"]
    th.Instance(
        th.ActionSets([[[1.0], [0.5]]] * 3, context_names=names), theta=[1], name="two\nlines"
    ).save(path)
    done = thrifty("bound", str(path))
    assert done.returncode == 0
    assert all(
        shown in done.stdout
        for shown in ("[/b]", ":smile:", r"colour \x1b[31m", r"two\nlines: 3 contexts")
    )


def test_long_names_do_not_push_the_numbers_out(tmp_path):
    path = tmp_path / "long.toml"
    th.Instance(
        th.ActionSets([[[1, 0], [0.9, 0.5]]], context_names=["n" * 300]), theta=[1, 0]
    ).save(path)
    assert "0.1" in thrifty("bound", str(path)).stdout


def test_output_that_cannot_be_written_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "thrifty", "instances"],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert done.stderr == "thrifty: standard output: No space left on device\n"


def test_a_terminal_without_unicode(tmp_path):
    path = tmp_path / "unicode.toml"
    th.Instance(
        th.ActionSets([[[1, 0], [0.9, 0.5]]], context_names=["größe"]), theta=[1, 0], name="größe"
    ).save(path)
    done = thrifty("bound", path, environment={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "gr??e" in done.stdout.replace("ö", "?")


def test_a_missing_file_for_output_is_named():
    code = """
import sys
from unittest.mock import patch
import thrifty.cli.app as cli
sys.argv = ["thrifty", "policies"]
def fail(*_):
    open("/nowhere/at/all", "w")
with patch("thrifty.cli.printing.print_policies", fail):
    cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (
        2,
        "thrifty: /nowhere/at/all: No such file or directory\n",
    )


def test_warnings_and_log_messages_are_lines():
    code = """
import logging, sys, warnings
from unittest.mock import patch
import thrifty.cli.app as cli
sys.argv = ["thrifty", "policies"]
def speak(*_):
    warnings.warn("careful")
    logging.getLogger("thrifty").info("compiling for this machine")
with patch("thrifty.cli.printing.print_policies", speak):
    cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == "thrifty: careful\nthrifty: compiling for this machine\n"


def test_warm_up_leaves_nothing_to_compile():
    done = thrifty("warm-up")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"compiled {len(PARTS)} parts\n"
    code = """
import sys
from numba.core import event
import thrifty as th
from thrifty.extending.conformance import LearnerPlayer
from thrifty.policies import POLICIES
from thrifty.simulation.replication import simulate
with event.install_recorder("numba:compile") as recorder:
    th.lower_bound(th.instance("scenario-one"))
    for name in POLICIES:
        th.run("fixed-u0.1", name, horizon=10, replications=1)
        simulate(th.instance("fixed-u0.1"), LearnerPlayer(th.policy(name), seed=0), horizon=10)
compiled = [entry.data["dispatcher"].py_func for _, entry in recorder.buffer if entry.is_start]
print([one.__qualname__ for one in compiled if str(one.__module__).startswith("thrifty")])
"""
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=300
    )
    assert found.stdout == "[]\n"
