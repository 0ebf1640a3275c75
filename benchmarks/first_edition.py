"""The first edition of thrifty, which had a plan, with and without it. It is taken from the
repository's history and run in a process of its own.
"""

import io
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import thrifty as th
from thrifty.report.wording import plain, power, with_error

TITLE = "The plan of thrifty's first edition"
COMMIT = "37f2d15"  # the last one with it
WITH, WITHOUT = "thrifty", "thrifty:pace=1e9"  # a plan that is spread over 1e9 visits is none
# by instance: rounds, replications
INSTANCES = {
    "end-of-optimism:eps=0.05,a=2": (10**8, 50),
    "orthogonal": (10**8, 50),
    "scenario-two": (10**7, 200),  # a context in a hundred rounds
    "large-100": (10**6, 200),  # arms
}
ROOT = Path(__file__).parent.parent
_CODE = """
import json, sys
import thrifty as th
instances, specs, horizon, replications, seed = json.loads(sys.argv[1])
study = th.run(instances, specs, horizon=horizon, replications=replications, seed=seed)
found = [
    {
        "instance": result.instance.name,
        "policy": result.policy,
        "times": [int(time) for time in result.times],
        "curves": result.curves.tolist(),
        "final": result.final.tolist(),
    }
    for result in study.results
]
json.dump(found, sys.stdout)
"""


def play(
    instances: Sequence[str], specs: Sequence[str], *, horizon: int, replications: int, seed: int
) -> list[dict[str, Any]]:
    """Regret of policies as they were at COMMIT: instance, policy, times, curves, final regret."""
    archive = subprocess.run(
        ["git", "archive", COMMIT, "src"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    asked = json.dumps([list(instances), list(specs), horizon, replications, seed])
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as sources:
            sources.extractall(folder, filter="data")
        done = subprocess.run(
            [sys.executable, "-c", _CODE, asked],
            cwd=folder,
            check=True,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(Path(folder) / "src")},
        )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def measure() -> str:
    """Mean, difference and slope of both, on the same contexts and noise."""
    lines = [
        "| instance | n | runs | with a plan | without | difference | worst run, with | without | "
        "slope / C, with | without |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(_line(name, *scale) for name, scale in INSTANCES.items()),
        "",
        "The difference is that without a plan minus that with it, of the same contexts and noise. "
        "Slopes are from n / 100 to n.",
    ]
    return "\n".join(lines)


def _line(name: str, horizon: int, replications: int) -> str:
    runs = play([name], [WITH, WITHOUT], horizon=horizon, replications=replications, seed=1)
    planned, free = (np.array(run["final"]) for run in runs)
    worst = " | ".join(plain(float(final.max()), 3) for final in (planned, free))
    slopes = " | ".join(_slope(run, th.lower_bound(th.instance(name)).constant) for run in runs)
    return (
        f"| {name} | {power(horizon)} | {replications} | {_mean(planned)} | {_mean(free)} | "
        f"{_mean(free - planned)} | {worst} | {slopes} |"
    )


def _slope(run: dict[str, Any], constant: float) -> str:
    """Of the regret in log n, relative to C; nothing where C is 0."""
    if constant == 0:
        return ""
    last = run["times"][-1]
    early = np.array(run["curves"])[:, run["times"].index(last // 100)]
    return _mean((np.array(run["final"]) - early) / math.log(100) / constant)


def _mean(values: np.ndarray) -> str:
    return with_error(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)))
