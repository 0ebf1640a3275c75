"""Mean against tail: thrifty at several cautions, its first edition, and rivals at several values
of their parameter.

Draws docs/figures/frontier.svg.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import thrifty as th
from benchmarks.first_edition import WITH, play
from thrifty.lab.arena.standings import BASELINE, Standing, standings
from thrifty.lab.arena.suite import TUNING
from thrifty.report.drawing import COLOURS, save_figure
from thrifty.report.wording import power, with_error
from thrifty.studies.results import Result

TITLE = "Mean against tail"
HORIZON, REPLICATIONS, SEED = 10**4, 400, 1
FIRST = "first edition"
# by policy: the specs, up to the value of the parameter, and the values
FAMILIES = {
    "thrifty": ("thrifty:caution=", (0, 0.2, 0.4, 0.6, 0.8, 1)),
    "lints": ("lints:scale=", (0.5, 0.7, 0.85, 1)),
    "linucb": ("linucb:width=alpha,alpha=", (1, 1.5, 2, 3)),
    "vids": ("vids:draws=anew,samples=", (50,)),
}
FIGURE = Path(__file__).parent.parent / "docs" / "figures" / "frontier"


def measure() -> str:
    """Relative regret and CVaR of each policy, geometric means over the tuning instances."""
    specs = {
        name: [th.policy(f"{head}{value}").spec for value in values]
        for name, (head, values) in FAMILIES.items()
    }
    study = th.run(
        list(TUNING),
        list(dict.fromkeys([BASELINE, *(spec for own in specs.values() for spec in own)])),
        horizon=HORIZON,
        replications=REPLICATIONS,
        seed=SEED,
    )
    first = _first_edition([one for one in study.results if one.policy == BASELINE])
    found = {one.policy: one for one in standings([*study.results, *first])}
    specs[FIRST] = [FIRST]
    draw({name: [found[spec] for spec in own] for name, own in specs.items()})
    lines = [
        "| policy | relative regret | CVaR | median | on its worst instance | stuck runs |",
        "|---|---:|---:|---:|---:|---:|",
        *(_line(found[spec]) for own in specs.values() for spec in own),
        "",
        f"n = {power(HORIZON)}, {REPLICATIONS} replications of {len(TUNING)} instances that were "
        "used for tuning.",
    ]
    return "\n".join(lines)


def _first_edition(like: Sequence[Result]) -> list[Result]:
    """Its results on the instances of others, with the same contexts and noise."""
    names = [one.instance.name for one in like]
    runs = play(names, [WITH], horizon=HORIZON, replications=REPLICATIONS, seed=SEED)
    return [
        replace(
            one,
            policy=FIRST,
            labels=("all",),
            regret=np.array(run["curves"])[:, :, None],
            rounds=one.rounds.sum(axis=2, keepdims=True),
        )
        for one, run in zip(like, runs, strict=True)
    ]


def _line(one: Standing) -> str:
    return (
        f"| `{one.policy}` | **{with_error(one.ratio, one.error)}** | "
        f"{with_error(one.cvar, one.cvar_error)} | {one.median:.3g} | "
        f"{with_error(one.worst, one.worst_error)} | {one.stuck} of {one.runs:,} |"
    )


def draw(found: Mapping[str, Sequence[Standing]]) -> None:
    """One line per policy: mean regret and CVaR relative to the baseline, with standard errors."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for name, own in found.items():
        axes.errorbar(
            [one.ratio for one in own],
            [one.cvar for one in own],
            xerr=[one.error for one in own],
            yerr=[one.cvar_error for one in own],
            color=COLOURS.get(name, "grey"),
            marker="o",
            markersize=4,
            linewidth=1.2,
            label=name,
        )
        for one, value in zip(own, FAMILIES.get(name, ("", ()))[1], strict=False):
            place = (one.ratio, one.cvar)
            axes.annotate(f"{value:g}", place, (4, 4), textcoords="offset points", fontsize=8)
    axes.set(
        xlabel=f"mean regret relative to {BASELINE}",
        ylabel="mean of the worst 2 % of runs, relative",
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    save_figure(figure, FIGURE, ("svg",))
