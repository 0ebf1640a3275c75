"""Figures of results. Matplotlib is imported by the first one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thrifty.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by almost everybody; black is kept for the bound
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#999999")


def regret_figure(results: Sequence[Result]) -> "Figure":
    """Mean regret over time, shaded by its standard error: one panel an instance, the same colour for a policy in all, C log n where it applies."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(result.instance.name for result in results))
    policies = list(dict.fromkeys(result.policy for result in results))
    across = min(3, len(names))
    down = -(-len(names) // across)
    figure = Figure(figsize=(5.2 * across, 3.8 * down), layout="constrained")
    for panel, name in enumerate(names):
        axes = figure.add_subplot(down, across, panel + 1)
        mine = [result for result in results if result.instance.name == name]
        for result in mine:
            colour = COLOURS[policies.index(result.policy) % len(COLOURS)]
            mean = result.curves.mean(axis=0)
            axes.plot(result.times, mean, color=colour, label=result.policy)
            if result.replications > 1:
                error = result.curves.std(axis=0, ddof=1) / np.sqrt(result.replications)
                axes.fill_between(result.times, mean - error, mean + error, color=colour, alpha=0.25, linewidth=0)
        if mine[0].constant:
            axes.plot(mine[0].times, mine[0].constant * np.log(mine[0].times), color="black", linestyle="--", linewidth=1, label="C log n")
        axes.set(xscale="log", xlabel="round", ylabel="regret", title=name, xlim=(max(1, mine[0].horizon / 1e4), mine[0].horizon))
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small")
    return figure
