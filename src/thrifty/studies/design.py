"""Designs of studies: the validated arguments of `thrifty.run`."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import finite_number
from thrifty.policies import POLICIES
from thrifty.policies import policy as named_policy
from thrifty.policies.shared.plain import AnyPolicy, name_of
from thrifty.problem.catalog import Ensemble, Problem, instance_of
from thrifty.problem.catalog import problem as named_problem
from thrifty.problem.instances import Instance
from thrifty.problem.names import check_distinct, check_names
from thrifty.simulation.loop import truth_of
from thrifty.studies.study_files import STUDY, StudyFile, write_study
from thrifty.studies.tasks import Task

MOST_ROUNDS = 10**12  # of a replication
MOST_REPLICATIONS = 10**7
MOST_THREADS = 1024
MOST_PULLS = 10**9  # numbers of pulls that a study keeps: 8 GB


@dataclass(frozen=True, eq=False)
class Design:
    """Problems, policies, horizons and replications of a study, validated."""

    problems: tuple[Problem, ...]
    policies: tuple[AnyPolicy, ...]
    horizons: tuple[int, ...]
    replications: int
    seed: int
    rewards: str
    pulls: bool

    def tasks(self) -> list[Task]:
        """Every policy on every problem, for every horizon."""
        return [
            Task(*one, self.seed, self.rewards, self.pulls)
            for one in product(self.problems, self.policies, self.horizons)
        ]

    def write(self, folder: Path) -> None:
        """Write the design as a study file.

        Policies that are not part of thrifty have no spec: the study file of an earlier study is
        then renamed, since it does not describe this one.
        """
        if all(type(policy) in POLICIES.values() for policy in self.policies):
            horizon = self.horizons if len(self.horizons) > 1 else self.horizons[0]
            specs = tuple(name_of(policy) for policy in self.policies)
            file = StudyFile(
                instances=(),
                policies=specs,
                horizon=horizon,
                replications=self.replications,
                seed=self.seed,
                rewards=self.rewards,
                pulls=self.pulls or None,
            )
            write_study(folder, self.problems, file)
        elif (folder / STUDY).exists():
            (folder / STUDY).replace(folder / f"_{STUDY}.aside")


def design_study(
    instances: Any,
    policies: Any,
    *,
    horizon: Any,
    replications: float = 100,
    seed: int = 0,
    rewards: str = "gaussian",
    pulls: bool = False,
) -> Design:
    """Validate the arguments of `thrifty.run`, which documents them."""
    design = Design(
        problems=tuple(
            named_problem(item) if isinstance(item, str | os.PathLike) else item
            for item in _as_list(instances, "instances")
        ),
        policies=tuple(
            named_policy(item) if isinstance(item, str) else item
            for item in _as_list(policies, "policies")
        ),
        horizons=tuple(
            whole_number(n, "horizon", MOST_ROUNDS) for n in _as_list(horizon, "horizon")
        ),
        replications=whole_number(replications, "replications", MOST_REPLICATIONS),
        seed=whole_number(seed, "seed", 2**63, least=0),
        rewards=rewards,
        pulls=_flag(pulls, "pulls"),
    )
    for item in design.problems:
        if not isinstance(item, Instance | Ensemble):
            raise InvalidInput.expected("instances", "thrifty.Instance, or the name of one", item)
        truth_of(instance_of(item, design.seed, 0), rewards)
    check_names([item.name for item in design.problems], "instances")
    check_names([name_of(policy) for policy in design.policies], "policies")
    check_distinct([str(n) for n in design.horizons], "horizon", "each horizon once")
    if design.pulls:
        _check_pulls(design)
    return design


def whole_number(value: float, where: str, most: int, *, least: int = 1) -> int:
    """A whole number between least and most; a float such as 1e5 is accepted."""
    number = finite_number(value, where)
    if not least <= number <= most or number != int(number):
        raise InvalidInput.expected(where, f"a whole number from {least} to {most:g}", value)
    return int(value)


def _flag(value: bool, where: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput.expected(where, "true or false", value)
    return bool(value)


def _check_pulls(design: Design) -> None:
    """Raise InvalidInput if pulls differ in shape between replications, or fill the memory."""
    for item in design.problems:
        if isinstance(item, Ensemble) and item.sizes_vary:
            expected = "an ensemble whose instances have equally many arms"
            raise InvalidInput.expected("pulls", expected, item.name)
    numbers = design.replications * sum(len(task.times) * task.kept_rows for task in design.tasks())
    if numbers > MOST_PULLS:
        expected = f"at most {MOST_PULLS:g} numbers (replications x checkpoints x arms)"
        raise InvalidInput.expected("pulls", expected, numbers)


def _as_list(items: Any, where: str) -> list[Any]:
    """One item or several as a list that is not empty."""
    listed = list(items) if isinstance(items, Iterable) and not isinstance(items, str) else [items]
    if not listed:
        raise InvalidInput.expected(where, "at least one", listed)
    return listed
