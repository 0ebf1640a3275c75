"""Names and parameters: what is asked for is what one gets, and mistakes are named."""

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest

import thrifty as th
from thrifty.policies import POLICIES, describe
from thrifty.simulation.replication import simulate


def test_specs_are_read_and_written():
    assert th.policy("oam") == th.OAM()
    assert th.policy("oam:epsilon=0.01,c=1,forced=spanner") == th.OAM(
        epsilon=0.01, c=1.0, forced="spanner"
    )
    assert th.policy("oam:epsilon=literal,horizon=1e6") == th.OAM(epsilon="literal", horizon=1e6)
    assert th.policy("linucb:delta=none") == th.LinUCB()
    for spec in (
        "oam:epsilon=0.123456789",
        "linucb:width=fn,horizon=1000000",
        "lints",
        "ids:correction=all",
        "egreedy:decay=0.25",
        "solid:kappa=0,reset=no",
    ):
        assert th.policy(spec).spec == spec


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("oma", "unknown policy 'oma'; did you mean 'oam'?"),
        ("oam:epsilom=0", "unknown parameter of oam 'epsilom'; did you mean 'epsilon'?"),
        ("oam:epsilon=-1", "oam: epsilon: a number of at least 0 expected, got -1.0"),
        ("oam:epsilon=literally", "oam: epsilon: literal expected, got 'literally'"),
        ("oam:c=nan", "oam: c: a finite number expected, got nan"),
        ("oam:c=1,c=2", "oam: c: one value expected, got 'c=1,c=2'"),
        ("thrifty:caution", "thrifty: caution has no value: write caution=NUMBER"),
        ("oam:forced=", "oam: forced has no value: write forced=WORD"),
        ("oam:forced=never", "oam: forced: least or spanner expected, got 'never'"),
        ("oam:horizon=0", "oam: horizon: a number of at least 1 expected, got 0.0"),
        ("linucb:width=wide", "linucb: width: oful or fn or anytime or alpha expected, got 'wide'"),
        ("linucb:alpha=-1", "linucb: alpha: a number of at least 0 expected, got -1.0"),
        ("linucb:ridge=0", "linucb: ridge: a number above 1e-240 expected, got 0.0"),
        ("linucb:delta=1", "linucb: delta: a number between 0 and 1 expected, got 1.0"),
        ("lints:inflation=much", "lints: inflation: heuristic or theory expected, got 'much'"),
        ("lints:scale=0", "lints: scale: a number above 0 expected, got 0.0"),
        ("solid:kappa=-1", "solid: kappa: a number of at least 0 expected, got -1.0"),
        ("solid:z=0.5", "solid: z: a number of at least 1 expected, got 0.5"),
        ("solid:weight_step=0", "solid: weight_step: a number above 0 expected, got 0.0"),
        ("solid:reset=perhaps", "solid: reset: yes or no expected, got 'perhaps'"),
        ("solid:horizon=0", "solid: horizon: a number of at least 1 expected, got 0.0"),
        ("thrifty:noise=unknown", "thrifty: noise: estimate or known expected, got 'unknown'"),
        ("thrifty:caution=-1", "thrifty: caution: a number of at least 0 expected, got -1.0"),
        ("ids:correction=some", "ids: correction: ucb or all expected, got 'some'"),
        ("ids:ridge=0", "ids: ridge: a number above 1e-240 expected, got 0.0"),
        ("ids:corection=all", "unknown parameter of ids 'corection'; did you mean 'correction'?"),
        (
            "linmed:alpha_emp=0.75,alpha_opt=0.5",
            "linmed: alpha_emp + alpha_opt: a sum of at most 1 expected, got 1.25",
        ),
        ("linmed:alpha_opt=-1", "linmed: alpha_opt: a number of at least 0 expected, got -1.0"),
        ("linmed:delta=0", "linmed: delta: a number between 0 and 1 expected, got 0.0"),
        ("linmed:delta=none", "linmed: delta: a finite number expected, got None"),
        ("vids:samples=3", "vids: samples: an even number from 2 to 100,000 expected, got 3.0"),
        ("vids:samples=0", "vids: samples: an even number from 2 to 100,000 expected, got 0.0"),
        (
            "vids:samples=1e308",
            "vids: samples: an even number from 2 to 100,000 expected, got 1e+308",
        ),
        ("oam:c=1e13", "oam: c: a number of at most 1e+12 expected, got 10000000000000.0"),
        ("lints:horizon=1e101", "lints: horizon: a number of at most 1e+100 expected, got 1e+101"),
        ("greedy:ridge=1e241", "greedy: ridge: a number of at most 1e+240 expected, got 1e+241"),
        (
            "greedy:forgetting=1e13",
            "greedy: forgetting: a number of at most 1e+12 expected, got 10000000000000.0",
        ),
        ("vids:draws=twice", "vids: draws: once or anew expected, got 'twice'"),
        ("vids:ridge=0", "vids: ridge: a number above 1e-240 expected, got 0.0"),
        ("squarecb:c=-1", "squarecb: c: a number of at least 0 expected, got -1.0"),
        ("squarecb:ridge=0", "squarecb: ridge: a number above 1e-240 expected, got 0.0"),
        ("egreedy:decay=x", "egreedy: decay: a finite number expected, got 'x'"),
    ],
)
def test_mistakes_are_named(spec, message):
    with pytest.raises(th.ThriftyError) as caught:
        th.policy(spec)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["oam", "linucb", "endoa", "solid"])
def test_a_policy_that_plans_for_a_horizon_asks_for_one(name):
    kind = POLICIES[name].__name__
    message = rf"^{name} plans for a horizon: pass {kind}\(horizon=1e6\), or {name}:horizon"
    with pytest.raises(th.ThriftyError, match=message):
        th.policy(name).learner(th.instance("fixed-u0.1").sets)
    assert th.policy(f"{name}:horizon=1e4").learner(th.instance("fixed-u0.1").sets).choose(
        0
    ).arm in (0, 1, 2)


def test_linucb_needs_no_horizon_if_it_is_told_delta():
    learner = th.LinUCB(delta=0.01).learner(th.instance("fixed-u0.1").sets)
    assert learner.state.log_inverse_delta == pytest.approx(math.log(100))


def test_the_anytime_linucb_needs_no_horizon():
    learner = th.LinUCB(width="anytime").learner(th.instance("fixed-u0.1").sets)
    assert learner.choose(0).label == "optimistic"


def test_linucb_with_a_constant_width_needs_no_horizon():
    learner = th.LinUCB(width="alpha", alpha=0.5).learner(th.instance("fixed-u0.1").sets, noise=0.2)
    assert learner.state.fixed_width == 0.1


def test_a_tiny_delta_makes_a_wide_interval_not_an_infinite_one():
    for policy in (
        th.LinUCB(delta=1e-320),
        th.LinTS(inflation="theory", delta=1e-320, horizon=100),
    ):
        state = policy.start(th.instance("fixed-u0.1").sets, noise=1.0, horizon=100)
        assert all(math.isfinite(number) for number in state if isinstance(number, float))


@pytest.mark.parametrize(
    "name",
    ["linucb", "lints", "ids", "vids", "solid", "linmed", "squarecb", "greedy", "egreedy"],
)
def test_the_ridge_is_the_noise_squared_unless_it_is_given(name):
    kind, instance = POLICIES[name], th.instance("scenario-one")
    for policy, noise, ridge in ((kind(), 1, 1), (kind(), 0.5, 0.25), (kind(ridge=2), 0.5, 2)):
        state = policy.start(instance.sets, noise=noise, horizon=100)
        np.testing.assert_array_equal(state.regression.base, ridge * np.eye(3))
        assert getattr(state, "ridge", ridge) == ridge
    by_default, given = (
        simulate(instance, policy, horizon=500).regret for policy in (kind(), kind(ridge=1))
    )
    np.testing.assert_array_equal(by_default, given)


def test_endoa_is_for_one_context():
    with pytest.raises(th.InvalidInput, match="endoa: one context expected, got 2; use oam"):
        th.run("scenario-one", "endoa", horizon=10, replications=1)


def test_every_parameter_is_described():
    assert [entry["name"] for entry in describe()] == list(POLICIES)
    for entry in describe():
        assert set(entry["meanings"]) == set(entry["parameters"])


def test_a_parameter_that_does_not_exist_is_compared_with_those_that_do():
    with pytest.raises(th.UnknownName, match=r"parameter of thrifty 'forget'.*'forgetting'"):
        th.Thrifty(forget=1)
    with pytest.raises(th.UnknownName, match=r"parameter of greedy 'noise'.*ridge, forgetting"):
        dataclasses.replace(th.Greedy(), noise=1)


def test_policies_are_copied_and_pickled():
    policy = th.LinUCB(width="fn", horizon=100)
    assert pickle.loads(pickle.dumps(policy)) == policy == copy.deepcopy(policy)


def test_policies_are_frozen_and_compared_by_value():
    with pytest.raises(AttributeError):
        th.OAM().epsilon = 1.0
    assert th.LinUCB() == th.LinUCB(width="oful")
    assert len({th.LinUCB(), th.LinUCB(), th.LinUCB(width="fn")}) == 2
