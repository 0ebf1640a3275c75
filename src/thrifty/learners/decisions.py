"""Decisions and explanations."""

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from thrifty.display import frame, html
from thrifty.errors import shortened

if TYPE_CHECKING:
    from pandas import DataFrame


class Decision(NamedTuple):
    """An arm to play, and why.

    Attributes
    ----------
    id : number of the decision, per learner
    context : name of the context; empty where contexts are open
    arm, name : index of the arm among those of its context, and its name
    label : why it was chosen, one of the policy's labels
    gap : estimated mean of the best arm on offer minus that of this one; nan for a plain policy
        that has no estimates
    probability : with which it was chosen, given all that was known; where that has no closed form,
        estimated if the learner was asked to (`probability_draws`), or else None
    """

    id: int
    context: str
    arm: int
    name: str
    label: str
    gap: float
    probability: float | None = None


@dataclass(frozen=True)
class ArmReport:
    """What is known about an arm.

    Attributes
    ----------
    mean : estimated mean reward
    gap : estimated suboptimality gap
    standard_error : of the mean; inf where nothing is known
    pulls : choices of its vector, with those whose rewards are late; None where contexts are open,
        and for a plain policy
    target : pulls that the plan asks for by now; None without a plan
    """

    name: str
    mean: float
    gap: float
    standard_error: float
    pulls: int | None
    target: float | None

    @property
    def width(self) -> float:
        """The former name of `standard_error`."""
        warnings.warn(
            "ArmReport.width is now called standard_error; the old name goes in 0.4",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.standard_error

    def __str__(self) -> str:
        target = "" if self.target is None else f" of {self.target:.4g}"
        pulls = "" if self.pulls is None else f", pulls {self.pulls}{target}"
        mean = f"{self.mean:.4g} ± {self.standard_error:.2g}"
        return f"{self.name}: mean {mean}, gap {self.gap:.4g}{pulls}"


@dataclass(frozen=True)
class Explanation:
    """Why an arm was chosen, and the present estimates of all arms of its context.

    A plain policy may have no estimates; then there are no arms.
    """

    decision: Decision
    arms: tuple[ArmReport, ...]

    def __str__(self) -> str:
        chosen = self.decision
        context = f"{chosen.context}: " if chosen.context else ""
        lines = [f"{context}{chosen.name} ({chosen.label})"]
        return "\n".join([*lines, *(f"  {arm}" for arm in self.arms)])

    def to_frame(self) -> "DataFrame":
        """A data frame of pandas with a row per arm.

        Columns: arm, mean, error (standard error of the mean), gap, pulls unless contexts are open,
        target if the policy has a plan, and whether the arm was chosen.
        """
        return frame("explanation.to_frame()", self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {
            "arm": [arm.name for arm in self.arms],
            "mean": [arm.mean for arm in self.arms],
            "error": [arm.standard_error for arm in self.arms],
            "gap": [arm.gap for arm in self.arms],
            "pulls": [arm.pulls for arm in self.arms],
            "target": [arm.target for arm in self.arms],
            "chosen": [arm.name == self.decision.name for arm in self.arms],
        }
        return {name: column for name, column in columns.items() if None not in column}

    def __repr__(self) -> str:
        chosen = self.decision
        context = f"{shortened(chosen.context)}: " if chosen.context else ""
        return f"<explanation: {context}{shortened(chosen.name)} ({chosen.label})>"

    def _repr_html_(self) -> str:
        rank = [math.inf if arm.name == self.decision.name else -arm.gap for arm in self.arms]
        return html(repr(self)[1:-1], self._columns(), rank=rank, order="least gap first")
