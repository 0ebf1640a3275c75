"""The instances of the arena, in groups: unseen, of other kinds, and used for tuning."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from thrifty.problem.catalog import CATALOG, instance

GAUSSIAN = "gaussian"
LARGEST = 1_000  # rows x d^2 of an instance: some policies take time in proportion in each round
LARGEST_OTHER = 300  # of drawn instances that are played with other rewards
UNSEEN = 12  # instances of the group `unseen`
TUNING_DRAWS = 20  # drawn instances that rivals are tuned on


class Entry(NamedTuple):
    """An instance by its name, and the kind of rewards that it is played with."""

    instance: str
    rewards: str = GAUSSIAN


def commit_seeds(commit: int) -> tuple[int, ...]:
    """24 random seeds derived from the hash of a commit, so that nobody selects them."""
    return tuple(np.random.default_rng(commit).integers(10**6, size=24).tolist())


UNSEEN_SEEDS = commit_seeds(0xB059A6E6F5D3)  # the commit in which the policy thrifty was finished
KINDS_SEEDS = commit_seeds(0x81C8E3706B90)  # the last commit before the group `kinds` was drawn
# the commits below gave the unseen seeds of earlier versions
EARLIER = (0x28EB568A27B7, 0xFF8C13CFEF8B, 0x35B870940825, 0xAE23E9D99A77, 0xF173E81DC152)
TUNED_SEEDS = (*range(20), *(seed for commit in EARLIER for seed in commit_seeds(commit)))


def _draws(seeds: Iterable[int], most: int, largest: float = np.inf) -> list[str]:
    """The first `most` drawn instances that are not too large."""
    names = (f"drawn:seed={seed}" for seed in seeds)
    return [name for name in names if _size(name) <= largest][:most]


def unseen_draw(seeds: Iterable[int]) -> list[str]:
    """The drawn instances of the group `unseen`."""
    return _draws(seeds, UNSEEN, LARGEST)


def _size(name: str) -> int:
    """The number of rows of an instance times its dimension squared."""
    rows, dimension = instance(name).sets.rows.shape
    return rows * dimension**2


def _entries(names: Iterable[str], rewards: str = GAUSSIAN) -> tuple[Entry, ...]:
    return tuple(Entry(name, rewards) for name in names)


_KNOWN = [name for name in CATALOG if name not in ("drawn", "k-armed", "product", "drifting")]
_A, _B, _C, _D, _E, _F = KINDS_SEEDS[:6]
_OTHER_DRAWS = _draws(KINDS_SEEDS, 6, LARGEST_OTHER)  # no instance is played twice
GROUPS: dict[str, tuple[Entry, ...]] = {
    "unseen": _entries(unseen_draw(UNSEEN_SEEDS)),
    "kinds": (
        *_entries([f"k-armed:arms=10,seed={_A}", f"k-armed:arms=20,seed={_B}"]),
        *_entries([f"product:seed={_C}", f"product:seed={_D}"]),
        *_entries([f"k-armed:arms=5,seed={_E}", f"k-armed:arms=10,seed={_F}"], "bernoulli"),
        *_entries(_OTHER_DRAWS[:2], "gaussian:told=2"),
        *_entries(_OTHER_DRAWS[2:4], "gaussian:told=0.5"),
        *_entries(_OTHER_DRAWS[4:], "student"),
    ),
    "tuned": _entries(
        (*_KNOWN, "end-of-optimism:eps=0.05,a=2", *_draws(TUNED_SEEDS, len(TUNED_SEEDS)))
    ),
}
DEFAULT_GROUPS = ("unseen", "kinds")
LONGEST = {"kinds": 10**5}  # horizons of a group: longer ones would take an hour more
TUNING = (
    *(name for name in _KNOWN if _size(name) <= LARGEST),
    *_draws(TUNED_SEEDS, TUNING_DRAWS, LARGEST),
)
KINDS = {
    "gaussian:told=2": "told-double",
    "gaussian:told=0.5": "told-half",
    "student": "student",
    "bernoulli": "bernoulli",
}


def kind_of(entry: Entry) -> str:
    """The kind of an entry: by its rewards, or else by the family of its instance."""
    return KINDS.get(entry.rewards, entry.instance.partition(":")[0])
