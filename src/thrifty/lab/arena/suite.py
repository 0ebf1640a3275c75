"""The instances of the arena, in groups: unseen, of other kinds, and used for tuning."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np

from thrifty.problem.catalog import CATALOG, instance

GAUSSIAN = "gaussian"
LARGEST = 1_000  # rows x d^2 of an instance: some policies take time in proportion in each round
LARGEST_OTHER = 300  # of drawn instances that are played with other rewards
UNSEEN = 12  # instances of the group `unseen`
TUNING_DRAWS = 20  # drawn instances that rivals are tuned on
ALL_GROUPS, DEFAULT_GROUPS = ("unseen", "kinds", "tuned"), ("unseen", "kinds")
LONGEST = {"kinds": 10**5}  # horizons of a group: longer ones would take an hour more
KINDS = {
    "gaussian:told=2": "told-double",
    "gaussian:told=0.5": "told-half",
    "student": "student",
    "bernoulli": "bernoulli",
}
# of the catalog: families that are drawn elsewhere, and what came after the rivals were tuned
LEFT_OUT = ("drawn", "k-armed", "product", "drifting", "two-contexts", "weighing")
# Commits whose hashes give random seeds, so that nobody selects them
FINISHED = 0xB059A6E6F5D3  # in which the policy thrifty was finished
BEFORE_KINDS = 0x81C8E3706B90  # the last one before the group `kinds` was drawn
# these gave the unseen seeds of earlier versions
EARLIER = (0x28EB568A27B7, 0xFF8C13CFEF8B, 0x35B870940825, 0xAE23E9D99A77, 0xF173E81DC152)


class ArenaEntry(NamedTuple):
    """An instance by its name, and the kind of rewards that it is played with."""

    instance: str
    rewards: str = GAUSSIAN


def commit_seeds(commit: int) -> tuple[int, ...]:
    """24 random seeds derived from the hash of a commit."""
    return tuple(np.random.default_rng(commit).integers(10**6, size=24).tolist())


@cache
def entries(group: str) -> tuple[ArenaEntry, ...]:
    """The instances of one of ALL_GROUPS; drawn when first asked for."""
    if group == "unseen":
        return _named(_draws(commit_seeds(FINISHED), UNSEEN, LARGEST))
    if group == "tuned":
        drawn = [f"drawn:seed={seed}" for seed in _tuned_seeds()]
        return _named((*_known(), "end-of-optimism:eps=0.05,a=2", *drawn))
    seeds = commit_seeds(BEFORE_KINDS)
    a, b, c, d, e, f = seeds[:6]
    drawn = _draws(seeds, 6, LARGEST_OTHER)  # no instance is played twice
    return (
        *_named([f"k-armed:arms=10,seed={a}", f"k-armed:arms=20,seed={b}"]),
        *_named([f"product:seed={c}", f"product:seed={d}"]),
        *_named([f"k-armed:arms=5,seed={e}", f"k-armed:arms=10,seed={f}"], "bernoulli"),
        *_named(drawn[:2], "gaussian:told=2"),
        *_named(drawn[2:4], "gaussian:told=0.5"),
        *_named(drawn[4:], "student"),
    )


@cache
def tuning_instances() -> tuple[str, ...]:
    """The names of the instances that rivals are tuned on."""
    known = (name for name in _known() if _size(name) <= LARGEST)
    return (*known, *_draws(_tuned_seeds(), TUNING_DRAWS, LARGEST))


def kind_of(entry: ArenaEntry) -> str:
    """The kind of an entry: by its rewards, or else by the family of its instance."""
    return KINDS.get(entry.rewards, entry.instance.partition(":")[0])


def _known() -> list[str]:
    return [name for name in CATALOG if name not in LEFT_OUT]


def _tuned_seeds() -> tuple[int, ...]:
    return (*range(20), *(seed for commit in EARLIER for seed in commit_seeds(commit)))


def _draws(seeds: Iterable[int], most: int, largest: int) -> list[str]:
    """The first `most` drawn instances that are not too large."""
    names = (f"drawn:seed={seed}" for seed in seeds)
    return [name for name in names if _size(name) <= largest][:most]


def _size(name: str) -> int:
    """The number of rows of an instance times its dimension squared."""
    rows, dimension = instance(name).sets.rows.shape
    return rows * dimension**2


def _named(names: Iterable[str], rewards: str = GAUSSIAN) -> tuple[ArenaEntry, ...]:
    return tuple(ArenaEntry(name, rewards) for name in names)
