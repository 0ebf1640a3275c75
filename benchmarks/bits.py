"""Whether an edit changes any result: `python -m benchmarks.bits record FILE`, edit, `compare`.

Records a hash of the regret of every policy on every instance of the catalog (1e4 rounds, three
replications, each checkpoint and label), of bounds and allocations, and of learners' decisions.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import thrifty as th
from thrifty.policies import POLICIES
from thrifty.problem.catalog import CATALOG

VARIANTS = (
    "thrifty:noise=known",
    "thrifty:caution=1",
    "oam:c=1",
    "oam:epsilon=literal",
    "oam:epsilon=0.01,forced=spanner",
    "linucb:width=fn",
    "linucb:width=alpha",
    "lints:inflation=theory",
    "ids:correction=all",
    "solid:kappa=0,reset=no,decay=0.5",
    "vids:samples=20,draws=anew",
    "ossb:epsilon=0.01,gamma=0.01",
    "del:gamma=0.1",
)
DRAWN = ("drawn:seed=3", "drawn:seed=7", "drawn:seed=11")
SIZES = ((3, 2), (20, 5), (60, 4), (400, 6), (900, 10), (40, 20))
SETS = th.ActionSets([[[1.0, 0, 0], [0, 1, 0], [0.9, 0.5, 0]], [[0, 1, 1], [1, 1, 0]]])


def main() -> None:
    """Record hashes in a file, or compare with those in it."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "compare"):
        sys.exit("benchmarks.bits: record FILE or compare FILE expected")
    found, path = {**runs(), **allocations(), **decisions()}, Path(sys.argv[2])
    if sys.argv[1] == "record":
        path.write_text(json.dumps(found, indent=0) + "\n")
        print(f"{len(found)} recorded")
        return
    known = json.loads(path.read_text())
    differing = [key for key in known if found.get(key) != known[key]]
    print(f"{len(known)} recorded, {len(known) - len(differing)} the same to the last bit")
    sys.exit("\n".join(f"differs: {key}" for key in differing) if differing else 0)


def runs() -> dict[str, str]:
    """Every policy on every instance, and the instance's bound."""
    found = {}
    for name in (*CATALOG, *DRAWN):
        instance = th.instance(name)
        policies = [th.policy(spec) for spec in (*POLICIES, *VARIANTS)]
        playable = [one for one in policies if instance.sets.contexts == 1 or not one.one_context]
        study = th.run(instance, playable, horizon=1e4, replications=3, seed=5, progress=False)
        for result in study.results:
            arrays = (result.regret, result.rounds, result.solves, result.unsolved)
            found[f"{result.policy} on {name}"] = _hash(*arrays)
        if not instance.changes:
            found[f"bound of {name}"] = _of_allocation(th.lower_bound(instance).solution)
        print(name, flush=True)
    return found


def allocations() -> dict[str, str]:
    """Random programs, with and without base information, cold and warm."""
    rng, found = np.random.default_rng(3), {}
    for k, d in SIZES:
        for trial in range(4):
            arms, gaps, best = rng.normal(size=(k, d)), rng.uniform(0.05, 1, k), np.arange(k) == 0
            gaps[0] = 0
            for base in (None, 3 * np.eye(d)):
                cold = th.allocate(arms, gaps, best, base=base)
                warm = th.allocate(arms, 1.01 * gaps, best, base=base, warm=cold)
                for kind, one in (("cold", cold), ("warm", warm)):
                    found[f"{k}, {d}, {trial}, {base is None}, {kind}"] = _of_allocation(one)
    return found


def decisions() -> dict[str, str]:
    """Learners with late rewards and changing arms."""
    found = {}
    for kind in POLICIES.values():
        if kind.one_context:
            continue
        policy = kind(horizon=1000) if "horizon" in kind.parameters() else kind()
        learner, rng, waiting, seen = policy.learner(SETS, seed=3), np.random.default_rng(1), [], []
        for t in range(600):
            if t == 300:
                learner.add_arm(0, [0, 0.3, 1], name="new")
                learner.remove_arm(1, "0")
            waiting.append(learner.choose(int(rng.integers(2))))
            seen.append((waiting[-1].arm, waiting[-1].gap))
            if rng.random() < 0.6:
                learner.learn(waiting.pop(int(rng.integers(len(waiting)))), float(rng.normal()))
        found[f"learner of {policy}"] = _hash(np.array(seen))
    return found


def _of_allocation(found: th.Allocation) -> str:
    return _hash(found.pulls, found.prices, np.array([found.lower, found.upper]))


def _hash(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:24]


if __name__ == "__main__":
    main()
