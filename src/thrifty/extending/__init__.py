"""Everything needed to write a policy of your own; these names are stable.

A policy is a frozen dataclass that derives from `Policy`. Its method `start` returns a state: a
named tuple whose first field is a `Ledger`, followed by arrays, records and numbers. Functions on
that state, registered with `@implements`, do the work; Numba compiles them:

    choose(state, context, arms) -> Choice      one of the rows in arms (n,), and a label index
    learn(state, row, label, reward) -> None    update the state by a reward
    value(state, row) -> float                  estimated mean reward of a row

For states with a field `regression`, `learn` and `value` have defaults: least squares. Functions
that these call are decorated with `@kernel`: they may not make arrays.
`check_policy` runs the conformance suite. examples/compiled_policy.py is a whole policy.
"""

from thrifty.compiler.compilation import kernel
from thrifty.compiler.records import Record, Records
from thrifty.extending.conformance import CHECKS, check_policy
from thrifty.numerics.regression import Regression, observe, start_regression, update_arms
from thrifty.policies.base import Policy
from thrifty.policies.shared.ledger import Counters, Ledger, Renumbering, start_ledger
from thrifty.policies.shared.selection import (
    draw_arm,
    greedy_arm,
    least_played_arm,
    optimistic_arm,
)
from thrifty.policies.shared.stubs import Choice, choose, implements, learn, value

__all__ = [
    "CHECKS",
    "Choice",
    "Counters",
    "Ledger",
    "Policy",
    "Record",
    "Records",
    "Regression",
    "Renumbering",
    "check_policy",
    "choose",
    "draw_arm",
    "greedy_arm",
    "implements",
    "kernel",
    "learn",
    "least_played_arm",
    "observe",
    "optimistic_arm",
    "start_ledger",
    "start_regression",
    "update_arms",
    "value",
]
