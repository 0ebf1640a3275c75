"""The figure of the ranking: relative regret of all policies, one panel per horizon."""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from thrifty.lab.arena.standings import BASELINE, Standing
from thrifty.report.drawing import INK, panels, plain_ticks, policy_rows, style_of
from thrifty.report.wording import power
from thrifty.studies.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST, MOST = 0.2, 12.0  # the range of relative regrets that is shown


def standings_figure(results: Sequence[Result], *, standings: Sequence[Standing]) -> "Figure":
    """The ranking of all policies, one panel per horizon of the results."""
    draw = partial(_draw, standings=standings)
    return panels(results, draw, title=lambda result: f"n = {power(result.horizon)}")


def _draw(
    axes: "Axes",
    results: Sequence[Result],
    policies: Sequence[str],
    *,
    standings: Sequence[Standing],
) -> None:
    n = results[0].horizon
    here = [standing for standing in reversed(standings) if standing.horizon == n]
    for row, standing in enumerate(here):
        _draw_standing(axes, row, standing, style_of(standing.policy, policies)["color"])
    axes.axvline(1.0, color=INK, linewidth=1)
    axes.set(xscale="log", xlabel=f"regret relative to {BASELINE}")
    plain_ticks(axes.xaxis)
    policy_rows(axes, [standing.policy for standing in here])


def _draw_standing(axes: "Axes", row: int, standing: Standing, colour: str) -> None:
    shown = min(max(standing.ratio, LEAST), MOST)
    marker = "o" if shown == standing.ratio else "<" if shown == LEAST else ">"
    inside = "none" if standing.rank is None else colour
    for error, width in ((standing.instance_error, 1.0), (standing.error, 3.0)):
        if marker == "o" and not math.isnan(error):
            stretch = math.exp(2 * error / standing.ratio)
            axes.plot(
                [max(shown / stretch, LEAST), min(shown * stretch, MOST)],
                [row, row],
                color=colour,
                linewidth=width,
                solid_capstyle="butt",
            )
    axes.plot(
        shown, row, color=colour, marker=marker, markersize=6, linestyle="", markerfacecolor=inside
    )
