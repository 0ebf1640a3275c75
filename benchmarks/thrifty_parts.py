"""The effect of each part of the policy thrifty: one part is changed at a time.

All variants play the instances of the arena that were used for tuning.
"""

import thrifty as th
from thrifty.experiments.standings import standings
from thrifty.experiments.suite import GROUPS
from thrifty.report.wording import power, with_error

TITLE = "The parts of thrifty"
VARIANTS = {
    "thrifty": "the default",
    "thrifty:level=log": "level 2 log t instead of the shrinking one",
    "thrifty:shrinkage=1": "N(m) in the level has the factor 1 instead of 0.1",
    "thrifty:wait=0": "no waiting costs",
    "thrifty:wait=3": "waiting costs ten times as high",
    "thrifty:urgency=0": "planned pulls only, no information-directed sampling",
    "thrifty:urgency=0.5": "a third of the expected loss in the information ratio",
    "thrifty:urgency=5": "three times the expected loss in the information ratio",
    "thrifty:pace=0.01": "planned pulls are played at once, not spread",
    "thrifty:pace=1e9": "information-directed sampling only, no planned pulls",
    "thrifty:prior=1000": "the prior stays N(0, I)",
    "thrifty:floor=0.1": "gaps are at least a tenth of their standard error",
    "thrifty:floor=1": "gaps are at least their standard error",
    "thrifty:noise=estimate": "the noise is estimated",
}
SIZES = ((10**4, 10),)


def measure() -> str:
    """Regret relative to heuristic LinTS, geometric mean over instances, its tail, and the worst
    instance.
    """
    lines = [
        "| variant | what is changed | n | relative regret | 95th percentile | worst | "
        "stuck runs |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for horizon, replications in SIZES:
        study = th.run(
            [entry.instance for entry in GROUPS["tuned"]],
            [*VARIANTS, "lints"],
            horizon=horizon,
            replications=replications,
            seed=1,
        )
        found = {standing.policy: standing for standing in standings(study.results)}
        for variant, meaning in VARIANTS.items():
            one = found[th.policy(variant).spec]
            numbers = (
                f"**{with_error(one.ratio, one.error, 2)}** | {one.tail:.2f} | "
                f"{one.worst:.1f} | {one.stuck} of {one.runs:,}"
            )
            lines.append(f"| `{variant}` | {meaning} | {power(horizon)} | {numbers} |")
    lines += [
        "",
        f"The {len(GROUPS['tuned'])} tuning instances of the arena; "
        f"{' and '.join(str(replications) for _, replications in SIZES)} replications.",
    ]
    return "\n".join(lines)
