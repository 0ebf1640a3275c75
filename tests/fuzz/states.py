"""Attack: the file of a learner with one value changed, with and without a right digest."""

import json
import tempfile
from pathlib import Path

import numpy as np

import thrifty as th
from thrifty.learners.state_files import to_text
from thrifty.policies import POLICIES

SETS = th.ActionSets(
    [[[1, 0], [0, 1], [0.9, 0.5]], [[1, 0], [0.8, 0.3]]], context_names=["mobile", "desktop"]
)
VALUES = (-1, 0, 1, 2, 7, 10**9, 2**63, -(2**70), 0.5, 1e308, -1e308, True, None, "", "inf", "nan")
VALUES += ("a\x00b", [], {}, [[]], [1, [2]], "999")


def trained(rng):
    """A learner with late rewards, one of an arm that was removed."""
    kind = POLICIES[rng.choice([name for name, kind in POLICIES.items() if not kind.one_context])]
    learner = kind(**({"horizon": 1000} if "horizon" in kind.parameters() else {})).learner(SETS)
    waiting = [learner.choose(int(rng.integers(2))) for _ in range(int(rng.integers(1, 60)))]
    for decision in waiting[: len(waiting) // 2]:
        learner.learn(decision, float(rng.normal()))
    if rng.random() < 0.5:
        learner.remove_arm("mobile", "1")
    return learner


def change(value, rng):
    """Replace one value, anywhere in nested lists and objects."""
    if isinstance(value, dict | list) and value and rng.random() < 0.95:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = keys[int(rng.integers(len(keys)))]
        if rng.random() < 0.03 and isinstance(value, dict):
            del value[key]
        else:
            value[key] = change(value[key], rng)
        return value
    return VALUES[int(rng.integers(len(VALUES)))]


def attack(rng):
    """Whatever the file says: BadFile, or a learner that works."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        trained(rng).save(path)
        document = json.loads(path.read_text())
        before = json.dumps(document)
        if rng.random() < 0.2:
            text = json.dumps(change(document, rng))
            same = text == before
        else:
            content = change(document["learner"], rng)
            if not isinstance(content, dict):
                return
            text, same = to_text(content), False
        path.write_text(text)
        try:
            learner = th.Learner.load(path)
        except th.BadFile:
            assert not same
            return
        play(learner, rng)


def play(learner, rng):
    """Use all of a learner; numbers in its file may be odd, but nothing may break."""
    with np.errstate(all="ignore"):
        for pending in list(learner.pending.values())[:20]:
            learner.learn(pending.decision, 0.5)
        for _ in range(30):
            decision = learner.choose(int(rng.integers(learner.sets.contexts)))
            learner.explain(decision)
            learner.learn(decision, float(rng.normal()))
        learner.cancel(learner.choose(0))
        learner.add_arm(0, [0.1, 0.2])
        learner.choose(0)
