"""The page of the arena: rankings by group of instances, tables by kind, figures by instance."""

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thrifty.files import package_toml
from thrifty.lab.arena.standings import BASELINE, LEADERS, Standing, standings
from thrifty.lab.arena.suite import LARGEST, LONGEST, UNSEEN, ArenaEntry, kind_of
from thrifty.lab.arena.tuning import origin, values_of
from thrifty.policies import policy as named_policy
from thrifty.report.drawing import INK, panels, plain_ticks, policy_rows, style_of
from thrifty.report.figures import horizons_figure
from thrifty.report.pages import Page, Picture, Section, Table
from thrifty.report.wording import count, plain, power, with_error, with_errors
from thrifty.studies.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST, MOST = 0.2, 12.0  # the range of relative regrets that the figure of the ranking shows
TAILS_FROM = 100  # replications
LONG_FROM = 10**5  # rounds
SHORT_HEADERS = (
    f"n|{LEADERS[0]}, relative regret|on its worst instance|CVaR|median"
    "|best rival, as published|best rival, tuned"
)
HEADERS = (
    "rank|policy|values|relative regret|worst|on|CVaR|median|stuck|replications"
    "|ns per round|instances"
)


def arena_page(
    results: Mapping[str, tuple[Result, ...]],
    standings: Mapping[str, Sequence[Standing]],
    folder: Path,
) -> Page:
    """The page of an arena that is kept in a folder; results and standings by group."""
    words = _words()
    titles = {group: words["groups"][group]["title"] for group in results}
    sections = []
    for group, ranking in standings.items():
        title, tables = f"{titles[group]}: in short", (short_table(ranking),)
        sections.append(Section(f"{group}-short", title, text=words["short"], tables=tables))
    for group, of_group in results.items():
        sections += _ranking_sections(group, of_group, standings[group], folder)
        if group == "kinds":
            sections += _kind_sections(titles[group], of_group)
        else:
            pictures = (_by_horizon_picture(f"arena-{group}-instances", of_group),)
            title = f"{titles[group]}: by instance"
            sections.append(Section(f"{group}-instances", title, pictures=pictures))
    unseen = limits([result for of_group in results.values() for result in of_group])
    paragraphs = (*([unseen] if unseen else []), *words["lead"])
    return Page("The arena", paragraphs, tuple(sections))


def _words() -> dict[str, Any]:
    return package_toml("thrifty.lab.pages", "arena.toml")


def short_table(standings: Sequence[Standing]) -> Table:
    """Our own policy at each horizon, and the best of its rivals, as published and tuned."""
    rows = []
    for n, ranking in _by_horizon(standings):
        [ours] = [standing for standing in ranking if standing.policy == LEADERS[0]]
        rivals = [row for row in ranking if row.rank is not None and row.policy != BASELINE]
        worst, median = with_error(ours.worst, ours.worst_error), plain(ours.median, 3)
        best = (_best_of(rivals, values) for values in ("published", "tuned"))
        rows.append((power(n), ratio_text(ours), worst, cvar_text(ours), median, *best))
    return Table(tuple(SHORT_HEADERS.split("|")), tuple(rows))


def _best_of(ranked: Sequence[Standing], values: str) -> str:
    """The first of ranked standings with such values of its parameters, and its relative regret."""
    for standing in ranked:
        if origin(standing.policy) in (values, "both"):
            mark = " (experimental)" if named_policy(standing.policy).experimental else ""
            return f"{standing.policy}{mark} {ratio_text(standing)}"
    return ""


def limits(results: Sequence[Result]) -> str:
    """What results cannot show, in a sentence; empty for those of a full arena."""
    runs = max(result.replications for result in results)
    longest = max(result.horizon for result in results)
    missing = []
    if runs < TAILS_FROM:
        most = f"there are {runs} runs of each policy on each instance, at most"
        missing.append(f"what goes wrong in one run in a hundred ({most})")
    if longest < LONG_FROM:
        missing.append(f"what happens after n = {power(longest)}")
    shown = " or ".join(missing)
    return f"This is a quick arena: it cannot show {shown}; --full does." if missing else ""


def _ranking_sections(
    group: str, results: tuple[Result, ...], standings: Sequence[Standing], folder: Path
) -> list[Section]:
    """The figure of a group's ranking, and a table per horizon."""
    words, caption = _words()["groups"][group], _words()["captions"]["ranking"]
    full = "--full " if max(result.horizon for result in results) > 10**4 else ""
    shortest = min(result.horizon for result in results)
    draw = partial(standings_figure, standings=standings)
    overview = Picture(f"arena-{group}", draw, caption, results, by_instance=False)
    longest = LONGEST.get(group)
    numbers = {"unseen": UNSEEN, "largest": f"{LARGEST:,}", "longest": longest and power(longest)}
    return [
        Section(
            group,
            words["title"],
            text=words["about"].format(**numbers),
            pictures=(overview,),
            kept=tuple(result for result in results if result.horizon == shortest),
            rerun=f"thrifty arena {full}--only {group} --out {shlex.quote(str(folder))}",
        ),
        *(
            Section(
                f"{group}-{n}",
                f"{words['title']}: n = {power(n)}",
                text=f"{count(max(standing.instances for standing in ranking), 'instance')}.",
                tables=(Table(tuple(HEADERS.split("|")), tuple(map(_row, ranking)), words=3),),
            )
            for n, ranking in _by_horizon(standings)
        ),
    ]


def _by_horizon(standings: Iterable[Standing]) -> list[tuple[int, list[Standing]]]:
    groups: dict[int, list[Standing]] = {}
    for standing in standings:
        groups.setdefault(standing.horizon, []).append(standing)
    return sorted(groups.items())


def _row(standing: Standing) -> tuple[str, ...]:
    return (
        rank_text(standing),
        standing.policy,
        values_of(standing.policy),
        ratio_text(standing),
        with_error(standing.worst, standing.worst_error),
        standing.where,
        cvar_text(standing),
        plain(standing.median, 3),
        f"{standing.stuck} of {standing.runs:,}",
        str(standing.replications),
        f"{standing.nanoseconds:,.0f}",
        str(standing.instances),
    )


def ratio_text(standing: Standing) -> str:
    """The relative regret with both standard errors."""
    return with_errors(standing.ratio, standing.error, standing.instance_error)


def rank_text(standing: Standing) -> str:
    """The range of ranks, `2` to `4` with a dash; one number if it is one; empty without a rank."""
    return "\N{EN DASH}".join(map(str, dict.fromkeys(standing.rank or ())))


def cvar_text(standing: Standing) -> str:
    """The ratio of CVaRs with its standard error; empty for few replications."""
    return "" if math.isnan(standing.cvar) else with_error(standing.cvar, standing.cvar_error)


def _by_horizon_picture(name: str, results: Sequence[Result]) -> Picture:
    draw = partial(horizons_figure, front=LEADERS)
    return Picture(name, draw, _words()["captions"]["horizons"], tuple(results))


def _kind_sections(title: str, results: Sequence[Result]) -> list[Section]:
    """A table and a figure for each kind of instances and rewards."""
    words = _words()
    kinds: dict[str, list[Result]] = {kind: [] for kind in words["kinds"]}
    for result in results:
        kind = kind_of(ArenaEntry(result.instance.name, result.rewards))
        kinds.setdefault(kind, []).append(result)
    return [
        Section(
            f"kinds-{kind}",
            f"{title}: {kind}",
            text=f"{words['kinds'].get(kind, '')} {words['kind_numbers']}".lstrip(),
            tables=(kind_table(standings(of_kind)),),
            pictures=(_by_horizon_picture(f"arena-kinds-{kind}", of_kind),),
        )
        for kind, of_kind in kinds.items()
        if of_kind
    ]


def kind_table(standings: Sequence[Standing]) -> Table:
    """Relative regret of each policy at each horizon, by that at the longest."""
    by_horizon = _by_horizon(standings)
    policies = dict.fromkeys(row.policy for _, ranking in reversed(by_horizon) for row in ranking)
    by_policy = {(standing.policy, standing.horizon): standing for standing in standings}
    rows = []
    for policy in policies:
        cells = [by_policy.get((policy, n)) for n, _ in by_horizon]
        ratios = ["" if cell is None else with_error(cell.ratio, cell.error) for cell in cells]
        runs = ", ".join("-" if cell is None else str(cell.replications) for cell in cells)
        rows.append((policy, values_of(policy), *ratios, runs))
    horizons = tuple(f"n = {power(n)}" for n, _ in by_horizon)
    return Table(("policy", "values", *horizons, "replications"), tuple(rows), words=2)


def standings_figure(results: Sequence[Result], *, standings: Sequence[Standing]) -> "Figure":
    """The ranking of all policies by relative regret, one panel per horizon of the results."""

    def draw(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
        n = results[0].horizon
        here = [standing for standing in reversed(standings) if standing.horizon == n]
        for row, standing in enumerate(here):
            _draw_standing(axes, row, standing, style_of(standing.policy, policies)["color"])
        axes.axvline(1.0, color=INK, linewidth=1)
        axes.set(xscale="log", xlabel=f"regret relative to {BASELINE}")
        plain_ticks(axes.xaxis)
        policy_rows(axes, [standing.policy for standing in here])

    return panels(results, draw, title=lambda result: f"n = {power(result.horizon)}")


def _draw_standing(axes: "Axes", row: int, standing: Standing, colour: str) -> None:
    shown = min(max(standing.ratio, LEAST), MOST)
    marker = "o" if shown == standing.ratio else "<" if shown == LEAST else ">"
    for error, width in ((standing.instance_error, 1.0), (standing.error, 3.0)):
        if marker == "o" and not math.isnan(error):
            stretch = math.exp(2 * error / standing.ratio)
            ends = [max(shown / stretch, LEAST), min(shown * stretch, MOST)]
            axes.plot(ends, [row, row], color=colour, linewidth=width, solid_capstyle="butt")
    dot: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 6, "linestyle": ""}
    axes.plot(shown, row, markerfacecolor="none" if standing.rank is None else colour, **dot)
