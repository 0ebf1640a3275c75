"""thrifty-client, the client alone: what its wheel has is enough, and thrifty may be beside it."""

import json
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import setuptools
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients" / "python"
PROJECT = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MOST = 100_000  # bytes of all files

# what a fresh environment has not; NumPy among it
PLAY = """
import sys
for name in "thrifty numpy numba scipy pandas pyarrow rich click pygments".split():
    sys.modules[name] = None
import asyncio, json
from thrifty_client import AsyncClient, Client, InvalidInput, ServiceError, __version__
url, name = sys.argv[1:]
with Client(url) as client:
    shop = client.experiment(name)
    decision = shop.choose("phone")
    said = [shop.learn(decision, True), shop.learn(decision.id, 1.0)]
    arms = [arm.name for arm in shop.explain(decision).arms]
    opened = client.create(name + "-open", dimension=2)
    many = opened.choose_many([[[0.5, 1], [1, 0]], {"features": [(1, 0)], "names": ["red"]}])
    wrong = []
    for call in (
        lambda: opened.choose([[float("nan"), 1.0]]),
        lambda: opened.choose([["x", 1.0]]),
        lambda: shop.learn(decision, 0.0),
        lambda: shop.decisions(),
        lambda: shop.to_frame(),
    ):
        try:
            call()
        except Exception as error:
            wrong.append(f"{type(error).__module__}.{type(error).__name__}: {error}")

async def play():
    async with AsyncClient(url) as client:
        return (await client.experiment(name).choose("desk")).context

loaded = {name.partition(".")[0] for name, module in sys.modules.items() if module}
print(json.dumps([
    said, arms, len(many), wrong, asyncio.run(play()), __version__,
    sorted(loaded - sys.stdlib_module_names),
]))
"""

BOTH = """
import thrifty, thrifty_client
assert thrifty.Client is not thrifty_client.Client
assert thrifty.Client.__module__ == "thrifty.service.client.client"
assert thrifty_client.Client.__module__ == "thrifty_client.service.client.client"
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with what the wheel of thrifty-client has."""
    folder, setup = tmp_path_factory.mktemp("site"), setuptools.setup
    try:
        setuptools.setup = lambda **_: None
        made = runpy.run_path(str(PACKAGE / "setup.py"))
    finally:
        setuptools.setup = setup
    texts = {name: made["renamed"](text) for name, text in made["contents"]().items()}
    shutil.copytree(PACKAGE / "thrifty_client", folder / "thrifty_client")
    made["write"](folder / "thrifty_client", texts)
    about = folder / f"thrifty_client-{PROJECT['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Name: thrifty-client\nVersion: {PROJECT['version']}\n")
    return folder


def run(installed, *command):
    """What a program prints that finds the folder first."""
    done = subprocess.run(
        [sys.executable, "-c", *command],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PYTHONPATH": f"{installed}:{ROOT / 'src'}"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_it_decides_and_learns_without_numpy_and_without_thrifty(installed, server):
    server.make("alone")
    said, arms, many, wrong, context, number, loaded = json.loads(
        run(installed, PLAY, server.url, "alone")
    )
    assert (said, arms, many, context) == (["learned", "already"], ["a", "b", "c"], 2, "desk")
    assert number == PROJECT["version"]
    assert wrong == [
        "thrifty_client.errors.InvalidInput: features: a list of arms with finite numbers expected,"
        " got [[nan, 1.0]]",
        "thrifty_client.errors.InvalidInput: features: a list of arms, or the name of a context,"
        " expected, got [['x', 1.0]]",
        f"thrifty_client.errors.ServiceError: reward: decision {wrong[2].split()[3]} has the reward"
        " 1 already",
        "thrifty_client.errors.MissingPackage: experiment.decisions() needs pyarrow; run:"
        " pip install pyarrow",
        "thrifty_client.errors.MissingPackage: experiment.to_frame() needs pandas; run:"
        " pip install pandas",
    ]
    mine = {"thrifty_client", "httpx", "httpcore", "anyio", "certifi", "h11", "idna"}
    assert set(loaded) <= mine | {"sniffio", "typing_extensions", "__main__", "_distutils_hack"}


@pytest.mark.slow
def test_the_example_of_its_page_runs(installed, server):
    server.make("shop")
    [example] = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    example = example.replace("http://127.0.0.1:8080", server.url)
    assert run(installed, f"{example}print(shop.explain(decision).reward)") == "1.0\n"


def test_both_may_be_installed(installed):
    run(installed, BOTH)


def test_it_is_small_and_has_its_own_names_only(installed):
    files = list((installed / "thrifty_client").rglob("*.py"))
    assert sum(file.stat().st_size for file in files) < MOST
    assert not any("from thrifty." in file.read_text() for file in files)
    names = {file.name for file in (ROOT / "src/thrifty/service/client").glob("*.py")}
    assert {file.name for file in (installed / "thrifty_client/service/client").iterdir()} >= names


def test_the_version_and_what_it_needs_are_those_of_thrifty():
    assert PROJECT["version"] == WHOLE["version"] == version("thrifty")
    assert PROJECT["requires-python"] == WHOLE["requires-python"]
    service = WHOLE["optional-dependencies"]["service"]
    needed = {Requirement(text).name: text for text in service}
    assert all(needed[Requirement(text).name] == text for text in PROJECT["dependencies"])
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
