"""Machine code is compiled once, kept by version of the sources, and never stale."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from thrifty.numerics import compilation

PACKAGE = Path(compilation.__file__).parent
SOLVE = (
    "from thrifty.numerics.dense import squared_norms as f; import numpy as np; f(np.eye(2), "
    "np.empty(2)); print(sum(f.stats.cache_hits.values()))"
)


def run(code: str, cache: Path, path: Path = PACKAGE.parent) -> str:
    environment = os.environ | {"THRIFTY_CACHE_DIR": str(cache), "PYTHONPATH": str(path)}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout.strip()


def test_a_second_process_compiles_nothing(tmp_path):
    assert run(SOLVE, tmp_path) == "0"
    assert run(SOLVE, tmp_path) == "1"


def test_an_edit_of_what_computes_never_meets_old_machine_code_and_another_edit_does(tmp_path):
    copy = tmp_path / "source"
    shutil.copytree(PACKAGE, copy / "thrifty", ignore=shutil.ignore_patterns("__pycache__"))
    cache = tmp_path / "cache"
    assert run(SOLVE, cache, copy) == "0"
    assert run(SOLVE, cache, copy) == "1"
    for module, hits in (("cli.py", "1"), ("spans.py", "0")):
        with open(copy / "thrifty" / module, "a") as file:
            file.write("# edited\n")
        assert run(SOLVE, cache, copy) == hits
    assert len(list(cache.iterdir())) == 2


def test_machine_code_nobody_ran_for_a_month_is_forgotten(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "recent").mkdir()
    long_ago = time.time() - 40 * 24 * 3600
    os.utime(tmp_path / "old", (long_ago, long_ago))
    run("import thrifty.numerics.compilation as c; c.cache_folder()", tmp_path)
    assert not (tmp_path / "old").exists()
    assert (tmp_path / "recent").exists()


def test_without_a_place_to_keep_it_code_is_compiled_anew(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert run(SOLVE, blocked) == "0"
    assert (
        run("import thrifty.numerics.compilation as c; print(c.cache_folder())", blocked) == "None"
    )


def test_other_packages_keep_their_cache_folder(tmp_path):
    code = (
        "import numba; numba.config.CACHE_DIR = 'theirs'; import thrifty.allocation; "
        "print(numba.config.CACHE_DIR)"
    )
    assert run(code, tmp_path) == "theirs"


def test_a_person_at_a_terminal_is_told_about_the_compiler(tmp_path):
    """Once, when something of ours compiles; a pipe is not told."""
    environment = os.environ | {
        "THRIFTY_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(PACKAGE.parent),
    }
    for told in (True, False):  # the second time everything is there
        leader, follower = os.openpty()
        subprocess.run(
            [sys.executable, "-c", SOLVE],
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=follower,
            timeout=120,
        )
        os.write(follower, b"end")
        shown = os.read(leader, 10_000).decode()
        assert shown.count("thrifty: compiling for this machine") == told
        for end in (leader, follower):
            os.close(end)
