"""The import contract that keeps policies apart names every policy."""

import tomllib
from pathlib import Path

from thrifty.policies import POLICIES

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_import_contract_names_every_policy():
    """The key of a result has only the file of its own policy: none may use another's."""
    contracts = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"]
    (modules,) = (one["modules"] for one in contracts if one["type"] == "independence")
    assert sorted(modules) == sorted(kind.__module__ for kind in POLICIES.values())
