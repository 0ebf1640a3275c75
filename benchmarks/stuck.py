"""Whether runs end stuck on a wrong arm: thrifty and heuristic LinTS on the whole suite of the
arena, at 1e5 rounds.
"""

import thrifty as th
from thrifty.experiments.arena import GROUPS, LEADERS
from thrifty.experiments.standings import standings
from thrifty.report.wording import power, with_error

TITLE = "Runs that end stuck"
HORIZON, REPLICATIONS = 10**5, 20


def measure() -> str:
    """Runs whose last tenth costs more than half of what the worst arms would, by policy and group
    of instances; and regret relative to heuristic LinTS.
    """
    lines = [
        "| policy | instances | stuck runs | relative regret | 95th percentile | worst |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for group, names in GROUPS.items():
        study = th.run(names, LEADERS, horizon=HORIZON, replications=REPLICATIONS, seed=1)
        for one in standings(study.results):
            numbers = (
                f"{one.stuck} of {one.runs:,} | {with_error(one.ratio, one.error, 2)} | "
                f"{one.tail:.2f} | {one.worst:.1f}"
            )
            lines.append(f"| `{one.policy}` | {group} | {numbers} |")
    lines += [
        "",
        f"n = {power(HORIZON)}, {REPLICATIONS} replications of "
        f"{sum(map(len, GROUPS.values()))} instances.",
    ]
    return "\n".join(lines)
