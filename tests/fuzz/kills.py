"""Attack: kill -9 during a study, again and again; the results are those of a quiet run."""

import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from thrifty.studies.store import read_results

STUDY = ("fixed-u0.1", "scenario-one", "--policy", "linucb", "--policy", "lints", "--threads", "2")
STUDY += ("--horizon", "300000", "--replications", "40", "--seed", "5")


@cache
def expected():
    """The results of a run that nobody disturbs."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command(folder), check=True, capture_output=True)
        return regrets(folder)


def attack(rng):
    """Kill until the study is done, then compare every bit."""
    with tempfile.TemporaryDirectory() as folder:
        done, kills = False, 0
        while not done:
            study = subprocess.Popen(
                command(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            with suppress(subprocess.TimeoutExpired):
                done = study.wait(rng.uniform(0.6, 2.5) if kills < 6 else 60) == 0
            kills += 1
            study.kill()
            study.wait()
        assert regrets(folder) == expected()


def command(folder):
    return [sys.executable, "-m", "thrifty", "run", *STUDY, "--out", str(folder)]


def regrets(folder):
    """The regret of each result, as bytes."""
    return [result.regret.tobytes() for result in read_results(Path(folder))]
