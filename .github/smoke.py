"""A learner decides, learns, and comes back from its bytes: what every system must do."""

import thrifty as th

learner = th.LinTS().learner(th.ActionSets([[[1, 0], [0, 1]]]), seed=0)
for _ in range(100):
    decision = learner.choose(0)
    learner.learn(decision, 1.0 if decision.arm == 0 else 0.0)
again = th.Learner.load(learner.to_bytes())
assert again.choose(0) == learner.choose(0)
