"""Machine code is compiled once, kept by version of the sources, and never stale or damaged."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
import pytest

from thrifty.compiler.compilation import compiled, kernel
from thrifty.compiler.disk_cache import describe_type
from thrifty.compiler.fingerprints import PACKAGE
from thrifty.policies import egreedy, greedy

pytestmark = pytest.mark.slow

CALL = (
    "from thrifty.numerics.dense import squared_norms as f; import numpy as np\n"
    "out = np.empty(2); f(np.eye(2) * 3, out); assert out.tolist() == [9, 9]\n"
    "print(sum(f.entry.stats.cache_hits.values()))"
)


def start(code: str, cache: Path, path: Path = PACKAGE.parent) -> subprocess.CompletedProcess:
    environment = os.environ | {"THRIFTY_CACHE_DIR": str(cache), "PYTHONPATH": str(path)}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, timeout=120
    )


def run(code: str, cache: Path, path: Path = PACKAGE.parent) -> str:
    return start(code, cache, path).stdout.strip()


@compiled
def _double(x):
    """Called by compiled code and by Python."""
    return 2 * x


@kernel
def _shift(x, by):
    """Called with a literal and with a variable."""
    return x + by


@compiled
def _both(x, by):
    return _double(_shift(x, 1)) + _shift(x, by)


def test_a_callee_is_compiled_once_and_serves_python_as_well():
    assert _both(3, 4) == 15
    assert _double(5) == 10
    assert _double.overloads.keys() == _double.entry.overloads.keys()


def test_kernels_stay_python_functions_to_python():
    assert _shift("a", "b") == "ab"


def test_a_second_process_compiles_nothing(tmp_path):
    assert run(CALL, tmp_path) == "0"
    assert run(CALL, tmp_path) == "1"


def test_machine_code_depends_on_what_computes_and_on_nothing_else(tmp_path):
    """Neither the folder of the package nor an edit elsewhere makes it compile again."""
    cache = tmp_path / "cache"
    assert run(CALL, cache) == "0"
    copy = tmp_path / "source"
    shutil.copytree(PACKAGE, copy / "thrifty", ignore=shutil.ignore_patterns("__pycache__"))
    assert run(CALL, cache, copy) == "1"
    for module, hits in (("cli/app.py", "1"), ("numerics/bases.py", "0")):
        with open(copy / "thrifty" / module, "a") as file:
            file.write("# edited\n")
        assert run(CALL, cache, copy) == hits
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("place", [0, 40, 100, -1])
def test_damaged_machine_code_is_compiled_again(tmp_path, place):
    assert run(CALL, tmp_path) == "0"
    [file] = tmp_path.glob("*/*.code")
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    assert run(CALL, tmp_path) == "0"
    assert run(CALL, tmp_path) == "1"


def test_machine_code_that_was_not_run_for_a_month_is_removed(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "recent").mkdir()
    long_ago = time.time() - 40 * 24 * 3600
    os.utime(tmp_path / "old", (long_ago, long_ago))
    run("from thrifty.compiler.machine_code import cache_folder as f; f()", tmp_path)
    assert not (tmp_path / "old").exists()
    assert (tmp_path / "recent").exists()


def test_a_cache_that_cannot_be_written_is_said_once(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = start(CALL + "\nf(np.eye(2, dtype='f4'), out)", blocked)
    assert done.stdout.strip() == "0"
    assert done.stderr.count("machine code cannot be kept in") == 1
    assert "set THRIFTY_CACHE_DIR to a folder that can be written" in done.stderr


def test_other_packages_keep_their_cache_folder(tmp_path):
    code = (
        "import numba; numba.config.CACHE_DIR = 'theirs'; import thrifty.allocation; "
        "print(numba.config.CACHE_DIR)"
    )
    assert run(code, tmp_path) == "theirs"


def test_the_log_says_once_that_the_compiler_is_at_work(tmp_path):
    code = (
        f"import logging; logging.basicConfig(level='INFO')\n{CALL}\nf(np.eye(2, dtype='f4'), out)"
    )
    for told in (1, 0):  # the second time everything is there
        done = start(code, tmp_path)
        assert done.stderr.count("INFO:thrifty:compiling for this machine") == told
    assert start(CALL, tmp_path / "other").stderr == ""  # nobody asked for a log


def test_types_of_the_same_shape_have_names_of_their_own():
    """Numba names a named tuple without its module: two policies may have a State alike."""
    one, other = (
        numba.typeof(kind(np.zeros(1), 2.0)) for kind in (_pair(greedy.State), _pair(egreedy.State))
    )
    assert str(one) == str(other)
    assert describe_type(one) != describe_type(other)


def _pair(model):
    """A named tuple with the name and module of another."""
    from collections import namedtuple

    return namedtuple(model.__name__, ["a", "b"], module=model.__module__)


def test_without_a_compiler_everything_runs_as_plain_python(tmp_path):
    code = (
        "import thrifty as th\n"
        "print(th.lower_bound(th.instance('orthogonal:d=3')).constant)\n"
        "for name in ('oam', 'thrifty', 'lints'):\n"
        "    print(th.run('fixed-u0.1', name, horizon=60, replications=1).results[0].mean)\n"
        "learner = th.LinTS().learner(th.ActionSets([[[1, 0], [0, 1]]]))\n"
        "learner.learn(learner.choose(0), 1.0)\n"
    )
    plain = run(f"import numba; numba.config.DISABLE_JIT = True\n{code}", tmp_path)
    assert plain == run(code, Path(os.environ.get("THRIFTY_CACHE_DIR", tmp_path)))
