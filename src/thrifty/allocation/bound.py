"""lower_bound: the regret per log n that no consistent policy can beat, and who carries the
exploration.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.allocation import Allocation, Status, allocate
from thrifty.errors import InvalidInput
from thrifty.numerics.arrays import Floats
from thrifty.problem.instances import Instance

TOLERANCE = 1e-9  # of a bound: it is solved once, so ask for more than a policy's inner loop does


@dataclass(frozen=True)
class Carrier:
    """An arm that an optimal policy keeps playing: free because it is optimal, or for what it
    teaches.
    """

    context: str
    probability: float
    arm: str
    gap: float
    pulls: float  # per log n; inf if free
    share: float  # of C
    free: bool


@dataclass(frozen=True)
class Bound:
    """The asymptotic lower bound of an instance (section 3 of the paper) with its certificate.

    Attributes
    ----------
    instance : whose bound it is
    constant : C: every consistent policy has regret >= C log n asymptotically, and OAM attains it
    solution : the allocation on flat rows, with the prices that prove the bound
    """

    instance: Instance
    solution: Allocation

    @property
    def constant(self) -> float:
        return self.solution.value

    @property
    def lower(self) -> float:
        return self.solution.lower

    @property
    def upper(self) -> float:
        return self.solution.upper

    @property
    def gap(self) -> float:
        """Certified relative gap, upper / lower - 1."""
        return self.solution.gap

    @property
    def status(self) -> Status:
        return self.solution.status

    @property
    def reduced_dimension(self) -> int:
        """Directions that the optimal arms leave unexplored."""
        return self.solution.reduced_dimension

    @property
    def allocation(self) -> list[Floats]:
        """For each context the pulls of its arms per log n; inf for optimal arms."""
        return self.instance.sets.split(self.solution.pulls)

    def carriers(self) -> list[Carrier]:
        """The arms with pulls, context after context."""
        sets, pulls = self.instance.sets, self.solution.pulls
        rows = []
        for row in np.flatnonzero(pulls > 0):
            m = int(sets.context_of_row[row])
            gap, free = float(self.instance.gaps[row]), bool(np.isinf(pulls[row]))
            rows.append(
                Carrier(
                    context=sets.context_names[m],
                    probability=float(self.instance.probabilities[m]),
                    arm=sets.arm_names[m][row - sets.offsets[m]],
                    gap=gap,
                    pulls=float(pulls[row]),
                    share=0.0 if free else float(pulls[row]) * gap / self.constant,
                    free=free,
                )
            )
        return rows

    def in_words(self) -> str:
        """What the constant means, in a sentence."""
        if self.instance.optimal.all():
            return "Every arm is optimal: there is nothing to explore."
        if self.reduced_dimension == 0:
            return (
                "The optimal arms span the space: exploration is free, and regret grows "
                "slower than log n."
            )
        directions = "direction" if self.reduced_dimension == 1 else "directions"
        return (
            f"No consistent policy has less regret than {self.constant:.6g} log n in the long run: "
            f"the optimal arms leave {self.reduced_dimension} {directions} to explore."
        )

    def to_json(self) -> dict[str, Any]:
        """The JSON contract of `thrifty bound --json`."""
        return {
            "constant": self.constant,
            "lower": self.lower,
            "upper": self.upper,
            "gap": self.gap,
            "status": str(self.status),
            "reduced_dimension": self.reduced_dimension,
            "optimal": self.instance.best_arms.tolist(),
            "allocation": [
                [pulls if math.isfinite(pulls) else "inf" for pulls in arms.tolist()]
                for arms in self.allocation
            ],
        }


def lower_bound(instance: Instance, *, tol: float = TOLERANCE) -> Bound:
    """The constant C of an instance, with the optimal allocation and a certificate.

    Examples
    --------
    >>> import thrifty as th
    >>> round(th.lower_bound(th.instance("fixed-u0.1")).constant, 9)
    20.0
    """
    if not isinstance(instance, Instance):
        raise InvalidInput(
            "instance", "a thrifty.Instance (thrifty.instance(name) makes one)", instance
        )
    return Bound(
        instance,
        allocate(
            instance.sets.rows, instance.gaps, instance.optimal, noise=instance.noise, tol=tol
        ),
    )
