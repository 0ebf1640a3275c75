"""The page of the arena: rankings by group of instances, and a figure per instance."""

import math
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from thrifty.experiments.standings import LEADERS, Standing
from thrifty.experiments.standings_figure import CAPTION, standings_figure
from thrifty.report.figures import horizons_figure
from thrifty.report.pages import Page, Picture, Section, Table
from thrifty.report.wording import count, plain, power, with_error
from thrifty.studies.results import Result

TITLES = {"unseen": "Instances never used for tuning", "tuned": "Instances used for tuning"}
ABOUT = {
    "unseen": "Drawn after the policy thrifty was finished, with random seeds derived from a "
    "commit. The draws of earlier versions are now among the instances used for tuning.",
    "tuned": "Instances of the paper and of the literature, and earlier draws. They were used "
    "while the policy thrifty was developed, so its results here are optimistic.",
}
LEAD = (
    "Every policy on a wide suite of instances: one to ten contexts, some of them rare, two to two "
    "hundred arms in 2 to 20 dimensions, |theta| from 0.2 to 3, noise from 0.1 to 2. Policies are "
    "ranked by the geometric mean of their regret relative to heuristic Thompson sampling (lints) "
    "with the same contexts and noise. Both thrifty and lints assume theta ~ N(0, I), which suits "
    "these instances; the other policies have the defaults of their papers. Standard errors are "
    "over replications of these instances and do not include the choice of instances. A run is "
    "stuck if its last tenth costs more than half of the regret of the worst arms. Policies that "
    "cannot play all instances are listed last."
)
HORIZONS_CAPTION = (
    "Mean regret at each horizon n, each a separate run; colours as above, thick lines for thrifty "
    "and lints."
)
HEADERS = (
    "policy",
    "relative regret",
    "worst",
    "on",
    "95th percentile",
    "stuck",
    "ns per round",
    "instances",
)


def arena_page(
    results: Mapping[str, tuple[Result, ...]],
    standings: Mapping[str, Sequence[Standing]],
    folder: Path,
) -> Page:
    """The page of an arena that is kept in a folder; results and standings by group."""
    sections = [
        section
        for group, own in results.items()
        for section in _group_sections(group, own, standings[group], folder)
    ]
    return Page("The arena", (LEAD,), tuple(sections))


def _group_sections(
    group: str, results: tuple[Result, ...], standings: Sequence[Standing], folder: Path
) -> list[Section]:
    """The figure of a group's ranking, a table per horizon, and a figure per instance."""
    full = "--full " if max(result.horizon for result in results) > 10**4 else ""
    rerun = f"thrifty arena {full}--only {group} --out {shlex.quote(str(folder))}"
    overview = Picture(f"arena-{group}", standings_figure, CAPTION, results, by_instance=False)
    by_horizon = [
        Section(
            f"{group}-{n}",
            f"{TITLES[group]}: n = {power(n)}",
            text=_simulated(standings, n),
            tables=(_ranking(standings, n),),
        )
        for n in sorted({standing.horizon for standing in standings})
    ]
    draw = partial(horizons_figure, front=LEADERS)
    instances = Picture(f"arena-{group}-instances", draw, HORIZONS_CAPTION, results)
    return [
        Section(group, TITLES[group], text=ABOUT[group], pictures=(overview,), rerun=rerun),
        *by_horizon,
        Section(f"{group}-instances", f"{TITLES[group]}: by instance", pictures=(instances,)),
    ]


def _ranking(standings: Sequence[Standing], horizon: int) -> Table:
    """The table of all policies at a horizon, the best first."""
    return Table(
        HEADERS, tuple(_row(standing) for standing in standings if standing.horizon == horizon)
    )


def _row(standing: Standing) -> tuple[str, ...]:
    return (
        standing.policy,
        with_error(standing.ratio, standing.error),
        plain(standing.worst, 3),
        standing.where,
        "" if math.isnan(standing.tail) else plain(standing.tail, 3),
        f"{standing.stuck} of {standing.runs:,}",
        f"{standing.nanoseconds:,.0f}",
        str(standing.instances),
    )


def _simulated(standings: Sequence[Standing], horizon: int) -> str:
    """The number of instances and of replications at a horizon."""
    here = [standing for standing in standings if standing.horizon == horizon]
    most, least = (
        extreme(standing.runs // standing.instances for standing in here) for extreme in (max, min)
    )
    each = f"{most} replications each" if most == least else f"{least} to {most} replications each"
    return f"{count(max(standing.instances for standing in here), 'instance')}, {each}."
