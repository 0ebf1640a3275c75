"""What counts as code that computes: no less than the simulator can reach, and nothing that
compiles left out.
"""

import re
from pathlib import Path

from grimp import build_graph

from thrifty.numerics.fingerprints import COMPUTING, PACKAGE, computing_files, fingerprint


def test_all_that_the_simulator_reaches_is_counted():
    graph = build_graph("thrifty")
    reached, waiting = set(), {"thrifty.simulation.replication"}
    while waiting:
        name = waiting.pop()
        reached.add(name)
        # Policy.learner() is a way up for users
        doors = {"thrifty.online.learner"} if name == "thrifty.policies.base" else set()
        waiting |= graph.find_modules_directly_imported_by(name) - reached - doors
    # messages and files: no number depends on them
    harmless = {"errors", "files", "specs", "sources"}
    assert {name.split(".")[1] for name in reached} - harmless <= set(COMPUTING)


def test_every_compiled_function_is_in_a_file_that_is_counted():
    counted = set(computing_files())
    for path in PACKAGE.rglob("*.py"):
        if re.search(
            r"^@(compiled|kernel|implements)|= Compiled\(", path.read_text(), flags=re.MULTILINE
        ):
            assert path in counted, path


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
    assert all(isinstance(path, Path) and path.is_file() for path in computing_files())
