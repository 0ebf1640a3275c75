"""Attack: random calls of a learner beside one that is loaded before each call, to the last bit."""

import thrifty as th
from tests.learners.loaded import KINDS, Play
from thrifty.learners.start import with_horizon
from thrifty.policies import POLICIES

# of open policies and of others, and what a learner in use may go on with
PARAMETERS = {
    "thrifty": ["caution=0", "caution=2", "noise=known", "forgetting=5", "forgetting=200"],
    "linucb": ["width=alpha", "width=fn", "width=anytime", "forgetting=50"],
    "lints": ["scale=0.1", "ridge=3", "inflation=theory", "forgetting=5"],
    "vids": ["samples=20", "draws=anew", "samples=10,draws=anew", "forgetting=50"],
    "egreedy": ["decay=0", "forgetting=50"],
    "squarecb": ["c=1", "ridge=1e-9", "forgetting=50"],
    "greedy": ["ridge=100", "forgetting=2"],
    "oam": ["c=1", "epsilon=0.1,forced=spanner"],
    "ids": ["correction=all"],
    "solid": ["kappa=0,reset=no"],
    "linmed": ["alpha_emp=0,alpha_opt=1"],
    "ossb": ["epsilon=0.1,gamma=0.1"],
    "del": ["gamma=0.1"],
}


def attack(rng):
    """A hundred calls in random order."""
    kind = str(rng.choice(KINDS))
    names = [name for name, policy in POLICIES.items() if policy.open or kind == "listed"]
    name = str(rng.choice(names))
    specs = [name, *(f"{name}:{values}" for values in PARAMETERS.get(name, ()))]
    policies = [with_horizon(th.policy(spec), 1000) for spec in specs]
    settings = {
        "noise": float(10.0 ** rng.integers(-2, 3)),
        "rewards": "bernoulli" if rng.random() < 0.3 else "gaussian",
        "most_waiting": int(rng.integers(1, 20)),
        "probability_draws": int(rng.integers(2)) * 30,
    }
    if rng.random() < 0.3:
        reward = 0.0 if rng.random() < 0.5 else None
        settings["expire"] = {"after": int(rng.integers(1, 20)), "reward": reward}
    policy = policies[int(rng.integers(len(policies)))]
    play = Play(policy, rng, kind, d=int(rng.integers(1, 5)), **settings)
    play.others = policies
    for _ in range(100):
        play.step()
