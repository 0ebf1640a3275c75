"""What each part of the policy thrifty is worth: the arena's tuning instances, played with one part
changed at a time.
"""

import thrifty as th
from thrifty.experiments.arena import GROUPS
from thrifty.experiments.standings import standings
from thrifty.report.wording import power, with_error

TITLE = "The parts of thrifty"
VARIANTS = {
    "thrifty": "as it is",
    "thrifty:level=log": "level 2 log t instead of the shrinking one",
    "thrifty:evidence=1": "all visits in the level, not a tenth",
    "thrifty:wait=0": "greedy pulls are free, however long they take",
    "thrifty:wait=3": "waiting costs ten times as much",
    "thrifty:urgency=0": "the plan alone, without information-directed sampling",
    "thrifty:urgency=0.5": "a third as much spent at once",
    "thrifty:urgency=5": "three times as much spent at once",
    "thrifty:pace=0.01": "what is owed is bought in one go",
    "thrifty:pace=1e9": "information-directed sampling alone, without the plan",
    "thrifty:prior=1000": "the prior N(0, I), whatever the data say",
    "thrifty:floor=0.1": "gaps taken for a tenth of their standard error, at least",
    "thrifty:floor=1": "gaps taken for their standard error, at least",
    "thrifty:noise=estimate": "noise unknown",
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
            GROUPS["tuned"],
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
