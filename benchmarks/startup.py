"""How long a person waits for the command line, and for the compiler once a machine."""

import os
import subprocess
import sys
import tempfile
import time
from statistics import median

TITLE = "Start-up"


COMMANDS = [
    "bound fixed-u0.1",
    "run fixed-u0.1 --policy linucb --horizon 1e4 --replications 10",
    "run fixed-u0.1 --policy oam --horizon 1e4 --replications 10",
]


def measure() -> str:
    """Median of whole processes; the first of each kind compiles, one after the other, into a cache
    folder that was empty.
    """
    lines = ["| command | first on a machine, s | afterwards, s |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"THRIFTY_CACHE_DIR": cache}
        lines.append(
            "| `thrifty --help` | | "
            f"{median(_seconds('--help', environment) for _ in range(7)):.2f} |"
        )
        for command in COMMANDS:
            first = _seconds(command, environment)
            lines.append(
                f"| `thrifty {command}` | {first:.1f} | "
                f"{median(_seconds(command, environment) for _ in range(7)):.2f} |"
            )
    return "\n".join(lines)


def _seconds(command: str, environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "thrifty", *command.split()],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - start
