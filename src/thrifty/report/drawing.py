"""Parts of figures: colours, panels, legends, axes, and files. Matplotlib is imported when used.

A policy has the same colour in every figure; its variants have the same colour and other dashes.
"""

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.files import write_whole
from thrifty.report.wording import printable
from thrifty.studies.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which suit colour-blind readers, and others; the bound is black.
COLOURS = {
    "thrifty": "#5F0F40",
    "penalty": "#A8326E",
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
    "vids": "#F08080",
    "linmed": "#4B4BC3",
    "squarecb": "#9ACD32",
}
OTHER_COLOURS = ("#7F3C8D", "#3F3F3F", "#A5AA99")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.4)), (0, (6, 2, 1, 2)))
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
# Colour of text and axes: HTML pages replace it by the page's own, and leave the bound's black.
INK = "#010203"
_INKED = ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor")
_IN_INK: dict[Any, str] = dict.fromkeys((*_INKED, "xtick.color", "ytick.color"), INK)


def save_figure(figure: "Figure", stem: Path, kinds: Sequence[str] = ("svg", "png")) -> None:
    """Write a figure as stem.svg and stem.png, on a white background."""
    for kind in kinds:
        image = io.BytesIO()
        if kind == "svg":
            image.write(svg(figure, stem.name, on="white").replace(INK, "#000000").encode())
        else:
            with _without_glyph_warnings():
                figure.savefig(image, format="png", dpi=150)
        write_whole(stem.with_name(f"{stem.name}.{kind}"), image.getvalue())


def svg(figure: "Figure", name: str, *, on: str = "none") -> str:
    """A figure as SVG text, reproducible to the byte.

    Text and axes are in INK; `on` is the colour of the background; `name` makes ids unique.
    """
    from matplotlib import rc_context

    image = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}), _without_glyph_warnings():
        figure.savefig(image, format="svg", facecolor=on, metadata={"Date": None})
    return image.getvalue().decode()


def style_of(spec: str, specs: Sequence[str]) -> dict[str, Any]:
    """Colour and dashes of a policy in a figure that shows the policies `specs`."""
    names = {other: other.partition(":")[0] for other in specs}
    name = spec.partition(":")[0]
    variants = [other for other in names if names[other] == name]
    variants.sort(key=lambda other: other != name)  # without parameters first
    unknown = [other for other in dict.fromkeys(names.values()) if other not in COLOURS]
    others = dict(zip(unknown, cycle(OTHER_COLOURS), strict=False))
    colour = COLOURS[name] if name in COLOURS else others[name]
    return {"color": colour, "linestyle": DASHES[variants.index(spec) % len(DASHES)]}


def text(name: str) -> str:
    """A name for Matplotlib: shortened to fit a legend, and not parsed as mathematics."""
    return printable(name, 48).replace("$", r"\$")


@contextmanager
def _without_glyph_warnings() -> Iterator[None]:
    """Ignore characters that the font lacks: SVG shows them in a browser, PNG shows boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


Draw = Callable[["Axes", Sequence[Result], Sequence[str]], None]


def panels(
    results: Sequence[Result],
    draw: Draw,
    *,
    title: Callable[[Result], str] = lambda result: result.instance.name,
) -> "Figure":
    """A figure with one panel per title; `draw` draws the results that have this title."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    titles = list(dict.fromkeys(map(title, results)))
    policies = list(dict.fromkeys(result.policy for result in results))
    across = min(len(titles), 3 if len(titles) != 4 else 2)
    down = -(-len(titles) // across)
    with rc_context(_IN_INK):
        figure = Figure(figsize=(4.6 * across + 0.4, 3.3 * down + 0.7), layout="constrained")
        for panel, name in enumerate(titles):
            axes = figure.add_subplot(down, across, panel + 1)
            axes.set_title(text(name), fontsize="medium")
            axes.set_facecolor("none")
            axes.spines[["top", "right"]].set_visible(False)
            draw(axes, [result for result in results if title(result) == name], policies)
    return figure


def _columns(labels: Sequence[str], width: float) -> int:
    """The number of columns of a legend so that it is at most `width` inches wide."""
    for columns in range(len(labels), 1, -1):
        longest = [max(map(len, column)) for column in np.array_split(labels, columns)]
        if sum(0.65 + 0.067 * letters for letters in longest) <= width:
            return columns
    return 1


def with_legend(figure: "Figure") -> "Figure":
    """Add one legend for all panels, below them."""
    entries = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=_columns(list(entries), figure.get_figwidth()),
        frameon=False,
        fontsize="small",
        handlelength=3,  # dashes are seen to be dashes
        labelcolor=INK,
    )
    return figure


def decades(axis: "Axis") -> None:
    """Label a logarithmic axis of rounds 10, 10², 10³."""
    _ticks(axis, (1.0,), lambda value: "10" + str(round(math.log10(value))).translate(SUPERSCRIPTS))


def plain_ticks(axis: "Axis") -> None:
    """Label a logarithmic axis of regret with plain numbers: 1, 2, 5, 10 if its range is short."""
    low, high = axis.get_view_interval()
    subs = (1.0,) if high > 200 * low else (1.0, 3.0) if high > 20 * low else (1.0, 2.0, 5.0)
    _ticks(axis, subs, lambda value: f"{value:,g}")


def _ticks(axis: "Axis", subs: tuple[float, ...], label: Callable[[float], str]) -> None:
    """Plain text without minor ticks: Matplotlib's own labels take most of a figure's time."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    axis.set_minor_locator(NullLocator())


def policy_rows(axes: "Axes", policies: Sequence[str]) -> None:
    """Label the rows 0, 1, ... of a panel with policies, and add a vertical grid."""
    axes.set_yticks(range(len(policies)), [text(policy) for policy in policies], fontsize="small")
    axes.set_ylim(-0.6, len(policies) - 0.4)
    axes.grid(axis="x", color="#88888855", linewidth=0.5)
