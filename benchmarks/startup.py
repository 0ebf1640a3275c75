"""How long a person waits for the command line, and for the compiler once a machine."""

import os
import subprocess
import sys
import tempfile
import time
from statistics import median

TITLE = "Start-up"


def measure() -> str:
    """Median of whole processes; the first bound compiles into an empty cache folder."""
    lines = ["| command | seconds |", "|---|---|"]
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"THRIFTY_CACHE_DIR": cache}
        first = _seconds(["bound", "fixed-u0.1"], environment)
        lines.append(f"| `thrifty --help` | {median(_seconds(['--help'], environment) for _ in range(7)):.2f} |")
        lines.append(f"| `thrifty bound fixed-u0.1`, first on a machine | {first:.1f} |")
        lines.append(f"| `thrifty bound fixed-u0.1`, afterwards | {median(_seconds(['bound', 'fixed-u0.1'], environment) for _ in range(7)):.2f} |")
    return "\n".join(lines)


def _seconds(arguments: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "thrifty", *arguments], check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start
