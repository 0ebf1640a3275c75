"""The arena: all policies on a wide suite of instances, ranked by relative regret.

Instances that were used while the policy `thrifty` was developed form the group `tuned`; those that
were drawn afterwards, once, form the group `unseen`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np

from thrifty.errors import NOTHING, InvalidInput, UnknownName
from thrifty.experiments.arena_page import arena_page
from thrifty.experiments.standings import LEADERS, Standing, standings
from thrifty.files import slug, write_whole
from thrifty.policies import Policy
from thrifty.policies import policy as named_policy
from thrifty.problem.catalog import CATALOG, instance
from thrifty.report.pages import Page
from thrifty.studies.design import design_study
from thrifty.studies.results import Result
from thrifty.studies.store import RESULTS, read_results
from thrifty.studies.study import run_studies

STANDINGS_FILE = "standings.json"

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
    """24 random seeds derived from the hash of a commit, so that they cannot be selected."""
    return tuple(np.random.default_rng(commit).integers(10**6, size=24).tolist())


UNSEEN_SEEDS = _drawn(0x35B870940825)  # the commit in which the policy thrifty was finished
# the two commits below gave the unseen seeds of earlier versions
TUNED_SEEDS = (*range(20), *_drawn(0x28EB568A27B7), *_drawn(0xFF8C13CFEF8B))
GROUPS = {
    "unseen": tuple(f"drawn:seed={seed}" for seed in UNSEEN_SEEDS),
    "tuned": (
        *(name for name in CATALOG if name not in ("drawn", "k-armed", "product")),
        "end-of-optimism:eps=0.05,a=2",
        *(f"drawn:seed={seed}" for seed in TUNED_SEEDS),
    ),
}


@dataclass(frozen=True)
class ArenaSize:
    """A horizon, and the numbers of replications of the leaders and of the other policies."""

    horizon: int
    leaders: int
    rest: int

    def replications(self, spec: str) -> int:
        """The number of replications of a policy."""
        return self.leaders if spec in LEADERS else self.rest


QUICK = (ArenaSize(10**3, 20, 10), ArenaSize(10**4, 20, 5))
FULL = (
    ArenaSize(10**3, 30, 10),
    ArenaSize(10**4, 60, 10),
    ArenaSize(10**5, 40, 4),
    ArenaSize(10**6, 12, 1),
)


@dataclass(frozen=True)
class Arena:
    """Results by group of instances, and the folder that contains them."""

    folder: Path
    results: dict[str, tuple[Result, ...]]

    @cached_property
    def standings(self) -> dict[str, list[Standing]]:
        """The ranking of each group."""
        return {group: standings(results) for group, results in self.results.items()}

    @property
    def page(self) -> Page:
        """The page of the arena."""
        return arena_page(self.results, self.standings, self.folder)

    def to_json(self) -> list[dict[str, object]]:
        """The output of `thrifty arena --json`, and the content of standings.json."""
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
    """Simulate policies on the suite, keep the results in a folder, and rank the policies.

    Parameters
    ----------
    folder : results that it contains are not computed again
    full : horizons up to 1e6 instead of 1e4
    policies : specs to compare with the leaders; by default all policies
    only : groups of instances; by default all
    """
    for name in only:
        if name not in GROUPS:
            raise UnknownName("group of instances", name, list(GROUPS))
    designs = {
        folder / group / str(size.horizon) / slug(policy.spec, most=200, keep="=,"): design_study(
            _playable(policy, group),
            policy,
            horizon=size.horizon,
            replications=size.replications(policy.spec),
        )
        for group in only or GROUPS
        for size in (FULL if full else QUICK)
        for policy in dict.fromkeys(map(named_policy, (*LEADERS, *(policies or REST))))
    }
    studies = run_studies(
        [(design, place) for place, design in designs.items()],
        threads=threads,
        cluster=cluster,
        progress=progress,
    )
    computed = {place: study.results for place, study in zip(designs, studies, strict=True)}
    found = read_arena(folder, computed)
    found.write_standings()
    return found


def _playable(policy: Policy, group: str) -> list[str]:
    """The instances of a group that a policy can play."""
    return [
        name
        for name in GROUPS[group]
        if not policy.one_context or instance(name).sets.contexts == 1
    ]


def is_arena(folder: Path) -> bool:
    """Whether a folder contains results of the arena."""
    return any(_places(folder / group) for group in GROUPS)


def read_arena(
    folder: Path, known: Mapping[Path, tuple[Result, ...]] = MappingProxyType({})
) -> Arena:
    """The results of the arena in a folder; those in `known`, by place, are not read again."""
    results = {
        group: tuple(
            result
            for place in _places(folder / group)
            for result in (known[place] if place in known else read_results(place))
        )
        for group in GROUPS
    }
    if not any(results.values()):
        raise InvalidInput(str(folder), "a folder made by `thrifty arena`", NOTHING)
    return Arena(folder, {group: own for group, own in results.items() if own})


def _places(folder: Path) -> list[Path]:
    """The folders of completed studies, by horizon and policy."""
    return sorted(
        (found.parent for found in folder.glob(f"*/*/{RESULTS}")),
        key=lambda place: (int(place.parent.name), place.name),
    )
