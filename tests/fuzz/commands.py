"""Attack: the command line with mutated files and arguments; never a traceback."""

import contextlib
import io
import logging
import sys
import tempfile
from pathlib import Path

import thrifty as th
from thrifty.cli.app import main

FILE = """name = "two segments"
theta = [1.0, 0.0]
noise = 1.0
[[contexts]]
name = "mobile"
probability = 0.3
arms = [[1, 0], [0, 1], [0.9, 0.5]]
arm_names = ["a", "b", "c"]
[[contexts]]
probability = 0.7
arms = [[1, 0], [0.8, 0.3]]
"""
TOKENS = ("", "0", "-1", "1e400", "nan", "inf", "-0.0", "1e160", "1e-200", '"', "[", "]", "=", "\n")
TOKENS += (
    "[[contexts]]",
    "true",
    "1979-05-27",
    "9" * 5000,
    "\x1b[31m",
    "\ud800",
    "\x00",
    "''",
    "{}",
)
SPECS = ("linucb", "oam:c=1", "lints", "thrifty", "greedy", "linucb:width=fn", "nobody", "oam:c=")
COMMANDS = ("bound", "run", "instances", "policies", "report")


def mutated(text, rng):
    """Text with a few pieces cut out, replaced or repeated."""
    for _ in range(int(rng.integers(0, 4))):
        start = int(rng.integers(len(text) + 1))
        stop = min(len(text), start + int(rng.integers(0, 12)))
        token = TOKENS[int(rng.integers(len(TOKENS)))]
        piece = text[start:stop] * 2 if rng.random() < 0.2 else token
        text = text[:start] + piece + text[stop:]
    return text


def arguments(rng, folder):
    """A command with mutated arguments, on a mutated file."""
    path = folder / "instance.toml"
    path.write_bytes(mutated(FILE, rng).encode(errors="surrogatepass"))
    command = COMMANDS[int(rng.integers(len(COMMANDS)))]
    target = str(path) if rng.random() < 0.7 else mutated("fixed-u0.1", rng)
    if command == "run":
        policy = mutated(SPECS[int(rng.integers(len(SPECS)))], rng)
        # two characters, so that a run is short
        horizon, replications = (mutated(number, rng)[:2] for number in ("50", "2"))
        return [
            *("run", target, "--policy", policy, "--horizon", horizon, "--threads", "1"),
            *("--replications", replications, "--seed", mutated("3", rng)[:6]),
        ]
    if command == "report":
        return ["report", mutated(str(folder), rng)]
    return [command, *([] if command == "policies" else [target]), *["--json"][: rng.integers(2)]]


def attack(rng):
    """The exit code is 0, 1 (a failed solve) or 2; a mistake is one line on standard error."""
    with tempfile.TemporaryDirectory() as folder:
        words = arguments(rng, Path(folder))
        code, errors = call(words)
        assert code in (0, 1, 2), (words, code, errors)
        lines = [line for line in errors.splitlines() if "compiling for this machine" not in line]
        assert code != 2 or len(lines) == 1, (words, errors)
        assert "Traceback" not in errors, (words, errors)


def call(words):
    """The exit code and what was written to standard error."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["thrifty", *words]
    handlers = list(logging.getLogger("thrifty").handlers)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        return end.code or 0, err.getvalue()
    finally:
        sys.argv, logging.getLogger("thrifty").handlers = before, handlers
    raise AssertionError("main returned")


assert th.__version__  # imported before standard output is redirected
