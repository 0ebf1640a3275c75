"""Each compiled policy makes the decisions of its slow twin, under the same labels."""

import numpy as np
import pytest

import thrifty as th
from tests.policies import twins, twins_of_information, twins_of_sampling
from thrifty.extending.conformance import LearnerPlayer
from thrifty.simulation.replication import simulate

ROUNDS = 2000
RANDOM = th.Instance(
    th.ActionSets([np.random.default_rng(5).normal(size=(6, 3))]),
    theta=[0.3, -0.5, 0.2],
    noise=0.7,
    name="random",
)
CONTEXTS = [
    th.instance("fixed-u0.1"),
    th.instance("scenario-one"),
    th.instance("scenario-two"),
    RANDOM,
]
SINGLE = [
    th.instance("fixed-u0.1"),
    th.instance("fixed-u0.02"),
    th.instance("end-of-optimism"),
    RANDOM,
]
PAIRS = [
    (th.Thrifty(), twins_of_information.ThriftyTwin()),
    (th.Thrifty(noise="known", caution=1), twins_of_information.ThriftyTwin(False, 1)),
    (th.Penalty(), twins_of_information.PenaltyTwin()),
    (th.Penalty(noise="known"), twins_of_information.PenaltyTwin(estimate=False)),
    (th.Greedy(), twins.GreedyTwin()),
    (th.EGreedy(), twins.EGreedyTwin()),
    (th.LinUCB(), twins.LinUCBTwin()),
    (th.LinUCB(ridge=2, size=3), twins.LinUCBTwin(2, 3)),
    (th.LinUCB(width="anytime"), twins.LinUCBTwin(anytime=True)),
    (th.LinUCB(width="fn"), twins.LinUCBfnTwin()),
    (th.LinUCB(width="alpha", alpha=0.5), twins.LinUCBalphaTwin()),
    (th.LinTS(), twins.LinTSTwin()),
    (th.LinTS(scale=0.5), twins.LinTSTwin(0.5)),
    (th.LinTS(inflation="theory"), twins.LinTSTheoryTwin()),
    (th.IDS(), twins_of_information.IDSTwin()),
    (th.IDS(correction="all", ridge=2), twins_of_information.IDSTwin("all", 2)),
    (th.OAM(), twins.OAMTwin()),
    (th.OAM(epsilon=0.05, c=1), twins.OAMTwin(0.05, 1)),
    (th.OAM(epsilon="literal", c=1), twins.OAMTwin("literal", 1)),
    (th.OSSB(), twins.OSSBTwin()),
    (th.EndOA(), twins.EndOATwin()),
    (th.DEL(), twins.DELTwin()),
    (th.SOLID(), twins_of_information.SOLIDTwin()),
    (
        th.SOLID(
            kappa=0, z=20, weight_step=1, price_step=1, decay=0.5, reset="no", level=2, ridge=2
        ),
        twins_of_information.SOLIDTwin(0, 20, 1, 1, 0.5, False, 2.0, 2),
    ),
    (th.LinMED(), twins_of_sampling.LinMEDTwin()),
    (
        th.LinMED(alpha_emp=0.5, alpha_opt=0.4, ridge=2, delta=0.1),
        twins_of_sampling.LinMEDTwin(0.5, 0.4, 2, 0.1),
    ),
    (th.VIDS(), twins_of_sampling.VIDSTwin()),
    (
        th.VIDS(samples=50, draws="anew", ridge=2),
        twins_of_sampling.VIDSTwin(50, 2, anew=True),
    ),
    (th.SquareCB(), twins_of_sampling.SquareCBTwin()),
    (th.SquareCB(c=1, ridge=2), twins_of_sampling.SquareCBTwin(1, 2)),
]


def copyless(twin):
    """A twin that the simulator does not copy, to be looked at afterwards."""
    kind = type(twin)
    return type(kind.__name__, (kind,), {"__deepcopy__": lambda self, memo: self})(**vars(twin))


@pytest.mark.parametrize(
    "place", [0, *(pytest.param(place, marks=pytest.mark.slow) for place in range(1, 4))]
)
@pytest.mark.parametrize(
    ("policy", "twin"), PAIRS, ids=lambda item: str(item) if isinstance(item, th.Policy) else ""
)
def test_same_decisions_for_the_same_reasons(policy, twin, place):
    instance = (SINGLE if policy.one_context else CONTEXTS)[place]
    compiled, plain = LearnerPlayer(policy, twins.SEED), copyless(twin)
    for player in (compiled, plain):
        simulate(instance, player, horizon=ROUNDS, seed=twins.SEED)
    assert [decision.label for decision in compiled.decisions] == plain.labels
    assert [decision.arm for decision in compiled.decisions] == plain.arms


def test_recovery_of_endoa():
    """Estimates never move that far by chance alone; rewards that change after warming up do it."""
    twin, learner = (
        twins.EndOATwin(),
        th.EndOA(horizon=1000).learner(th.instance("fixed-u0.1").sets),
    )
    twin.start(learner.sets, noise=1.0, horizon=1000, rng=np.random.default_rng(0))
    rng = np.random.default_rng(1)
    for t in range(500):
        decision = learner.choose(0)
        assert decision.arm == twin.choose(0)
        reward = float(rng.normal() + (1.0, 0.0, 0.9)[decision.arm] + (30.0 if t > 20 else 0.0))
        learner.learn(decision, reward)
        twin.learn(0, decision.arm, reward)
    assert twin.labels[-1] == "recovery"
    assert decision.label == "recovery"


def test_recovery_of_endoa_goes_on_with_other_arms():
    learner = th.EndOA(horizon=1000).learner(th.instance("fixed-u0.1").sets)
    for t in range(500):
        decision = learner.choose(0)
        learner.learn(decision, float(decision.arm) + (30.0 if t > 20 else 0.0))
    assert decision.label == "recovery"
    pulls = learner.state.pulls.copy()
    learner.add_arm(0, [0.5, 0.5])
    assert learner.state.pulls.tolist() == [*pulls, 0.0]
    assert learner.choose(0).label == "recovery"
