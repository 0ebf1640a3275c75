"""The page of the arena: rankings by group of instances, tables by kind, figures by instance."""

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from thrifty.lab.arena.standings import BASELINE, LEADERS, Standing, standings
from thrifty.lab.arena.suite import Entry, kind_of
from thrifty.lab.arena.tuning import origin
from thrifty.lab.pages.arena_words import (
    ABOUT,
    ABOUT_KINDS,
    KIND_NUMBERS,
    LEAD,
    SHORT,
    TITLES,
)
from thrifty.lab.pages.standings_figure import CAPTION, standings_figure
from thrifty.report.figures import horizons_figure
from thrifty.report.pages import Page, Picture, Section, Table
from thrifty.report.wording import count, plain, power, with_error, with_errors
from thrifty.studies.results import Result

TAILS_FROM = 100  # replications
LONG_FROM = 10**5  # rounds
HORIZONS_CAPTION = (
    "Mean regret at each horizon n, each a separate run; colours as above, thick lines for thrifty "
    "and lints."
)
SHORT_HEADERS = (
    "n",
    f"{LEADERS[0]}, relative regret",
    "on its worst instance",
    "CVaR",
    "median",
    "best rival, as published",
    "best rival, tuned",
)
HEADERS = (
    "rank",
    "policy",
    "values",
    "relative regret",
    "worst",
    "on",
    "CVaR",
    "median",
    "stuck",
    "replications",
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
        for section in (
            *_ranking_sections(group, own, standings[group], folder),
            *(_kind_sections(own) if group == "kinds" else [_instances_section(group, own)]),
        )
    ]
    unseen = limits([result for own in results.values() for result in own])
    short = [
        Section(
            f"{group}-short",
            f"{TITLES[group]}: in short",
            text=SHORT,
            tables=(short_table(own),),
        )
        for group, own in standings.items()
    ]
    return Page("The arena", (*([unseen] if unseen else []), *LEAD), (*short, *sections))


def short_table(standings: Sequence[Standing]) -> Table:
    """Our own policy at each horizon, and the best of its rivals, as published and tuned."""
    rows = []
    for n, own in _by_horizon(standings):
        [ours] = [one for one in own if one.policy == LEADERS[0]]
        ranked = [one for one in own if one.rank is not None and one.policy != BASELINE]
        rows.append(
            (
                power(n),
                with_errors(ours.ratio, ours.error, ours.instance_error),
                with_error(ours.worst, ours.worst_error),
                cvar_text(ours),
                plain(ours.median, 3),
                *(_best_of(ranked, values) for values in ("published", "tuned")),
            )
        )
    return Table(SHORT_HEADERS, tuple(rows))


def _best_of(ranked: Sequence[Standing], values: str) -> str:
    """The first of ranked standings with such values of its parameters, and its relative regret."""
    own = [one for one in ranked if origin(one.policy) in (values, "both")]
    return (
        f"{own[0].policy} {with_errors(own[0].ratio, own[0].error, own[0].instance_error)}"
        if own
        else ""
    )


def limits(results: Sequence[Result]) -> str:
    """What results cannot show, in a sentence; empty for those of a full arena."""
    runs = max(result.replications for result in results)
    longest = max(result.horizon for result in results)
    missing = [
        *(
            [
                f"what goes wrong in one run in a hundred (there are {runs} runs of each policy on "
                "each instance, at most)"
            ]
            if runs < TAILS_FROM
            else []
        ),
        *([f"what happens after n = {power(longest)}"] if longest < LONG_FROM else []),
    ]
    return (
        f"This is a quick arena: it cannot show {' or '.join(missing)}; --full does."
        if missing
        else ""
    )


def _ranking_sections(
    group: str, results: tuple[Result, ...], standings: Sequence[Standing], folder: Path
) -> list[Section]:
    """The figure of a group's ranking, and a table per horizon."""
    full = "--full " if max(result.horizon for result in results) > 10**4 else ""
    rerun = f"thrifty arena {full}--only {group} --out {shlex.quote(str(folder))}"
    draw = partial(standings_figure, found=standings)
    overview = Picture(f"arena-{group}", draw, CAPTION, results, by_instance=False)
    shortest = min(result.horizon for result in results)
    return [
        Section(
            group,
            TITLES[group],
            text=ABOUT[group],
            pictures=(overview,),
            kept=tuple(result for result in results if result.horizon == shortest),
            rerun=rerun,
        ),
        *(
            Section(
                f"{group}-{n}",
                f"{TITLES[group]}: n = {power(n)}",
                text=f"{count(max(one.instances for one in own), 'instance')}.",
                tables=(Table(HEADERS, tuple(map(_row, own)), words=3),),
            )
            for n, own in _by_horizon(standings)
        ),
    ]


def _by_horizon(standings: Iterable[Standing]) -> list[tuple[int, list[Standing]]]:
    found: dict[int, list[Standing]] = {}
    for standing in standings:
        found.setdefault(standing.horizon, []).append(standing)
    return sorted(found.items())


def _row(standing: Standing) -> tuple[str, ...]:
    return (
        rank_text(standing),
        standing.policy,
        origin(standing.policy),
        with_errors(standing.ratio, standing.error, standing.instance_error),
        with_error(standing.worst, standing.worst_error),
        standing.where,
        cvar_text(standing),
        plain(standing.median, 3),
        f"{standing.stuck} of {standing.runs:,}",
        str(standing.replications),
        f"{standing.nanoseconds:,.0f}",
        str(standing.instances),
    )


def rank_text(standing: Standing) -> str:
    """The range of ranks, `2` to `4` with a dash; one number if it is one; empty without a rank."""
    if standing.rank is None:
        return ""
    return "\N{EN DASH}".join(map(str, dict.fromkeys(standing.rank)))


def cvar_text(standing: Standing) -> str:
    """The ratio of CVaRs with its standard error; empty for few replications."""
    if math.isnan(standing.cvar):
        return ""
    return with_error(standing.cvar, standing.cvar_error)


def _instances_section(group: str, results: tuple[Result, ...]) -> Section:
    draw = partial(horizons_figure, front=LEADERS)
    picture = Picture(f"arena-{group}-instances", draw, HORIZONS_CAPTION, results)
    return Section(f"{group}-instances", f"{TITLES[group]}: by instance", pictures=(picture,))


def _kind_sections(results: Sequence[Result]) -> list[Section]:
    """A table and a figure for each kind of instances and rewards."""
    kinds: dict[str, list[Result]] = {kind: [] for kind in ABOUT_KINDS}
    for result in results:
        entry = Entry(result.instance.name, result.rewards)
        kinds.setdefault(kind_of(entry), []).append(result)
    draw = partial(horizons_figure, front=LEADERS)
    return [
        Section(
            f"kinds-{kind}",
            f"{TITLES['kinds']}: {kind}",
            text=f"{ABOUT_KINDS.get(kind, '')} {KIND_NUMBERS}".lstrip(),
            tables=(kind_table(standings(own)),),
            pictures=(Picture(f"arena-kinds-{kind}", draw, HORIZONS_CAPTION, tuple(own)),),
        )
        for kind, own in kinds.items()
        if own
    ]


def kind_table(standings: Sequence[Standing]) -> Table:
    """Relative regret of each policy at each horizon, by that at the longest."""
    by_horizon = _by_horizon(standings)
    policies = dict.fromkeys(one.policy for _, own in reversed(by_horizon) for one in own)
    found = {(one.policy, one.horizon): one for one in standings}
    rows = []
    for policy in policies:
        own = [found.get((policy, n)) for n, _ in by_horizon]
        rows.append(
            (
                policy,
                origin(policy),
                *("" if one is None else with_error(one.ratio, one.error) for one in own),
                ", ".join("-" if one is None else str(one.replications) for one in own),
            )
        )
    horizons = tuple(f"n = {power(n)}" for n, _ in by_horizon)
    return Table(("policy", "values", *horizons, "replications"), tuple(rows), words=2)
