"""Decisions do not depend on what was on offer before, nor on how much room was made for it."""

import numpy as np
import pytest

import thrifty as th
from tests.learners.loaded import KINDS, MAPS, MOST, Play
from tests.learners.open_play import OPEN
from thrifty.learners import draws
from thrifty.learners.start import with_horizon
from thrifty.policies import POLICIES

VARIANTS = [*OPEN, "thrifty:noise=known,caution=1", "linucb:width=anytime", "vids:draws=anew"]
VARIANTS += [f"{spec}{',' if ':' in spec else ':'}forgetting=50" for spec in OPEN]
ROOM = (16, 17, 32, 33, 64, 65)  # there is just room for these, or room is made
GROWING = [count for count in range(1, 71) for _ in range(60 if count in ROOM else 2)]
SHRINKING = list(range(70, 0, -7))


def settings(spec):
    """Settings under which a decision uses as much as it can."""
    drawn = {"probability_draws": 20} if spec.startswith("lints") else {}
    return {"noise": 0.5, "most_waiting": 5, **drawn}


@pytest.mark.parametrize("spec", VARIANTS)
def test_every_number_of_arms_on_offer(spec):
    """Growing, each number several times, then shrinking; loaded now and then, with its room."""
    rng = np.random.default_rng(1)
    play = Play(th.policy(spec), rng, **settings(spec))
    play.warm_up(200)  # `thrifty` computes values again when rounds have grown by a tenth
    for count in GROWING + SHRINKING:
        decision = play.choose(count)
        assert decision.probability is not None
        if rng.random() < 0.05:
            play.learn()
        if rng.random() < 0.05:
            play.pair.go_on_with_the_loaded_one()


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("spec", ["thrifty", "lints", "vids"])
def test_every_number_of_arms_on_offer_by_a_feature_map(spec, kind):
    play = Play(th.policy(spec), np.random.default_rng(2), kind, **settings(spec))
    for count in (*range(1, MOST + 1), 17, 17, 33, 33, 5):
        assert play.choose(count).probability is not None
        play.learn()


CHANGES = {
    "thrifty": ["thrifty:caution=0", "thrifty:noise=known", "thrifty:forgetting=20"],
    "vids": ["vids:samples=20", "vids:samples=20,draws=anew", "vids:forgetting=20"],
    "lints": ["lints:scale=0.1", "lints:ridge=3", "lints:forgetting=20"],
    "greedy": ["greedy:forgetting=20"],
}


@pytest.mark.parametrize("name", POLICIES)
def test_listed_contexts_that_change(name):
    policy = planned(name)
    play = Play(policy, np.random.default_rng(3), "listed", **settings(name))
    play.others += [planned(spec) for spec in CHANGES.get(name, ())]
    for _ in range(60):
        play.step()


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("name", CHANGES)
def test_open_contexts_with_parameters_that_change(name, kind):
    play = Play(th.policy(name), np.random.default_rng(4), kind, **settings(name))
    play.others += [th.policy(spec) for spec in CHANGES[name]]
    for _ in range(60):
        play.step()


def test_draws_do_not_depend_on_how_many_are_made_at_a_time(monkeypatch):
    """Files say how many draws were used, of blocks that other code may have made longer."""
    policy, rng = th.VIDS(draws="anew", samples=20), np.random.default_rng(5)
    offers = rng.normal(size=(60, 5, 4))
    learner = policy.learner(dimension=4, seed=1)
    wanted = [learner.choose(offer) for offer in offers[:20]]
    file = learner.to_bytes()
    wanted += [learner.choose(offer) for offer in offers[20:]]
    monkeypatch.setattr(draws, "MOST_DRAWN", 3 * 40)
    fewer = policy.learner(dimension=4, seed=1)
    assert [fewer.choose(offer) for offer in offers] == wanted
    files = {20: file, 60: fewer.to_bytes()}
    last = fewer.choose(offers[0])
    for made, source in files.items():
        loaded = th.Learner.load(source)
        assert len(loaded._draws.normals) == 3
        assert [loaded.choose(offer) for offer in offers[made:]] == wanted[made:]
        assert loaded.choose(offers[0]) == last


def planned(spec):
    policy = th.policy(spec)
    return with_horizon(policy, 1000)
