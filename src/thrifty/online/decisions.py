"""Decisions, those that wait for a reward, and explanations."""

from dataclasses import dataclass
from typing import NamedTuple

from thrifty.numerics.arrays import Floats


class Decision(NamedTuple):
    """An arm to play, and why.

    Attributes
    ----------
    id : number of the decision, per learner
    context : name of the context; empty where contexts are open
    arm, name : index of the arm among those of its context, and its name
    label : why it was chosen, one of the policy's labels
    gap : estimated mean of the best arm on offer minus that of this one
    probability : with which it was chosen, given all that was known; None where that has no closed
        form
    """

    id: int
    context: str
    arm: int
    name: str
    label: str
    gap: float
    probability: float | None = None


class Pending(NamedTuple):
    """A decision whose reward has not arrived."""

    decision: Decision
    row: int  # of the regression, unless the arm was removed; a block of theta for open contexts
    label: int
    features: Floats | None = None  # (w,) of an arm that was removed, or that nobody listed
    # context, row and vector that counted the decision, -1 where removed; None if they are still
    # those of the decision
    counted: tuple[int, int, int] | None = None
    explored: int = 0  # how many exploration rounds it counts for


@dataclass(frozen=True)
class ArmReport:
    """What is known about an arm.

    Attributes
    ----------
    mean : estimated mean reward
    gap : estimated suboptimality gap
    width : standard error of the mean; inf where nothing is known
    pulls : choices of its vector, with those whose rewards are late; None where contexts are open
    target : pulls that the plan asks for by now; None without a plan
    """

    name: str
    mean: float
    gap: float
    width: float
    pulls: int | None
    target: float | None

    def __str__(self) -> str:
        target = "" if self.target is None else f" of {self.target:.4g}"
        pulls = "" if self.pulls is None else f", pulls {self.pulls}{target}"
        return f"{self.name}: mean {self.mean:.4g} ± {self.width:.2g}, gap {self.gap:.4g}{pulls}"


@dataclass(frozen=True)
class Explanation:
    """Why an arm was chosen, and the present estimates of all arms of its context."""

    decision: Decision
    arms: tuple[ArmReport, ...]

    def __str__(self) -> str:
        chosen = self.decision
        context = f"{chosen.context}: " if chosen.context else ""
        lines = [f"{context}{chosen.name} ({chosen.label})"]
        return "\n".join([*lines, *(f"  {arm}" for arm in self.arms)])
