"""The figure of the ranking: relative regret of all policies, one panel per horizon."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from thrifty.experiments.standings import BASELINE, Standing, standings
from thrifty.report.drawing import INK, panels, plain_ticks, policy_rows, style_of
from thrifty.report.wording import power
from thrifty.studies.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CAPTION = (
    "Regret relative to heuristic Thompson sampling (lints), geometric mean over the instances: "
    "below 1 is less regret. Whiskers are two standard errors; triangles mark values outside of "
    "the range."
)
LEAST, MOST = 0.2, 12.0  # the range of relative regrets that is shown


def standings_figure(results: Sequence[Result]) -> "Figure":
    """The ranking of all policies, one panel per horizon."""
    return panels(results, _draw, title=lambda result: f"n = {power(result.horizon)}")


def _draw(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    found = list(reversed(standings(results)))
    for row, standing in enumerate(found):
        _draw_standing(axes, row, standing, style_of(standing.policy, policies)["color"])
    axes.axvline(1.0, color=INK, linewidth=1)
    axes.set(xscale="log", xlabel=f"regret relative to {BASELINE}")
    plain_ticks(axes.xaxis)
    policy_rows(axes, [standing.policy for standing in found])


def _draw_standing(axes: "Axes", row: int, standing: Standing, colour: str) -> None:
    shown = min(max(standing.ratio, LEAST), MOST)
    marker = "o" if shown == standing.ratio else "<" if shown == LEAST else ">"
    stretch = (
        math.exp(2 * standing.error / standing.ratio)
        if marker == "o" and not math.isnan(standing.error)
        else 1.0
    )
    axes.errorbar(
        shown,
        row,
        xerr=[[shown - shown / stretch], [shown * stretch - shown]],
        color=colour,
        marker=marker,
        markersize=6,
        capsize=2,
    )
    axes.plot([1.0, shown], [row, row], color=colour, linewidth=1, alpha=0.5)
