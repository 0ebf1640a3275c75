"""Folders that decide machine code and results: all that the compiled code can reach."""

import re
from pathlib import Path

from grimp import build_graph

from thrifty.compiler.fingerprints import (
    COMPILED_FOLDERS,
    PACKAGE,
    RESULT_FOLDERS,
    compiled_files,
    fingerprint,
    result_files,
)
from thrifty.policies import POLICIES

# messages, files and tables: no number depends on them
HARMLESS = ("thrifty.errors", "thrifty.files", "thrifty.display")


def reached_from(*starts):
    """Files of all modules that some import, directly or not."""
    graph, reached, waiting = build_graph("thrifty"), set(), set(starts)
    while waiting:
        name = waiting.pop()
        reached.add(name)
        # Policy.learner() imports upwards, when a user calls it
        upwards = {"thrifty.learners.start"} if name == "thrifty.policies.base" else set()
        waiting |= graph.find_modules_directly_imported_by(name) - reached - upwards
    return {name for name in reached if name != "thrifty" and not name.startswith(HARMLESS)}


def in_folders(name, folders):
    return any(name.startswith(f"thrifty.{folder.replace('/', '.')}") for folder in folders)


def test_everything_that_the_simulator_and_the_learner_reach_decides_machine_code():
    reached = reached_from("thrifty.simulation.replication", "thrifty.learners.start")
    assert {name for name in reached if not in_folders(name, COMPILED_FOLDERS)} == set()


def test_everything_that_a_policy_reaches_decides_its_results():
    for kind in POLICIES.values():
        own = (kind.__module__, "thrifty.policies.base")
        outside = {
            name
            for name in reached_from(kind.__module__, "thrifty.simulation.loop")
            if not in_folders(name, RESULT_FOLDERS) and name not in own
        }
        assert outside <= {"thrifty.policies"}, kind  # the list of policies decides nothing


def test_every_compiled_function_is_in_a_file_that_is_counted():
    counted = set(compiled_files())
    for path in PACKAGE.rglob("*.py"):
        if re.search(r"^@(compiled|kernel|implements)", path.read_text(), flags=re.MULTILINE):
            assert path in counted, path


def test_files_of_results_are_among_those_of_machine_code():
    assert set(result_files()) < set(compiled_files())


def test_a_fingerprint_is_of_content_and_words(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    first = fingerprint([file], "numpy 2")
    assert first == fingerprint([file], "numpy 2")
    assert first != fingerprint([file], "numpy 3")
    file.write_text("x = 2\n")
    assert first == fingerprint([file], "numpy 2")  # as it was loaded
    other = tmp_path / "b" / "a.py"
    other.parent.mkdir()
    other.write_text("x = 2\n")
    assert first != fingerprint([other], "numpy 2")
    assert all(isinstance(path, Path) and path.is_file() for path in compiled_files())
