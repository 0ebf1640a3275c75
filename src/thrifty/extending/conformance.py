"""The conformance suite: `check_policy(my_policy)`, or one test for each entry of CHECKS.

Plain policies take part in the checks that do not need a learner. A failure is an AssertionError
that says what was expected.
"""

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from thrifty.learners.decisions import Decision
from thrifty.learners.features import disjoint
from thrifty.learners.learner import Learner
from thrifty.learners.open_contexts import OpenSets
from thrifty.learners.start import with_horizon
from thrifty.policies.base import Policy
from thrifty.policies.shared.plain import AnyPolicy
from thrifty.problem.action_sets import ActionSets
from thrifty.problem.instances import Instance
from thrifty.simulation.replication import Replication, simulate

ROUNDS = 400
SEED = 7


def check_policy(policy: AnyPolicy) -> None:
    """Run every check on a policy."""
    for check in CHECKS:
        check(policy)


class LearnerPlayer:
    """A compiled policy behind a learner, as a plain policy for the simulator."""

    def __init__(self, policy: Policy, seed: int) -> None:
        self.policy, self.seed = policy, seed
        self.decisions: list[Decision] = []

    def __deepcopy__(self, memo: object) -> "LearnerPlayer":
        return self  # not a copy: its decisions are read afterwards

    def start(
        self, sets: ActionSets, *, noise: float, horizon: int, rng: np.random.Generator
    ) -> None:
        """Make the learner; its random streams are those of the simulator for this seed."""
        # told the noise as in a simulation: `policy.learner(noise=...)` would say that it is known
        planned = with_horizon(self.policy, horizon)
        self.learner = Learner(planned, sets, seed=self.seed, noise=noise)

    def choose(self, context: int) -> int:
        self.decisions.append(self.learner.choose(context))
        return self.decisions[-1].arm

    def learn(self, context: int, arm: int, reward: float) -> None:
        self.learner.learn(self.decisions[-1], reward)


def awkward_instances(policy: AnyPolicy) -> Iterator[Instance]:
    """Ragged sets, sets that do not span, one arm, duplicates, zeros, tiny and large features.

    Of one context only, for policies that can play no more.
    """
    rng = np.random.default_rng(SEED)
    ragged = [rng.normal(size=(size, 3)) for size in (4, 1, 2)]
    ragged[2][1] = ragged[0][0]  # a vector in two contexts
    flat = np.array([[1.0, 0, 0], [0, 1, 0], [0.9, 0.5, 0]])  # a set that does not span
    duplicates = np.array([[1.0, 0], [0, 1], [0, 1], [0, 0], [0.5, 0.5]])
    theta = np.array([1.0, 0.5, -0.25])
    cases = [
        ("ragged", ragged, theta, 1.0),
        ("not spanning", [flat, np.roll(flat, 1, axis=1)], theta, 1.0),
        ("one arm", [np.array([[1.0, 2.0]])], theta[:2], 1.0),
        ("one dimension", [np.array([[1.0], [0.5], [-1.0]])], theta[:1], 1.0),
        ("duplicates", [duplicates], theta[:2], 0.5),
        ("tiny features", [1e-6 * rng.normal(size=(4, 2))], theta[:2], 1e-6),
        ("large features", [1e6 * rng.normal(size=(4, 2))], theta[:2], 1e6),
        ("all arms equal", [np.eye(3)], np.zeros(3), 1.0),
    ]
    for name, sets, parameter, noise in cases:
        if len(sets) == 1 or not getattr(policy, "one_context", False):
            yield Instance(ActionSets(sets), theta=parameter, noise=noise, name=name)


def check_scores(policy: AnyPolicy) -> None:
    """Every round has one label, and regret by label is finite and never falls."""
    for instance in awkward_instances(policy):
        played = _simulate(instance, policy)
        counted, regret = played.rounds.sum(axis=1) == played.times, played.regret
        _require(instance, counted.all(), "each round counted once")
        _require(instance, np.isfinite(regret).all() and (regret >= 0).all(), "regret of 0 or more")
        _require(instance, (np.diff(regret, axis=0) >= 0).all(), "regret that never falls")


def check_determinism(policy: AnyPolicy) -> None:
    """The same seed and replication give the same bits."""
    for instance in awkward_instances(policy):
        same = _same(_simulate(instance, policy), _simulate(instance, policy))
        _require(instance, same, "the same bits again")


def check_threads(policy: AnyPolicy) -> None:
    """The same bits alone or beside other replications in threads."""
    for instance in awkward_instances(policy):
        alone = [_simulate(instance, policy, replication) for replication in range(4)]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(_simulate, [instance] * 4, [policy] * 4, range(4)))
        _require(instance, all(map(_same, alone, together)), "the same bits in threads as alone")


def check_learner(policy: AnyPolicy) -> None:
    """A learner decides, one decision at a time, as the policy does in the compiled loop."""
    if isinstance(policy, Policy):
        for instance in awkward_instances(policy):
            compiled, player = _simulate(instance, policy), LearnerPlayer(policy, SEED)
            _simulate(instance, player)
            rounds, regret = np.zeros_like(compiled.rounds[0]), np.zeros_like(compiled.regret[0])
            for t, decision in enumerate(player.decisions):
                label = policy.labels.index(decision.label)
                rounds[label] += 1
                regret[label] += instance.gaps[_row(instance, decision)]
                same = np.array_equal(rounds, compiled.rounds[t])
                same = same and np.array_equal(regret, compiled.regret[t])
                expected = f"the learner to decide as the simulator does in round {t + 1}"
                _require(instance, same, expected)


def check_availability(policy: AnyPolicy) -> None:
    """Only arms on offer are chosen, and names, labels and gaps make sense."""
    if isinstance(policy, Policy):
        rng = np.random.default_rng(SEED)
        for instance in awkward_instances(policy):
            learner = _learner(policy, instance)
            for _ in range(ROUNDS):
                m = int(rng.integers(instance.sets.contexts))
                arms = len(instance.sets.arms(m))
                offered = rng.choice(arms, size=rng.integers(1, arms + 1), replace=False).tolist()
                decision = learner.choose(m, offered)
                _require(instance, decision.arm in offered, "an arm on offer")
                _require(instance, decision.label in policy.labels, "a label of the policy")
                _require(instance, decision.gap >= 0, "a gap of at least 0")
                learner.learn(decision, _reward(instance, decision, rng))


def check_late_rewards(policy: AnyPolicy) -> None:
    """Rewards may come late and in any order, or never; all decisions stay legal."""
    if isinstance(policy, Policy):
        rng = np.random.default_rng(SEED)
        for instance in awkward_instances(policy):
            learner, pending = _learner(policy, instance), []
            for _ in range(ROUNDS):
                pending.append(learner.choose(int(rng.integers(instance.sets.contexts))))
                if rng.random() < 0.5:
                    late = pending.pop(int(rng.integers(len(pending))))
                    if rng.random() < 0.1:
                        learner.cancel(late)
                    else:
                        learner.learn(late, _reward(instance, late, rng))
            expected = "one pending decision for each missing reward"
            _require(instance, len(learner.pending) == len(pending), expected)


def check_saving(policy: AnyPolicy) -> None:
    """A learner that was saved and loaded continues bit for bit."""
    if isinstance(policy, Policy):
        for instance in awkward_instances(policy):
            learner, rng = _learner(policy, instance), np.random.default_rng(SEED)
            _drive(learner, instance, rng)
            late = learner.choose(0)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "state.json"
                learner.save(path)
                again = Learner.load(path, instance.sets, policy=learner.policy)
            decisions = []
            for continued in (learner, again):
                continued.learn(late, 0.5)
                decisions.append(_drive(continued, instance, np.random.default_rng(SEED + 1)))
            _require(instance, decisions[0] == decisions[1], "a loaded learner to continue as is")


def check_changing_arms(policy: AnyPolicy) -> None:
    """Arms and contexts are added and removed; late rewards of removed arms are learned from."""
    if isinstance(policy, Policy):
        arms = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.9, 0.5, 0.0]]
        sets = ActionSets([arms], context_names=["first"])
        instance = Instance(sets, theta=[1.0, 0.5, 0.2])
        learner, rng = _learner(policy, instance), np.random.default_rng(SEED)
        _drive(learner, instance, rng)
        late = [learner.choose("first") for _ in range(5)]
        learner.add_arm("first", [0, 0, 1], name="new")
        learner.remove_arm("first", "0")
        if not getattr(policy, "one_context", False):
            learner.add_context("second", [[0, 0, 1], [0, 1, 1]])
        _drive(learner, Instance(learner.sets, theta=instance.theta), rng)
        for decision in late:
            learner.learn(decision, 1.0)
        if not getattr(policy, "one_context", False):
            learner.remove_context("first")
        _drive(learner, Instance(learner.sets, theta=instance.theta), rng)
        _require(instance, not learner.pending, "no pending decision")


def check_open_contexts(policy: AnyPolicy) -> None:
    """Decisions on ever more arms, and then fewer, are those of a learner that is just loaded.

    What is on offer has other features in each decision, as many arms as it may have: nothing that
    was computed for the last offer may be used again.
    """
    if isinstance(policy, Policy) and policy.open:
        rng, planned = np.random.default_rng(SEED), with_horizon(policy, ROUNDS)
        learner = Learner(planned, OpenSets(3), seed=SEED)
        for _ in range(ROUNDS // 4):
            features, noise = rng.normal(size=(3, 3)), float(rng.normal())
            decision = learner.choose(features)
            learner.learn(decision, 0.2 * float(features[decision.arm, 0]) + noise)
        for arms in np.repeat((1, 2, 16, 17, 18, 33, 17, 2, 1), 4).tolist():
            loaded = Learner.load(learner.to_bytes(), policy=planned)
            features = rng.normal(size=(arms, 3))
            # mostly the first looks best, as it did before: what was computed then seems to hold
            features[0, 0] += 3.0
            decisions = [continued.choose(features) for continued in (learner, loaded)]
            same = repr(decisions[0]) == repr(decisions[1])  # nan differs from itself
            same = same and learner.to_bytes() == loaded.to_bytes()
            _require_of(f"{arms} arms", same, "a loaded learner to decide as the one in use does")


def check_map_arms(policy: AnyPolicy) -> None:
    """Arms of a feature map come and go, and with them blocks of theta.

    What the state knows of entries of theta must go where these go: a field that does not is
    refused, or makes a learner that is just loaded decide otherwise.
    """
    if isinstance(policy, Policy) and policy.open:
        rng, planned = np.random.default_rng(SEED), with_horizon(policy, ROUNDS)
        learner = Learner(planned, OpenSets(features=disjoint(["a", "b"], ["x", "y"])), seed=SEED)
        for name, gone in (("c", "a"), ("d", "c"), ("e", "b")):
            late = [learner.choose(rng.normal(size=2)) for _ in range(5)]
            for _ in range(ROUNDS // 20):
                decision = learner.choose(rng.normal(size=2))
                learner.learn(decision, float(decision.arm) + float(rng.normal()))
            learner.add_arm(name)
            learner.remove_arm(gone)
            for pending in late:
                learner.learn(pending, 1.0)
            loaded, context = Learner.load(learner.to_bytes(), policy=planned), rng.normal(size=2)
            same = repr(learner.choose(context)) == repr(loaded.choose(context))
            _require_of(f"arm {name}", same, "a loaded learner to decide as the one in use does")


CHECKS: tuple[Callable[[AnyPolicy], None], ...] = (
    check_scores,
    check_determinism,
    check_threads,
    check_learner,
    check_availability,
    check_late_rewards,
    check_saving,
    check_changing_arms,
    check_open_contexts,
    check_map_arms,
)


def _simulate(instance: Instance, policy: AnyPolicy, replication: int = 0) -> Replication:
    n, times = ROUNDS, np.arange(1, ROUNDS + 1)
    return simulate(instance, policy, horizon=n, seed=SEED, replication=replication, times=times)


def _learner(policy: Policy, instance: Instance) -> Learner:
    planned = with_horizon(policy, ROUNDS)
    return Learner(planned, instance.sets, seed=SEED, noise=instance.noise)


def _drive(learner: Learner, instance: Instance, rng: np.random.Generator) -> list[Decision]:
    """Let a learner play an instance for a while."""
    decisions = []
    for _ in range(ROUNDS):
        decisions.append(learner.choose(int(rng.integers(instance.sets.contexts))))
        learner.learn(decisions[-1], _reward(instance, decisions[-1], rng))
    return decisions


def _reward(instance: Instance, decision: Decision, rng: np.random.Generator) -> float:
    return float(instance.means[_row(instance, decision)] + instance.noise * rng.standard_normal())


def _row(instance: Instance, decision: Decision) -> int:
    return int(instance.sets.offsets[instance.sets.context_index(decision.context)]) + decision.arm


def _same(a: Replication, b: Replication) -> bool:
    return np.array_equal(a.regret, b.regret) and np.array_equal(a.rounds, b.rounds)


def _require(instance: Instance, holds: bool | np.bool_, expected: str) -> None:
    _require_of(instance.name, holds, expected)


def _require_of(case: str, holds: bool | np.bool_, expected: str) -> None:
    if not holds:
        raise AssertionError(f"{case}: {expected} expected")
