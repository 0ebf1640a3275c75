"""The paper's panels, from panels.toml.

Hao, Lattimore and Szepesvari, Adaptive Exploration in Linear Contextual Bandit (AISTATS 2020):
section 5, appendix D ("Additional Experiments"), and theoretical results that a simulation can
show. The paper does not give its horizons, LinUCB's width, or the constants of OAM and OSSB. OAM
runs with c = 0, the library's default, and with c = 1; LinUCB with its own width, oful, and with
fn at the level of the OAM that it is compared with; OSSB with epsilon = gamma = 0 and 0.01.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from thrifty.files import package_toml
from thrifty.studies.design import StudyDesign

# policies that claims compare
OAM, OAM_C1, THRIFTY, ENDOA = "oam", "oam:c=1", "thrifty", "endoa"
LINTS, LINTS_THEORY = "lints", "lints:inflation=theory"
OFUL, ANYTIME = "linucb", "linucb:width=anytime"
FN_C0, FN_C1 = "linucb:width=fn,c=0", "linucb:width=fn"
OSSB, OSSB_LITTLE = "ossb", "ossb:epsilon=0.001,gamma=0.001"
OSSB_FORCED = "ossb:epsilon=0.01,gamma=0.01"
LITERAL, LITERAL_C1 = "oam:epsilon=literal", "oam:epsilon=literal,c=1"


@dataclass(frozen=True)
class Scale:
    """Horizons and number of replications of a panel."""

    horizons: tuple[int, ...]
    replications: int


@dataclass(frozen=True)
class Panel:
    """A panel of the paper, or one that supplements it; panels.toml says what each field means."""

    name: str
    title: str
    where: str
    about: str
    instances: tuple[str, ...]
    policies: tuple[str, ...]
    quick: Scale
    full: Scale
    figures: tuple[str, ...] = ("regret",)
    pulls: bool = False

    def design(self, *, full: bool) -> StudyDesign:
        """Its study, full or quick."""
        scale = self.full if full else self.quick
        settings = {"horizon": scale.horizons, "replications": scale.replications}
        return StudyDesign.of(self.instances, self.policies, pulls=self.pulls, **settings)


@cache
def paper_panels() -> tuple[Panel, ...]:
    """All panels, in the order of the page."""
    return tuple(map(_panel, package_toml("thrifty.lab.paper", "panels.toml")["panels"]))


def _panel(entry: dict[str, Any]) -> Panel:
    scales = {
        name: Scale(tuple(entry[name]["horizons"]), entry[name]["replications"])
        for name in ("quick", "full")
    }
    lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
    return Panel(**entry | lists | scales)
