"""thrifty: linear contextual bandits, with exploration that costs no more than it must."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thrifty.allocation import Allocation, Status, allocate
    from thrifty.allocation.bound import Bound, lower_bound
    from thrifty.errors import (
        BadFile,
        InvalidInput,
        ServiceError,
        SetAside,
        ThriftyError,
        UnknownName,
        Unreachable,
    )
    from thrifty.learners.decisions import Decision, Explanation
    from thrifty.learners.learner import Learner
    from thrifty.learners.start import learner
    from thrifty.policies import (
        DEL,
        IDS,
        OAM,
        OSSB,
        SOLID,
        VIDS,
        EGreedy,
        EndOA,
        Greedy,
        LinMED,
        LinTS,
        LinUCB,
        Policy,
        SquareCB,
        Thrifty,
        policy,
    )
    from thrifty.problem.action_sets import ActionSets
    from thrifty.problem.catalog import instance
    from thrifty.problem.instances import Instance
    from thrifty.service.client.client import AsyncClient, Client
    from thrifty.studies.results import Result
    from thrifty.studies.study import Study, run

# Imported on first use: `thrifty --help` should wait neither for NumPy nor for the compiler.
_HOMES = {
    "ActionSets": "thrifty.problem.action_sets",
    "Allocation": "thrifty.allocation",
    "AsyncClient": "thrifty.service.client.client",
    "BadFile": "thrifty.errors",
    "Bound": "thrifty.allocation.bound",
    "Client": "thrifty.service.client.client",
    "DEL": "thrifty.policies",
    "Decision": "thrifty.learners.decisions",
    "EGreedy": "thrifty.policies",
    "EndOA": "thrifty.policies",
    "Explanation": "thrifty.learners.decisions",
    "Greedy": "thrifty.policies",
    "IDS": "thrifty.policies",
    "Instance": "thrifty.problem.instances",
    "InvalidInput": "thrifty.errors",
    "Learner": "thrifty.learners.learner",
    "LinMED": "thrifty.policies",
    "LinTS": "thrifty.policies",
    "LinUCB": "thrifty.policies",
    "OAM": "thrifty.policies",
    "OSSB": "thrifty.policies",
    "Policy": "thrifty.policies",
    "Result": "thrifty.studies.results",
    "SOLID": "thrifty.policies",
    "ServiceError": "thrifty.errors",
    "SetAside": "thrifty.errors",
    "SquareCB": "thrifty.policies",
    "Status": "thrifty.allocation",
    "Study": "thrifty.studies.study",
    "Thrifty": "thrifty.policies",
    "ThriftyError": "thrifty.errors",
    "UnknownName": "thrifty.errors",
    "Unreachable": "thrifty.errors",
    "VIDS": "thrifty.policies",
    "allocate": "thrifty.allocation",
    "instance": "thrifty.problem.catalog",
    "learner": "thrifty.learners.start",
    "lower_bound": "thrifty.allocation.bound",
    "policy": "thrifty.policies",
    "run": "thrifty.studies.study",
}

__version__ = version("thrifty")

__all__ = [
    "DEL",
    "IDS",
    "OAM",
    "OSSB",
    "SOLID",
    "VIDS",
    "ActionSets",
    "Allocation",
    "AsyncClient",
    "BadFile",
    "Bound",
    "Client",
    "Decision",
    "EGreedy",
    "EndOA",
    "Explanation",
    "Greedy",
    "Instance",
    "InvalidInput",
    "Learner",
    "LinMED",
    "LinTS",
    "LinUCB",
    "Policy",
    "Result",
    "ServiceError",
    "SetAside",
    "SquareCB",
    "Status",
    "Study",
    "Thrifty",
    "ThriftyError",
    "UnknownName",
    "Unreachable",
    "allocate",
    "instance",
    "learner",
    "lower_bound",
    "policy",
    "run",
]


def __getattr__(name: str) -> Any:
    if name == "features":
        return import_module("thrifty.learners.features")
    if name not in _HOMES:
        from thrifty.errors import similar

        near = similar(name, __all__)
        advice = f"; did you mean {near}?" if near and not name.startswith("_") else ""
        raise AttributeError(f"module 'thrifty' has no attribute {name!r}{advice}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, "features"])
