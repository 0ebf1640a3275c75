"""Without the packages of an extra, the core works, and the rest says what to install."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def without(package, code):
    """Run code in a process that cannot import a package."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules[{package!r}] = None\n{code}"],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )


def _check(line, message, extra):
    """A line says what needs which package, and how the extra is installed from a checkout."""
    assert line.startswith(f"{message};")
    package = f"'.[{extra}]'" if extra else message.split()[-1]
    assert line.endswith(f"pip install {package}\n")
    assert line.count("\n") == 1


def command(*arguments):
    return f"sys.argv = {['thrifty', *arguments]!r}\nfrom thrifty.cli.app import main; main()"


SHORT = ("--policy", "greedy", "--horizon", "10", "--replications", "2")


@pytest.mark.parametrize(
    ("package", "arguments", "message", "extra"),
    [
        (
            "distributed",
            ("run", "fixed-u0.1", *SHORT, "--cluster", "tcp://127.0.0.1:1"),
            "--cluster needs Dask",
            "cluster",
        ),
        (
            "matplotlib",
            ("report", "nowhere"),
            "thrifty report needs matplotlib",
            "study",
        ),
        (
            "jinja2",
            ("reproduce", "--out", "nowhere"),
            "thrifty reproduce needs Jinja2",
            "study",
        ),
        (
            "pyarrow",
            ("arena", "--out", "nowhere"),
            "thrifty arena needs pyarrow",
            "study",
        ),
        (
            "fastapi",
            ("serve", "--store", "nowhere.db"),
            "thrifty serve needs fastapi",
            "service",
        ),
        (
            "uvicorn",
            ("audit", "--store", "nowhere.db"),
            "thrifty audit needs uvicorn",
            "service",
        ),
        (
            "alembic",
            ("tokens", "list", "--store", "nowhere.db"),
            "thrifty tokens needs alembic",
            "service",
        ),
        (
            "matplotlib",
            ("run", "fixed-u0.1", *SHORT, "--out", "nowhere"),
            "thrifty run --out needs matplotlib",
            "study",
        ),
    ],
)
def test_commands_name_the_package_before_any_work(
    package, arguments, message, extra, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    done = without(package, command(*arguments))
    assert (done.returncode, done.stdout) == (2, "")
    _check(done.stderr, f"thrifty: {message}", extra)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("package", "call", "message", "extra"),
    [
        (
            "pyarrow",
            "th.run('fixed-u0.1', 'greedy', horizon=10, replications=2, out='nowhere')",
            "run(out=...) needs pyarrow",
            "study",
        ),
        (
            "matplotlib",
            "th.run('fixed-u0.1', 'greedy', horizon=10, replications=2).plot()",
            "study.plot() needs matplotlib",
            "study",
        ),
        (
            "pandas",
            "th.Greedy().learner(dimension=2).to_frame()",
            "learner.to_frame() needs pandas",
            None,
        ),
        (
            "pandas",
            "th.lower_bound(th.instance('fixed-u0.1')).to_frame()",
            "bound.to_frame() needs pandas",
            None,
        ),
        (
            "httpx",
            "th.Client('http://127.0.0.1:1')",
            "thrifty.Client needs httpx",
            "service",
        ),
    ],
)
def test_functions_name_the_package(package, call, message, extra, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = f"""
import thrifty as th
from thrifty.errors import MissingPackage
try:
    {call}
except MissingPackage as error:
    print(error)
"""
    done = without(package, code)
    assert done.returncode == 0, done.stderr
    _check(done.stdout, message, extra)
    assert list(tmp_path.iterdir()) == []


def test_the_core_needs_no_extra():
    blocked = "".join(
        f"sys.modules[{name!r}] = None\n" for name in ("matplotlib", "pyarrow", "jinja2")
    )
    for arguments in (("bound", "fixed-u0.1"), ("run", "fixed-u0.1", *SHORT), ("policies",)):
        done = without("distributed", blocked + command(*arguments))
        assert done.returncode == 0, done.stderr
