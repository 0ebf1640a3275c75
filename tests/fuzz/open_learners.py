"""Attack: random legal and illegal calls of a learner with open contexts, with bounds checks.

After every call the counts, and the sums of the regression, must be those of a plain account.
"""

import numpy as np
import pytest

import thrifty as th
from tests.fuzz.learners import BAD
from thrifty.policies import POLICIES

OPEN = [name for name, kind in POLICIES.items() if kind.open]
COLUMNS = ("age", "income")


class Account:
    """A learner and what it must have seen: V - ridge I, and the sum of x times reward."""

    def __init__(self, rng):
        self.rng = rng
        self.kind = str(rng.choice(["plain", "disjoint", "product", "shared"]))
        self.d = int(rng.integers(1, 5))
        self.arms = np.array([[1.0, 1.0, 0.0], [1.0, 0.5, 2.0], [1.0, 0.0, 1.0]])  # of a product
        self.names = ["a", "b", "c"]
        own = {"dimension": self.d} if self.kind == "plain" else {"features": self.feature_map()}
        policy = self.policy()
        self.clicks = bool(rng.random() < 0.3)
        self.learner = policy.learner(
            **own,
            seed=int(rng.integers(100)),
            rewards="bernoulli" if self.clicks else "gaussian",
            most_waiting=int(rng.integers(1, 30)),
        )
        d = self.learner.sets.dimension
        self.waiting, self.rounds = {}, 0
        self.information, self.responses = np.zeros((d, d)), np.zeros(d)

    def policy(self):
        name = OPEN[int(self.rng.integers(len(OPEN)))]
        return th.policy("linucb:width=alpha" if name == "linucb" else name)

    def feature_map(self):
        if self.kind == "disjoint":
            return th.features.disjoint(self.names, COLUMNS)
        if self.kind == "product":
            return th.features.product(self.arms[:, 1:], COLUMNS, names=self.names)
        return th.features.shared(COLUMNS)

    def numbers(self, *shape):
        return self.rng.normal(size=shape) * 10.0 ** self.rng.integers(-3, 4)

    def offer(self):
        """Features, and the vector (d,) of each arm."""
        if self.kind in ("plain", "shared"):
            arms = int(self.rng.integers(1, 40))  # more than there is room for at first
            given = self.numbers(arms, self.d if self.kind == "plain" else 2)
            bias = np.ones((arms, 1 if self.kind == "shared" else 0))
            return given, np.hstack([bias, given])
        given = self.numbers(2)
        own = np.append(1.0, given)
        if self.kind == "disjoint":
            return given, np.kron(np.eye(len(self.names)), own)
        return given, np.array([np.kron(arm, own) for arm in self.arms])

    def reward(self):
        return float(self.rng.integers(2)) if self.clicks else float(self.numbers())

    def choose(self):
        features, vectors = self.offer()
        decision = self.learner.choose(features)
        assert 0 <= decision.arm < len(vectors)
        assert decision.probability is None or 0 < decision.probability <= 1 + 1e-12
        if len(self.waiting) == self.learner.settings.most_waiting:  # the oldest is given up
            del self.waiting[min(self.waiting)]
            self.rounds -= 1
        self.waiting[decision.id] = decision, vectors[decision.arm]
        self.rounds += 1

    def pick(self):
        return list(self.waiting)[int(self.rng.integers(len(self.waiting)))]

    def learn(self):
        if self.waiting:
            decision, x = self.waiting.pop(self.pick())
            reward = self.reward()
            self.learner.learn(decision if self.rng.random() < 0.5 else decision.id, reward)
            self.see(x, reward)

    def add_arm(self):
        if self.kind not in ("disjoint", "product"):
            return
        name, row = f"arm {self.rng.integers(10**9)}", self.numbers(2)
        self.learner.add_arm(name, row if self.kind == "product" else None)
        self.names.append(name)
        self.arms = np.vstack([self.arms, [1.0, *row]])
        if self.kind == "disjoint":
            self.information = np.pad(self.information, (0, 3))
            self.responses = np.pad(self.responses, (0, 3))
            self.keep_entries(lambda x: np.pad(x, (0, 3)))

    def remove_arm(self):
        if self.kind not in ("disjoint", "product") or len(self.names) == 1:
            return
        k = int(self.rng.integers(len(self.names)))
        self.learner.remove_arm(self.names.pop(k) if self.rng.random() < 0.5 else k)
        self.names = list(self.learner.sets.features.arms)
        self.arms = np.delete(self.arms, k, axis=0)
        if self.kind == "disjoint":
            gone = [3 * k, 3 * k + 1, 3 * k + 2]
            self.information = np.delete(np.delete(self.information, gone, 0), gone, 1)
            self.responses = np.delete(self.responses, gone)
            # nothing is learned from a late reward of a removed arm: its vector becomes 0
            self.keep_entries(lambda x: np.delete(x, gone))

    def keep_entries(self, change):
        self.waiting = {id: (decision, change(x)) for id, (decision, x) in self.waiting.items()}

    def see(self, x, reward):
        self.information += np.outer(x, x)
        self.responses += reward * x

    def observe(self):
        features, vectors = self.offer()
        arm, reward = int(self.rng.integers(len(vectors))), self.reward()
        self.learner.observe(features, arm, reward)
        self.see(vectors[arm], reward)
        self.rounds += 1

    def cancel(self):
        if self.waiting:
            decision, _ = self.waiting.pop(self.pick())
            self.learner.cancel(decision)
            self.rounds -= 1

    def explain(self):
        if self.waiting:
            decision, x = self.waiting[self.pick()]
            if x.any():  # its arm is still there
                str(self.learner.explain(decision))
        assert len(self.learner.coefficients()) == self.learner.sets.dimension

    def save(self):
        self.learner = th.Learner.load(self.learner.to_bytes())

    def mistake(self):
        """A call that must be refused, and change nothing."""
        bad, learner = BAD[int(self.rng.integers(len(BAD)))], self.learner
        features, vectors = self.offer()
        spoiled = features.copy()
        spoiled.flat[int(self.rng.integers(spoiled.size))] = self.rng.choice([np.nan, np.inf, 1e61])
        calls = (
            lambda: learner.choose(bad),
            lambda: learner.choose(spoiled),
            lambda: learner.choose(np.zeros((2, learner.sets.dimension + 7))),
            lambda: learner.choose(features, names=["twice"] * max(2, len(vectors))),
            lambda: learner.observe(spoiled, 0, 1.0),
            lambda: learner.observe(features, 0, "reward"),
            lambda: learner.observe(features, 99, 1.0),
            lambda: learner.learn(bad if not isinstance(bad, int) else -2, 1.0),
            lambda: learner.learn(th.Decision(0, "", 0, "0", "none", 0.0), 1.0),
            lambda: learner.cancel(10**9),
            lambda: learner.explain("nobody"),
        )
        with pytest.raises(th.ThriftyError) as caught:
            calls[int(self.rng.integers(len(calls)))]()
        assert "\n" not in str(caught.value)

    def check(self):
        """Nothing was lost, nothing counted twice."""
        learner = self.learner
        assert learner.pending.keys() == self.waiting.keys()
        assert learner.state.ledger.counters[0].rounds == self.rounds
        regression = learner.state.regression
        assert np.allclose(regression.base_sums, self.responses, rtol=1e-9, atol=1e-9)
        d, width = regression.base.shape
        seen = np.vstack(
            [self.information[i : i + width, i : i + width] for i in range(0, d, width)]
        )
        ridge = regression.totals[0].ridge * np.tile(np.eye(width), (d // width, 1))
        scale = 1e-9 * (1 + np.abs(seen).max())
        assert np.allclose(regression.base - ridge, seen, rtol=1e-9, atol=scale)


def attack(rng):
    """A hundred calls in random order."""
    account = Account(rng)
    calls = [account.choose] * 6 + [account.learn] * 5 + [account.observe, account.cancel]
    calls += [account.explain, account.save, account.mistake, account.add_arm, account.remove_arm]
    for _ in range(100):
        calls[int(rng.integers(len(calls)))]()
        account.check()
