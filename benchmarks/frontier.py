"""Mean against tail: thrifty at several cautions, and rivals at several values of their parameter.

Draws docs/figures/frontier.svg.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

import thrifty as th
from thrifty.lab.arena.standings import BASELINE, Standing, standings
from thrifty.lab.arena.suite import tuning_instances
from thrifty.report.drawing import COLOURS, save_figure
from thrifty.report.wording import power, with_error

TITLE = "Mean against tail"
HORIZON, REPLICATIONS, SEED = 10**4, 400, 1
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
    names = list(tuning_instances())
    specs = {
        name: [th.policy(f"{head}{value}").spec for value in values]
        for name, (head, values) in FAMILIES.items()
    }
    study = th.run(
        names,
        list(dict.fromkeys([BASELINE, *(spec for family in specs.values() for spec in family)])),
        horizon=HORIZON,
        replications=REPLICATIONS,
        seed=SEED,
    )
    by_policy = {standing.policy: standing for standing in standings(study.results)}
    draw({name: [by_policy[spec] for spec in family] for name, family in specs.items()})
    lines = [
        "| policy | relative regret | CVaR | median | on its worst instance | stuck runs |",
        "|---|---:|---:|---:|---:|---:|",
        *(_line(by_policy[spec]) for family in specs.values() for spec in family),
        "",
        f"n = {power(HORIZON)}, {REPLICATIONS} replications of {len(names)} instances that were "
        "used for tuning.",
    ]
    return "\n".join(lines)


def _line(row: Standing) -> str:
    return (
        f"| `{row.policy}` | **{with_error(row.ratio, row.error)}** | "
        f"{with_error(row.cvar, row.cvar_error)} | {row.median:.3g} | "
        f"{with_error(row.worst, row.worst_error)} | {row.stuck} of {row.runs:,} |"
    )


def draw(by_policy: Mapping[str, Sequence[Standing]]) -> None:
    """One line per policy: mean regret and CVaR relative to the baseline, with standard errors."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for name, family in by_policy.items():
        axes.errorbar(
            [standing.ratio for standing in family],
            [standing.cvar for standing in family],
            xerr=[standing.error for standing in family],
            yerr=[standing.cvar_error for standing in family],
            color=COLOURS[name],
            marker="o",
            markersize=4,
            linewidth=1.2,
            label=name,
        )
        for standing, value in zip(family, FAMILIES[name][1], strict=True):
            place = (standing.ratio, standing.cvar)
            axes.annotate(f"{value:g}", place, (4, 4), textcoords="offset points", fontsize=8)
    axes.set(
        xlabel=f"mean regret relative to {BASELINE}",
        ylabel="mean of the worst 2 % of runs, relative",
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    save_figure(figure, FIGURE, ("svg",))
