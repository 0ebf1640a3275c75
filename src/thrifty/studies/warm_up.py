"""Compile everything for this machine, in several processes at once: `thrifty warm-up`.

For container images and cluster nodes, where the first user should not wait. What is in the cache
already is only loaded.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

import numpy as np

from thrifty.allocation import allocate
from thrifty.numerics.regression import rebuild, start_regression
from thrifty.policies import POLICIES
from thrifty.policies.shared.plan import start_plan
from thrifty.problem.action_sets import ActionSets
from thrifty.problem.instances import Instance
from thrifty.simulation.replication import simulate

ARMS = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.9, 0.5, 0.2]])
HORIZON = 100  # of policies that plan for one


def _compile_bound() -> None:
    """The solver as Python calls it: the closed form, and the interior-point method."""
    allocate(ARMS[:2, :2], gaps=[0.0, 0.5], best=[True, False])
    for base in (None, np.eye(3)):
        allocate(ARMS, gaps=[0.0, 0.5, 0.2, 0.1], best=[True, False, False, False], base=base)


# Policies share these: compiled first, so that no two processes compile the same.
SHARED: dict[str, Callable[[], object]] = {
    "bound": _compile_bound,
    "least squares": lambda: rebuild(start_regression(ARMS, ridge=1.0)),
    "allocation": lambda: start_plan(ARMS),
}
PARTS = (*SHARED, *POLICIES)


def compile_part(name: str) -> None:
    """Compile one of PARTS: something shared, or a policy for the simulator and the learner."""
    if name in SHARED:
        SHARED[name]()
        return
    kind = POLICIES[name]
    parameters: dict[str, Any] = {"horizon": HORIZON} if "horizon" in kind.parameters() else {}
    policy = kind(**parameters)
    instance = Instance(ActionSets([ARMS]), theta=[1.0, 0.0, 0.0])
    simulate(instance, policy, horizon=1)
    learner = policy.learner(instance.sets)
    learner.learn(learner.choose(0), 1.0)


def compile_all(processes: int) -> Iterator[str]:
    """Compile PARTS in so many processes; yields the name of each part once it is done."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for names in (tuple(SHARED), tuple(POLICIES)):
            futures = {pool.submit(compile_part, name): name for name in names}
            for future in as_completed(futures):
                future.result()
                yield futures[future]
