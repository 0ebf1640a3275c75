"""`thrifty arena`: every policy on a wide suite of instances, ranked by regret relative to
heuristic Thompson sampling.

Some of the instances were looked at while the policy `thrifty` was made: they are named, and
reported apart from those that were drawn afterwards, once.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from thrifty.errors import InvalidInput, UnknownName
from thrifty.experiments.arena_page import arena_page
from thrifty.experiments.standings import YARDSTICK, Standing, standings
from thrifty.files import write_whole
from thrifty.policies import policy as named_policy
from thrifty.problem.catalog import CATALOG, instance
from thrifty.report.pages import Page
from thrifty.studies.results import Result
from thrifty.studies.store import RESULTS, read_results
from thrifty.studies.study import ask, run_together

STANDINGS_FILE = "standings.json"

# compared with each other to a higher precision than with the rest
LEADERS = ("thrifty", YARDSTICK)
REST = (
    "thrifty:noise=estimate",
    "ids",
    "solid",
    "oam",
    "linucb",
    "linucb:width=fn",
    "lints:inflation=theory",
    "ossb",
    "endoa",
    "del",
    "greedy",
    "egreedy",
)


def _drawn(commit: int) -> tuple[int, ...]:
    """Seeds drawn from the name of a commit, which nobody chooses."""
    return tuple(np.random.default_rng(commit).integers(10**6, size=24).tolist())


UNSEEN_SEEDS = _drawn(0x35B870940825)  # by the commit in which the policy thrifty was finished
# the latter were unseen by versions before
TUNED_SEEDS = (*range(20), *_drawn(0x28EB568A27B7), *_drawn(0xFF8C13CFEF8B))
GROUPS = {
    "unseen": tuple(f"drawn:seed={seed}" for seed in UNSEEN_SEEDS),
    "tuned": (
        *(name for name in CATALOG if name != "drawn"),
        "end-of-optimism:eps=0.05,a=2",
        *(f"drawn:seed={seed}" for seed in TUNED_SEEDS),
    ),
}


@dataclass(frozen=True)
class Size:
    """Rounds, and how often leaders and the rest play them."""

    horizon: int
    leaders: int
    rest: int


QUICK = (Size(10**3, 20, 10), Size(10**4, 20, 5))
FULL = (Size(10**3, 30, 10), Size(10**4, 60, 10), Size(10**5, 40, 4), Size(10**6, 12, 1))


@dataclass(frozen=True)
class Arena:
    """Results of the suite, kept in a folder, by group of instances."""

    folder: Path
    results: dict[str, tuple[Result, ...]]

    @cached_property
    def standings(self) -> dict[str, list[Standing]]:
        """How policies stand, by group."""
        return {group: standings(results) for group, results in self.results.items()}

    @property
    def page(self) -> Page:
        """The page about it."""
        return arena_page(self.results, self.standings, self.folder)

    def to_json(self) -> list[dict[str, object]]:
        """The JSON of `thrifty arena --json`."""
        return [
            {"group": group} | standing.to_json()
            for group, found in self.standings.items()
            for standing in found
        ]

    def write_standings(self) -> None:
        """Write standings.json into the folder."""
        write_whole(self.folder / STANDINGS_FILE, json.dumps(self.to_json(), indent=2) + "\n")


def play(
    folder: Path,
    *,
    full: bool = False,
    policies: Sequence[str] = (),
    only: Sequence[str] = (),
    threads: int | None = None,
    cluster: str | None = None,
    progress: bool | None = None,
) -> Arena:
    """Let all policies, or the leaders and those given, play the suite, or only some groups of it,
    into a folder; what is there is not played again.
    """
    for name in only:
        if name not in GROUPS:
            raise UnknownName("group of instances", name, list(GROUPS))
    chosen = [named_policy(spec) for spec in (*LEADERS, *(policies or REST))]
    studies = {}
    for group in only or GROUPS:
        for size in FULL if full else QUICK:
            for policy in dict.fromkeys(chosen):
                playable = [
                    name
                    for name in GROUPS[group]
                    if not policy.one_context or instance(name).sets.contexts == 1
                ]
                asked = ask(
                    playable,
                    policy,
                    horizon=size.horizon,
                    replications=size.leaders if policy.spec in LEADERS else size.rest,
                )
                studies[folder / group / f"{size.horizon}" / policy.spec.replace(":", "-")] = asked
    run_together(
        [(asked, place) for place, asked in studies.items()],
        threads=threads,
        cluster=cluster,
        progress=progress,
        figures=False,
    )
    found = read_arena(folder)
    found.write_standings()
    return found


def is_arena(folder: Path) -> bool:
    """Whether a folder holds something of the arena, finished or not."""
    return any(_places(folder / group) for group in GROUPS)


def read_arena(folder: Path) -> Arena:
    """What a folder holds of the arena."""
    results = {
        group: tuple(result for place in _places(folder / group) for result in read_results(place))
        for group in GROUPS
    }
    if not any(results.values()):
        raise InvalidInput(str(folder), "a folder that `thrifty arena` has made", "none")
    return Arena(folder, {group: own for group, own in results.items() if own})


def _places(folder: Path) -> list[Path]:
    """Folders of studies, short horizons first."""
    return sorted(
        (found.parent for found in folder.glob(f"*/*/{RESULTS}")),
        key=lambda place: (int(place.parent.name), place.name),
    )
