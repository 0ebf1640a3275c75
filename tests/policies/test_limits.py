"""No number is too large or too small for a parameter: it is refused in a line, or it works."""

import math

import numpy as np
import pytest

import thrifty as th
from thrifty.learners.start import with_horizon
from thrifty.policies import POLICIES

# the limits themselves, what lies beyond, and what is no number
SPECS = ["1e308", "1e30", str(2**63), "1e240", "1e100", "1e12", "100000", "1.0000000000000002"]
SPECS += ["1", "0", "-1", "1e-239", "1e-240", "5e-324", "nan", "inf", "-inf", "True", "None", "'1'"]
OBJECTS = [1e308, 10**400, 2**63, -1, 10**12, True, "1", math.nan, np.float64(1e30), np.True_, [1]]
VARIANTS = {"linucb": ["width=alpha", "width=fn", "width=oful"], "lints": ["inflation=theory"]}
LISTED = th.ActionSets([[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]])


def numeric_parameters(name):
    defaults = POLICIES[name].parameters()
    return [key for key, default in defaults.items() if not isinstance(default, str)]


def made(make):
    """A policy; None if it is refused in one line."""
    try:
        return make()
    except th.InvalidInput as error:
        refusal = str(error)
    assert "\n" not in refusal
    return None


def check_play(policy):
    """A learner decides and learns, with numbers that mean something."""
    for sets in ({"sets": LISTED}, *([{"dimension": 2}] if policy.open else [])):
        learner = with_horizon(policy, 1000).learner(**sets)
        for t in range(4):
            decision = learner.choose(0 if "sets" in sets else np.eye(2))
            assert decision.gap >= 0
            assert math.isfinite(decision.gap)
            assert decision.probability is None or 0 < decision.probability <= 1 + 1e-9
            learner.learn(decision, 1.0 - t % 2)
        assert th.Learner.load(learner.to_bytes()).policy == learner.policy


@pytest.mark.parametrize("name", POLICIES)
def test_any_number_in_a_spec_is_refused_or_works(name):
    used = 0
    for key in numeric_parameters(name):
        for variant in [*VARIANTS.get(name, []), ""]:
            for value in SPECS:
                spec = f"{name}:{key}={value}" + (f",{variant}" if variant else "")
                policy = made(lambda spec=spec: th.policy(spec))
                if policy is not None:
                    used += 1
                    check_play(policy)
    assert used > 0


@pytest.mark.parametrize("name", POLICIES)
def test_any_object_as_a_parameter_is_refused_or_works(name):
    for key in numeric_parameters(name):
        for value in OBJECTS:
            policy = made(lambda key=key, value=value: POLICIES[name](**{key: value}))
            assert policy is None or isinstance(getattr(policy, key), int | float)
            if policy is not None:
                check_play(policy)


@pytest.mark.parametrize("name", ["expire", "most_waiting", "probability_draws", "noise"])
def test_any_number_as_a_setting_of_a_learner_is_refused_or_works(name):
    for value in (
        *OBJECTS,
        1e120,
        1e-120,
        1e119,
        1e-119,
        0,
        1,
        10**15,
        10**15 + 1,
        10**6,
        10**6 + 1,
    ):
        given = {"after": value} if name == "expire" else value
        learner = made(lambda given=given: th.LinTS().learner(dimension=2, **{name: given}))
        if learner is not None:
            for _ in range(3):
                decision = learner.choose(np.eye(2))
            learner.learn(decision, 1.0)
            assert math.isfinite(decision.gap)
            assert th.Learner.load(learner.to_bytes()).settings == learner.settings


@pytest.mark.parametrize(("dimension", "most"), [(10_000, "362"), (1_000, "20,000")])
def test_samples_are_limited_by_the_work_that_they_take(dimension, most):
    with pytest.raises(th.InvalidInput) as caught:
        th.VIDS(samples=100_000).learner(dimension=dimension)
    message = f"vids: samples: at most {most} for {dimension:,} dimensions expected, got 100000"
    assert str(caught.value) == message


@pytest.mark.parametrize("draws", ["once", "anew"])
def test_the_most_samples_fit_into_memory(draws):
    learner = th.VIDS(samples=100_000, draws=draws).learner(dimension=2)
    assert learner.choose(np.eye(2)).arm in (0, 1)
    assert learner._draws.normals.nbytes <= 2**25
