"""Study files: the arguments of `thrifty run` as TOML.

instances = ["fixed-u0.1", "mine.toml"]    # names or files, relative to the study file
policies = ["oam", "linucb:width=fn"]
horizon = 1e5                              # or several: [1e3, 1e4, 1e5]
replications = 100
seed = 0
rewards = "gaussian"
pulls = false                              # or true, to keep the pulls of each arm
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from thrifty.errors import NOTHING, BadFile, InvalidInput, ThriftyError, UnknownName
from thrifty.files import make_folder, read_toml, slug, toml_literal, write_whole
from thrifty.problem.catalog import ALIASES, FAMILIES, Problem, instance
from thrifty.problem.instances import Instance

STUDY = "study.toml"
_KEYS = ("instances", "policies", "horizon", "replications", "seed", "rewards", "pulls")


@dataclass(frozen=True)
class StudyFile:
    """The content of a study file; None for keys that it does not have."""

    instances: tuple[str, ...]
    policies: tuple[str, ...]
    horizon: float | tuple[float, ...] | None = None
    replications: float | None = None
    seed: int | None = None
    rewards: str | None = None
    pulls: bool | None = None


def read_study(path: Path) -> StudyFile:
    """Read a study file; errors name the line."""
    document, text = read_toml(path)
    for key in document:
        if key not in _KEYS:
            raise BadFile(f"{path}, line {_line(text, key)}: {UnknownName('key', key, _KEYS)}")
    for key in ("instances", "policies"):
        if key not in document:
            raise BadFile(f"{path}: {InvalidInput.expected(key, 'this key', NOTHING)}")
    try:
        return StudyFile(
            instances=tuple(
                _relative_to(path.parent, name) for name in _strings(document, "instances")
            ),
            policies=_strings(document, "policies"),
            horizon=_horizon(document.get("horizon")),
            replications=document.get("replications"),
            seed=document.get("seed"),
            rewards=document.get("rewards"),
            pulls=document.get("pulls"),
        )
    except InvalidInput as error:
        raise BadFile(f"{path}, line {_line(text, error.where)}: {error}") from None


def write_study(folder: Path, problems: Sequence[Problem], study: StudyFile) -> None:
    """Write study.toml into a folder; instances that are not in the catalog go into instances/."""
    names = []
    for i, item in enumerate(problems):
        names.append(item.name)
        if isinstance(item, Instance) and not _in_catalog(item):
            names[i] = f"instances/{i}-{slug(item.name)}.toml"
            make_folder(folder / "instances")
            write_whole(folder / names[i], item.to_toml())
    values = asdict(study) | {"instances": names}
    lines = [
        f"{key} = {toml_literal(list(value) if isinstance(value, tuple) else value)}\n"
        for key, value in values.items()
        if value is not None
    ]
    write_whole(folder / STUDY, "".join(lines))


def _in_catalog(item: Instance) -> bool:
    """Whether the catalog gives the same instance under its name."""
    try:
        return item.name.partition(":")[0] in {*FAMILIES, *ALIASES} and instance(item.name) == item
    except ThriftyError:
        return False


def _strings(document: dict[str, Any], key: str) -> tuple[str, ...]:
    values = [document[key]] if isinstance(document[key], str) else document[key]
    if (
        not isinstance(values, list)
        or not values
        or not all(isinstance(value, str) for value in values)
    ):
        raise InvalidInput.expected(key, "a list of names", document[key])
    return tuple(values)


def _horizon(value: Any) -> float | tuple[float, ...] | None:
    return tuple(value) if isinstance(value, list) else value


def _relative_to(folder: Path, name: str) -> str:
    """An instance named in a study file; files are relative to the folder of that file."""
    return str(folder / name) if name.endswith(".toml") else name


def _line(text: str, key: str) -> int:
    """The line number of a key, from 1."""
    pattern = re.compile(
        rf"""\s*["']?{re.escape(key)}["']?\s*[=.]|\s*\[+\s*["']?{re.escape(key)}"""
    )
    return next(
        (number for number, line in enumerate(text.splitlines(), start=1) if pattern.match(line)), 1
    )
