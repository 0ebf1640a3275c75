"""The arena: all policies on a wide suite of instances, ranked by relative regret.

A full arena plays each horizon in two steps: first all policies with the same number of
replications, then the best of them with more.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from thrifty.errors import InvalidInput, UnknownName
from thrifty.files import slug, write_whole
from thrifty.lab.arena.standings import LEADERS, Standing, standings
from thrifty.lab.arena.suite import ALL_GROUPS, DEFAULT_GROUPS, GAUSSIAN, LONGEST, entries
from thrifty.lab.arena.tuning import OWN, entrants, origin, playable
from thrifty.lab.pages.arena_page import arena_page, limits
from thrifty.policies import Policy
from thrifty.policies import policy as named_policy
from thrifty.report.pages import Page
from thrifty.report.wording import power
from thrifty.studies.design import StudyDesign
from thrifty.studies.results import Result
from thrifty.studies.store import RESULTS, read_results
from thrifty.studies.study import run_studies

STANDINGS_FILE = "standings.json"
BEST = 5  # rivals of each group and horizon that play more replications, besides our own


class Step(NamedTuple):
    """A part of the arena: a horizon, a number of replications, and whether only the best play."""

    horizon: int
    replications: int
    best: bool = False


# short horizons first: they are whole if a run is interrupted
QUICK = (Step(10**3, 40), Step(10**4, 20))
FULL = (
    *(step for n in (10**3, 10**4, 10**5) for step in (Step(n, 100), Step(n, 400, best=True))),
    *(Step(10**6, 20), Step(10**6, 60, best=True)),
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

    @property
    def limits(self) -> str:
        """What these results cannot show, in a sentence; empty for those of a full arena."""
        return limits([result for of_group in self.results.values() for result in of_group])

    def to_json(self) -> list[dict[str, object]]:
        """The output of `thrifty arena --json`, and the content of standings.json."""
        return [
            {"group": group, "values": origin(standing.policy)} | standing.to_json()
            for group, ranking in self.standings.items()
            for standing in ranking
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

    folder : results that it contains are not computed again
    full : horizons up to 1e6 instead of 1e4, and more replications
    policies : specs to compare with the leaders; by default all policies
    only : groups of instances; by default all but `tuned`
    """
    for name in only:
        if name not in ALL_GROUPS:
            raise UnknownName("group of instances", name, ALL_GROUPS)
    steps, groups = FULL if full else QUICK, tuple(only or DEFAULT_GROUPS)
    players = list(dict.fromkeys(map(named_policy, (*LEADERS, *(policies or entrants())))))
    computed: dict[Path, tuple[Result, ...]] = {}
    for number, step in enumerate(steps, start=1):
        who = "the best" if step.best else "all policies"
        designs: dict[Path, StudyDesign] = {}
        for group in groups:
            if step.horizon <= LONGEST.get(group, step.horizon):
                chosen = _best(computed, folder / group, step) if step.best else players
                designs |= _designs(folder / group, group, chosen, step)
        playing = f"step {number} of {len(steps)}, n = {power(step.horizon)}, {who}"
        kept = [(design, place) for place, design in designs.items()]
        studies = run_studies(
            kept, threads=threads, cluster=cluster, progress=progress, playing=playing
        )
        computed |= {place: study.results for place, study in zip(designs, studies, strict=True)}
    arena = read_arena(folder, computed)
    arena.write_standings()
    return arena


def _best(computed: Mapping[Path, tuple[Result, ...]], home: Path, step: Step) -> list[Policy]:
    """The rivals with the least relative regret so far at a horizon, the leaders and our own."""
    here = (place for place in computed if place.parent == home / str(step.horizon))
    results = list(chain.from_iterable(computed[place] for place in here))
    ranked = [standing.policy for standing in standings(results)]
    ours = [policy for policy in ranked if policy in OWN]
    rivals = [policy for policy in ranked if policy not in OWN]
    return list(map(named_policy, dict.fromkeys((*LEADERS, *ours, *rivals[:BEST]))))


def _designs(
    home: Path, group: str, policies: Iterable[Policy], step: Step
) -> dict[Path, StudyDesign]:
    """The studies of a step by place: a policy on the instances of a group with equal rewards."""
    by_rewards: dict[str, list[str]] = {}
    for entry in entries(group):
        by_rewards.setdefault(entry.rewards, []).append(entry.instance)
    designs = {}
    for policy, (rewards, names) in product(policies, by_rewards.items()):
        label = policy.spec if rewards == GAUSSIAN else f"{policy.spec}@{rewards}"
        if can := playable(policy, names):
            place = home / str(step.horizon) / slug(label, most=200, keep="=,@")
            settings = {"horizon": step.horizon, "replications": step.replications}
            designs[place] = StudyDesign.of(can, policy, rewards=rewards, **settings)
    return designs


def is_arena(folder: Path) -> bool:
    """Whether a folder contains results of the arena."""
    return any(_places(folder / name) for name in ALL_GROUPS)


def read_arena(
    folder: Path, known: Mapping[Path, tuple[Result, ...]] = MappingProxyType({})
) -> Arena:
    """The results of the arena in a folder; those in `known`, by place, are not read again."""
    results = {}
    for name in ALL_GROUPS:
        if places := _places(folder / name):
            read = (known[place] if place in known else read_results(place) for place in places)
            results[name] = tuple(chain.from_iterable(read))
    if not results:
        raise InvalidInput(str(folder), "not a folder made by `thrifty arena`")
    return Arena(folder, results)


def _places(folder: Path) -> list[Path]:
    """The folders of completed studies, by horizon and policy."""
    return sorted(
        (file.parent for file in folder.glob(f"*/*/{RESULTS}")),
        key=lambda place: (int(place.parent.name), place.name),
    )
