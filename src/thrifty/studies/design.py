"""Designs: the arguments of a study, checked, as a study file, and as tasks.

A study file is TOML; keys that it lacks have their defaults:

instances = ["fixed-u0.1", "mine.toml"]    # names or files, relative to the study file
policies = ["oam", "linucb:width=fn"]
horizon = 1e5                              # or several: [1e3, 1e4, 1e5]
replications = 100
seed = 0
rewards = "gaussian"
pulls = false                              # or true, to keep the pulls of each arm
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from thrifty.errors import BadFile, InvalidInput, ThriftyError, UnknownName
from thrifty.files import make_folder, read_toml, slug, toml_literal, write_whole
from thrifty.policies import POLICIES
from thrifty.policies import policy as named_policy
from thrifty.policies.shared.plain import AnyPolicy, name_of
from thrifty.problem.catalog import ALIASES, FAMILIES, Ensemble, Problem, instance, instance_of
from thrifty.problem.catalog import problem as named_problem
from thrifty.problem.instances import Instance
from thrifty.problem.names import check_distinct, check_names
from thrifty.problem.specs import whole_number
from thrifty.simulation.loop import truth_of
from thrifty.studies.tasks import Task

STUDY = "study.toml"
MOST_ROUNDS = 10**12  # of a replication
MOST_REPLICATIONS = 10**7
MOST_THREADS = 1024
MOST_PULLS = 10**9  # numbers of pulls that a study keeps: 8 GB


@dataclass(frozen=True, eq=False)
class StudyDesign:
    """The arguments of a study, as `thrifty.run` documents them.

    `StudyDesign.of` takes names and single items, too, and checks everything.
    """

    instances: tuple[Problem, ...]
    policies: tuple[AnyPolicy, ...]
    horizon: tuple[int, ...]
    replications: int = 100
    seed: int = 0
    rewards: str = "gaussian"
    pulls: bool = False

    @classmethod
    def of(cls, instances: Any, policies: Any, **settings: Any) -> "StudyDesign":
        """A design of arguments as a user gives them: names of instances, specs, floats."""
        return cls(instances, policies, **settings)

    def __post_init__(self) -> None:
        if not isinstance(self.pulls, bool | np.bool_):
            raise InvalidInput.expected("pulls", "true or false", self.pulls)
        horizons = _as_list(self.horizon, "horizon")
        for name, checked in {
            "instances": tuple(map(_problem, _as_list(self.instances, "instances"))),
            "policies": tuple(
                named_policy(item) if isinstance(item, str) else item
                for item in _as_list(self.policies, "policies")
            ),
            "horizon": tuple(whole_number(n, "horizon", MOST_ROUNDS) for n in horizons),
            "replications": whole_number(self.replications, "replications", MOST_REPLICATIONS),
            "seed": whole_number(self.seed, "seed", 2**63, least=0),
            "pulls": bool(self.pulls),
        }.items():
            object.__setattr__(self, name, checked)
        for problem in self.instances:
            truth_of(instance_of(problem, self.seed, 0), self.rewards)
        taken = "is already in the list"
        check_names([problem.name for problem in self.instances], "instances", taken)
        check_names([name_of(policy) for policy in self.policies], "policies", taken)
        check_distinct(self.horizon, "horizon", taken)
        if self.pulls:
            self._check_pulls()

    def _check_pulls(self) -> None:
        """Raise InvalidInput if pulls differ in shape between replications, or fill the memory."""
        for problem in self.instances:
            if isinstance(problem, Ensemble) and problem.sizes_vary:
                why = f"instances of {problem.name} differ in their arms"
                raise InvalidInput("pulls", f"cannot be kept: {why}")
        points = sum(len(task.times) * task.kept_rows for task in self.tasks())
        if (numbers := self.replications * points) > MOST_PULLS:
            why = f"{numbers:,} numbers (replications x checkpoints x arms)"
            raise InvalidInput("pulls", f"cannot be kept: {why}, at most {MOST_PULLS:,}")

    def tasks(self) -> list[Task]:
        """Every policy on every instance, for every horizon."""
        return [
            Task(*combination, self.seed, self.rewards, self.pulls)
            for combination in product(self.instances, self.policies, self.horizon)
        ]

    def write(self, folder: Path) -> None:
        """Write the study file; instances that are not in the catalog go into instances/.

        Policies that are not part of thrifty have no spec: the study file of an earlier study is
        then renamed, since it does not describe this one.
        """
        if any(type(policy) not in POLICIES.values() for policy in self.policies):
            if (folder / STUDY).exists():
                (folder / STUDY).replace(folder / f"_{STUDY}.aside")
            return
        names = []
        for i, problem in enumerate(self.instances):
            names.append(problem.name)
            if isinstance(problem, Instance) and not _in_catalog(problem):
                names[i] = f"instances/{i}-{slug(problem.name)}.toml"
                make_folder(folder / "instances")
                write_whole(folder / names[i], problem.to_toml())
        values = {field.name: getattr(self, field.name) for field in fields(self)} | {
            "instances": names,
            "policies": [name_of(policy) for policy in self.policies],
            "horizon": list(self.horizon) if len(self.horizon) > 1 else self.horizon[0],
        }
        if not self.pulls:
            del values["pulls"]  # versions before there was the key read the file
        lines = [f"{key} = {toml_literal(value)}\n" for key, value in values.items()]
        write_whole(folder / STUDY, "".join(lines))


def read_study(path: Path) -> dict[str, Any]:
    """The arguments in a study file; errors name the line."""
    document, text = read_toml(path)
    known = [field.name for field in fields(StudyDesign)]
    for key in document:
        if key not in known:
            raise BadFile(f"{path}, line {_line(text, key)}: {UnknownName('key', key, known)}")
    for key in ("instances", "policies"):
        if key not in document:
            raise BadFile(f"{path}: the key {key!r} is missing")
        names = [document[key]] if isinstance(document[key], str) else document[key]
        if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
            error = InvalidInput.expected(key, "a list of names", document[key])
            raise BadFile(f"{path}, line {_line(text, key)}: {error}")
        document[key] = names
    beside = path.parent
    document["instances"] = [
        str(beside / n) if n.endswith(".toml") else n for n in document["instances"]
    ]
    return document


def _problem(item: Any) -> Problem:
    problem = named_problem(item) if isinstance(item, str | os.PathLike) else item
    if not isinstance(problem, Instance | Ensemble):
        raise InvalidInput.expected("instances", "thrifty.Instance, or the name of one", item)
    return problem


def _as_list(items: Any, where: str) -> list[Any]:
    """One item or several as a list that is not empty."""
    listed = list(items) if isinstance(items, Iterable) and not isinstance(items, str) else [items]
    if not listed:
        raise InvalidInput.expected(where, "at least one", listed)
    return listed


def _in_catalog(problem: Instance) -> bool:
    """Whether the catalog gives the same instance under its name."""
    try:
        known = problem.name.partition(":")[0] in {*FAMILIES, *ALIASES}
        return known and instance(problem.name) == problem
    except ThriftyError:
        return False


def _line(text: str, key: str) -> int:
    """The line number of a key, from 1."""
    name = rf"""["']?{re.escape(key)}"""
    pattern = re.compile(rf"""\s*{name}["']?\s*[=.]|\s*\[+\s*{name}""")
    lines = enumerate(text.splitlines(), start=1)
    return next((number for number, line in lines if pattern.match(line)), 1)
