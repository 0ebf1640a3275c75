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

from thrifty.compiler.compilation import kernel as kernel
from thrifty.compiler.records import Record as Record
from thrifty.compiler.records import Records as Records
from thrifty.extending.conformance import CHECKS as CHECKS
from thrifty.extending.conformance import check_policy as check_policy
from thrifty.numerics.arrays import RowBools as RowBools
from thrifty.numerics.arrays import RowFloats as RowFloats
from thrifty.numerics.arrays import RowInts as RowInts
from thrifty.numerics.arrays import ThetaFloats as ThetaFloats
from thrifty.numerics.arrays import WorkSpace as WorkSpace
from thrifty.numerics.regression import Regression as Regression
from thrifty.numerics.regression import observe as observe
from thrifty.numerics.regression import start_regression as start_regression
from thrifty.numerics.regression import update_arms as update_arms
from thrifty.policies.base import Policy as Policy
from thrifty.policies.shared.ledger import Counters as Counters
from thrifty.policies.shared.ledger import Ledger as Ledger
from thrifty.policies.shared.ledger import Renumbering as Renumbering
from thrifty.policies.shared.ledger import start_ledger as start_ledger
from thrifty.policies.shared.selection import draw_arm as draw_arm
from thrifty.policies.shared.selection import greedy_arm as greedy_arm
from thrifty.policies.shared.selection import least_played_arm as least_played_arm
from thrifty.policies.shared.selection import optimistic_arm as optimistic_arm
from thrifty.policies.shared.stubs import Choice as Choice
from thrifty.policies.shared.stubs import choose as choose
from thrifty.policies.shared.stubs import implements as implements
from thrifty.policies.shared.stubs import learn as learn
from thrifty.policies.shared.stubs import value as value
