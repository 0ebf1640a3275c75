"""A policy in use, one decision at a time: choose, learn, explain, save, load.

It runs the compiled code that the simulator runs.
"""

import json
import math
import os
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thrifty.errors import BadFile, InvalidInput, UnknownName
from thrifty.files import write_whole
from thrifty.numerics.arrays import Floats, Ints, finite_number, finite_numbers, positive_number
from thrifty.numerics.compilation import entry_for
from thrifty.numerics.references import refer
from thrifty.numerics.streams import streams
from thrifty.online.decisions import ArmReport, Decision, Explanation
from thrifty.online.state_files import FORMAT, VERSION, pack, read, unpack
from thrifty.online.step import decide, update
from thrifty.policies import POLICIES
from thrifty.policies.base import Policy
from thrifty.policies.shared.ledger import Renumbering
from thrifty.problem.action_sets import ActionSets

BLOCK = 256  # rounds whose random draws are made at a time


@dataclass(slots=True)
class _Pending:
    """A decision whose reward has not arrived."""

    decision: Decision
    row: int  # of the regression, unless the arm was removed
    label: int
    features: Floats | None = None  # (d,) of an arm that was removed


class Learner:
    """A policy in use.

    Parameters
    ----------
    policy : the policy
    sets : the action sets
    seed : random seed of the policy
    noise : standard deviation of the rewards
    """

    def __init__(
        self, policy: Policy, sets: ActionSets, *, seed: int = 0, noise: float = 1.0
    ) -> None:
        if not isinstance(policy, Policy):
            raise InvalidInput("policy", "a compiled policy such as thrifty.OAM()", policy)
        if not isinstance(sets, ActionSets):
            raise InvalidInput("sets", "thrifty.ActionSets", sets)
        self.policy, self.noise = policy, positive_number(noise, "noise")
        self.pending: dict[int, _Pending] = {}
        self._next_id = 0
        _, _, *own = streams(seed, 0)
        self._normals, self._uniforms = own
        self._adopt(sets, policy.start(sets, noise=self.noise, horizon=None))
        self._draw()

    def choose(
        self, context: str | int, available: Collection[str | int] | None = None
    ) -> Decision:
        """Choose an arm of a context.

        available: the arms on offer now, by name or index or as a mask; all by default.
        """
        m = self._contexts.get(context) if isinstance(context, str) else None
        if m is None:  # an index, or a mistake
            m = self.sets.context_index(context)
        arms = self._arms[m] if available is None else self._offered(m, available)
        if self._random:
            self._next_draws()
        row, label, gap = self._decide(self._reference, m, arms)
        arm = row - self._starts[m]
        decision = Decision(
            self._next_id,
            self.sets.context_names[m],
            arm,
            self.sets.arm_names[m][arm],
            self.policy.labels[label],
            gap,
        )
        self.pending[self._next_id] = _Pending(decision, row, label)
        self._next_id += 1
        return decision

    def learn(self, decision: Decision, reward: float) -> None:
        """Learn from the reward of a decision: late and in any order, but once."""
        if type(reward) is not float or not -math.inf < reward < math.inf:
            reward = finite_number(
                int(reward) if isinstance(reward, bool | np.bool_) else reward, "reward"
            )
        pending = self._settle(decision)
        if pending.features is not None:
            self.policy.learn_removed(self.state, pending.features, reward)
        else:
            self._update(self._reference, pending.row, pending.label, reward)

    def cancel(self, decision: Decision) -> None:
        """Withdraw a decision that will get no reward: it no longer counts as a pull."""
        pending = self._settle(decision)
        if pending.features is None:
            ledger = self.state.ledger
            ledger.played[ledger.vector_ids[pending.row]] -= 1
            ledger.chosen[pending.row] -= 1

    def explain(self, decision: Decision) -> Explanation:
        """Why an arm was chosen, and the present estimates of the arms of its context."""
        if not isinstance(decision, Decision):
            raise InvalidInput("decision", "what choose returned", decision)
        m = self.sets.context_index(decision.context)
        means, errors = self.policy.estimates(self.state, self.sets.rows)
        targets, ledger = self.policy.targets(self.state), self.state.ledger
        rows = range(*self.sets.offsets[m : m + 2])
        best = max(means[row] for row in rows)
        reports = tuple(
            ArmReport(
                name=self.sets.arm_names[m][row - rows.start],
                mean=float(means[row]),
                gap=float(best - means[row]),
                width=float(self.noise * errors[row]),
                pulls=int(ledger.played[ledger.vector_ids[row]]),
                target=None if targets is None else float(targets[row]),
            )
            for row in rows
        )
        return Explanation(decision, reports)

    def add_arm(self, context: str | int, features: ArrayLike, name: str | None = None) -> None:
        """Add an arm to a context."""
        m = self.sets.context_index(context)
        sets, names = self._lists(), [list(names) for names in self.sets.arm_names]
        sets[m].append(finite_numbers(features, "features").tolist())
        names[m].append(_unused(names[m]) if name is None else name)
        self.change(ActionSets(sets, context_names=self.sets.context_names, arm_names=names))

    def remove_arm(self, context: str | int, arm: str | int) -> None:
        """Remove an arm; its rewards stay in the regression."""
        m = self.sets.context_index(context)
        i = self._arm_index(m, arm)
        sets, names = self._lists(), [list(names) for names in self.sets.arm_names]
        del sets[m][i], names[m][i]
        self.change(ActionSets(sets, context_names=self.sets.context_names, arm_names=names))

    def add_context(
        self, name: str | None, arms: ArrayLike, arm_names: Sequence[str] | None = None
    ) -> None:
        """Add a context."""
        new = ActionSets([arms], arm_names=None if arm_names is None else [arm_names])
        context_names = [
            *self.sets.context_names,
            _unused(self.sets.context_names) if name is None else name,
        ]
        self.change(
            ActionSets(
                [*self._lists(), new.rows],
                context_names=context_names,
                arm_names=[*self.sets.arm_names, *new.arm_names],
            )
        )

    def remove_context(self, context: str | int) -> None:
        """Remove a context; its rewards stay in the regression."""
        m = self.sets.context_index(context)
        kept = [i for i in range(self.sets.contexts) if i != m]
        lists = self._lists()
        self.change(
            ActionSets(
                [lists[i] for i in kept],
                context_names=[self.sets.context_names[i] for i in kept],
                arm_names=[self.sets.arm_names[i] for i in kept],
            )
        )

    def change(self, sets: ActionSets) -> None:
        """Continue with other action sets.

        An arm is the same if its context, name and vector are. The regression keeps all rewards.
        """
        if not isinstance(sets, ActionSets):
            raise InvalidInput("sets", "thrifty.ActionSets", sets)
        if sets.dimension != self.sets.dimension:
            raise InvalidInput("sets", f"arms of dimension {self.sets.dimension}", sets.dimension)
        state = self.policy.start(sets, noise=self.noise, horizon=None)
        renumbering = _renumber(self.sets, sets)
        self.policy.carry(self.state, state, renumbering)
        for pending in self.pending.values():
            if pending.features is None:
                row = int(renumbering.regression_rows[pending.row])
                if row < 0:
                    pending.features = self.sets.rows[pending.row]
                else:
                    pending.row = row
        self._adopt(sets, state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, from which `Learner.load` continues bit for bit."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "policy": self.policy.name,
            "parameters": asdict(self.policy),
            "noise": self.noise,
            "contexts": [
                {"name": name, "arms": arms, "arm_names": list(names)}
                for name, arms, names in zip(
                    self.sets.context_names, self._lists(), self.sets.arm_names, strict=True
                )
            ],
            "state": pack(self.state),
            "draws": {
                "normals": self._drawn_from[0],
                "uniforms": self._drawn_from[1],
                "used": self._used,
            },
            "next_id": self._next_id,
            "pending": [
                {
                    "decision": waiting.decision,
                    "row": waiting.row,
                    "label": waiting.label,
                    "features": None if waiting.features is None else list(waiting.features),
                }
                for waiting in self.pending.values()
            ],
        }
        write_whole(Path(path), json.dumps(document) + "\n")

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        sets: ActionSets | None = None,
        *,
        policy: Policy | None = None,
    ) -> "Learner":
        """A learner from a file that `save` wrote.

        sets: refuse a file for other action sets than these. policy: needed for a policy of your
        own, which thrifty does not know by name.
        """
        try:
            return _restore(read(path), sets, policy)
        except (InvalidInput, UnknownName) as error:
            raise BadFile(f"{path}: {error}") from None
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise BadFile(f"{path}: not a whole learner's state: {error!r}") from None

    def _adopt(self, sets: ActionSets, state: Any) -> None:
        """Set the action sets and a state for them."""
        self.sets, self.state = sets, state
        self._contexts = {name: m for m, name in enumerate(sets.context_names)}
        self._starts = sets.offsets.tolist()
        self._arms = [
            np.arange(start, stop)
            for start, stop in zip(self._starts, self._starts[1:], strict=False)
        ]
        self._random = state.ledger.normals.size + state.ledger.uniforms.size > 0
        self._decide, self._update = entry_for(decide, state), entry_for(update, state)
        self._reference = entry_for(refer, state)(state)

    def _offered(self, m: int, available: Collection[str | int]) -> Ints:
        """Rows (n,) of a context that are on offer, in order."""
        if isinstance(available, str) or not isinstance(available, Collection | np.ndarray):
            raise InvalidInput("available", "a list of arms", available)
        if len(available) == len(self._arms[m]) and all(
            isinstance(flag, bool | np.bool_) for flag in available
        ):
            available = [arm for arm, flag in enumerate(available) if flag]
        rows = sorted({self._starts[m] + self._arm_index(m, arm) for arm in available})
        if not rows:
            raise InvalidInput("available", "at least one arm", available)
        return np.array(rows, dtype=np.int64)

    def _arm_index(self, m: int, arm: str | int) -> int:
        names = self.sets.arm_names[m]
        if isinstance(arm, str):
            if arm not in names:
                raise UnknownName("arm", arm, names)
            return names.index(arm)
        if (
            isinstance(arm, bool)
            or not isinstance(arm, int | np.integer)
            or not 0 <= arm < len(names)
        ):
            raise InvalidInput("arm", f"an index from 0 to {len(names) - 1}", arm)
        return int(arm)

    def _settle(self, decision: Decision) -> _Pending:
        """Remove a decision from the pending ones; it must be one of them."""
        if not isinstance(decision, Decision):
            raise InvalidInput("decision", "what choose returned", decision)
        pending = self.pending.get(decision.id)
        if pending is None or pending.decision != decision:
            raise InvalidInput(
                "decision",
                "one of this learner's that waits for its reward (each is learned once)",
                f"{decision.id} ({decision.name})",
            )
        del self.pending[decision.id]
        return pending

    def _draw(self) -> None:
        """Make the random draws of the next BLOCK rounds, and keep the states before."""
        ledger = self.state.ledger
        self._drawn_from = (self._normals.bit_generator.state, self._uniforms.bit_generator.state)
        self._normal_block = self._normals.standard_normal((BLOCK, ledger.normals.size))
        self._uniform_block = self._uniforms.random((BLOCK, ledger.uniforms.size))
        self._used = 0

    def _next_draws(self) -> None:
        if self._used == BLOCK:
            self._draw()
        ledger = self.state.ledger
        ledger.normals[:] = self._normal_block[self._used]
        ledger.uniforms[:] = self._uniform_block[self._used]
        self._used += 1

    def _lists(self) -> list[Any]:
        return [self.sets.arms(m).tolist() for m in range(self.sets.contexts)]


def _unused(names: Sequence[str]) -> str:
    """The first number from len(names) on that is not a name."""
    number = len(names)
    while str(number) in names:
        number += 1
    return str(number)


def _renumber(old: ActionSets, new: ActionSets) -> Renumbering:
    """New indices of contexts, rows and vectors."""
    contexts = {name: m for m, name in enumerate(new.context_names)}
    vectors = {vector.tobytes(): i for i, vector in enumerate(new.vectors)}
    keys = {key: row for row, key in enumerate(_row_keys(new))}
    first_row = {vector.tobytes(): row for row, vector in reversed(list(enumerate(new.rows)))}
    rows = np.array([keys.get(key, -1) for key in _row_keys(old)])
    elsewhere = np.array([first_row.get(vector.tobytes(), -1) for vector in old.rows])
    return Renumbering(
        rows=rows,
        regression_rows=np.where(rows >= 0, rows, elsewhere),
        vectors=np.array([vectors.get(vector.tobytes(), -1) for vector in old.vectors]),
        contexts=np.array([contexts.get(name, -1) for name in old.context_names]),
    )


def _row_keys(sets: ActionSets) -> list[tuple[str, str, bytes]]:
    names = [
        (context, arm)
        for context, arms in zip(sets.context_names, sets.arm_names, strict=True)
        for arm in arms
    ]
    return [
        (context, arm, vector.tobytes())
        for (context, arm), vector in zip(names, sets.rows, strict=True)
    ]


def _restore(document: dict[str, Any], sets: ActionSets | None, policy: Policy | None) -> Learner:
    """A learner from the content of a file."""
    contexts = document["contexts"]
    saved = ActionSets(
        [context["arms"] for context in contexts],
        context_names=[context["name"] for context in contexts],
        arm_names=[context["arm_names"] for context in contexts],
    )
    if sets is not None and sets != saved:
        raise InvalidInput("contexts", "the same action sets as those given", saved)
    if policy is None:
        if document["policy"] not in POLICIES:
            raise UnknownName("policy", document["policy"], POLICIES)
        policy = POLICIES[document["policy"]](**document["parameters"])
    elif policy.name != document["policy"] or asdict(policy) != document["parameters"]:
        raise InvalidInput("policy", str(policy), document["policy"])
    learner = Learner(policy, saved, noise=document["noise"])
    unpack(document["state"], learner.state)
    draws = document["draws"]
    learner._normals.bit_generator.state, learner._uniforms.bit_generator.state = (
        draws["normals"],
        draws["uniforms"],
    )
    learner._draw()
    learner._used = int(draws["used"])
    learner._next_id = int(document["next_id"])
    for waiting in document["pending"]:
        decision, features = Decision(*waiting["decision"]), waiting["features"]
        learner.pending[decision.id] = _Pending(
            decision,
            waiting["row"],
            waiting["label"],
            None if features is None else np.array(features),
        )
    return learner
