"""Figures of results; means are shown with their standard errors."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from thrifty.numerics.arrays import Floats
from thrifty.report.drawing import (
    decades,
    panels,
    plain_ticks,
    policy_rows,
    style_of,
    text,
    with_legend,
)
from thrifty.studies.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABEL_COLOURS = (
    "#999999",
    "#56B4E9",
    "#E69F00",
    "#0072B2",
    "#CC79A7",
    "#009E73",
    "#D55E00",
    "#F0E442",
)

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
    return with_legend(
        panels(
            split, _draw_labels, title=lambda result: f"{result.policy} on {result.instance.name}"
        )
    )


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
        mean = _draw_mean(axes, result, policies)
        curves.append(mean[result.times >= first])
    for result in results:
        if result.horizon < last:
            axes.errorbar(
                result.horizon,
                result.mean,
                result.se,
                color=style_of(result.policy, policies)["color"],
                marker="o",
                markersize=3,
                linewidth=1,
            )
    if shown[0].constant:
        times = np.geomspace(1, max(2, last), 200)
        curves.append(shown[0].constant * np.log(times[times >= first]))
        axes.plot(
            times,
            shown[0].constant * np.log(times),
            color="black",
            linestyle="--",
            linewidth=1,
            label="C log n",
        )
    axes.set(
        xscale="log", xlabel="round", ylabel="regret", xlim=(first, max(2, last)), ylim=(0, None)
    )
    decades(axes.xaxis)
    ends = [curve[-1] for curve in curves if len(curve)]
    if max(ends) > APART * min(ends) > 0:
        visible = np.concatenate(curves)
        axes.set(yscale="log", ylim=(0.8 * visible[visible > 0].min(), None))
        plain_ticks(axes.yaxis)


def _draw_mean(axes: "Axes", result: Result, policies: Sequence[str]) -> Floats:
    """Draw the mean regret (c,) of a result, shaded by its standard error, and return it."""
    style, mean = style_of(result.policy, policies), result.curves.mean(axis=0)
    axes.plot(result.times, mean, label=text(result.policy), **style)
    if result.replications > 1:
        error = result.curves.std(axis=0, ddof=1) / np.sqrt(result.replications)
        axes.fill_between(
            result.times,
            mean - error,
            mean + error,
            color=style["color"],
            alpha=0.25,
            linewidth=0,
        )
    return mean


def _draw_ratio(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    for policy in policies:
        own = sorted(
            (result for result in results if result.policy == policy and result.horizon > 1),
            key=lambda result: result.horizon,
        )
        logs = np.log([result.horizon for result in own])
        errors = np.array([result.se for result in own]) / logs
        axes.errorbar(
            [result.horizon for result in own],
            np.array([result.mean for result in own]) / logs,
            errors,
            label=text(policy),
            marker="o",
            markersize=4,
            capsize=2,
            **style_of(policy, policies),
        )
    if results[0].constant:
        axes.axhline(results[0].constant, color="black", linestyle="--", linewidth=1, label="C")
    axes.set(xscale="log", xlabel="n", ylabel="R(n) / log n", ylim=(0, None))
    decades(axes.xaxis)


def _draw_labels(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    [result] = longest(results)
    parts = result.regret.mean(axis=0)
    axes.stackplot(
        result.times,
        parts.T,
        labels=result.labels,
        colors=LABEL_COLOURS[: len(result.labels)],
        linewidth=0,
    )
    first = max(1, result.horizon // 10**5)
    axes.set(
        xscale="log",
        xlabel="round",
        ylabel="regret",
        xlim=(first, max(2, result.horizon)),
        ylim=(0, None),
    )
    decades(axes.xaxis)


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
            axes.plot(value, row, marker=marker, color=colour, linestyle="", markersize=5)
            if row == 0:
                axes.plot(
                    [], [], marker=marker, color="#888888", linestyle="", markersize=5, label=label
                )
    axes.set_xlabel("regret")
    if min(min(result.median, result.mean) for result in results) > 0:
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
    policy_rows(axes, [result.policy for result in reversed(results)])


def _draw_sensitivity(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    for row, result in enumerate(reversed(results)):
        axes.errorbar(
            result.mean,
            row,
            xerr=2 * result.se,
            color=style_of(result.policy, policies)["color"],
            marker="o",
            markersize=4,
            capsize=2,
        )
    wide = max(result.mean for result in results) > APART * min(result.mean for result in results)
    axes.set(xlabel="regret, two standard errors", xscale="log" if wide else "linear")
    if wide:
        plain_ticks(axes.xaxis)
    else:
        axes.set_xlim(0, None)
    policy_rows(axes, [result.policy for result in reversed(results)])


def _draw_horizons(
    axes: "Axes", results: Sequence[Result], policies: Sequence[str], *, front: Sequence[str]
) -> None:
    for policy in policies:
        own = sorted(
            (result for result in results if result.policy == policy),
            key=lambda result: result.horizon,
        )
        means = [max(result.mean, 1e-3) for result in own]
        width, marker = (2.2, "o") if policy in front else (0.9, "")
        style = style_of(policy, policies)
        axes.plot(
            [result.horizon for result in own],
            means,
            linewidth=width,
            marker=marker,
            markersize=4,
            zorder=3 if policy in front else 2,
            **style,
        )
    axes.set(xscale="log", yscale="log", xlabel="n", ylabel="regret")
    decades(axes.xaxis)
    plain_ticks(axes.yaxis)
