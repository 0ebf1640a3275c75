"""Attack: a signal handler that raises, at random moments, in solves and in a learner."""

import signal
import time

import numpy as np

import thrifty as th

SETS = th.ActionSets([[[1, 0], [0, 1], [0.9, 0.5]], [[1, 0], [0.8, 0.3]]])


class Signal(Exception):
    """What the handler raises."""


def under_fire(body, rng, seconds):
    """Call body again and again, each time with a signal after up to a millisecond.

    Returns how often the handler has raised, and how often that was caught here.
    """
    raised = caught = 0

    def handler(*_):
        nonlocal raised
        raised += 1
        raise Signal

    signal.signal(signal.SIGALRM, handler)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        try:
            signal.setitimer(signal.ITIMER_REAL, 10.0 ** rng.uniform(-5.3, -3))
            body()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Signal:
            caught += 1
    return raised, caught


def attack(rng):
    """Every exception reaches the caller; a learner's calls are made whole or not at all."""
    attack_learner(rng)
    attack_solver(rng)


def attack_learner(rng):
    policy = rng.choice([th.LinTS(), th.Thrifty(), th.LinUCB(horizon=1000)])
    learner = policy.learner(SETS, probability_draws=int(rng.choice([0, 30])))

    def play():
        for _ in range(50):
            decision = learner.choose(int(rng.integers(2)))
            pick = rng.random()
            if pick < 0.6:
                learner.learn(decision, 0.5)
            elif pick < 0.7:
                learner.cancel(decision)

    raised, caught = under_fire(play, rng, 0.05)
    assert raised == caught
    learner._recover()
    ledger, done = learner.state.ledger, learner._progress[0]
    learned, cancelled = int(done.updates), int(done.cancellations)
    for count in (ledger.played, ledger.chosen, ledger.visits, ledger.counters["rounds"]):
        assert count.sum() == learner.decisions - cancelled
    assert learner.state.regression.pulls.sum() == learned
    assert len(learner.pending) == learner.decisions - learned - cancelled
    assert all(pending.decision.id == id for id, pending in learner.pending.items())
    if learner.settings.probability_draws:
        assert all(entry.decision.probability is not None for entry in learner.pending.values())


def attack_solver(rng):
    features, gaps = rng.normal(size=(30, 4)), np.append(0, rng.uniform(0.1, 1, 29))
    best = np.arange(30) == 0
    expected = th.allocate(features, gaps, best).pulls.tobytes()

    def solve():
        assert th.allocate(features, gaps, best).pulls.tobytes() == expected

    raised, caught = under_fire(solve, rng, 0.03)
    assert raised == caught
