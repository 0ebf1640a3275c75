"""The sentences about a decision: why it was taken, and how it ended."""

import pytest

from thrifty.service.server.views import ending, reason
from thrifty.service.storage.store import Event

SECOND = 1_000_000
DECISION = Event(2, "decision", 0, "d", {})
ARMS = [
    {"name": "video", "mean": 0.25, "chosen": True},
    {"name": "banner", "mean": 0.5, "chosen": False},
    {"name": "list", "mean": 0.75, "chosen": False},
]


def decided(**changes):
    return {"name": "video", "label": "greedy", "gap": 0.0, "probability": 0.93, **changes}


def test_an_arm_that_looked_best_is_said_to():
    text = reason(decided(), ARMS)
    assert text.startswith("video was chosen with probability 0.93 (label greedy).")
    assert "highest" in text
    assert "explored" not in text


def test_exploration_is_named_with_its_gap():
    text = reason(decided(gap=0.12345, label="matched"), ARMS)
    assert "explored" in text
    assert "0.123 below" in text
    assert "matched" in text


def test_a_probability_that_is_not_known_is_not_mentioned():
    assert "probability" not in reason(decided(probability=None), ARMS)


def test_the_best_other_arm_is_compared_by_its_present_estimate():
    text = reason(decided(), ARMS)
    assert "video is estimated at 0.25" in text
    assert "list, at 0.75" in text
    assert "banner" not in text


@pytest.mark.parametrize("arms", [[], ARMS[:1], ARMS[1:]])
def test_without_a_rival_or_an_estimate_nothing_is_compared(arms):
    assert "Now" not in reason(decided(), arms)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.25, "0.25 seconds"),
        (1, "1 second later"),
        (42, "42 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (7200, "2 hours"),
        (200_000, "2 days"),
    ],
)
def test_a_reward_has_come_after_some_time(seconds, words):
    text = ending(DECISION, Event(3, "reward", int(seconds * SECOND), "d", {"reward": 0.7}))
    assert "0.7" in text
    assert words in text


@pytest.mark.parametrize(("reward", "word"), [(None, "No reward came."), (0.0, "learned as 0")])
def test_a_decision_that_expired_says_what_was_learned(reward, word):
    assert word in ending(DECISION, Event(3, "expired", SECOND, "d", {"reward": reward}))


def test_a_pending_decision_says_so():
    assert "not come yet" in ending(DECISION, None)
