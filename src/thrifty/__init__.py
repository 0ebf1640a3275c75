"""thrifty: exploration that costs no more than it must. Linear contextual bandits with finitely many contexts and arms."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thrifty.actions import ActionSets
    from thrifty.allocation import Allocation, Status, allocate
    from thrifty.bound import Bound, lower_bound
    from thrifty.catalog import instance
    from thrifty.errors import BadFile, InvalidInput, ThriftyError, UnknownName
    from thrifty.instances import Instance

# Imported on first use: `thrifty --help` should wait neither for NumPy nor for the compiler.
_HOMES = {
    "ActionSets": "thrifty.actions",
    "Allocation": "thrifty.allocation",
    "BadFile": "thrifty.errors",
    "Bound": "thrifty.bound",
    "Instance": "thrifty.instances",
    "InvalidInput": "thrifty.errors",
    "Status": "thrifty.allocation",
    "ThriftyError": "thrifty.errors",
    "UnknownName": "thrifty.errors",
    "allocate": "thrifty.allocation",
    "instance": "thrifty.catalog",
    "lower_bound": "thrifty.bound",
}

__version__ = version("thrifty")

__all__ = [
    "ActionSets",
    "Allocation",
    "BadFile",
    "Bound",
    "Instance",
    "InvalidInput",
    "Status",
    "ThriftyError",
    "UnknownName",
    "allocate",
    "instance",
    "lower_bound",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'thrifty' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
