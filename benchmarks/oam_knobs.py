"""OAM's knobs: regret relative to heuristic LinTS over thirteen instances, from which its defaults
were chosen.
"""

import numpy as np

import thrifty as th
from benchmarks.rounds import random_instance

TITLE = "OAM's knobs"
NAMES = [
    "fixed-u0.1",
    "fixed-u0.01",
    "scenario-one",
    "scenario-two",
    "bounded",
    "large-100",
    "small-5",
    "end-of-optimism",
    "solid-toy",
    "orthogonal",
]
HORIZONS = (1e4, 1e5)
REPLICATIONS = 60


def measure() -> str:
    """Geometric means over instances of mean and 95th-percentile regret, and the worst instance."""
    instances = [*map(th.instance, NAMES), *(random_instance(20, 5, seed) for seed in range(3))]
    policies = [
        th.OAM(epsilon=epsilon, c=c)
        for epsilon in (0.0, 0.001, 0.01, 0.05)
        for c in (0.0, 0.3, 1.0)
    ]
    policies += [th.OAM(epsilon=0.01, c=c, forced="spanner") for c in (0.0, 0.3)]
    policies += [th.OAM(zeta=zeta) for zeta in (0.02, 0.5)]
    lines = [
        "| policy | n | mean regret, relative to lints | 95th percentile, relative | "
        "worst instance |",
        "|---|---|---|---|---|",
    ]
    for horizon in HORIZONS:
        study = th.run(
            instances,
            [*policies, th.LinTS()],
            horizon=horizon,
            replications=REPLICATIONS,
            seed=1,
            progress=False,
        )
        shape = (len(instances), len(policies) + 1)
        means = np.array([result.mean for result in study.results]).reshape(shape)
        tails = np.array([result.p95 for result in study.results]).reshape(shape)
        for j, policy in enumerate(policies):
            mean, tail = (
                np.exp(np.log(table[:, j] / table[:, -1]).mean()) for table in (means, tails)
            )
            worst = (means[:, j] / means[:, -1]).max()
            lines.append(
                f"| {policy} | {horizon:.0e} | **{mean:.2f}** | {tail:.2f} | {worst:.1f} |"
            )
    lines += [
        "",
        f"{REPLICATIONS} replications each; the defaults are epsilon = 0, c = 0, zeta "
        "= 0.1, forced = least.",
    ]
    return "\n".join(lines)
