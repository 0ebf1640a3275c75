"""Processor seconds of the first use on a machine, beside those of an earlier commit in one run."""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

TITLE = "Cold start"
BASELINE = "3c290c0"  # the last commit of version 0.1
ROOT = Path(__file__).parent.parent
RUNS = 2

LEARNER = (
    "import thrifty as th; learner = th.Thrifty().learner(th.ActionSets([[[1, 0], [0, 1]]])); "
    "learner.learn(learner.choose(0), 1.0)"
)
USES = {
    "`thrifty bound fixed-u0.1`": ["-m", "thrifty", "bound", "fixed-u0.1"],
    "`thrifty run fixed-u0.1 --policy linucb`": [
        *("-m", "thrifty", "run", "fixed-u0.1", "--policy", "linucb"),
    ],
    "first decision of `th.Thrifty().learner(...)`": ["-c", LEARNER],
}


def measure() -> str:
    """The least of some runs, each with an empty cache, old and new in turn."""
    head = f"| first use | {BASELINE}, s | now, s | ratio | afterwards, s |"
    lines = [head, "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder) / "baseline"
        _git("worktree", "add", "--quiet", "--detach", str(old), BASELINE)
        try:
            for use, arguments in USES.items():
                pairs = [
                    [_seconds(arguments, tree / "src", folder) for tree in (old, ROOT)]
                    for _ in range(RUNS)
                ]
                before, now = (min(pair[i][0] for pair in pairs) for i in range(2))
                again = min(pair[1][1] for pair in pairs)
                lines.append(
                    f"| {use} | {before:.1f} | {now:.1f} | **{now / before:.2f}** | {again:.2f} |"
                )
        finally:
            _git("worktree", "remove", "--force", str(old))
    note = "Processor seconds with an empty cache, and of a second process that finds it filled."
    return "\n".join([*lines, "", note])


def _seconds(arguments: list[str], path: Path, folder: str) -> tuple[float, float]:
    """Processor seconds of two processes in a row, the first with an empty cache."""
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        environment = os.environ | {"THRIFTY_CACHE_DIR": cache, "PYTHONPATH": str(path)}
        return _processor(arguments, environment), _processor(arguments, environment)


def _processor(arguments: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True)
