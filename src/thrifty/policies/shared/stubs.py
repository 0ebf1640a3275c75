"""Stubs through which the simulator and the learner call any policy.

A policy registers a function of its own for each with `@implements(stub, StateType)`. Compiled code
picks it by the type of the state when it is compiled, plain Python when it is called. `learn` and
`value` have defaults for states with a field `regression`. The default of `probability` is 1 for
policies that draw no random numbers, and NaN, that is, unknown, for others. `expect` and `withdraw`
do nothing by default: they are for policies that count what pending decisions will tell.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from numba.extending import overload

from thrifty.compiler.compilation import JIT, kernel
from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.regression import observe


class Choice(NamedTuple):
    """A row to play, and the index of the label that says why."""

    row: int
    label: int


Implementation = Callable[..., Any]
_IMPLEMENTATIONS: dict[tuple[str, type], Implementation] = {}


def choose(state: Any, context: int, arms: Ints) -> Choice:
    """Choose one of the rows arms (n,), n > 0, of a context."""
    return cast(Choice, _implementation("choose", type(state))(state, context, arms))


def learn(state: Any, row: int, label: int, reward: float) -> None:
    """Update the state by the reward of a row that was chosen under a label."""
    _implementation("learn", type(state))(state, row, label, reward)


def value(state: Any, row: int) -> float:
    """The estimated mean reward of a row."""
    return cast(float, _implementation("value", type(state))(state, row))


def probability(state: Any, context: int, arms: Ints, row: int) -> float:
    """The probability with which `choose` has chosen a row, before the choice is recorded."""
    return cast(float, _implementation("probability", type(state))(state, context, arms, row))


def expect(state: Any, row: int) -> None:
    """Count a decision for a row, whose reward may come later; called for each before `learn`."""
    _implementation("expect", type(state))(state, row)


def withdraw(state: Any, features: Floats, first: int) -> None:
    """Uncount a decision that will get no reward: its arm had features (w,) about theta[first:]."""
    _implementation("withdraw", type(state))(state, features, first)


def implements(
    stub: Callable[..., Any], state_type: type
) -> Callable[[Implementation], Implementation]:
    """Register a function as a stub's implementation for one type of state."""

    def register(function: Implementation) -> Implementation:
        _IMPLEMENTATIONS[stub.__name__, state_type] = kernel(function)
        return function

    return register


@kernel
def _learn_by_regression(state: Any, row: int, label: int, reward: float) -> None:
    observe(state.regression, row, reward)


@kernel
def _value_by_regression(state: Any, row: int) -> float:
    regression = state.regression
    first, total = regression.firsts[row], 0.0
    for i in range(regression.rows.shape[1]):
        total += regression.theta[first + i] * regression.rows[row, i]
    return total


@kernel
def _certain_or_unknown(state: Any, context: int, arms: Ints, row: int) -> float:
    return 1.0 if state.ledger.normals.size + state.ledger.uniforms.size == 0 else math.nan


@kernel
def _expect_nothing(state: Any, row: int) -> None:
    pass


@kernel
def _withdraw_nothing(state: Any, features: Floats, first: int) -> None:
    pass


def _implementation(stub: str, state_type: type) -> Implementation:
    """What a stub stands for; LookupError if there is nothing."""
    defaults: dict[str, Implementation] = {
        "probability": _certain_or_unknown,
        "expect": _expect_nothing,
        "withdraw": _withdraw_nothing,
    }
    if "regression" in getattr(state_type, "_fields", ()):
        defaults |= {"learn": _learn_by_regression, "value": _value_by_regression}
    registered = _IMPLEMENTATIONS.get((stub, state_type))
    return registered or defaults[stub]


def _register(stub: Callable[..., Any]) -> None:
    """Let compiled code call what a stub stands for, given the type of the state."""

    def overloaded(state: Any, *arguments: Any) -> Implementation:
        function = _implementation(stub.__name__, state.instance_class)
        # Numba wants a function here, not a compiled one
        return lambda state, *arguments: function(state, *arguments)  # noqa: PLW0108

    overload(stub, jit_options={"nogil": True, "error_model": "numpy"}, strict=False)(overloaded)


if JIT:
    for _stub in (choose, learn, value, probability, expect, withdraw):
        _register(_stub)
