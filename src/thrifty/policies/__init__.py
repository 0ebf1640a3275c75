"""The policies, one per file; `policy("oam:epsilon=0.01")` makes one from its name.

`base.py` has the base class; `shared/` what several policies use.
"""

import inspect
import re
from typing import Any

from thrifty.errors import InvalidInput, UnknownName
from thrifty.policies.base import Policy as Policy
from thrifty.policies.del_ import DEL as DEL
from thrifty.policies.egreedy import EGreedy as EGreedy
from thrifty.policies.endoa import EndOA as EndOA
from thrifty.policies.greedy import Greedy as Greedy
from thrifty.policies.ids import IDS as IDS
from thrifty.policies.linmed import LinMED as LinMED
from thrifty.policies.lints import LinTS as LinTS
from thrifty.policies.linucb import LinUCB as LinUCB
from thrifty.policies.oam import OAM as OAM
from thrifty.policies.ossb import OSSB as OSSB
from thrifty.policies.penalty import Penalty as Penalty
from thrifty.policies.solid import SOLID as SOLID
from thrifty.policies.squarecb import SquareCB as SquareCB
from thrifty.policies.thrifty import Thrifty as Thrifty
from thrifty.policies.vids import VIDS as VIDS
from thrifty.problem.specs import first_paragraph, split_parameters

_KINDS: tuple[type[Policy], ...] = (Thrifty, Penalty, OAM, LinUCB, LinTS, IDS, VIDS, SOLID, OSSB)
_KINDS += (LinMED, SquareCB, Greedy, EGreedy, EndOA, DEL)
POLICIES = {kind.name: kind for kind in _KINDS}


def policy(spec: str) -> Policy:
    """A policy from its name and parameters, `oam` or `oam:epsilon=0.01,c=0`."""
    if not isinstance(spec, str):
        raise InvalidInput.expected("policy", "a name such as oam, or oam:epsilon=0.01", spec)
    name, _, pairs = spec.partition(":")
    if name not in POLICIES:
        raise UnknownName("policy", name, POLICIES)
    kind = POLICIES[name]
    values = split_parameters(pairs, kind.parameters(), owner=name, where=f"{name}: ")
    return kind(**{key: _value(value) for key, value in values.items()})


def check_open(policy: Policy) -> None:
    """Raise InvalidInput unless a policy can play open contexts."""
    if not policy.open:
        names = ", ".join(name for name, kind in POLICIES.items() if kind.open)
        advice = f"needs listed contexts, th.ActionSets; open contexts can be played by {names}"
        raise InvalidInput(policy.name, advice)


def describe() -> list[dict[str, Any]]:
    """All policies: name, definition, parameters, labels, and whether they are experimental."""
    shared = _meanings(Policy)
    return [
        {
            "name": name,
            "definition": first_paragraph(kind),
            "parameters": kind.parameters(),
            "meanings": {key: (shared | _meanings(kind))[key] for key in kind.parameters()},
            "labels": kind.labels,
            "experimental": kind.experimental,
        }
        for name, kind in POLICIES.items()
    ]


def _meanings(kind: type[Policy]) -> dict[str, str]:
    """The meanings of parameters in the docstring of a class, each as one line."""
    text = inspect.getdoc(kind) or ""
    pairs = re.findall(r"^(\w+) : (.*(?:\n    .*)*)", text, flags=re.MULTILINE)
    return {key: " ".join(words.split()) for key, words in pairs if words != "see Policy"}


def _value(text: str) -> float | str | None:
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        return text
