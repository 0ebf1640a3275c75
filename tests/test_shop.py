"""The benchmark of the simulated shop: its worlds, what is late, and what is on offer."""

from collections import Counter

import numpy as np
import pytest
from benchmarks import shop

import thrifty as th

LATE, AT_ONCE, STAYS = shop.VARIANTS.values()


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(shop, "VISITORS", 600)
    monkeypatch.setattr(shop, "LATEST", 50)


class InTurn:
    """Shows offers in turn, and keeps what it is told."""

    def __init__(self):
        self.visitor, self.shown, self.told = -1, [], {}

    def choose(self, visitor, offers):
        self.visitor = visitor
        self.shown.append(offers[visitor % len(offers)])
        return self.shown[-1], visitor

    def learn(self, decision, reward):
        assert decision not in self.told
        self.told[decision] = (self.visitor + 1, reward)  # before which visitor


def test_variants_differ_in_nothing_else():
    late, at_once, stays = (shop.world(3, variant) for variant in shop.VARIANTS.values())
    for other in (at_once, stays):
        assert np.array_equal(late.visitors, other.visitors)
        assert np.array_equal(late.history, other.history)
        assert np.array_equal(late.clicks[:400], other.clicks[:400])
    assert np.array_equal(late.chances, at_once.chances)
    assert not np.isclose(late.chances[400:], stays.chances[400:]).all(axis=0).any()
    assert not np.array_equal(late.visitors, shop.world(4, LATE).visitors)


def test_clicks_are_as_probable_as_said(monkeypatch):
    monkeypatch.setattr(shop, "VISITORS", 20_000)
    for seed in range(3):
        world = shop.world(seed, LATE)
        low, high = np.quantile(world.chances, [0.05, 0.95])
        assert 0.01 < low < high < 0.25
        error = np.sqrt(world.chances.mean() / world.chances.size * shop.OFFERS)
        assert abs(world.clicks.mean() - world.chances.mean()) < 4 * error


def test_policies_have_a_block_of_18_features_per_offer():
    features = shop.features_of(shop.world(0, LATE))
    assert (features.width, features.dimension) == (18, 162)


def test_an_offer_goes_after_a_third_and_another_comes_after_a_half():
    offers = list(shop.on_offer())
    first, second, third = offers[:200], offers[200:300], offers[300:]
    assert all(one == [0, 1, 2, 3, 4, 5, 6, 7] for one in first)
    assert all(one == [1, 2, 3, 4, 5, 6, 7] for one in second)
    assert all(one == [1, 2, 3, 4, 5, 6, 7, 8] for one in third)


@pytest.mark.parametrize("variant", [LATE, AT_ONCE])
def test_each_reward_is_learned_once_and_when_it_is_known(variant):
    world, player = shop.world(0, variant), InTurn()
    total = shop.play(player, world)
    clicked = [bool(world.clicks[i, k]) for i, k in enumerate(player.shown)]
    assert total == sum(clicked)
    assert 0 < total < 600
    for visitor, (known, reward) in player.told.items():
        assert reward == clicked[visitor]
        after = (world.click_after if clicked[visitor] else world.end_after)[visitor]
        assert known == visitor + after
        assert 1 <= after <= (50 if variant is LATE else 1)
    waiting = Counter(visitor >= 550 for visitor in range(600) if visitor not in player.told)
    assert waiting[False] == 0
    assert (waiting[True] > 1) == (variant is LATE)


def test_a_click_is_known_before_the_end_of_a_visit():
    world = shop.world(0, LATE)
    assert (world.click_after <= world.end_after).all()
    assert world.click_after.mean() == pytest.approx(world.end_after.mean() / 2, rel=0.1)


def test_clicks_of_who_knows_everything_and_nothing():
    world = shop.world(0, LATE)
    best, uniform = shop._bounds([world])
    assert 1.3 < best / uniform < 3
    in_turn = np.mean([shop.play(InTurn(), shop.world(seed, LATE)) for seed in range(20)])
    nothing = shop._bounds([shop.world(seed, LATE) for seed in range(20)])[1]
    assert in_turn == pytest.approx(nothing, abs=4 * np.sqrt(nothing / 20))


@pytest.mark.slow
def test_players_learn(monkeypatch):
    monkeypatch.setattr(shop, "VISITORS", 6000)
    policy = "linucb:width=alpha,alpha=0.5"
    clicks = [shop.clicks(policy, STAYS, seed) for seed in range(3)]
    best, uniform = shop._bounds([shop.world(seed, STAYS) for seed in range(3)])
    assert uniform + 0.15 * (best - uniform) < np.mean(clicks) < best


def test_the_report_names_the_best_of_each_rival():
    clicks = {policy: np.array([100.0, 110.0]) for policy in shop.POLICIES}
    clicks["thrifty"] = 1.2 * clicks["greedy"]
    clicks[shop.LINUCB[3]] = 1.6 * clicks["greedy"]
    lines = shop.report({"a shop": clicks}).splitlines()
    assert "| a shop | `thrifty` | 126 ± 6 | **0.750** ± 0.000 | **1.200** ± 0.000 |" in lines
    assert f"| a shop | `{shop.LINUCB[3]}` | 168 ± 8 | 1 | 1.600 ± 0.000 |" in lines


def test_without_vowpal_wabbit_its_column_is_empty():
    clicks = {policy: np.array([100.0, 110.0]) for policy in ("thrifty", *shop.LINUCB)}
    lines = shop.report({"a shop": clicks}).splitlines()
    assert lines[2].endswith("| **1.000** ± 0.000 |  |")


def test_all_policies_have_names_that_are_known():
    for policy in set(shop.POLICIES) - set(shop.OF_VOWPAL):
        assert th.policy(policy).open
