"""Decisions, those that wait for a reward, and explanations."""

from dataclasses import dataclass
from typing import NamedTuple

from thrifty.numerics.arrays import Floats


class Decision(NamedTuple):
    """An arm to play, and why.

    Attributes
    ----------
    id : number of the decision, per learner
    context : name of the context
    arm, name : index of the arm within its context, and its name
    label : why it was chosen, one of the policy's labels
    gap : estimated mean of the best arm on offer minus that of this one
    """

    id: int
    context: str
    arm: int
    name: str
    label: str
    gap: float


class Pending(NamedTuple):
    """A decision whose reward has not arrived."""

    decision: Decision
    row: int  # of the regression, unless the arm was removed
    label: int
    features: Floats | None = None  # (d,) of an arm that was removed
    # context, row and vector that counted the decision, -1 where removed; None if they are still
    # those of the decision
    counted: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class ArmReport:
    """What is known about an arm.

    Attributes
    ----------
    mean : estimated mean reward
    gap : estimated suboptimality gap
    width : standard error of the mean; inf where nothing is known
    pulls : choices of its vector, with those whose rewards are late
    target : pulls that the plan asks for by now; None without a plan
    """

    name: str
    mean: float
    gap: float
    width: float
    pulls: int
    target: float | None

    def __str__(self) -> str:
        target = "" if self.target is None else f" of {self.target:.4g}"
        mean = f"mean {self.mean:.4g} ± {self.width:.2g}"
        return f"{self.name}: {mean}, gap {self.gap:.4g}, pulls {self.pulls}{target}"


@dataclass(frozen=True)
class Explanation:
    """Why an arm was chosen, and the present estimates of all arms of its context."""

    decision: Decision
    arms: tuple[ArmReport, ...]

    def __str__(self) -> str:
        chosen = self.decision
        lines = [f"{chosen.context}: {chosen.name} ({chosen.label})"]
        return "\n".join([*lines, *(f"  {arm}" for arm in self.arms)])
