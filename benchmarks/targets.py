"""What thrifty was to reach on instances never used for tuning, on both draws of them."""

import math

import numpy as np

import thrifty as th
from thrifty.experiments.relative import contrast
from thrifty.experiments.standings import BASELINE, standings
from thrifty.experiments.suite import FIRST_DRAW, GROUPS
from thrifty.report.wording import plain, power, with_error, with_errors

TITLE = "What thrifty was to reach"
POLICY = "thrifty"
SCALES = {10**4: 400, 10**5: 400, 10**6: 60}  # replications by horizon
DRAWS = {"first": FIRST_DRAW, "second": [entry.instance for entry in GROUPS["unseen"]]}


def measure() -> str:
    """Regret relative to the baseline: mean, worst and next worst instance, and CVaR."""
    lines = [
        "| n | draw | relative regret | on its worst instance | which | regret there | of lints "
        "| on the next worst | CVaR |",
        "|---|---|---:|---:|---|---:|---:|---:|---:|",
    ]
    for n, replications in SCALES.items():
        for draw, names in DRAWS.items():
            study = th.run(list(names), [POLICY, BASELINE], horizon=n, replications=replications)
            own, base = (
                [one for one in study.results if one.policy == policy]
                for policy in (POLICY, BASELINE)
            )
            [standing] = [one for one in standings(study.results) if one.policy == POLICY]
            ratios = np.exp(contrast(own, base).logs)
            order = np.argsort(ratios)
            worst = int(order[-1])
            tail = (
                "" if math.isnan(standing.cvar) else with_error(standing.cvar, standing.cvar_error)
            )
            relative = with_errors(standing.ratio, standing.error, standing.instance_error)
            lines.append(
                f"| {power(n)} | {draw} | {relative} | "
                f"{with_error(standing.worst, standing.worst_error)} | {standing.where} | "
                f"{plain(own[worst].mean, 2)} | {plain(base[worst].mean, 2)} | "
                f"{plain(float(ratios[order[-2]]), 3)} | {tail} |"
            )
    sizes = ", ".join(f"{r} at {power(n)}" for n, r in SCALES.items())
    return "\n".join([*lines, "", f"Twelve instances in each draw; replications: {sizes}."])
