"""What an experiment shows: replies made from it."""

import math
from datetime import UTC, datetime
from typing import Any

from thrifty.errors import ThriftyError
from thrifty.learners.decisions import ArmReport, Decision
from thrifty.service.server.experiment import DECIDED, DECISION, EXPIRED, REWARD, Experiment
from thrifty.service.storage.store import Event


def iso(at: int) -> str:
    """Microseconds since 1970 as a time, UTC, ISO 8601."""
    moment = datetime.fromtimestamp(at / 1e6, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def experiment_line(experiment: Experiment) -> dict[str, Any]:
    """An ExperimentLine."""
    counts = experiment.counts
    rewarded = sum(one.rewards for one in experiment.history.stretches)
    return {
        "name": experiment.name,
        "status": experiment.status,
        "policy": str(experiment.learner.policy),
        "counts": {
            "decisions": counts["decisions"],
            "rewards": counts["rewards"],
            "waiting": len(experiment.waiting),
            "expired": counts["expired"],
        },
        "mean_reward": experiment.reward_sum / rewarded if rewarded else None,
        "exploration": _exploration(experiment),
    }


def experiment_reply(experiment: Experiment) -> dict[str, Any]:
    """An ExperimentReply, but for its leader."""
    learner, settings = experiment.learner, experiment.settings
    estimated = learner.policy.estimated_noise(learner.state)
    listed, expire = not learner.sets.open, settings.get("expire")
    return experiment_line(experiment) | {
        "noise": float(learner.noise if estimated is None else estimated),
        "noise_estimated": estimated is not None,
        "rewards": settings["rewards"],
        "seed": settings["seed"],
        "dimension": learner.sets.dimension,
        "contexts": list(learner.sets.context_names) if listed else None,
        "expire": expire and {"reward": None, **expire},
        "created": iso(experiment.created),
        "seq": experiment.seq,
        "arms": _arms(experiment),
        "history": [{**vars(one), "start": iso(one.start)} for one in experiment.history.stretches],
    }


def _exploration(experiment: Experiment) -> dict[str, Any]:
    """If cost grows with the logarithm of the rounds, the next n cost what the last n / 2 did."""
    rounds = experiment.counts["decisions"]
    return {
        "rounds": experiment.counts["explored"],
        "share": experiment.counts["explored"] / rounds if rounds else 0.0,
        "cost": experiment.cost,
        "expected": experiment.history.recent_cost(0.5),
        "expected_rounds": rounds,
    }


def _arms(experiment: Experiment) -> list[dict[str, Any]]:
    """The arms of listed contexts, or the coefficients of open ones."""
    found = experiment.learner.estimates()
    if "coefficient" in found:
        rows = zip(found["coefficient"], found["estimate"], found["error"], strict=True)
        return [_arm(None, name, mean, error, None) for name, mean, error in rows]
    columns = (found[key] for key in ("context", "arm", "mean", "error", "pulls"))
    return [_arm(*row) for row in zip(*columns, strict=True)]


def _arm(
    context: str | None, name: str, mean: float, error: float, pulls: int | None
) -> dict[str, Any]:
    return {
        "context": context,
        "name": name,
        "mean": float(mean),
        "error": float(error) if math.isfinite(error) else None,
        "pulls": None if pulls is None else int(pulls),
    }


def decision_reply(event: Event) -> dict[str, Any]:
    """A DecisionReply."""
    body = event.body
    return {
        "id": event.decision,
        "seq": event.seq,
        "context": body.get("context"),
        "arm": body["arm"],
        "name": body["name"],
        "label": body["label"],
        "probability": body["probability"],
        "gap": body["gap"],
    }


def outcome(events: dict[str, Event]) -> Event | None:
    """The reward of a decision, or that it was given up, among the events about it."""
    return events.get(REWARD) or events.get(EXPIRED)


def decision_detail(experiment: Experiment, events: dict[str, Event]) -> dict[str, Any]:
    """A DecisionDetail."""
    made, last = events[DECISION], outcome(events)
    status = "waiting" if last is None else "rewarded" if last.kind == REWARD else "expired"
    return {
        "decision": decision_reply(made),
        "at": iso(made.at),
        "status": status,
        "reward": None if last is None else last.body["reward"],
        "rewarded_at": None if last is None else iso(last.at),
        "why": _why(experiment, made),
    }


def _why(experiment: Experiment, made: Event) -> dict[str, Any]:
    """The arms on offer with their present estimates, and a sentence."""
    body = made.body
    offered, names = body.get("available"), body.get("names")
    shown = []
    for arm, one in enumerate(_explained(experiment, body)):
        name = names[arm] if names else one.name
        if offered is None or name in offered:
            shown.append(_report(name, one, name == body["name"]))
    return {"text": _sentence(body, shown), "arms": shown}


def _explained(experiment: Experiment, body: dict[str, Any]) -> tuple[ArmReport, ...]:
    """What explain says about the arms of a decision; nothing if their context was removed."""
    known = {key: body[key] for key in DECIDED}
    decision = Decision(id=0, context=body.get("context", ""), **known)
    learner, features = experiment.learner, body.get("features")
    try:
        explanation = learner.explain(decision, *([] if features is None else [features]))
    except ThriftyError:
        return ()
    return explanation.arms


def _report(name: str, arm: ArmReport, chosen: bool) -> dict[str, Any]:
    return {
        "name": name,
        "mean": arm.mean,
        "error": arm.standard_error if math.isfinite(arm.width) else None,
        "gap": arm.gap,
        "pulls": arm.pulls,
        "chosen": chosen,
    }


def _sentence(body: dict[str, Any], arms: list[dict[str, Any]]) -> str:
    name, label, gap = body["name"], body["label"], body["gap"]
    if gap > 0:
        text = f"{name} was tried ({label}): its estimated mean was {gap:.3g} below the best."
    else:
        text = f"{name} was the best by its estimated mean ({label})."
    others = [one for one in arms if not one["chosen"]]
    if others:
        rival = max(others, key=lambda one: one["mean"])
        own = next((one for one in arms if one["chosen"]), None)
        if own is not None:
            text += (
                f" Now {name} is estimated at {own['mean']:.3g}, the best of the others,"
                f" {rival['name']}, at {rival['mean']:.3g}."
            )
    return text
