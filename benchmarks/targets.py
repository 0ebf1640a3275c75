"""What thrifty was to reach on instances never used for tuning, on both draws of them."""

import math
from collections.abc import Sequence

import numpy as np

import thrifty as th
from thrifty.lab.arena.relative import contrast
from thrifty.lab.arena.standings import BASELINE, standings
from thrifty.lab.arena.suite import UNSEEN_SEEDS, commit_seeds, unseen_draw
from thrifty.report.wording import plain, power, with_error, with_errors

TITLE = "What thrifty was to reach"
POLICY = "thrifty"
SCALES = {10**4: 400, 10**5: 400, 10**6: 60}  # replications by horizon
SEEDS = {
    "first": commit_seeds(0x276FAA251567),  # a commit that is not part of the history any more
    "second": UNSEEN_SEEDS,
}


def measure() -> str:
    """Regret relative to the baseline: mean, worst and next worst instance, and CVaR."""
    lines = [
        "| n | draw | relative regret | on its worst instance | which | regret there | of lints "
        "| on the next worst | CVaR |",
        "|---|---|---:|---:|---|---:|---:|---:|---:|",
        *(
            f"| {power(n)} | {draw} | {_cells(unseen_draw(seeds), n, replications)} |"
            for n, replications in SCALES.items()
            for draw, seeds in SEEDS.items()
        ),
    ]
    sizes = ", ".join(f"{r} at {power(n)}" for n, r in SCALES.items())
    return "\n".join([*lines, "", f"Twelve instances in each draw; replications: {sizes}."])


def _cells(names: Sequence[str], n: int, replications: int) -> str:
    study = th.run(list(names), [POLICY, BASELINE], horizon=n, replications=replications)
    own, base = (
        [one for one in study.results if one.policy == policy] for policy in (POLICY, BASELINE)
    )
    [standing] = [one for one in standings(study.results) if one.policy == POLICY]
    ratios = np.exp(contrast(own, base).logs)
    *_, next_worst, worst = np.argsort(ratios)
    cells = (
        with_errors(standing.ratio, standing.error, standing.instance_error),
        with_error(standing.worst, standing.worst_error),
        standing.where,
        plain(own[worst].mean, 2),
        plain(base[worst].mean, 2),
        plain(float(ratios[next_worst]), 3),
        "" if math.isnan(standing.cvar) else with_error(standing.cvar, standing.cvar_error),
    )
    return " | ".join(cells)
