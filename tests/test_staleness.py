"""The benchmark of stale posteriors plays as the simulator does when nothing is stale."""

import numpy as np
import pytest
from benchmarks import staleness

import thrifty as th

pytestmark = pytest.mark.slow

POLICY = "linucb:width=alpha,alpha=3"


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(staleness, "HORIZON", 2000)
    monkeypatch.setattr(staleness, "REPLICATIONS", 3)


def played(k, kind):
    return staleness.regrets("scenario-one", POLICY, k, kind)


@pytest.mark.parametrize("kind", staleness.WORDS)
def test_fresh_posteriors_are_those_of_the_simulator(short, kind):
    study = th.run(
        "scenario-one", POLICY, horizon=2000, replications=3, seed=staleness.SEED, progress=False
    )
    np.testing.assert_allclose(played(1, kind), study.results[0].final)


def test_a_lag_beyond_the_horizon_never_learns_and_a_share_does(short):
    never = played(5000, staleness.LATE)
    assert np.array_equal(never, played(5000, staleness.SNAPSHOTS))
    assert played(5000, staleness.GROWING).mean() < 0.5 * never.mean()
