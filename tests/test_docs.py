"""Documentation is executed: examples run, commands print what is shown, everything public is
mentioned.
"""

import doctest
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import thrifty as th
from thrifty.cli import app as cli
from thrifty.policies import POLICIES, describe
from thrifty.problem import catalog
from thrifty.studies.design import read_study

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# client and service: run with a server, in tests/service
NO_EXAMPLES = ("arena", "client", "cluster", "deploy", "reproduction", "service", "tuning")
NO_EXAMPLES += ("consistency",)  # proofs
MODULES = ["thrifty.allocation.allocations", "thrifty.allocation.bound"]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.stem not in NO_EXAMPLES],
    ids=lambda page: page.name,
)
def test_examples_print_what_they_show(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = __import__(name, fromlist=["_"])
    results = doctest.testmod(module, extraglobs={"allocate": th.allocate})
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.slow
def test_commands_in_the_readme_print_what_it_shows():
    consoles = re.findall(
        r"```console\n\$ thrifty (.*?)\n(.*?)```", PAGES[0].read_text(), flags=re.DOTALL
    )
    assert consoles
    for arguments, shown in consoles:
        done = subprocess.run(
            [sys.executable, "-m", "thrifty", *arguments.split()],
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert [line.rstrip() for line in done.stdout.splitlines()] == shown.splitlines()


def test_the_instance_file_in_the_readme_is_valid(tmp_path):
    [text] = re.findall(r"```toml\n(.*?)```", PAGES[0].read_text(), flags=re.DOTALL)
    tomllib.loads(text)
    path = tmp_path / "readme.toml"
    path.write_text(text)
    assert th.lower_bound(th.instance(path)).status == "solved"


def test_the_study_file_in_the_docs_is_the_study_above(tmp_path):
    [text] = re.findall(
        r"```toml\n(.*?)```", (ROOT / "docs" / "studies.md").read_text(), flags=re.DOTALL
    )
    path = tmp_path / "study.toml"
    path.write_text(text)
    assert read_study(path) == {
        "instances": ["fixed-u0.1", "bounded"],
        "policies": ["oam", "lints"],
        "horizon": [1e3, 1e4],
        "replications": 20,
        "seed": 0,
        "rewards": "gaussian",
        "pulls": False,
    }


def test_commands_in_the_docs_have_options_that_exist():
    commands = {name: command.callback for name, command in all_commands().items()}
    found = [
        line
        for page in PAGES
        for line in re.findall(r"^    thrifty (.*)$", page.read_text(), flags=re.MULTILINE)
    ]
    assert len(found) >= 5
    for line in found:
        name = next(name for name in commands if f"{line} ".startswith(f"{name} "))
        known = str(inspect.signature(commands[name], eval_str=True))
        for option in re.findall(r"--[a-z-]+", line):
            parameter = option.removeprefix("--").replace("-", "_")
            assert option in known or parameter in inspect.signature(commands[name]).parameters, (
                line
            )


def test_every_command_is_in_the_readme():
    readme = PAGES[0].read_text()
    for name in all_commands():
        assert f"`thrifty {name}" in readme


def all_commands():
    """The commands by name; of a group with its name before, as in "tokens make"."""
    found = {name_of(command): command for command in cli.app.registered_commands}
    for group in cli.app.registered_groups:
        own = group.typer_instance.registered_commands
        found |= {f"{group.name} {name_of(command)}": command for command in own}
    return found


def name_of(command):
    return command.name or command.callback.__name__


def test_every_public_name_exists_and_can_be_listed():
    assert all(hasattr(th, name) for name in th.__all__)
    assert set(th.__all__) <= set(dir(th))
    source = Path(th.__file__).read_text()
    typed = re.findall(r"^    from (thrifty\S*) import (\w+) as (\w+)$", source, re.M)
    assert {(name, home) for home, name, _ in typed} == set(th._HOMES.items())
    assert all(name == exported for _, name, exported in typed)
    with pytest.raises(AttributeError, match=r"no attribute 'xyzzy'$"):
        th.xyzzy  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'LinTs'; did you mean LinTS\?"):
        th.LinTs  # noqa: B018


def test_the_function_is_not_shadowed_by_a_module():
    """`thrifty.instance` is a function whatever has been imported; a module of that name would take
    its place.
    """
    assert th.instance is catalog.instance


def test_every_policy_and_parameter_is_documented():
    page = (ROOT / "docs" / "policies.md").read_text()
    for entry in describe():
        name = entry["name"]
        assert f"| `{name}` | `th.{POLICIES[name].__name__}` |" in page
        section = page.partition(f"\n### `{name}`\n")[2].partition("\n#")[0]
        for label in entry["labels"]:
            assert f"`{label}`" in section, f"{name}: label {label}"
        assert f"generated: parameters {name} -->" in section


def _has_name(owner, name):
    """Whether a module or class has a name; of a class also as a field or attribute of objects."""
    if hasattr(owner, name) or not inspect.isclass(owner):
        return hasattr(owner, name)
    if any(name in inspect.get_annotations(kind) for kind in owner.__mro__):
        return True
    return re.search(rf"\bself\.{name}\b", inspect.getsource(owner)) is not None


def test_every_name_in_the_glossary_exists():
    rows = re.findall(
        r"^\| (.+) \| .+ \| (.+) \| `(thrifty[\w.]*)` \|$",
        (ROOT / "docs" / "glossary.md").read_text(),
        flags=re.MULTILINE,
    )
    assert len(rows) > 100
    for term, names, module in rows:
        for name in re.findall(r"`([\w.]+)`", names):
            *path, last = name.split(".")
            owner = importlib.import_module(module)
            for part in path:
                owner = getattr(owner, part)
            assert _has_name(owner, last), f"{term}: {module} has no {name}"
        importlib.import_module(module)
