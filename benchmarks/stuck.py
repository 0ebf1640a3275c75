"""Runs that end stuck on a suboptimal arm: thrifty and heuristic LinTS on the arena, n = 1e5."""

import thrifty as th
from thrifty.experiments.standings import LEADERS, standings
from thrifty.experiments.suite import GROUPS
from thrifty.report.wording import power, with_error

TITLE = "Runs that end stuck"
HORIZON, REPLICATIONS = 10**5, 20


def measure() -> str:
    """Numbers of stuck runs and relative regret, by policy and group of instances.

    A run is stuck if its last tenth costs more than half of the regret of the worst arms.
    """
    lines = [
        "| policy | instances | stuck runs | relative regret | 95th percentile | worst |",
        "|---|---|---:|---:|---:|---:|",
    ]
    names = {group: [entry.instance for entry in GROUPS[group]] for group in ("unseen", "tuned")}
    for group, own in names.items():
        study = th.run(own, LEADERS, horizon=HORIZON, replications=REPLICATIONS, seed=1)
        for one in standings(study.results):
            numbers = (
                f"{one.stuck} of {one.runs:,} | {with_error(one.ratio, one.error, 2)} | "
                f"{one.tail:.2f} | {one.worst:.1f}"
            )
            lines.append(f"| `{one.policy}` | {group} | {numbers} |")
    lines += [
        "",
        f"n = {power(HORIZON)}, {REPLICATIONS} replications of "
        f"{sum(map(len, names.values()))} instances.",
    ]
    return "\n".join(lines)
