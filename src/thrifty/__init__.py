"""thrifty: linear contextual bandits, with exploration that costs no more than it must."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names as in _NAMES
    from thrifty.allocation import Allocation as Allocation
    from thrifty.allocation import Status as Status
    from thrifty.allocation import allocate as allocate
    from thrifty.allocation.bound import Bound as Bound
    from thrifty.allocation.bound import lower_bound as lower_bound
    from thrifty.errors import BadFile as BadFile
    from thrifty.errors import InvalidInput as InvalidInput
    from thrifty.errors import ServiceError as ServiceError
    from thrifty.errors import SetAside as SetAside
    from thrifty.errors import ThriftyError as ThriftyError
    from thrifty.errors import UnknownName as UnknownName
    from thrifty.errors import Unreachable as Unreachable
    from thrifty.learners.decisions import Decision as Decision
    from thrifty.learners.decisions import Explanation as Explanation
    from thrifty.learners.learner import Learner as Learner
    from thrifty.learners.start import learner as learner
    from thrifty.policies import DEL as DEL
    from thrifty.policies import IDS as IDS
    from thrifty.policies import OAM as OAM
    from thrifty.policies import OSSB as OSSB
    from thrifty.policies import SOLID as SOLID
    from thrifty.policies import VIDS as VIDS
    from thrifty.policies import EGreedy as EGreedy
    from thrifty.policies import EndOA as EndOA
    from thrifty.policies import Greedy as Greedy
    from thrifty.policies import LinMED as LinMED
    from thrifty.policies import LinTS as LinTS
    from thrifty.policies import LinUCB as LinUCB
    from thrifty.policies import Penalty as Penalty
    from thrifty.policies import Policy as Policy
    from thrifty.policies import SquareCB as SquareCB
    from thrifty.policies import Thrifty as Thrifty
    from thrifty.policies import policy as policy
    from thrifty.problem.action_sets import ActionSets as ActionSets
    from thrifty.problem.catalog import instance as instance
    from thrifty.problem.instances import Instance as Instance
    from thrifty.service.client.client import AsyncClient as AsyncClient
    from thrifty.service.client.client import Client as Client
    from thrifty.studies.results import Result as Result
    from thrifty.studies.study import Study as Study
    from thrifty.studies.study import run as run

# Imported on first use: `thrifty --help` should wait neither for NumPy nor for the compiler.
_NAMES = {
    "thrifty.allocation": "Allocation Status allocate",
    "thrifty.allocation.bound": "Bound lower_bound",
    "thrifty.errors": "BadFile InvalidInput ServiceError SetAside ThriftyError UnknownName "
    "Unreachable",
    "thrifty.learners.decisions": "Decision Explanation",
    "thrifty.learners.learner": "Learner",
    "thrifty.learners.start": "learner",
    "thrifty.policies": "DEL EGreedy EndOA Greedy IDS LinMED LinTS LinUCB OAM OSSB Penalty Policy "
    "SOLID SquareCB Thrifty VIDS policy",
    "thrifty.problem.action_sets": "ActionSets",
    "thrifty.problem.catalog": "instance",
    "thrifty.problem.instances": "Instance",
    "thrifty.service.client.client": "AsyncClient Client",
    "thrifty.studies.results": "Result",
    "thrifty.studies.study": "Study run",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = list(_HOMES)
__version__ = version("thrifty")


def __getattr__(name: str) -> Any:
    if name == "features":
        return import_module("thrifty.learners.features")
    if name not in _HOMES:
        from thrifty.errors import no_attribute

        raise no_attribute("module 'thrifty'", name, [*__all__, "features"])
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, "features"])
