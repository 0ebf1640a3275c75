"""The examples run, and say the same in plain Python and compiled."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import thrifty as th
from thrifty.extending import check_policy
from thrifty.simulation.replication import simulate

pytestmark = pytest.mark.slow

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def load(name):
    spec = importlib.util.spec_from_file_location(
        name, Path(__file__).parents[2] / "examples" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path):
    done = subprocess.run(
        [sys.executable, str(path)], check=True, capture_output=True, text=True, timeout=300
    )
    assert "lints" in done.stdout
    assert done.stderr == ""
    imports = re.findall(r"^(?:from|import) (thrifty\S*)", path.read_text(), flags=re.MULTILINE)
    assert set(imports) <= {"thrifty", "thrifty.extending"}


def test_the_compiled_example_makes_the_plain_ones_decisions():
    plain, compiled = (
        load("plain_policy").ExploreThenCommit(),
        load("compiled_policy").ExploreThenCommit(),
    )
    for name in ("fixed-u0.1", "scenario-one"):
        instance = th.instance(name)
        one, other = (
            simulate(instance, policy, horizon=1000, times=np.arange(1, 1001))
            for policy in (plain, compiled)
        )
        assert np.diff(one.regret.sum(axis=1)) == pytest.approx(
            np.diff(other.regret.sum(axis=1)), abs=1e-9
        )


def test_the_plain_example_passes_the_checks():
    check_policy(load("plain_policy").ExploreThenCommit())
