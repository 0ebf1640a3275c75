"""Rivals of the policy thrifty: their published values, and values tuned by one rule for all.

The rule: among the values of a fixed grid, the one with the least geometric mean of regret relative
to the baseline, on instances that were used for tuning (`suite.TUNING`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from thrifty.files import slug
from thrifty.lab.arena.standings import BASELINE, Standing, standings
from thrifty.lab.arena.suite import LARGEST, TUNING
from thrifty.policies import Policy
from thrifty.policies import policy as named_policy
from thrifty.problem.catalog import instance
from thrifty.report.pages import Page, Section, Table
from thrifty.report.wording import count, power, with_errors
from thrifty.studies.design import Design, design_study
from thrifty.studies.study import run_studies

HORIZON, REPLICATIONS, SEED = 10**4, 400, 1
CHOSEN = "chosen"  # marks the winner in the table


@dataclass(frozen=True)
class Rival:
    """A policy with its published values, and the grid of values that it is tuned over."""

    published: tuple[str, ...]
    grid: tuple[str, ...] = ()


def _grid(head: str, *values: object) -> tuple[str, ...]:
    return tuple(f"{head}={value}" for value in values)


RIVALS = {
    "lints": Rival(
        (BASELINE, "lints:inflation=theory"), _grid("lints:scale", 0.3, 0.5, 0.7, 0.85, 1)
    ),
    "linucb": Rival(
        ("linucb", "linucb:width=fn"), _grid("linucb:width=alpha,alpha", 0.5, 1, 1.5, 2, 3)
    ),
    "ids": Rival(("ids",), _grid("ids:correction", "ucb", "all")),
    # 50 samples instead of 200 for time alone: samples are for accuracy, nothing is tuned
    "vids": Rival(("vids:samples=50,draws=anew",)),
    "solid": Rival(("solid",), _grid("solid:level", 0.06, 0.12, 0.25, 0.5, 1, 2)),
    "linmed": Rival(
        ("linmed",),
        tuple(
            f"linmed:alpha_emp={greedy},alpha_opt={design}"
            for greedy, design in ((0.5, 0.25), (0.9, 0.05), (0.99, 0.005), (0.999, 0.0005))
        ),
    ),
    "squarecb": Rival(("squarecb",), _grid("squarecb:c", 0.1, 1, 10, 100, 1000)),
    "oam": Rival(
        ("oam:epsilon=literal,c=1",),
        tuple(f"oam:epsilon={e},c={c}" for e, c in product((0, 0.001, 0.01), (0, 0.3, 1))),
    ),
    "ossb": Rival(
        ("ossb",), tuple(f"ossb:epsilon={value},gamma={value}" for value in (0, 0.001, 0.01, 0.1))
    ),
    "endoa": Rival(("endoa",), _grid("endoa:c", 0, 0.3, 1)),
    "del": Rival(("del",), _grid("del:gamma", 0, 0.01, 0.1, 0.3, 1)),
    "greedy": Rival(("greedy",)),
    "egreedy": Rival(
        ("egreedy",),
        tuple(
            f"egreedy:epsilon={epsilon},decay={decay}"
            for epsilon, decay in product((0.1, 0.3, 1, 3, 10, 30), (0.5, 1))
        ),
    ),
}
OWN = ("thrifty", "thrifty:noise=known")
# the winners of docs/tuning.md, which `python -m benchmarks.tuning` writes
TUNED = {
    "lints": "lints:scale=0.7",
    "linucb": "linucb:width=alpha,alpha=2",
    "ids": "ids",
    "solid": "solid:level=0.5",
    "linmed": "linmed",
    "squarecb": "squarecb:c=100",
    "oam": "oam",
    "ossb": "ossb",
    "endoa": "endoa:c=0",
    "del": "del",
    "egreedy": "egreedy:epsilon=3,decay=1",
}


def _canonical(specs: Sequence[str]) -> tuple[str, ...]:
    """Each policy once, as its spec without parameters that have their default."""
    return tuple(dict.fromkeys(named_policy(spec).spec for spec in specs))


PUBLISHED = _canonical([spec for rival in RIVALS.values() for spec in rival.published])


def entrants() -> tuple[str, ...]:
    """The policies of the arena: thrifty's, then each rival as published and tuned."""
    rivals = [
        spec
        for name, rival in RIVALS.items()
        for spec in (*rival.published, *([TUNED[name]] if name in TUNED else []))
    ]
    return _canonical([*OWN, *rivals])


def origin(spec: str) -> str:
    """Where the values of a policy come from: `own`, `published`, `tuned` or `both`; else ''."""
    published, tuned = spec in PUBLISHED, spec in _canonical(list(TUNED.values()))
    if published and tuned:
        return "both"
    return "own" if spec in OWN else "published" if published else "tuned" if tuned else ""


def tune(
    folder: Path,
    *,
    horizon: int = HORIZON,
    replications: int = REPLICATIONS,
    names: Sequence[str] = TUNING,
    threads: int | None = None,
    progress: bool | None = None,
) -> dict[str, list[Standing]]:
    """The standings of the values of each rival's grid, in the order of the grid.

    Parameters
    ----------
    folder : results that it contains are not computed again
    names : the instances to tune on
    """
    grids = {name: _canonical(rival.grid) for name, rival in RIVALS.items() if rival.grid}
    specs = dict.fromkeys((BASELINE, *(spec for grid in grids.values() for spec in grid)))
    designs: list[tuple[Design, Path | None]] = [
        (
            design_study(
                playable(policy, names),
                policy,
                horizon=horizon,
                replications=replications,
                seed=SEED,
            ),
            folder / slug(policy.spec, most=200, keep="=,"),
        )
        for policy in map(named_policy, specs)
    ]
    studies = run_studies(designs, threads=threads, progress=progress)
    found = {
        one.policy: one
        for one in standings([result for study in studies for result in study.results])
    }
    return {name: [found[spec] for spec in grid] for name, grid in grids.items()}


def playable(policy: Policy, names: Sequence[str]) -> list[str]:
    """The instances that a policy can play."""
    return [name for name in names if not policy.one_context or instance(name).sets.contexts == 1]


def winner(tried: Sequence[Standing]) -> Standing:
    """The value with the least relative regret; the first of equal ones."""
    return min(tried, key=lambda one: one.ratio)


def tuning_page(tried: Mapping[str, Sequence[Standing]]) -> Page:
    """The page of what `tune` has found."""
    first = next(iter(tried.values()))[0]
    lead = (
        "The rivals of thrifty in [the arena](arena.md) play with their published values and with "
        "values tuned by one rule for all: among the values of a fixed grid, the one with the "
        f"least geometric mean of regret relative to {BASELINE}, n = {power(first.horizon)}, "
        f"{count(first.replications, 'replication')} of "
        f"{count(max(one.instances for own in tried.values() for one in own), 'instance')}: those "
        "of the catalog and drawn ones, without those with more than "
        f"{LARGEST:,} rows times squared dimensions. None of them is ranked on in the arena by "
        "default. The policy thrifty has no grid: it was developed on instances that include "
        "these. In most instances of the catalog the best arm is the first, with which greedy "
        "choices begin. Parameters that are not named have their default "
        "([policies](policies.md))."
    )
    text = (
        "The first standard error is over replications, the second over instances as if they "
        "were drawn at random. Values of a policy that differ by less are equally good here."
    )
    rows = tuple(
        (
            one.policy,
            with_errors(one.ratio, one.error, one.instance_error),
            str(one.instances),
            CHOSEN if one is winner(own) else "",
        )
        for own in tried.values()
        for one in own
    )
    headers = ("policy", "relative regret", "instances", "")
    section = Section("grid", "Values that were tried", text=text, tables=(Table(headers, rows),))
    return Page("Tuning of the rivals", (lead,), (section,))
