"""Figures of results; means are shown with their standard errors."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.numerics.arrays import Floats
from thrifty.report import drawing
from thrifty.report.drawing import decades, panels, plain_ticks, style_of, text, with_legend
from thrifty.studies.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABEL_COLOURS = ["#999999", "#56B4E9", "#E69F00", "#0072B2", "#CC79A7", "#009E73", "#D55E00"]
LABEL_COLOURS += ["#F0E442"]
Look = dict[str, Any]  # how a line or dot is drawn
BOUND: Look = {"color": "black", "linestyle": "--", "linewidth": 1}
APART = 8  # ratio of final regrets from which on the axis of regret is logarithmic


def regret_figure(results: Sequence[Result]) -> "Figure":
    """Mean regret over time and C log n, one panel per instance.

    Curves are those of the longest horizon; dots show the final regret at shorter horizons.
    """
    return with_legend(panels(results, _draw_regret))


def ratio_figure(results: Sequence[Result]) -> "Figure":
    """R(n) / log n at each horizon n, and the constant C: one panel per instance."""
    return with_legend(panels(results, _draw_ratio))


def labels_figure(results: Sequence[Result]) -> "Figure":
    """Mean regret over time, split by label: one panel per result with several labels."""
    split = [result for result in results if len(result.labels) > 1]

    def title(result: Result) -> str:
        return f"{result.policy} on {result.instance.name}"

    return with_legend(panels(split, _draw_labels, title=title))


def tail_figure(results: Sequence[Result]) -> "Figure":
    """Median, mean, 95th percentile and worst run of each policy: one panel per instance."""
    return with_legend(panels(longest(results), _draw_tail))


def sensitivity_figure(results: Sequence[Result]) -> "Figure":
    """Mean regret of variants of a policy with two standard errors: one panel per instance."""
    return panels(longest(results), _draw_sensitivity)


def horizons_figure(results: Sequence[Result], *, front: Sequence[str] = ()) -> "Figure":
    """Mean regret at each horizon, one panel per instance; policies in `front` have thick lines."""
    return panels(results, partial(_draw_horizons, front=front))


def longest(results: Sequence[Result]) -> list[Result]:
    """The result with the longest horizon of each policy on each instance."""
    longest: dict[tuple[str, str], Result] = {}
    for result in results:
        key = (result.instance.name, result.policy)
        if key not in longest or longest[key].horizon < result.horizon:
            longest[key] = result
    return list(longest.values())


def _draw_regret(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    shown = longest(results)
    last = max(result.horizon for result in shown)
    first, curves = max(1, last // 10**4), []
    for result in shown:
        curves.append(_draw_mean(axes, result, policies)[result.times >= first])
    for result in results:
        if result.horizon < last:
            colour = style_of(result.policy, policies)["color"]
            dot: Look = {"color": colour, "marker": "o", "markersize": 3, "linewidth": 1}
            axes.errorbar(result.horizon, result.mean, result.se, **dot)
    if constant := shown[0].constant:
        times = np.geomspace(1, max(2, last), 200)
        bound = constant * np.log(times)
        curves.append(bound[times >= first])
        axes.plot(times, bound, **BOUND, label="C log n")
    _over_time(axes, first, last)
    ends = [curve[-1] for curve in curves if len(curve)]
    if max(ends) > APART * min(ends) > 0:
        visible = np.concatenate(curves)
        axes.set(yscale="log", ylim=(0.8 * visible[visible > 0].min(), None))
        plain_ticks(axes.yaxis)


def _over_time(axes: "Axes", first: int, last: int) -> None:
    """Axes of regret over rounds."""
    axes.set(xscale="log", xlabel="round", ylabel="regret")
    axes.set(xlim=(first, max(2, last)), ylim=(0, None))
    decades(axes.xaxis)


def _draw_mean(axes: "Axes", result: Result, policies: Sequence[str]) -> Floats:
    """Draw the mean regret (c,) of a result, shaded by its standard error, and return it."""
    style, mean = style_of(result.policy, policies), result.curves.mean(axis=0)
    axes.plot(result.times, mean, label=text(result.policy), **style)
    if result.replications > 1:
        error = result.curves.std(axis=0, ddof=1) / np.sqrt(result.replications)
        shade: Look = {"color": style["color"], "alpha": 0.25, "linewidth": 0}
        axes.fill_between(result.times, mean - error, mean + error, **shade)
    return mean


def _by_horizon(
    results: Sequence[Result], policies: Sequence[str], least: int = 1
) -> Iterator[tuple[str, list[Result], list[int]]]:
    """Each policy, its results by horizon, and the horizons."""
    for policy in policies:
        of_policy = [r for r in results if r.policy == policy and r.horizon >= least]
        of_policy.sort(key=lambda result: result.horizon)
        yield policy, of_policy, [result.horizon for result in of_policy]


def _draw_ratio(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    for policy, of_policy, horizons in _by_horizon(results, policies, least=2):
        logs = np.log(horizons)
        ratios = np.array([result.mean for result in of_policy]) / logs
        errors = np.array([result.se for result in of_policy]) / logs
        style = style_of(policy, policies) | {"marker": "o", "markersize": 4, "capsize": 2}
        axes.errorbar(horizons, ratios, errors, label=text(policy), **style)
    if results[0].constant:
        axes.axhline(results[0].constant, **BOUND, label="C")
    axes.set(xscale="log", xlabel="n", ylabel="R(n) / log n", ylim=(0, None))
    decades(axes.xaxis)


def _draw_labels(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    [result] = longest(results)
    parts, colours = result.regret.mean(axis=0).T, LABEL_COLOURS[: len(result.labels)]
    axes.stackplot(result.times, parts, labels=result.labels, colors=colours, linewidth=0)
    _over_time(axes, max(1, result.horizon // 10**5), result.horizon)


def _draw_tail(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    for row, result in enumerate(reversed(results)):
        colour = style_of(result.policy, policies)["color"]
        marks = (
            ("|", "median", result.median),
            ("o", "mean", result.mean),
            ("D", "95th percentile", result.p95),
            ("x", "worst run", result.max),
        )
        axes.hlines(row, result.median, result.max, color=colour, linewidth=1)
        for marker, label, value in marks:
            mark: Look = {"marker": marker, "linestyle": "", "markersize": 5}
            axes.plot(value, row, color=colour, **mark)
            if row == 0:
                axes.plot([], [], color="#888888", label=label, **mark)
    axes.set_xlabel("regret")
    if min(min(result.median, result.mean) for result in results) > 0:
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
    drawing.policy_rows(axes, [result.policy for result in reversed(results)])


def _draw_sensitivity(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    dot: Look = {"marker": "o", "markersize": 4, "capsize": 2}
    for row, result in enumerate(reversed(results)):
        colour = style_of(result.policy, policies)["color"]
        axes.errorbar(result.mean, row, xerr=2 * result.se, color=colour, **dot)
    means = [result.mean for result in results]
    wide = max(means) > APART * min(means)
    axes.set(xlabel="regret, two standard errors", xscale="log" if wide else "linear")
    if wide:
        plain_ticks(axes.xaxis)
    else:
        axes.set_xlim(0, None)
    drawing.policy_rows(axes, [result.policy for result in reversed(results)])


def _draw_horizons(
    axes: "Axes", results: Sequence[Result], policies: Sequence[str], *, front: Sequence[str]
) -> None:
    thick: Look = {"linewidth": 2.2, "marker": "o", "zorder": 3}
    for policy, of_policy, horizons in _by_horizon(results, policies):
        means = [max(result.mean, 1e-3) for result in of_policy]
        width: Look = thick if policy in front else {"linewidth": 0.9, "marker": "", "zorder": 2}
        axes.plot(horizons, means, markersize=4, **width, **style_of(policy, policies))
    axes.set(xscale="log", yscale="log", xlabel="n", ylabel="regret")
    decades(axes.xaxis)
    plain_ticks(axes.yaxis)
