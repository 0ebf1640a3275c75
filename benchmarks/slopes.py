"""Asymptotics of thrifty: how its regret grows with log n from 1e6 to 1e8 rounds, against the
constant C of the lower bound.
"""

import math

import thrifty as th
from thrifty.report.wording import plain, with_error

TITLE = "Growth of thrifty's regret with log n"
NAMES = ("end-of-optimism:eps=0.05,a=2", "orthogonal")
REPLICATIONS = 100
EARLY, LATE = 10**6, 10**8


def measure() -> str:
    """The slope between two rounds of the same runs, with its standard error: thrifty plans for no
    horizon, so that a run to 1e8 is one to 1e6 as well.
    """
    lines = [
        "| instance | C | slope | slope / C | R(1e6) | R(1e8) |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for result in th.run(NAMES, "thrifty", horizon=LATE, replications=REPLICATIONS, seed=1).results:
        early = result.curves[:, list(result.times).index(EARLY)]
        slopes = (result.final - early) / math.log(LATE / EARLY)
        slope, error = float(slopes.mean()), float(slopes.std(ddof=1)) / math.sqrt(REPLICATIONS)
        before = with_error(float(early.mean()), float(early.std(ddof=1)) / math.sqrt(REPLICATIONS))
        ratio = f"**{with_error(slope / result.constant, error / result.constant, 2)}**"
        after = with_error(result.mean, result.se)
        lines.append(
            f"| {result.instance.name} | {plain(result.constant, 3)} | "
            f"{with_error(slope, error)} | {ratio} | {before} | {after} |"
        )
    lines += ["", f"{REPLICATIONS} replications; the slope is (R(1e8) - R(1e6)) / log 100."]
    return "\n".join(lines)
