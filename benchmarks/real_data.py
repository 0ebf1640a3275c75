"""Errors of open policies on real data: classification as a bandit, with disjoint arms.

Rows come in random order. Three sets are scikit-learn's, the others are read from a wheel (`keel`).
Results are kept in the folder `real-data`, so that a run can be interrupted. They are computed
again when the code that decides them has changed.
"""

import inspect
import json
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import thrifty as th
from benchmarks import classification, keel
from benchmarks.classification import MOST_ROWS, OF_SKLEARN, Errors, load, permutations
from benchmarks.paired import Ratio, geometric_mean, paired, standard_error
from thrifty.compiler.fingerprints import compiled_files, fingerprint, result_files, versions
from thrifty.files import make_folder, slug, write_whole

TITLE = "Errors on real data"
OF_KEEL = (
    "led7digit",
    "vehicle",
    "vowel",
    "german",
    "contraceptive",
    "titanic",
    "segment",
    "splice",
    "chess",
    "spambase",
    "texture",
    "optdigits",
    "mushroom",
    "satimage",
    "marketing",
    "penbased",
    "magic",
    "letter",
)
OWN = "thrifty"
POLICIES = (
    OWN,
    "linucb:width=alpha,alpha=0.5",
    "linucb:width=alpha,alpha=1",
    "linucb:width=alpha,alpha=2",
    "lints",
    "vids",
    "squarecb",
    "squarecb:c=100",
    "greedy",
)
FOLDER = Path("real-data")
Found = dict[str, dict[str, Errors]]  # by set and policy


def measure() -> str:
    """Error rates on each set, and all policies relative to the best one."""
    names, missing = list(OF_SKLEARN), ""
    try:
        keel.wheel()  # once, before several processes want it
        names += OF_KEEL
    except keel.NoData as error:
        missing = f"\n\nOnly the sets of scikit-learn: {error}."
    with ProcessPoolExecutor() as pool:
        tasks = list(product(names, POLICIES))
        results = pool.map(kept, *zip(*tasks, strict=True))
        played = dict(zip(tasks, results, strict=True))
    found = {name: {policy: played[name, policy] for policy in POLICIES} for name in names}
    return report(found) + missing


def report(found: Found) -> str:
    """A table of the sets, and one of the policies over all sets."""
    ratios = {name: _against_the_best(results) for name, results in found.items()}
    lines = [
        f"| data | rows, columns, classes | permutations | {' | '.join(POLICIES)} | best "
        f"| {OWN} / best |",
        f"|---|---|---:|{'---:|' * len(POLICIES)}---|---:|",
    ]
    for name, results in found.items():
        cells = (_cell(results[policy]) for policy in POLICIES)
        lines.append(
            f"| {name} | {_size(name)} | {len(results[OWN].wrong)} | {' | '.join(cells)} "
            f"| {_best(results)} | {ratios[name][OWN]:bold} |"
        )
    lines += [
        "",
        "Share of wrong classes in one pass with its standard error over permutations, and in "
        "brackets the share of rounds that were not greedy. Policies see the same permutations, of "
        f"which at most {MOST_ROWS:,} rows are played. Columns of categories count as one column "
        "per category. The last column has the standard error of paired differences.",
        "",
        f"| policy | error / best, geometric mean of {len(found)} sets | worst | worst set |",
        "|---|---:|---:|---|",
    ]
    for policy in POLICIES:
        own = {name: of_policies[policy] for name, of_policies in ratios.items()}
        worst = max(own, key=lambda name: own[name].value)
        mean = geometric_mean(list(own.values()))
        lines.append(f"| `{policy}` | {mean:bold} | {own[worst]} | {worst} |")
    return "\n".join(lines)


def _size(name: str) -> str:
    values, classes = load(name)
    return f"{len(values):,}, {values.shape[1]}, {classes.max() + 1}"


def _cell(errors: Errors) -> str:
    error = standard_error(errors.wrong)
    return f"{errors.wrong.mean():.4f} ± {error:.4f} ({errors.explored.mean():.3f})"


def _best(results: dict[str, Errors]) -> str:
    return min(results, key=lambda policy: results[policy].wrong.mean())


def _against_the_best(results: dict[str, Errors]) -> dict[str, Ratio]:
    """The error of each policy over that of the best one, which may be the policy itself."""
    best = results[_best(results)].wrong
    return {policy: paired(errors.wrong, best) for policy, errors in results.items()}


def kept(name: str, policy: str) -> Errors:
    """The errors of a policy on a set: from the folder, or computed and put there."""
    count = permutations(*load(name)[0].shape)
    identity = {"data": name, "policy": policy, "permutations": count, "code": _code(policy)}
    path = FOLDER / slug(name) / f"{slug(policy)}.json"
    if (errors := _read(path, identity)) is None:
        errors = classification.errors(name, policy, count)
        lists = {field: values.tolist() for field, values in errors._asdict().items()}
        make_folder(path.parent)
        write_whole(path, json.dumps({"identity": identity, **lists}))
    return errors


def _read(path: Path, identity: dict[str, Any]) -> Errors | None:
    """The errors in a file, if it is there and they are those of the identity."""
    if not path.exists():
        return None
    content = json.loads(path.read_text())
    if content.pop("identity") != identity:
        return None
    return Errors(**{field: np.array(values) for field, values in content.items()})


def _code(policy: str) -> str:
    """A hash of the code that decides results: what all share, the policy's own, the data's."""
    kinds = type(th.policy(policy)).__mro__
    own = [inspect.getfile(kind) for kind in kinds if kind.__module__.startswith("thrifty.")]
    learners = [path for path in compiled_files() if path.parent.name == "learners"]
    modules = [Path(module.__file__) for module in (classification, keel)]
    return fingerprint([*result_files(), *learners, *map(Path, own), *modules], *versions())
