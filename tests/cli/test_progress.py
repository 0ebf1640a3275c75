"""Progress bars: on a pseudo-terminal, and nowhere else."""

import os
import pty
import subprocess
from threading import Thread

import pytest

from tests.command_line import THRIFTY, thrifty

pytestmark = pytest.mark.slow


def on_terminal(*arguments, folder):
    """The exit code of `thrifty`, its stdout, and what it shows on a terminal as stderr."""
    ours, theirs = pty.openpty()
    shown = []
    reader = Thread(target=_read, args=(ours, shown))
    reader.start()
    done = subprocess.run(
        [*THRIFTY, *arguments],
        check=False,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=folder,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "160"},
        text=True,
        timeout=300,
    )
    os.close(theirs)
    reader.join()
    os.close(ours)
    return done.returncode, done.stdout, b"".join(shown).decode()


def _read(descriptor, shown):
    try:
        while part := os.read(descriptor, 4096):
            shown.append(part)
    except OSError:  # the other end is closed
        pass


STUDY = ("run", "fixed-u0.1", "--policy", "lints", "greedy", "--horizon", "1e6", "--out", "study")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("terminal")


def test_a_study_shows_what_it_compiles_and_how_long_it_will_take(folder):
    code, _, shown = on_terminal(*STUDY, folder=folder)
    assert code == 0
    for text in (
        "reading results",
        "computing lower bounds",
        "compiling 1 of 2: lints",
        "compiling 2 of 2: greedy",
        "playing",
        "M rounds/s",
        "left:",
        "drawing",
    ):
        assert text in shown


def test_a_page_shows_that_it_is_drawn(folder):
    code, out, shown = on_terminal("report", "study", folder=folder)
    assert (code, out) == (0, "study/index.html\n")
    assert "drawing" in shown


def test_a_bound_shows_that_it_is_solved(folder):
    code, _, shown = on_terminal("bound", "--all", folder=folder)
    assert code == 0
    assert "solving" in shown


def test_nothing_is_shown_where_stderr_is_no_terminal(folder):
    assert thrifty(*STUDY, folder=folder).stderr == ""
