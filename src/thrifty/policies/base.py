"""Policy: the parameters of a policy, and what it must provide.

A policy is a frozen dataclass of parameters. `start` turns it, for given action sets, into a state:
a named tuple of arrays that change in place, whose first field is a `Ledger` (shared/ledger.py).
Compiled functions on that state do the work, registered with `@implements` (shared/stubs.py).
"""

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from thrifty.errors import MissingInput, UnknownName
from thrifty.numerics.arrays import Floats, Ints
from thrifty.numerics.regression import (
    Regression,
    carry_regression,
    observe_removed,
    start_blocks,
    start_regression,
)
from thrifty.policies.shared.ledger import Renumbering, carry_ledger
from thrifty.problem.action_sets import ActionSets

if TYPE_CHECKING:
    from thrifty.learners.start import FeatureMap, Learner


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy and its parameters. Several policies share these:

    ridge : V starts from ridge times the identity: the prior is N(0, noise^2 / ridge I). By default
        noise^2, for N(0, I)
    forgetting : effective memory in rewards: each new reward multiplies the weight of earlier ones
        by 1 - 1 / forgetting. By default nothing is forgotten
    horizon : rounds to plan for; that of the run by default
    """

    name: ClassVar[str]  # on the command line
    labels: ClassVar[tuple[str, ...]]  # reasons for playing an arm
    one_context: ClassVar[bool] = False  # whether it can play one context only
    open: ClassVar[bool] = False  # whether it can play open contexts
    experimental: ClassVar[bool] = False  # written without the text of its paper
    observed_label: ClassVar[int] = 0  # for rewards of decisions that somebody else took

    def __new__(cls, *_: object, **values: object) -> Self:
        """Refuse unknown parameters: Python's own error does not name the most similar one."""
        accepted = signature(cls.__init__).parameters
        any_name = any(argument.kind is Parameter.VAR_KEYWORD for argument in accepted.values())
        for key in values:
            if key not in accepted and not any_name:
                raise UnknownName(f"parameter of {cls.name}", key, cls.parameters())
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for field in fields(self):
            value = plain_number(getattr(self, field.name))
            object.__setattr__(self, field.name, value)
            if "check" in field.metadata and not (value is None and field.default is None):
                field.metadata["check"](value, f"{self.name}: {field.name}")
        self.check()

    def check(self) -> None:
        """Check what fields do not check themselves; raises InvalidInput."""

    def start(self, sets: Any, *, noise: float, horizon: float | None) -> Any:
        """The state before the first round, for rewards of standard deviation noise.

        sets: the ActionSets; or for open contexts what stands for them, of which only `open`,
        `rows`, `largest`, `dimension` and `contexts` mean anything.
        """
        raise NotImplementedError

    def learner(
        self,
        sets: ActionSets | None = None,
        seed: int = 0,
        *,
        dimension: int | None = None,
        columns: Sequence[str] | None = None,
        features: "FeatureMap | None" = None,
        noise: float | str | None = None,
        horizon: float | None = None,
        **settings: Any,
    ) -> "Learner":
        """Use the policy online: choose, learn, explain, save. See `th.learner`."""
        from thrifty.learners.start import learner

        opened: Any = {"dimension": dimension, "columns": columns, "features": features}
        return learner(self, sets, seed, noise=noise, horizon=horizon, **opened, **settings)

    def estimates(self, state: Any, rows: Floats) -> tuple[Floats, Floats]:
        """Estimated means (k,) of rows (k, d), and their standard errors (k,) in units of noise."""
        regression = state.regression
        d, width = regression.inverse.shape
        inverse = np.zeros((d, d))  # of blocks along the diagonal
        for first in range(0, d, width):
            block = slice(first, first + width)
            inverse[block, block] = regression.inverse[block]
        norms = np.einsum("ki,ij,kj->k", rows, inverse, rows)
        errors = np.sqrt(norms.clip(0))
        if regression.totals[0].outside:
            errors[regression.outside] = np.inf
        return rows @ regression.theta, errors

    def estimated_noise(self, state: Any) -> float | None:
        """The standard deviation of the rewards as estimated so far; None if it is not."""
        return None

    def estimate_probabilities(
        self, state: Any, rows: Floats, *, draws: int, rng: np.random.Generator
    ) -> Floats | None:
        """For each of the rows (n, d) on offer: its probability (n,), if it is the one chosen.

        Estimated before the choice, by so many random draws, and above 0. None by default; for
        policies whose `probability` (shared/stubs.py) has no closed form.
        """
        return None

    def targets(self, state: Any) -> Floats | None:
        """Pulls (k,) that the plan asks for by now; None for policies without a plan."""
        return None

    def carry(self, old: Any, new: Any, renumbering: Renumbering) -> None:
        """Copy what was learned under old action sets into the state for new ones."""
        carry_ledger(old.ledger, new.ledger, renumbering)
        if "regression" in old._fields:
            carry_regression(old.regression, new.regression, renumbering.regression_rows)

    def carry_blocks(self, old: Any, new: Any, origins: Ints) -> None:
        """Complete the state for other blocks of theta, to which what lasts is copied.

        origins (blocks,): for each block the one that it was, -1 for a new one.
        """
        start_blocks(new.regression, np.flatnonzero(origins < 0))

    def learn_removed(self, state: Any, features: Floats, reward: float) -> None:
        """Learn from the late reward of an arm that was removed; features (d,)."""
        if "regression" in state._fields:
            observe_removed(state.regression, features, reward)

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Every parameter with its default."""
        return {field.name: field.default for field in fields(cls) if field.default is not MISSING}

    @property
    def spec(self) -> str:
        """The policy as the command line reads it, to the last bit, without defaults."""
        changed = [
            f"{key}={str(getattr(self, key)).removesuffix('.0')}"
            for key, default in self.parameters().items()
            if getattr(self, key) != default
        ]
        return self.name + (":" + ",".join(changed) if changed else "")

    def __str__(self) -> str:
        return self.spec

    def _ridge(self, noise: float) -> float:
        """The ridge: the policy's own, or noise^2, with which the prior is N(0, I)."""
        ridge: float | None = getattr(self, "ridge", None)
        return noise**2 if ridge is None else float(ridge)

    def _regression(self, sets: ActionSets, ridge: float, largest: int | None = None) -> Regression:
        """A regression for open contexts, too; largest: arms per decision (sets.largest)."""
        memory: float | None = getattr(self, "forgetting", None)
        return start_regression(
            sets.rows,
            ridge=ridge,
            largest_set=sets.largest if largest is None else largest,
            pooled=sets.open,
            blocks=sets.blocks,
            memory=np.inf if memory is None else float(memory),
        )

    def _planned_rounds(self, horizon: float | None) -> float:
        """The horizon to plan for: the policy's own, or that of the run; at least 2, for log n."""
        chosen: float | None = getattr(self, "horizon", None)
        planned = horizon if chosen is None else chosen
        if planned is None:
            ways = f"{type(self).__name__}(horizon=1e6), or {self.name}:horizon=1e6 as a spec"
            raise MissingInput(f"{self.name} plans for a horizon: pass {ways}")
        return max(2.0, planned)


def plain_number(value: Any) -> Any:
    """A value of one of NumPy's types as one of Python's, which JSON knows; others as they are."""
    return value.item() if isinstance(value, np.generic) else value
