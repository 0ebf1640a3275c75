"""Phrases of conditions: combined where they differ in one value, shortened where all hold."""

from itertools import permutations, product

import pytest

from thrifty.lab.paper.conditions import LONGEST, combined, phrase
from thrifty.lab.paper.paper_claims import CLAIMS


def conditions(**values):
    """All combinations of values."""
    return [dict(zip(values, one, strict=True)) for one in product(*values.values())]


GRID = conditions(width=("oful", "fn"), n=(10**4, 10**5, LONGEST))
ARMS = conditions(u=("0.1", "0.2"), width=("oful", "fn"))


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ({}, ""),
        ({"width": "oful", "n": 10**4}, "with the oful width at n = 1e4"),
        ({"n": 10**4, "width": "oful"}, "with the oful width at n = 1e4"),
        ({"n": LONGEST, "width": "fn"}, "with the fn width at the longest horizon"),
        ({"instance": "orthogonal", "policy": "oam"}, "for oam on orthogonal"),
        ({"growth": "within a run", "width": "fn"}, "with the fn width within a run"),
    ],
)
def test_one_condition(condition, text):
    assert phrase(condition) == text


@pytest.mark.parametrize(
    ("chosen", "possible", "text"),
    [
        (GRID[:2], GRID, "with the oful width at n = 1e4 and 1e5"),
        (GRID[:3], GRID, "with the oful width"),
        ([GRID[0], GRID[3]], GRID, "at n = 1e4"),
        ([GRID[0], GRID[2]], GRID, "with the oful width at n = 1e4 and at the longest horizon"),
        ([GRID[0], GRID[1], GRID[3], GRID[4]], GRID, "at n = 1e4 and 1e5"),
        (
            [ARMS[0], ARMS[3]],
            ARMS,
            "for u = 0.1 with the oful width, and for u = 0.2 with the fn width",
        ),
        ([ARMS[0], ARMS[2]], ARMS, "with the oful width"),
        (ARMS[:1], ARMS, "for u = 0.1 with the oful width"),
        # a name whose other values do not occur under these conditions is not needed
        ([{"u": "1", "n": 10**4}], [{"u": "1", "n": 10**4}, {"u": "2", "n": 10**5}], "at n = 1e4"),
        (
            [{"instance": "a"}, {"instance": "b"}, {"instance": "c"}],
            [{"instance": name} for name in "abcd"],
            "on a, b and c",
        ),
        (
            conditions(width=("oful", "fn"), u=("0.1",)),
            conditions(width=("oful", "fn", "other"), u=("0.1", "0.2")),
            "for u = 0.1 with the oful and fn widths",
        ),
    ],
)
def test_combined_conditions(chosen, possible, text):
    assert combined(chosen, possible) == text


def test_few_phrases_in_whichever_order():
    """All conditions but one take as many phrases as they have names."""
    possible = conditions(u=("0.1", "0.2"), c=("0", "1"), n=(10**5, LONGEST))
    for chosen in list(permutations(possible[:2] + possible[3:]))[::97]:
        assert combined(chosen, possible).count(", and ") == 2


def test_every_condition_of_the_claims_has_a_phrase_of_its_own():
    for claim in CLAIMS:
        phrases = [case.words for case in claim.cases]
        assert len(set(phrases)) == len(phrases)
        assert all(phrases) or len(phrases) == 1
