"""The contract of a policy.

A policy is a frozen dataclass of parameters. `start` turns it, for given action sets, into a state:
a named tuple of arrays that change in place, whose first field is a `Ledger`. Compiled functions on
that state do the work, registered with `@implements`:

    choose(state, context, arms) -> Choice      which of the rows in arms to play, and why (an index
    into the policy's labels) learn(state, row, label, reward) -> None    what its reward teaches
    value(state, row) -> float                  the estimated mean of a row; needed only where the
    state has no `regression`

The simulator and the learner call them through the stubs below; Numba picks the implementation by
the type of the state.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from thrifty.actions import ActionSets
from thrifty.arrays import Floats, Ints, finite_number, positive_number
from thrifty.compilation import KERNEL, kernel
from thrifty.errors import NOTHING, InvalidInput
from thrifty.regression import carry_regression, observe_gone

if TYPE_CHECKING:
    from thrifty.learner import Learner

ROUNDS, EXPLORED, SOLVES, UNSOLVED = range(4)  # entries of Ledger.clock


class Choice(NamedTuple):
    """A row to play, and the index of the label that says why."""

    row: int
    label: int


class Ledger(NamedTuple):
    """What every policy knows; `record` keeps it."""

    offsets: Ints  # (M + 1,) context m owns rows offsets[m] to offsets[m + 1]
    vector_ids: Ints  # (k,) equal for equal vectors
    # (v,) how often each vector was chosen, whether its reward has arrived or not: N in the paper
    played: Ints
    chosen: Ints  # (k,) how often each row was
    visits: Ints  # (M,) how often each context came
    clock: Ints  # (4,) rounds, exploration rounds, solves, solves that missed their tolerance
    normals: Floats  # standard normal draws for this round
    uniforms: Floats  # uniform draws for this round


_IMPLEMENTATIONS: dict[tuple[str, type], Callable[..., Any]] = {}


def choose(state: Any, context: int, arms: Ints) -> Choice:
    """Choose one of the rows arms (n,), n > 0, of a context."""
    choice: Choice = _IMPLEMENTATIONS["choose", type(state)](state, context, arms)
    return choice


def learn(state: Any, row: int, label: int, reward: float) -> None:
    """Take in the reward of a row that was chosen for the reason label."""
    _IMPLEMENTATIONS["learn", type(state)](state, row, label, reward)


def value(state: Any, row: int) -> float:
    """The estimated mean reward of a row; states with a regression need not implement it."""
    implementation: Callable[..., float] = _IMPLEMENTATIONS.get(
        ("value", type(state)), _regression_value
    )
    return implementation(state, row)


def implements(
    stub: Callable[..., Any], state_type: type
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the compiled choose or learn for states of a type; it must name its
    arguments as the stub does.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _IMPLEMENTATIONS[stub.__name__, state_type] = function
        # Numba wants equal signatures: leave annotations out
        bare = FunctionType(function.__code__, function.__globals__, function.__name__)

        def pick(state: Any, *_others: Any) -> Any:
            return (
                bare
                if isinstance(state, types.NamedTuple) and state.instance_class is state_type
                else None
            )

        pick.__signature__ = inspect.signature(bare)  # type: ignore[attr-defined]  # mypy knows no such attribute, inspect does
        overload(stub, jit_options=KERNEL)(pick)
        return function

    return register


def _regression_value(state, row):  # type: ignore[no-untyped-def]  # Numba compares signatures with annotations and all
    regression = state.regression
    total = 0.0
    for i in range(regression.theta.size):
        total += regression.theta[i] * regression.rows[row, i]
    return total


@overload(value, jit_options=KERNEL)
def _value_by_regression(state, row):  # type: ignore[no-untyped-def]  # see above
    own = ("value", getattr(state, "instance_class", None)) in _IMPLEMENTATIONS
    return (
        _regression_value
        if isinstance(state, types.NamedTuple) and not own and "regression" in state.fields
        else None
    )


def start_ledger(sets: ActionSets, *, normals: int = 0, uniforms: int = 0) -> Ledger:
    """A ledger before the first round; normals and uniforms: how many draws a policy wants in each
    round.
    """
    return Ledger(
        offsets=sets.offsets.copy(),
        vector_ids=sets.vector_ids.copy(),
        played=np.zeros(len(sets.vectors), dtype=np.int64),
        chosen=np.zeros(len(sets.rows), dtype=np.int64),
        visits=np.zeros(sets.contexts, dtype=np.int64),
        clock=np.zeros(4, dtype=np.int64),
        normals=np.zeros(normals),
        uniforms=np.zeros(uniforms),
    )


@dataclass(frozen=True)
class Moves:
    """Where the parts of old action sets are in new ones; -1 where they are gone."""

    rows: Ints  # (k old,) the row of the same context, name and vector
    regression_rows: Ints  # (k old,) that row, or else another with the same vector
    vectors: Ints  # (v old,)
    contexts: Ints  # (M old,)


def carry_ledger(old: Ledger, new: Ledger, moves: Moves) -> None:
    """Bring counts over to new action sets."""
    new.clock[:] = old.clock
    for before, after, where in (
        (old.played, new.played, moves.vectors),
        (old.chosen, new.chosen, moves.rows),
        (old.visits, new.visits, moves.contexts),
    ):
        np.add.at(after, where[where >= 0], before[where >= 0])


@kernel
def record(ledger: Ledger, context: int, row: int) -> None:
    """Count a choice, before its reward is known."""
    ledger.played[ledger.vector_ids[row]] += 1
    ledger.chosen[row] += 1
    ledger.visits[context] += 1
    ledger.clock[ROUNDS] += 1


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy and its parameters."""

    name: ClassVar[str]  # on the command line
    labels: ClassVar[tuple[str, ...]]  # why an arm was played
    one_context: ClassVar[bool] = False  # whether it is made for a single context

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> Any:
        """The state before the first round, for rewards of standard deviation noise."""
        raise NotImplementedError

    def learner(self, sets: ActionSets, seed: int = 0, *, noise: float = 1.0) -> "Learner":
        """Use the policy online: choose, learn, explain, save."""
        from thrifty.learner import Learner

        return Learner(self, sets, seed=seed, noise=noise)

    def estimates(self, state: Any, rows: Floats) -> tuple[Floats, Floats]:
        """(k,) the estimated mean of each of rows (k, d), and (k,) its standard error in units of
        the noise.
        """
        inverse = state.regression.inverse
        norms = np.einsum("ki,ij,kj->k", rows, inverse, rows)
        return rows @ state.regression.theta, np.where(
            state.regression.outside, np.inf, np.sqrt(norms.clip(0))
        )

    def targets(self, state: Any) -> Floats | None:
        """(k,) how often each row should have been played by now; None for policies that follow no
        plan.
        """
        return None

    def carry(self, old: Any, new: Any, moves: Moves) -> None:
        """Bring what was learned under old action sets into the state for new ones."""
        carry_ledger(old.ledger, new.ledger, moves)
        if "regression" in old._fields:
            carry_regression(old.regression, new.regression, moves.regression_rows)

    def learn_gone(self, state: Any, features: Floats, reward: float) -> None:
        """Take in the late reward of an arm that no action set holds any more."""
        if "regression" in state._fields:
            observe_gone(state.regression, features, reward)

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Every parameter with its default."""
        return {field.name: field.default for field in fields(cls) if field.default is not MISSING}

    @property
    def spec(self) -> str:
        """How to ask for this policy on the command line; parameters that have their default are
        left out.
        """
        given = [
            (key, getattr(self, key))
            for key, default in self.parameters().items()
            if getattr(self, key) != default
        ]
        return self.name + (
            ":" + ",".join(f"{key}={_text(value)}" for key, value in given) if given else ""
        )

    def __str__(self) -> str:
        return self.spec

    def _at_least(self, least: float, *keys: str) -> None:
        """Check that parameters are finite numbers, none below least."""
        for key in keys:
            value = finite_number(getattr(self, key), f"{self.name}: {key}")
            if value < least:
                raise InvalidInput(f"{self.name}: {key}", f"a number of at least {least:g}", value)

    def _above(self, bound: float, *keys: str) -> None:
        """Check that parameters are finite numbers above bound."""
        for key in keys:
            value = finite_number(getattr(self, key), f"{self.name}: {key}")
            if value <= bound:
                raise InvalidInput(f"{self.name}: {key}", f"a number above {bound:g}", value)

    def _one_of(self, key: str, *values: str) -> None:
        if getattr(self, key) not in values:
            raise InvalidInput(f"{self.name}: {key}", " or ".join(values), getattr(self, key))

    def _probability(self, key: str) -> None:
        """Check that a parameter is None or lies between 0 and 1."""
        value = getattr(self, key)
        if value is not None:
            positive_number(value, f"{self.name}: {key}", below=1.0)

    def _horizon(self) -> None:
        """Check that the horizon is None or a number of rounds."""
        value = getattr(self, "horizon", None)
        if value is not None and finite_number(value, f"{self.name}: horizon") < 1:
            raise InvalidInput(f"{self.name}: horizon", "at least one round", value)

    def _rounds(self, horizon: float | None) -> float:
        """The horizon to plan for: the policy's own, or that of the run; at least 2, where log n is
        positive.
        """
        own: float | None = getattr(self, "horizon", None)
        planned = horizon if own is None else own
        if planned is None:
            raise InvalidInput(
                f"{self.name}: horizon",
                "a number of rounds, as this policy plans for one,",
                NOTHING,
            )
        return max(2.0, planned)


def _text(value: Any) -> str:
    """A value as the command line reads it back, to the last bit."""
    return str(value).removesuffix(".0")
