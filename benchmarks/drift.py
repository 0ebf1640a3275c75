"""When forgetting pays: regret with several memories relative to none, where theta stays and moves.

Draws docs/figures/drift.svg.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

import thrifty as th
from thrifty.lab.arena.relative import Contrast, contrast
from thrifty.report.drawing import DASHES, plain_ticks, save_figure
from thrifty.report.wording import with_error

TITLE = "Forgetting where theta moves"
HORIZON, REPLICATIONS = 30_000, 100
POLICIES = {
    "thrifty": "thrifty:forgetting=",
    "lints": "lints:forgetting=",
    "linucb:width=alpha": "linucb:width=alpha,forgetting=",
}
MEMORIES = (100, 300, 1000, 3000, 10_000)
# in words: the parameters of the family `drifting`, and how to draw it
INSTANCES = {
    "stays": ("rounds=1", "#999999", DASHES[0]),
    "a circle in 300,000 rounds": (f"period=300000,rounds={HORIZON}", "#56B4E9", DASHES[0]),
    "a circle in 30,000 rounds": (f"period=30000,rounds={HORIZON}", "#0072B2", DASHES[0]),
    "a circle in 3,000 rounds": (f"period=3000,rounds={HORIZON}", "#1A1A5E", DASHES[0]),
    "anew every 10,000 rounds": (
        f"kind=abrupt,period=10000,rounds={HORIZON}",
        "#E69F00",
        DASHES[1],
    ),
    "anew every 1,000 rounds": (f"kind=abrupt,period=1000,rounds={HORIZON}", "#B2182B", DASHES[1]),
}
FIGURE = Path(__file__).parent.parent / "docs" / "figures" / "drift"
Found = Mapping[tuple[str, str], Sequence[Contrast]]  # by words and policy, one per memory


def measure() -> str:
    """Mean regret of each policy, and with each memory relative to it; paired replications."""
    specs = {
        name: [th.policy(f"{head}{memory}").spec for memory in MEMORIES]
        for name, head in POLICIES.items()
    }
    lines = [
        "| theta | policy | mean regret | " + " | ".join(f"{m:,}" for m in MEMORIES) + " |",
        "|---|---|" + "---:|" * (1 + len(MEMORIES)),
    ]
    found = {}
    for words, (parameters, *_) in INSTANCES.items():
        study = th.run(
            f"drifting:{parameters},seed=each",
            [spec for name, own in specs.items() for spec in (name, *own)],
            horizon=HORIZON,
            replications=REPLICATIONS,
            seed=1,
        )
        results = {result.policy: result for result in study.results}
        for name, own in specs.items():
            base = results[name]
            found[words, name] = [contrast([results[spec]], [base]) for spec in own]
            cells = [_cell(one) for one in found[words, name]]
            lines.append(
                f"| {words} | `{name}` | {with_error(base.mean, base.se)} | {' | '.join(cells)} |"
            )
    draw(found)
    return "\n".join([*lines, "", _explained()])


def _cell(one: Contrast) -> str:
    return with_error(one.ratio, one.ratio * one.error, 2)


def _explained() -> str:
    family = th.instance("drifting")
    return (
        f"Mean regret after {HORIZON:,} rounds without forgetting, and with a memory of so "
        f"many rewards relative to it. {REPLICATIONS} replications, each with another draw of "
        f"{len(family.sets.rows)} arms and theta on the unit sphere in {family.sets.dimension} "
        f"dimensions, noise {family.noise:g}."
    )


def draw(found: Found) -> None:
    """One panel per policy, one line per instance: relative regret with standard errors."""
    figure = Figure(figsize=(10.4, 4.2), layout="constrained")
    panels = figure.subplots(1, len(POLICIES), sharey=True)
    for axes, name in zip(panels, POLICIES, strict=True):
        for words, (_, colour, dashes) in INSTANCES.items():
            own = found[words, name]
            axes.errorbar(
                MEMORIES,
                [one.ratio for one in own],
                yerr=[one.ratio * one.error for one in own],
                color=colour,
                linestyle=dashes,
                marker="o",
                markersize=4,
                linewidth=1.2,
                label=words,
            )
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set(xscale="log", yscale="log", xlabel="memory, in rewards")
        axes.set_title(name, fontsize="medium")
        plain_ticks(axes.xaxis)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("regret relative to no forgetting")
    plain_ticks(panels[0].yaxis)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=3, frameon=False, title="theta"
    )
    save_figure(figure, FIGURE, ("svg",))
