"""The command line as a subprocess, for tests of its output."""

import os
import subprocess
import sys

THRIFTY = [sys.executable, "-m", "thrifty"]


def thrifty(*arguments, folder=None, environment=None):
    """Run `thrifty`; its stderr is without the line about compilation, which a cold cache adds."""
    done = subprocess.run(
        [*THRIFTY, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env=os.environ | (environment or {}),
    )
    done.stderr = without_compiling(done.stderr)
    return done


def without_compiling(stderr):
    """The lines of stderr, except the one that says that the compiler is at work."""
    lines = stderr.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("thrifty: compiling"))
