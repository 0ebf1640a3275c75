"""Why a decision was taken and how it ended, in sentences that the page shows as they are."""

from typing import Any

from thrifty.service.server.experiment import EXPIRED
from thrifty.service.storage.store import Event

UNITS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


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
