"""Figures of results. Matplotlib is imported by the first one.

A policy has the same colour everywhere, its variants the same colour in other dashes; means are
shaded by their standard error.
"""

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.experiments.standings import YARDSTICK, standings
from thrifty.files import write_whole
from thrifty.report.wording import power, printable
from thrifty.studies.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by almost everybody, and three dark ones; black is kept for
# the bound
COLOURS = {
    "thrifty": "#5F0F40",
    "oam": "#0072B2",
    "linucb": "#D55E00",
    "lints": "#009E73",
    "ids": "#B2182B",
    "ossb": "#CC79A7",
    "egreedy": "#E69F00",
    "endoa": "#56B4E9",
    "greedy": "#999999",
    "del": "#8C6D31",
    "solid": "#1B4D3E",
}
OTHER_COLOURS = ("#7F3C8D", "#3F3F3F", "#A5AA99")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.4)), (0, (6, 2, 1, 2)))
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

# from this ratio of final regrets on, a plain axis would show nothing but the worst policy
APART = 8
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
# of text and axes: a black that a page can tell from the bound's, to follow light and dark
INK = "#010203"


def regret_figure(results: Sequence[Result]) -> "Figure":
    """Mean regret over time, one panel an instance, and C log n where it applies; of several
    horizons the longest, with dots where shorter ones end.
    """
    return _with_legend(_panels(results, _draw_regret))


def ratio_figure(results: Sequence[Result]) -> "Figure":
    """R(n) / log n at each horizon n, against the constant C of the lower bound: one panel an
    instance.
    """
    return _with_legend(_panels(results, _draw_ratio))


def labels_figure(results: Sequence[Result]) -> "Figure":
    """Mean regret over time, split by why arms were played: one panel for each result."""
    split = [result for result in results if len(result.labels) > 1]
    return _with_legend(
        _panels(
            split, _draw_labels, title=lambda result: f"{result.policy} on {result.instance.name}"
        )
    )


def tail_figure(results: Sequence[Result]) -> "Figure":
    """The median, the mean, the 95th percentile and the worst run of each policy: one panel an
    instance.
    """
    return _with_legend(_panels(longest(results), _draw_tail))


def sensitivity_figure(results: Sequence[Result]) -> "Figure":
    """Mean regret of the variants of a policy with its standard error: one panel an instance."""
    return _panels(longest(results), _draw_sensitivity)


def horizons_figure(results: Sequence[Result]) -> "Figure":
    """Mean regret at each horizon, thrifty and the yardstick in front: one panel an instance."""
    return _panels(results, _draw_horizons)


def standings_figure(results: Sequence[Result]) -> "Figure":
    """How policies stand over all instances, relative to the yardstick: one panel a horizon."""
    return _panels(results, _draw_standings, title=lambda result: f"n = {power(result.horizon)}")


def save_figure(figure: "Figure", stem: Path, kinds: Sequence[str] = ("svg", "png")) -> None:
    """Write a figure as stem.svg and stem.png, on white."""
    for kind in kinds:
        write_whole(
            stem.with_name(f"{stem.name}.{kind}"),
            svg(figure, stem.name, on="white").replace(INK, "#000000")
            if kind == "svg"
            else _png(figure),
        )


def _png(figure: "Figure") -> bytes:
    image = io.BytesIO()
    with _without_glyph_warnings():
        figure.savefig(image, format="png", dpi=150)
    return image.getvalue()


def svg(figure: "Figure", name: str, *, on: str = "none") -> str:
    """A figure as SVG, the same text whenever it is drawn; text and axes are in INK, on a colour or
    on nothing.
    """
    from matplotlib import rc_context

    image = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}), _without_glyph_warnings():
        figure.savefig(image, format="svg", facecolor=on, metadata={"Date": None})
    return image.getvalue().decode()


def style_of(spec: str, specs: Sequence[str]) -> dict[str, Any]:
    """Colour and dashes of a policy among others."""
    names = list(dict.fromkeys(other.partition(":")[0] for other in specs))
    unknown = [name for name in names if name not in COLOURS]
    name = spec.partition(":")[0]
    variants = sorted(
        {other for other in specs if other.partition(":")[0] == name},
        key=lambda other: (other != name, specs.index(other)),
    )
    colour = (
        COLOURS[name]
        if name in COLOURS
        else OTHER_COLOURS[unknown.index(name) % len(OTHER_COLOURS)]
    )
    return {"color": colour, "linestyle": DASHES[variants.index(spec) % len(DASHES)]}


def longest(results: Sequence[Result]) -> list[Result]:
    """Of each policy on each instance the result with the longest horizon."""
    longest: dict[tuple[str, str], Result] = {}
    for result in results:
        key = (result.instance.name, result.policy)
        if key not in longest or longest[key].horizon < result.horizon:
            longest[key] = result
    return list(longest.values())


def text(name: str) -> str:
    """A name as Matplotlib shows it: not as mathematics, and not longer than a legend has room
    for.
    """
    return printable(name, 48).replace("$", r"\$")


@contextmanager
def _without_glyph_warnings() -> Iterator[None]:
    """Names may be in scripts that the font lacks: a browser shows them, and a box in the PNG says
    enough.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


Draw = Callable[["Axes", Sequence[Result], Sequence[str]], None]


def _panels(
    results: Sequence[Result],
    draw: Draw,
    *,
    title: Callable[[Result], str] = lambda result: result.instance.name,
) -> "Figure":
    """A figure with a panel for each title, drawn with its results."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    titles = list(dict.fromkeys(map(title, results)))
    policies = list(dict.fromkeys(result.policy for result in results))
    across = min(len(titles), 3 if len(titles) != 4 else 2)
    down = -(-len(titles) // across)
    with rc_context(
        dict.fromkeys(
            (
                "text.color",
                "axes.edgecolor",
                "axes.labelcolor",
                "axes.titlecolor",
                "xtick.color",
                "ytick.color",
            ),
            INK,
        )
    ):
        figure = Figure(figsize=(4.6 * across + 0.4, 3.3 * down + 0.7), layout="constrained")
        for panel, name in enumerate(titles):
            axes = figure.add_subplot(down, across, panel + 1)
            axes.set_title(text(name), fontsize="medium")
            axes.set_facecolor("none")
            axes.spines[["top", "right"]].set_visible(False)
            draw(axes, [result for result in results if title(result) == name], policies)
    return figure


def _with_legend(figure: "Figure") -> "Figure":
    """The figure with one legend for all panels, below them."""
    entries = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    across = max(2, round(figure.get_figwidth() / 1.9))
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=min(len(entries), across),
        frameon=False,
        fontsize="small",
        labelcolor=INK,
    )
    return figure


def _draw_regret(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    """The policies on one instance."""
    shown = longest(results)
    last = max(result.horizon for result in shown)
    first, curves = max(1, last // 10**4), []
    for result in shown:
        style, mean = style_of(result.policy, policies), result.curves.mean(axis=0)
        curves.append(mean[result.times >= first])
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
    _decades(axes.xaxis)
    ends = [curve[-1] for curve in curves if len(curve)]
    if max(ends) > APART * min(ends) > 0:
        visible = np.concatenate(curves)
        axes.set(yscale="log", ylim=(0.8 * visible[visible > 0].min(), None))
        _plain_ticks(axes.yaxis)


def _decades(axis: "Axis") -> None:
    """10, 10², 10³ on a logarithmic axis of rounds. Plain text, and no ticks between: Matplotlib's
    own take most of the time of a figure.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator())
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: "10" + f"{round(math.log10(value))}".translate(SUPERSCRIPTS))
    )
    axis.set_minor_locator(NullLocator())


def _plain_ticks(axis: "Axis") -> None:
    """Numbers instead of powers on a logarithmic axis of regret: 1, 2, 5, 10 on a short one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(
        LogLocator(
            subs=(1.0,) if high > 200 * low else (1.0, 3.0) if high > 20 * low else (1.0, 2.0, 5.0)
        )
    )
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(NullLocator())


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
    _decades(axes.xaxis)


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
    _decades(axes.xaxis)


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
    axes.set_yticks(
        range(len(results)), [text(result.policy) for result in reversed(results)], fontsize="small"
    )
    axes.set(xlabel="regret", ylim=(-0.6, len(results) - 0.4))
    if min(min(result.median, result.mean) for result in results) > 0:
        axes.set_xscale("log")
        _plain_ticks(axes.xaxis)
    axes.grid(axis="x", color="#88888855", linewidth=0.5)


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
    axes.set_yticks(
        range(len(results)), [text(result.policy) for result in reversed(results)], fontsize="small"
    )
    wide = max(result.mean for result in results) > APART * min(result.mean for result in results)
    axes.set(
        xlabel="regret, two standard errors",
        ylim=(-0.6, len(results) - 0.4),
        xscale="log" if wide else "linear",
    )
    if wide:
        _plain_ticks(axes.xaxis)
    else:
        axes.set_xlim(0, None)
    axes.grid(axis="x", color="#88888855", linewidth=0.5)


def _draw_horizons(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    for policy in policies:
        own = sorted(
            (result for result in results if result.policy == policy),
            key=lambda result: result.horizon,
        )
        means = [max(result.mean, 1e-3) for result in own]
        leads = policy in (YARDSTICK, "thrifty")
        width, marker = (2.2, "o") if leads else (0.9, "")
        style = style_of(policy, policies)
        axes.plot(
            [result.horizon for result in own],
            means,
            linewidth=width,
            marker=marker,
            markersize=4,
            zorder=3 if leads else 2,
            **style,
        )
    axes.set(xscale="log", yscale="log", xlabel="n", ylabel="regret")
    _decades(axes.xaxis)
    _plain_ticks(axes.yaxis)


def _draw_standings(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    found = list(reversed(standings(results)))
    nearest, furthest = 0.2, 12.0  # what is outside is shown as a triangle at the edge
    for row, standing in enumerate(found):
        shown, colour = (
            min(max(standing.ratio, nearest), furthest),
            style_of(standing.policy, policies)["color"],
        )
        marker = "o" if shown == standing.ratio else "<" if shown == nearest else ">"
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
    axes.axvline(1.0, color=INK, linewidth=1)
    axes.set_yticks(
        range(len(found)), [text(standing.policy) for standing in found], fontsize="small"
    )
    axes.set(xscale="log", xlabel="regret relative to lints", ylim=(-0.6, len(found) - 0.4))
    _plain_ticks(axes.xaxis)
    axes.grid(axis="x", color="#88888855", linewidth=0.5)
