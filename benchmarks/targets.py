"""What thrifty was to reach on instances never used for tuning."""

import math
from collections.abc import Sequence

import numpy as np

import thrifty as th
from thrifty.lab.arena.relative import contrast
from thrifty.lab.arena.standings import BASELINE, standings
from thrifty.lab.arena.suite import entries
from thrifty.report.wording import plain, power, with_error, with_errors

TITLE = "What thrifty was to reach"
POLICY = "thrifty"
SCALES = {10**4: 400, 10**5: 400, 10**6: 60}  # replications by horizon


def measure() -> str:
    """Regret relative to the baseline: mean, worst and next worst instance, and CVaR."""
    lines = [
        "| n | relative regret | on its worst instance | which | regret there | of lints "
        "| on the next worst | CVaR |",
        "|---|---:|---:|---|---:|---:|---:|---:|",
        *(
            f"| {power(n)} | {_cells([entry.instance for entry in entries('unseen')], n, runs)} |"
            for n, runs in SCALES.items()
        ),
    ]
    sizes = ", ".join(f"{r} at {power(n)}" for n, r in SCALES.items())
    return "\n".join([*lines, "", f"Twelve instances; replications: {sizes}."])


def _cells(names: Sequence[str], n: int, replications: int) -> str:
    study = th.run(list(names), [POLICY, BASELINE], horizon=n, replications=replications)
    mine, base = (
        [result for result in study.results if result.policy == policy]
        for policy in (POLICY, BASELINE)
    )
    [standing] = [row for row in standings(study.results) if row.policy == POLICY]
    ratios = np.exp(contrast(mine, base).logs)
    *_, next_worst, worst = np.argsort(ratios)
    cells = (
        with_errors(standing.ratio, standing.error, standing.instance_error),
        with_error(standing.worst, standing.worst_error),
        standing.where,
        plain(mine[worst].mean, 2),
        plain(base[worst].mean, 2),
        plain(float(ratios[next_worst]), 3),
        "" if math.isnan(standing.cvar) else with_error(standing.cvar, standing.cvar_error),
    )
    return " | ".join(cells)
