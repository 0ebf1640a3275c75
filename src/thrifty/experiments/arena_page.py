"""The page of the arena: who stands where, on instances never used for tuning and on those that
were, and a small figure for each instance.
"""

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from thrifty.experiments.standings import Standing
from thrifty.report.pages import Page, Picture, Section, Table
from thrifty.report.wording import count, plain, power, with_error
from thrifty.studies.results import Result

TITLES = {"unseen": "Instances never used for tuning", "tuned": "Instances used for tuning"}
ABOUT = {
    "unseen": "Drawn once the policy thrifty was finished, by seeds that nobody chose. The draws "
    "of versions before are now among those used for tuning.",
    "tuned": "The paper's, the literature's, and earlier draws: these were looked at while the "
    "policy thrifty was made, so that its numbers here flatter it.",
}
LEAD = (
    "Every policy on a wide suite of instances: one to ten contexts, some of them "
    "rare, two to two hundred arms in 2 to 20 dimensions, |theta| from 0.2 to 3,"
    " noise from 0.1 to 2. Policies are ranked by the geometric mean of their regret "
    "relative to heuristic Thompson sampling (lints), on the same luck. Both"
    " thrifty and lints take theta for N(0, I), which suits these instances; the other "
    "policies have the defaults of their papers. Standard errors are those"
    " of luck on these instances, not of the choice of instances. A run is stuck if "
    "its last tenth costs more than half of what the worst arms would. Policies"
    " that cannot play all instances are listed last."
)
HEADERS = (
    "policy",
    "relative regret",
    "worst",
    "on",
    "95th percentile",
    "stuck",
    "ns a round",
    "instances",
)


def arena_page(
    results: Mapping[str, tuple[Result, ...]],
    standings: Mapping[str, Sequence[Standing]],
    folder: Path,
) -> Page:
    """The page; results and standings by group of instances."""
    sections = []
    for group, own in results.items():
        full = "--full " if max(result.horizon for result in own) > 10**4 else ""
        rerun = f"thrifty arena {full}--only {group} --out {shlex.quote(str(folder))}"
        picture = Picture(f"arena-{group}", "standings", own, by_instance=False)
        sections.append(
            Section(group, TITLES[group], text=ABOUT[group], pictures=(picture,), rerun=rerun)
        )
        sections += [
            Section(
                f"{group}-{n}",
                f"{TITLES[group]}: n = {power(n)}",
                text=_played(standings[group], n),
                tables=(_ranking(standings[group], n),),
            )
            for n in sorted({standing.horizon for standing in standings[group]})
        ]
        sections.append(
            Section(
                f"{group}-instances",
                f"{TITLES[group]}: one by one",
                pictures=(Picture(f"arena-{group}-instances", "horizons", own),),
            )
        )
    return Page("The arena", LEAD, tuple(sections))


def _ranking(standings: Sequence[Standing], horizon: int) -> Table:
    """The policies at a horizon, the best first."""
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


def _played(standings: Sequence[Standing], horizon: int) -> str:
    here = [standing for standing in standings if standing.horizon == horizon]
    most, least = (
        extreme(standing.runs // standing.instances for standing in here) for extreme in (max, min)
    )
    each = f"{most} replications each" if most == least else f"{least} to {most} replications each"
    return f"{count(max(standing.instances for standing in here), 'instance')}, {each}."
