"""The contract of a policy.

A policy is a frozen dataclass of parameters. `start` turns it, for given action sets, into a state: a named tuple of arrays that change in place, whose first
field is a `Ledger`. Two compiled functions on that state do the work, registered with `@implements`:

    choose(state, context, arms) -> Choice      which of the rows in arms to play, and why (an index into the policy's labels)
    learn(state, row, label, reward) -> None    what its reward teaches

The simulator and the learner call both through the stubs below; Numba picks the implementation by the type of the state.
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
from thrifty.compilation import KERNEL
from thrifty.errors import NOTHING, InvalidInput

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
    played: Ints  # (v,) how often each vector was chosen, whether its reward has arrived or not: N in the paper
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


def implements(stub: Callable[..., Any], state_type: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the compiled choose or learn for states of a type; it must name its arguments as the stub does."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _IMPLEMENTATIONS[stub.__name__, state_type] = function
        bare = FunctionType(function.__code__, function.__globals__, function.__name__)  # Numba wants equal signatures: leave annotations out

        def pick(state: Any, *_others: Any) -> Any:
            return bare if isinstance(state, types.NamedTuple) and state.instance_class is state_type else None

        pick.__signature__ = inspect.signature(bare)  # type: ignore[attr-defined]  # mypy knows no such attribute, inspect does
        overload(stub, jit_options=KERNEL)(pick)
        return function

    return register


def start_ledger(sets: ActionSets, *, normals: int = 0, uniforms: int = 0) -> Ledger:
    """A ledger before the first round; normals and uniforms: how many draws a policy wants in each round."""
    return Ledger(
        offsets=sets.offsets.copy(),
        vector_ids=sets.vector_ids.copy(),
        played=np.zeros(len(sets.vectors), dtype=np.int64),
        clock=np.zeros(4, dtype=np.int64),
        normals=np.zeros(normals),
        uniforms=np.zeros(uniforms),
    )


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy and its parameters."""

    name: ClassVar[str]  # on the command line
    labels: ClassVar[tuple[str, ...]]  # why an arm was played

    def start(self, sets: ActionSets, *, noise: float, horizon: float | None) -> Any:
        """The state before the first round, for rewards of standard deviation noise."""
        raise NotImplementedError

    def learner(self, sets: ActionSets, seed: int = 0, *, noise: float = 1.0) -> "Learner":
        """Use the policy online: choose, learn, explain, save."""
        from thrifty.learner import Learner

        return Learner(self, sets, seed=seed, noise=noise)

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Every parameter with its default."""
        return {field.name: field.default for field in fields(cls) if field.default is not MISSING}

    @property
    def spec(self) -> str:
        """How to ask for this policy on the command line; parameters that have their default are left out."""
        given = [(key, getattr(self, key)) for key, default in self.parameters().items() if getattr(self, key) != default]
        return self.name + (":" + ",".join(f"{key}={_text(value)}" for key, value in given) if given else "")

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
        """The horizon to plan for: the policy's own, or that of the run; at least 2, where log n is positive."""
        own: float | None = getattr(self, "horizon", None)
        planned = horizon if own is None else own
        if planned is None:
            raise InvalidInput(f"{self.name}: horizon", "a number of rounds, as this policy plans for one,", NOTHING)
        return max(2.0, planned)


def _text(value: Any) -> str:
    """A value as the command line reads it back, to the last bit."""
    return str(value).removesuffix(".0")
