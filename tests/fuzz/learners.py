"""Attack: random legal and illegal calls of a learner; run with Numba's bounds checks.

Compiled code raises IndexError then, instead of reading foreign memory. After every call the counts
must be those of a plain account of what was called.
"""

import tempfile
from pathlib import Path

import numpy as np
import pytest

import thrifty as th
from thrifty.compiler.compilation import compiled
from thrifty.policies import POLICIES

BAD = (None, -1, 99, 1.5, "nobody", [], (), {}, float("nan"), float("inf"), "\x1b[31m", object())


class Account:
    """A learner and what it must have counted."""

    def __init__(self, rng):
        self.rng = rng
        names = [name for name, kind in POLICIES.items() if not kind.one_context]
        kind = POLICIES[names[int(rng.integers(len(names)))]]
        self.d = int(rng.integers(1, 4))
        sets = th.ActionSets([self.arms() for _ in range(int(rng.integers(1, 4)))])
        horizon = {"horizon": 1000} if "horizon" in kind.parameters() else {}
        self.learner = kind(**horizon).learner(sets, seed=int(rng.integers(100)))
        self.waiting, self.made, self.cancelled = [], 0, 0

    def arms(self):
        """A few arms; some vectors are shared, zero or of another size."""
        arms = self.rng.integers(-2, 3, size=(int(self.rng.integers(1, 5)), self.d)).astype(float)
        return arms * 10.0 ** self.rng.integers(-3, 4)

    def context(self):
        """A context that exists."""
        return int(self.rng.integers(self.learner.sets.contexts))

    def choose(self):
        m = self.context()
        available = None
        if self.rng.random() < 0.3:
            flags = self.rng.random(len(self.learner.sets.arms(m))) < 0.7
            available = flags if flags.any() else [0]
        self.waiting.append(self.learner.choose(m, available))
        self.made += 1

    def learn(self):
        if self.waiting:
            decision = self.waiting.pop(int(self.rng.integers(len(self.waiting))))
            self.learner.learn(
                decision, float(self.rng.normal() * 10.0 ** self.rng.integers(-3, 4))
            )

    def cancel(self):
        if self.waiting:
            self.learner.cancel(self.waiting.pop(int(self.rng.integers(len(self.waiting)))))
            self.cancelled += 1

    def explain(self):
        if self.waiting:
            decision = self.waiting[-1]
            if decision.context in self.learner.sets.context_names:
                str(self.learner.explain(decision))

    def change(self):
        learner, m = self.learner, self.context()
        size = len(learner.sets.arms(m))
        pick = int(self.rng.integers(4))
        if pick == 0 and size < 6:
            learner.add_arm(m, self.arms()[0])
        elif pick == 1 and size > 1:
            learner.remove_arm(m, int(self.rng.integers(size)))
        elif pick == 2 and learner.sets.contexts < 4:
            learner.add_context(None, self.arms())
        elif pick == 3 and learner.sets.contexts > 1:
            learner.remove_context(m)

    def save(self):
        with tempfile.TemporaryDirectory() as folder:
            self.learner.save(Path(folder) / "state.json")
            self.learner = th.Learner.load(Path(folder) / "state.json")

    def mistake(self):
        """A call that must be refused, and change nothing."""
        bad = BAD[int(self.rng.integers(len(BAD)))]
        learner = self.learner
        calls = (
            lambda: learner.choose(bad if bad != () else None),
            lambda: learner.choose(0, available=[99, bad]),
            lambda: learner.learn(bad, 1.0),
            lambda: learner.learn(th.Decision(0, "0", 0, "0", "exploit", 0.0), "reward"),
            lambda: learner.cancel(bad),
            lambda: learner.explain(bad),
            lambda: learner.add_arm(0, [1.0] * (self.d + 1)),
            lambda: learner.add_arm(0, [float("nan")] * self.d),
            lambda: learner.remove_arm(0, "nobody"),
            lambda: learner.change(bad),
        )
        with pytest.raises(th.ThriftyError) as caught:
            calls[int(self.rng.integers(len(calls)))]()
        assert "\n" not in str(caught.value)

    def check(self):
        """Nothing was lost, nothing counted twice."""
        learner = self.learner
        assert len(learner.pending) == len(self.waiting)
        assert learner.state.ledger.counters[0].rounds == self.made - self.cancelled
        for count in (learner.state.ledger.played, learner.state.ledger.chosen):
            assert (count >= 0).all()
        assert (learner.state.ledger.visits >= 0).all()


@compiled
def beyond(values, i):
    return values[i]


def attack(rng):
    """A hundred calls in random order."""
    with pytest.raises(IndexError):  # bounds are checked
        beyond(np.zeros(1), 7)
    account = Account(rng)
    calls = [account.choose] * 6 + [account.learn] * 5 + [account.cancel] + [account.explain]
    calls += [account.change, account.save, account.mistake]
    for _ in range(100):
        calls[int(rng.integers(len(calls)))]()
        account.check()
