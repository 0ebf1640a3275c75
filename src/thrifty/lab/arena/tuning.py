"""Rivals of the policy thrifty: their published values, and values tuned by one rule for all.

The rule: among the values of a fixed grid, the one with the least geometric mean of regret relative
to the baseline, on `suite.tuning_instances()`.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from thrifty.files import package_toml, slug
from thrifty.lab.arena.standings import BASELINE, Standing, standings
from thrifty.lab.arena.suite import LARGEST, tuning_instances
from thrifty.policies import Policy
from thrifty.policies import policy as named_policy
from thrifty.problem.catalog import instance
from thrifty.report.pages import Page, Section, Table
from thrifty.report.wording import count, power, with_errors
from thrifty.studies.design import StudyDesign
from thrifty.studies.study import run_studies

HORIZON, REPLICATIONS, SEED = 10**4, 400, 1
CHOSEN = "chosen"  # marks the winner in the table
OWN = ("thrifty", "thrifty:noise=known")


@cache
def rivals() -> dict[str, dict[str, tuple[str, ...]]]:
    """The specs of each rival: `published`, `tuned` and its `grid`, from rivals.toml."""
    table = package_toml("thrifty.lab.arena", "rivals.toml")
    return {
        name: {key: _canonical(rival.get(key, ())) for key in ("published", "tuned", "grid")}
        for name, rival in table.items()
    }


def _canonical(specs: Iterable[str]) -> tuple[str, ...]:
    """Each policy once, as its spec without parameters that have their default."""
    return tuple(dict.fromkeys(named_policy(spec).spec for spec in specs))


def entrants() -> tuple[str, ...]:
    """The policies of the arena: thrifty's, then each rival as published and tuned."""
    specs = [spec for rival in rivals().values() for spec in rival["published"] + rival["tuned"]]
    return _canonical([*OWN, *specs])


def origin(spec: str) -> str:
    """Where the values of a policy come from: `own`, `published`, `tuned` or `both`; else ''."""
    if spec in OWN:
        return "own"
    known = [kind for rival in rivals().values() for kind in rival if spec in rival[kind]]
    kinds = [kind for kind in ("published", "tuned") if kind in known]
    return "both" if len(kinds) > 1 else "".join(kinds)


def values_of(spec: str) -> str:
    """`origin` as tables show it: experimental policies say so."""
    return origin(spec) + (", experimental" if named_policy(spec).experimental else "")


def tune(
    folder: Path,
    *,
    horizon: int = HORIZON,
    replications: int = REPLICATIONS,
    names: Sequence[str] = (),
    threads: int | None = None,
    progress: bool | None = None,
) -> dict[str, list[Standing]]:
    """The standings of the values of each rival's grid, in the order of the grid.

    folder : results that it contains are not computed again
    names : the instances to tune on, by default `suite.tuning_instances()`
    """
    grids = {name: rival["grid"] for name, rival in rivals().items() if rival["grid"]}
    specs = dict.fromkeys((BASELINE, *(spec for grid in grids.values() for spec in grid)))
    scale = {"horizon": horizon, "replications": replications, "seed": SEED}
    designs: list[tuple[StudyDesign, Path | None]] = []
    for policy in map(named_policy, specs):
        design = StudyDesign.of(playable(policy, names or tuning_instances()), policy, **scale)
        designs.append((design, folder / slug(policy.spec, most=200, keep="=,")))
    studies = run_studies(designs, threads=threads, progress=progress)
    results = [result for study in studies for result in study.results]
    tried = {standing.policy: standing for standing in standings(results)}
    return {name: [tried[spec] for spec in grid] for name, grid in grids.items()}


def playable(policy: Policy, names: Sequence[str]) -> list[str]:
    """The instances that a policy can play."""
    return [name for name in names if not policy.one_context or instance(name).sets.contexts == 1]


def winner(tried: Sequence[Standing]) -> Standing:
    """The value with the least relative regret; the first of equal ones."""
    return min(tried, key=lambda standing: standing.ratio)


def _marks(standing: Standing, best: Standing) -> list[str]:
    marks = {CHOSEN: standing is best, "experimental": named_policy(standing.policy).experimental}
    return [mark for mark, holds in marks.items() if holds]


def tuning_page(tried: Mapping[str, Sequence[Standing]]) -> Page:
    """The page of what `tune` has found."""
    words = package_toml("thrifty.lab.pages", "tuning.toml")
    first = next(iter(tried.values()))[0]
    most = max(standing.instances for grid in tried.values() for standing in grid)
    lead = words["lead"].format(
        baseline=BASELINE,
        n=power(first.horizon),
        replications=count(first.replications, "replication"),
        instances=count(most, "instance"),
        largest=f"{LARGEST:,}",
    )
    rows = tuple(
        (
            standing.policy,
            with_errors(standing.ratio, standing.error, standing.instance_error),
            str(standing.instances),
            ", ".join(_marks(standing, winner(grid))),
        )
        for grid in tried.values()
        for standing in grid
    )
    headers = ("policy", "relative regret", "instances", "")
    section = Section("grid", words["grid"], text=words["errors"], tables=(Table(headers, rows),))
    return Page(words["title"], (lead,), (section,))
