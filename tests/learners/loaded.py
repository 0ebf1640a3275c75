"""A learner beside one that is loaded before each call: what a file leaves out must not matter.

What a state remembers of earlier offers (values, work space, room for arms) is not in the file, so
that the loaded learner is the oracle of the other. Decisions must be equal to the last bit, and so
must the files.
"""

import thrifty as th

MOST = 40  # arms on offer
LIKELY = (16, 17, 32, 33)  # these more often: room is made for 17 and for 33
COLUMNS = ("age", "income")
MAPS = {
    "disjoint": th.features.disjoint([str(n) for n in range(MOST)], COLUMNS),
    "product": th.features.product([[n % 3, n % 5] for n in range(MOST)], COLUMNS),
    "shared": th.features.shared(COLUMNS),
}
KINDS = ("listed", "plain", *MAPS)


class Pair:
    """A learner, `kept`, and one that is loaded before each call."""

    def __init__(self, learner):
        self.kept = learner
        self.file = learner.to_bytes()

    def __call__(self, name, *arguments, **named):
        """Call both; what they return and what they would save must be the same."""
        loaded = self.loaded()
        kept, other = (
            getattr(learner, name)(*arguments, **named) for learner in (self.kept, loaded)
        )
        assert repr(kept) == repr(other)  # nan differs from itself, but not as text
        self.file = self.kept.to_bytes()
        assert loaded.to_bytes() == self.file
        return kept

    def loaded(self):
        return th.Learner.load(self.file)

    def go_on_with_the_loaded_one(self):
        self.kept = self.loaded()


class Play:
    """Random legal calls of a pair of learners; contexts are listed, or open and of some kind."""

    def __init__(self, policy, rng, kind="plain", d=4, **settings):
        self.rng, self.kind, self.d = rng, kind, d
        self.others = [policy]  # parameters to change to
        self.clicks = settings.get("rewards") == "bernoulli"
        if kind == "listed":
            contexts = 1 if policy.one_context else 3
            known = {"sets": th.ActionSets([self.arms(self.count(6)) for _ in range(contexts)])}
        else:
            known = {"dimension": d} if kind == "plain" else {"features": MAPS[kind]}
        self.pair = Pair(policy.learner(**known, seed=int(rng.integers(99)), **settings))

    @property
    def sets(self):
        return self.pair.kept.sets

    def warm_up(self, rounds):
        """Rounds of open contexts without the loaded learner; the first feature pays a little."""
        learner = self.pair.kept
        for _ in range(rounds):
            features = self.arms(3)
            decision = learner.choose(features)
            learner.learn(decision, 0.1 * features[decision.arm, 0] + self.rng.normal())
        self.pair.file = learner.to_bytes()

    def count(self, most):
        return int(self.rng.integers(1, most + 1))

    def arms(self, count, d=None):
        """Features of arms, of which the first is probably the best."""
        features = self.rng.normal(size=(count, self.d if d is None else d))
        features[0, 0] += 3.0
        return features

    def reward(self):
        return float(self.rng.integers(2) if self.clicks else self.rng.normal())

    def choose(self, count=None):
        """A decision between so many arms; as many as ever may be by default."""
        if self.kind == "listed":
            m = self.count(self.sets.contexts) - 1
            flags = self.rng.random(len(self.sets.arms(m))) < 0.8
            some = flags.any() and self.rng.random() < 0.3
            return self.pair("choose", m, flags if some else None)
        if count is None:
            count = self.count(MOST) if self.rng.random() < 0.5 else int(self.rng.choice(LIKELY))
        if self.kind == "plain":
            return self.pair("choose", self.arms(count))
        if self.kind == "shared":
            return self.pair("choose", self.arms(count, len(COLUMNS)))
        count = min(count, len(self.sets.features.arms))
        return self.pair("choose", self.rng.normal(size=len(COLUMNS)), range(count))

    def learn(self):
        if pending := list(self.pair.kept.pending):
            self.pair("learn", pending[self.count(len(pending)) - 1], self.reward())

    def cancel(self):
        if pending := list(self.pair.kept.pending):
            self.pair("cancel", pending[self.count(len(pending)) - 1])

    def observe(self):
        if self.kind == "listed":
            m = self.count(self.sets.contexts) - 1
            self.pair("observe", m, self.count(len(self.sets.arms(m))) - 1, self.reward())
        elif self.kind == "plain":
            self.pair("observe", self.arms(self.count(MOST)), 0, self.reward())

    def look(self):
        """Calls that change nothing."""
        if pending := list(self.pair.kept.pending):
            entry = self.pair.kept.pending[pending[-1]]
            decision = entry.decision
            if entry.row < 0:  # its arm was removed from a map
                return
            if self.kind != "listed" or decision.context in self.sets.context_names:
                self.pair("explain", decision)
        self.pair("estimates")

    def change(self):
        """Other arms or contexts, or other parameters of the policy."""
        pick = self.count(5)
        if self.kind in ("disjoint", "product") and pick <= 3:
            self.change_map(pick)
            return
        if self.kind != "listed" or pick == 5:
            self.pair("change_policy", self.others[self.count(len(self.others)) - 1])
            return
        several = not self.pair.kept.policy.one_context
        m = self.count(self.sets.contexts) - 1
        size = len(self.sets.arms(m))
        if pick == 1 and size < 8:
            self.pair("add_arm", m, self.arms(1)[0])
        elif pick == 2 and size > 1:
            self.pair("remove_arm", m, self.count(size) - 1)
        elif pick == 3 and several and self.sets.contexts < 5:
            self.pair("add_context", None, self.arms(self.count(6)))
        elif pick == 4 and self.sets.contexts > 1:
            self.pair("remove_context", m)

    def change_map(self, pick):
        """Another arm of a map, or one less."""
        arms = self.sets.features.arms
        if pick == 1 and len(arms) > 1:
            self.pair("remove_arm", arms[self.count(len(arms)) - 1])
        else:
            row = self.rng.normal(size=2) if self.kind == "product" else None
            self.pair("add_arm", f"arm {self.rng.integers(10**9)}", row)

    def step(self):
        """One of the calls."""
        calls = [self.choose] * 6 + [self.learn] * 4 + [self.cancel, self.observe, self.look]
        calls += [self.change, self.pair.go_on_with_the_loaded_one]
        calls[self.count(len(calls)) - 1]()
