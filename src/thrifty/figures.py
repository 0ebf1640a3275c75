"""Figures of results. Matplotlib is imported by the first one."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thrifty.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by almost everybody; black is kept for the bound
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#999999")

APART = 8  # from this ratio of final regrets on, a plain axis would show nothing but the worst policy


def regret_figure(results: Sequence[Result]) -> "Figure":
    """Mean regret over time, shaded by its standard error: one panel an instance, the same colour for a policy in all, C log n where it applies."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(result.instance.name for result in results))
    policies = list(dict.fromkeys(result.policy for result in results))
    across = math.ceil(math.sqrt(len(names)))
    down = -(-len(names) // across)
    figure = Figure(figsize=(5.2 * across, 3.8 * down), layout="constrained")
    for panel, name in enumerate(names):
        axes = figure.add_subplot(down, across, panel + 1)
        axes.set_title(name)
        _draw_panel(axes, [result for result in results if result.instance.name == name], policies)
    return figure


def _draw_panel(axes: "Axes", results: Sequence[Result], policies: Sequence[str]) -> None:
    """The policies on one instance."""
    times, curves = results[0].times, []
    for result in results:
        colour = COLOURS[policies.index(result.policy) % len(COLOURS)]
        curves.append(result.curves.mean(axis=0))
        axes.plot(times, curves[-1], color=colour, label=result.policy)
        if result.replications > 1:
            error = result.curves.std(axis=0, ddof=1) / np.sqrt(result.replications)
            axes.fill_between(times, curves[-1] - error, curves[-1] + error, color=colour, alpha=0.25, linewidth=0)
    if results[0].constant:
        curves.append(results[0].constant * np.log(times))
        axes.plot(times, curves[-1], color="black", linestyle="--", linewidth=1, label="C log n")
    first = max(1, results[0].horizon // 10**4)
    axes.set(xscale="log", xlabel="round", ylabel="regret", xlim=(first, max(2, results[0].horizon)), ylim=(0, None))
    ends = [curve[-1] for curve in curves]
    if max(ends) > APART * min(ends) > 0:
        shown = np.array(curves)[:, times >= first]
        axes.set(yscale="log", ylim=(0.8 * shown[shown > 0].min(), None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small")
