"""Each attack in a process of its own, which may crash: a minute here, long by `make fuzz`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = os.environ.get("THRIFTY_FUZZ_SECONDS", "5")
SEED = os.environ.get("THRIFTY_FUZZ_SEED", "1")
ROOT = Path(__file__).parents[2]
KINDS = ["certificates", "commands", "kills", "learners", "loaded_learners", "open_learners"]
KINDS += ["signals", "slow_clients", "states"]


pytestmark = pytest.mark.fuzz


@pytest.mark.parametrize("kind", KINDS)
def test_attack(kind):
    # machine code with bounds checks is kept in a folder of its own, so that it compiles once
    environment = os.environ | ({"NUMBA_BOUNDSCHECK": "1"} if "learners" in kind else {})
    command = [sys.executable, "-m", "tests.fuzz", kind, SECONDS, SEED]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.endswith(" attacks\n")
