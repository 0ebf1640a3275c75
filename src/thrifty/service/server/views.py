"""What an experiment shows: replies made from it, and sentences that the page shows as they are."""

import math
from datetime import UTC, datetime
from itertools import repeat
from typing import Any

from thrifty.errors import ThriftyError
from thrifty.learners.decisions import ArmReport, Decision
from thrifty.service.server.experiment import (
    DECIDED,
    DECISION,
    EXPIRED,
    REWARD,
    Experiment,
    outcome,
)
from thrifty.service.storage.store import Event

# the columns of a learner's estimates that are the fields of an ArmEstimate
OF_ARMS = ("context", "arm", "mean", "error", "pulls")
OF_COEFFICIENTS = (None, "coefficient", "estimate", "error", None)
UNITS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def iso(at: int) -> str:
    """Microseconds since 1970 as a time, UTC, ISO 8601."""
    moment = datetime.fromtimestamp(at / 1e6, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def experiment_line(experiment: Experiment) -> dict[str, Any]:
    """An ExperimentLine."""
    rewarded = sum(stretch.rewards for stretch in experiment.history.stretches)
    return {
        "name": experiment.name,
        "status": experiment.status,
        "policy": str(experiment.learner.policy),
        "counts": {
            **{key: experiment.counts[key] for key in ("decisions", "rewards", "expired")},
            "waiting": len(experiment.pending),
        },
        "mean_reward": experiment.reward_sum / rewarded if rewarded else None,
        "exploration": _exploration(experiment),
    }


def experiment_reply(experiment: Experiment) -> dict[str, Any]:
    """An ExperimentReply, but for its leader."""
    learner, settings = experiment.learner, experiment.settings
    sets: Any = learner.sets
    estimated, expire = learner.policy.estimated_noise(learner.state), settings.get("expire")
    stretches = [vars(stretch) for stretch in experiment.history.stretches]
    return experiment_line(experiment) | {
        "noise": float(learner.noise if estimated is None else estimated),
        "noise_estimated": estimated is not None,
        "rewards": settings["rewards"],
        "seed": settings["seed"],
        "dimension": sets.dimension,
        "contexts": list(sets.context_names) if experiment.listed else None,
        "expire": expire and {"reward": None, **expire},
        "created": iso(experiment.created),
        "seq": experiment.seq,
        "arms": _arms(experiment),
        "history": [{**stretch, "start": iso(stretch["start"])} for stretch in stretches],
    }


def _exploration(experiment: Experiment) -> dict[str, Any]:
    """If cost grows with the logarithm of the rounds, the next n cost what the last n / 2 did."""
    rounds, explored = experiment.counts["decisions"], experiment.counts["explored"]
    return {
        "rounds": explored,
        "share": explored / rounds if rounds else 0.0,
        "cost": experiment.cost,
        "expected": experiment.history.recent_cost(0.5),
        "expected_rounds": rounds,
    }


def _arms(experiment: Experiment) -> list[dict[str, Any]]:
    """The arms of listed contexts, or the coefficients of open ones."""
    columns = experiment.learner.estimates()
    names = OF_ARMS if experiment.listed else OF_COEFFICIENTS
    rows = zip(*(columns[name] if name else repeat(None) for name in names), strict=False)
    return [
        {
            "context": context,
            "name": name,
            "mean": float(mean),
            "error": float(error) if math.isfinite(error) else None,
            "pulls": None if pulls is None else int(pulls),
        }
        for context, name, mean, error, pulls in rows
    ]


def decision_reply(event: Event) -> dict[str, Any]:
    """A DecisionReply."""
    body = {"context": event.body.get("context")} | {key: event.body[key] for key in DECIDED}
    return {"id": event.decision, "seq": event.seq, **body}


def decision_detail(experiment: Experiment, events: dict[str, Event]) -> dict[str, Any]:
    """A DecisionDetail."""
    decision, ended = events[DECISION], outcome(events)
    arms = _compared(experiment, decision.body)
    why = {"text": reason(decision.body, arms), "outcome": ending(decision, ended), "arms": arms}
    status = "waiting" if ended is None else "rewarded" if ended.kind == REWARD else "expired"
    return {
        "decision": decision_reply(decision),
        "at": iso(decision.at),
        "status": status,
        "reward": None if ended is None else ended.body["reward"],
        "rewarded_at": None if ended is None else iso(ended.at),
        "why": why,
    }


def _compared(experiment: Experiment, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The arms on offer with their present estimates."""
    reports = _explained(experiment, body)
    names = body.get("names") or [report.name for report in reports]
    offered = set(body.get("available") or names)
    return [
        {
            "name": name,
            "mean": report.mean,
            "error": report.standard_error if math.isfinite(report.standard_error) else None,
            "gap": report.gap,
            "pulls": report.pulls,
            "chosen": name == body["name"],
        }
        for name, report in zip(names, reports, strict=False)
        if name in offered
    ]


def _explained(experiment: Experiment, body: dict[str, Any]) -> tuple[ArmReport, ...]:
    """What explain says about the arms of a decision; nothing if their context was removed."""
    decision = Decision(0, body.get("context") or "", **{key: body[key] for key in DECIDED})
    features = [] if experiment.listed else [body["features"]]
    try:
        return experiment.learner.explain(decision, *features).arms
    except ThriftyError:
        return ()


def reason(decision: dict[str, Any], arms: list[dict[str, Any]]) -> str:
    """Why an arm was chosen, and the present estimates of it and of its best rival.

    decision: name, label, probability, gap. arms: name, mean, chosen; of those on offer.
    """
    name, gap, probability = decision["name"], decision["gap"], decision["probability"]
    chance = "" if probability is None else f" with probability {probability:.3g}"
    sentences = [f"{name} was chosen{chance} (label {decision['label']})."]
    if gap > 0:
        sentences.append(f"It explored: its estimated mean was {gap:.3g} below the best.")
    else:
        sentences.append("It had the highest estimated mean.")
    chosen = [arm for arm in arms if arm["chosen"]]
    rivals = [arm for arm in arms if not arm["chosen"]]
    if chosen and rivals:
        rival = max(rivals, key=lambda arm: arm["mean"])
        now = f"Now {name} is estimated at {chosen[0]['mean']:.3g}"
        sentences.append(f"{now}, the best other arm, {rival['name']}, at {rival['mean']:.3g}.")
    return " ".join(sentences)


def ending(decision: Event, outcome: Event | None) -> str:
    """What became of a decision."""
    if outcome is None:
        return "Its reward has not come yet."
    reward = outcome.body["reward"]
    if outcome.kind == EXPIRED:
        return "No reward came." if reward is None else f"No reward came; learned as {reward:.3g}."
    return f"Its reward was {reward:.3g}, {_duration((outcome.at - decision.at) / 1e6)} later."


def _duration(seconds: float) -> str:
    """A duration in the largest unit of which it has at least two."""
    unit, size = next((unit for unit in UNITS if seconds >= 2 * unit[1]), UNITS[-1])
    number = f"{seconds:.2g}" if seconds < 2 else f"{seconds / size:.0f}"
    return f"{number} {unit}{'' if number == '1' else 's'}"
