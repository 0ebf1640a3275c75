"""What the service reads and writes, as JSON."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from thrifty.service.storage.tables import LONGEST_NAME

MOST_ARMS, MOST_CONTEXTS, MOST_DIMENSIONS, MOST_BATCH = 1_000, 1_000, 1_000, 1_000

# names that can stand in a path: no slash, no control characters, not "." or ".."
NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.~ -]*$"
LABEL_PATTERN = r"^[^\x00-\x1f\x7f]+$"
Name = Annotated[str, StringConstraints(max_length=LONGEST_NAME, pattern=NAME_PATTERN)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=LABEL_PATTERN)]
Spec = Annotated[str, StringConstraints(max_length=500)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Row = Annotated[list[Number], Field(min_length=1, max_length=MOST_DIMENSIONS)]
Rows = Annotated[list[Row], Field(min_length=1, max_length=MOST_ARMS)]
Labels = Annotated[list[Label], Field(max_length=MOST_ARMS)]
Status = Literal["active", "paused", "archived"]


class Strict(BaseModel):
    """Unknown keys are mistakes, and so are values of another type: "1" and true are no numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Context(Strict):
    """A context and its arms."""

    name: Label
    arms: Rows
    arm_names: Labels | None = None


class Expire(Strict):
    """When pending decisions are given up: learned with this reward, or with none."""

    after_s: Annotated[float, Field(gt=0, le=10 * 365 * 86400)]
    reward: Number | None = None


class NewExperiment(Strict):
    """An experiment: listed contexts, or open ones of so many features."""

    name: Name
    policy: Spec = "thrifty"
    noise: Annotated[float, Field(gt=0, allow_inf_nan=False)] | Literal["estimate"] | None = None
    rewards: Literal["gaussian", "bernoulli"] = "gaussian"
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    contexts: Annotated[list[Context], Field(min_length=1, max_length=MOST_CONTEXTS)] | None = None
    dimension: Annotated[int, Field(ge=1, le=MOST_DIMENSIONS)] | None = None
    expire: Expire | None = None


class NewArm(Strict):
    context: Label
    features: Row
    name: Label | None = None


class Arm(Strict):
    context: Label
    name: Label


class ExperimentChange(Strict):
    """A change of an experiment; all of it, or nothing."""

    status: Status | None = None
    policy: Spec | None = None
    expire: Expire | None = None
    add_context: Context | None = None
    remove_context: Label | None = None
    add_arm: NewArm | None = None
    remove_arm: Arm | None = None


class DecisionRequest(Strict):
    """A decision to take: in a listed context, or among arms with features."""

    id: Name | None = None
    context: Label | None = None
    features: Rows | None = None
    names: Labels | None = None
    available: Annotated[Labels, Field(min_length=1)] | None = None


DecisionBatch = Annotated[list[DecisionRequest], Field(max_length=MOST_BATCH)]


class DecisionReply(BaseModel):
    id: str
    seq: int
    context: str | None
    arm: int
    name: str
    label: str
    probability: float | None
    gap: float


class RewardRequest(Strict):
    decision: Name
    reward: Number


RewardBatch = Annotated[list[RewardRequest], Field(max_length=MOST_BATCH)]


class RewardReply(BaseModel):
    decision: str
    seq: int
    status: Literal["learned", "already"]


class ErrorBody(BaseModel):
    where: str
    message: str


class ErrorReply(BaseModel):
    """What every mistake is answered with."""

    error: ErrorBody


class Counts(BaseModel):
    decisions: int
    rewards: int
    waiting: int  # pending decisions: those without a reward
    expired: int


class Exploration(BaseModel):
    """Rounds in which the arm was not the greedy one, and the reward that they gave up.

    expected: what the next `expected_rounds` decisions will give up, if the cost goes on growing
    with the logarithm of their number.
    """

    rounds: int
    share: float
    cost: float
    expected: float
    expected_rounds: int


class ArmEstimate(BaseModel):
    """An arm of a listed context, or a coefficient of theta where contexts are open."""

    context: str | None
    name: str
    mean: float
    error: float | None  # standard error; none if nothing is known
    pulls: int | None


class Bucket(BaseModel):
    """What happened in a stretch of the log."""

    start: str  # time of its first decision
    decisions: int
    explored: int
    cost: float
    rewards: int
    reward_sum: float


class ExperimentLine(BaseModel):
    """An experiment in the list of all."""

    name: str
    status: Status
    policy: str
    counts: Counts
    mean_reward: float | None
    exploration: Exploration


class ExperimentReply(ExperimentLine):
    """An experiment."""

    noise: float  # as given, or as estimated so far
    noise_estimated: bool
    rewards: str
    seed: int
    dimension: int
    contexts: list[str] | None  # names; none where contexts are open
    expire: Expire | None
    created: str
    seq: int
    leader: str
    arms: list[ArmEstimate]
    history: list[Bucket]


class ArmOnOffer(BaseModel):
    """An arm of a decision, with its present estimate."""

    name: str
    mean: float
    error: float | None  # standard error; none if nothing is known
    gap: float
    pulls: int | None
    chosen: bool


class Why(BaseModel):
    """Why an arm was chosen, and what came of it, in sentences; and the present estimates."""

    text: str
    outcome: str
    arms: list[ArmOnOffer]


class DecisionDetail(BaseModel):
    """A decision, its reward, and why it was taken."""

    decision: DecisionReply
    at: str
    status: Literal["waiting", "rewarded", "expired"]
    reward: float | None
    rewarded_at: str | None
    why: Why


class LogEntry(BaseModel):
    seq: int
    kind: str
    at: str
    decision: str | None
    body: dict[str, Any]
