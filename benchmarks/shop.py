"""Clicks in a simulated shop: categories, late rewards, offers that come and go, changing tastes.

Each seed is a world of its own: visitors, tastes and luck. All policies meet the same visitors with
the same uniform draws, so that clicks are compared in pairs.

Vowpal Wabbit is optional: `pip install 'thrifty[bench]'`. Its costs are minus the clicks, and their
range is set. Its features are the offer, and the products of the offer with what is known of the
visitor: numbers of mean 0 and deviation 1, and categories as words.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np

import thrifty as th
from benchmarks.paired import Floats, paired, standard_error

TITLE = "Clicks in a simulated shop"
WORLDS, VISITORS, HISTORY = 10, 20_000, 1000  # past visitors give the scale of the features
NUMBERS = ("age", "income", "visits", "basket", "minutes", "pages")
DEVICES = (0.55, 0.35, 0.1)  # shares
COUNTRIES = (0.3, 0.2, 0.15, 0.12, 0.09, 0.07, 0.05, 0.02)
COLUMNS = (
    *NUMBERS,
    *(f"device {i}" for i in range(len(DEVICES))),
    *(f"country {i}" for i in range(len(COUNTRIES))),
)
OFFERS, WITHDRAWN, NEW = 9, 0, 8  # how many there are, which one goes, which one comes
CLICKS = 0.06  # share of clicks of an average visitor
LATEST = 2000  # decisions that a visit lasts at most
CHANGED = 1 / 3  # of the coefficients, when tastes change

OWN = "thrifty"
LINUCB = tuple(f"linucb:width=alpha,alpha={alpha}" for alpha in (0.125, 0.25, 0.5, 1, 2))
REGCB = tuple(f"--regcbopt --mellowness {mellowness}" for mellowness in (0.1, 0.01, 0.001))
OF_VOWPAL = (*REGCB, "--squarecb")  # 0.1 is its default
POLICIES = (OWN, *LINUCB, "lints", "greedy", *OF_VOWPAL)


class Variant(NamedTuple):
    """What is so in a shop."""

    late: bool
    drift: bool


VARIANTS = {
    "late rewards, tastes change": Variant(late=True, drift=True),
    "rewards at once": Variant(late=False, drift=True),
    "tastes stay": Variant(late=True, drift=False),
}


class World(NamedTuple):
    """A shop.

    Attributes
    ----------
    history : (HISTORY, p) features of past visitors
    visitors : (n, p) features, categories as zeros and ones
    chances : (n, OFFERS) probabilities of a click
    clicks : (n, OFFERS) whether the visitor clicks
    click_after, end_after : (n,) decisions until a click is known, and until it is known that there
        is none
    """

    history: Floats
    visitors: Floats
    chances: Floats
    clicks: np.ndarray
    click_after: np.ndarray
    end_after: np.ndarray


def world(seed: int, variant: Variant) -> World:
    """Draw a world; variants of the same seed have the same visitors, tastes and luck."""
    rng = np.random.default_rng(seed)
    drawn = _visitors(rng, HISTORY + VISITORS)
    scaled = _scaled(drawn)[HISTORY:]
    before, after = _tastes(rng)
    logits = scaled @ before
    changed = 2 * VISITORS // 3
    if variant.drift:
        logits[changed:] = scaled[changed:] @ after
    chances = 1 / (1 + np.exp(-logits))
    uniform, ends = rng.random(VISITORS), rng.integers(1, LATEST, VISITORS, endpoint=True)
    moments = rng.integers(1, ends, endpoint=True)
    at_once = np.ones(VISITORS, int)
    return World(
        history=drawn[:HISTORY],
        visitors=drawn[HISTORY:],
        chances=chances,
        clicks=uniform[:, None] < chances,
        click_after=moments if variant.late else at_once,
        end_after=ends if variant.late else at_once,
    )


def _visitors(rng: np.random.Generator, count: int) -> Floats:
    """Features (count, p); most numbers are skewed, and some categories are rare."""
    age, income = rng.gamma(9, 4.5, count), np.exp(rng.normal(10.3, 0.5, count))
    visits, basket = rng.geometric(0.3, count), np.exp(rng.normal(3.5, 0.8, count))
    minutes, pages = rng.exponential(5, count), rng.poisson(4, count)
    numbers = np.column_stack([age, income, visits, basket, minutes, pages])
    categories = [
        np.eye(len(shares))[rng.choice(len(shares), count, p=shares)]
        for shares in (DEVICES, COUNTRIES)
    ]
    return np.hstack([numbers, *categories])


def _scaled(visitors: Floats) -> Floats:
    """What tastes are about: a bias, numbers of mean 0 and deviation 1, at most 3, categories."""
    numbers = visitors[:, : len(NUMBERS)]
    centred = np.clip((numbers - numbers.mean(axis=0)) / numbers.std(axis=0), -3, 3)
    return np.hstack([np.ones((len(visitors), 1)), centred, visitors[:, len(NUMBERS) :]])


def _tastes(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Coefficients (1 + p, OFFERS) of the logits before and after tastes change.

    Some visitors click more than others, whatever the offer; the rest is about single offers.
    """
    spread = np.repeat([0.2, 0.15, 0.2, 0.25], [1, len(NUMBERS), len(DEVICES), len(COUNTRIES)])
    size = (len(spread), OFFERS)
    shared = 0.5 * spread * rng.normal(size=len(spread))
    shared[0] = np.log(CLICKS / (1 - CLICKS))
    own, other = (spread[:, None] * rng.normal(size=size) for _ in range(2))
    before = shared[:, None] + own
    after = shared[:, None] + np.where(rng.random(size) < CHANGED, other, own)
    return before, after


def on_offer() -> Iterator[list[int]]:
    """The offers that each visitor may see."""
    for i in range(VISITORS):
        gone, come = i >= VISITORS // 3, i >= VISITORS // 2
        yield [k for k in range(OFFERS) if not (gone and k == WITHDRAWN) and (come or k != NEW)]


class Player(Protocol):
    """Shows offers."""

    def choose(self, visitor: int, offers: list[int]) -> tuple[int, Any]:
        """The offer for a visitor, and what `learn` wants back."""

    def learn(self, decision: Any, reward: float) -> None:
        """The reward of a decision."""


class LibraryPlayer:
    """A policy of this library."""

    def __init__(self, spec: str, shop: World, seed: int) -> None:
        self.visitors = shop.visitors
        self.learner = th.policy(spec).learner(
            features=features_of(shop), rewards="bernoulli", seed=seed
        )

    def choose(self, visitor: int, offers: list[int]) -> tuple[int, th.Decision]:
        decision = self.learner.choose(self.visitors[visitor], available=offers)
        return offers[decision.arm], decision

    def learn(self, decision: th.Decision, reward: float) -> None:
        self.learner.learn(decision, reward)


def features_of(shop: World) -> th.features.FeatureMap:
    """A block of features for each offer."""
    names = [f"offer {k}" for k in range(OFFERS)]
    return th.features.disjoint(names, COLUMNS).fit(shop.history)


class VowpalPlayer:
    """Exploration of Vowpal Wabbit over action-dependent features."""

    def __init__(self, option: str, shop: World, seed: int) -> None:
        from vowpalwabbit import Workspace

        costs, model = "--cb_min_cost -1 --cb_max_cost 0", "-q vo --ignore_linear v"
        self.workspace = Workspace(f"--cb_explore_adf {option} {costs} {model} --quiet")
        self.described = _described(shop)
        self.uniform = np.random.default_rng(seed).random(VISITORS).tolist()

    def choose(self, visitor: int, offers: list[int]) -> tuple[int, tuple[list[str], int, float]]:
        lines = [self.described[visitor], *(f"|o offer{k}" for k in offers)]
        law = np.array(self.workspace.predict(lines))
        totals = law.cumsum()
        place = int(totals.searchsorted(self.uniform[visitor] * totals[-1], side="right"))
        return offers[place], (lines, place, float(law[place]))

    def learn(self, decision: tuple[list[str], int, float], reward: float) -> None:
        lines, place, probability = decision
        labelled = list(lines)
        labelled[1 + place] = f"0:{-reward}:{probability} {lines[1 + place]}"
        self.workspace.learn(labelled)


def _described(shop: World) -> list[str]:
    """Visitors as text: numbers of mean 0 and deviation 1, and categories as words."""
    count = len(NUMBERS)
    centre, scale = shop.history[:, :count].mean(axis=0), shop.history[:, :count].std(axis=0)
    numbers = (shop.visitors[:, :count] - centre) / scale
    words = [name.replace(" ", "") for name in COLUMNS]
    lines = []
    for values, categories in zip(numbers.tolist(), shop.visitors[:, count:], strict=True):
        named = [f"{word}:{value:.4f}" for word, value in zip(words, values, strict=False)]
        named += [words[count + i] for i in np.flatnonzero(categories)]
        lines.append(f"shared |v {' '.join(named)}")
    return lines


def clicks(policy: str, variant: Variant, seed: int) -> int:
    """The clicks that a policy gets in a world."""
    shop = world(seed, variant)
    kind = VowpalPlayer if policy in OF_VOWPAL else LibraryPlayer
    return play(kind(policy, shop, seed), shop)


def play(player: Player, shop: World) -> int:
    """Show an offer to each visitor; rewards are learned when they are known."""
    happens, click_after, end_after = (
        values.tolist() for values in (shop.clicks, shop.click_after, shop.end_after)
    )
    due: list[list[tuple[Any, float]]] = [[] for _ in range(VISITORS + LATEST + 1)]
    total = 0
    for visitor, offers in enumerate(on_offer()):
        for decision, reward in due[visitor]:
            player.learn(decision, reward)
        due[visitor].clear()
        offer, decision = player.choose(visitor, offers)
        click = happens[visitor][offer]
        after = click_after[visitor] if click else end_after[visitor]
        due[visitor + after].append((decision, float(click)))
        total += click
    return total


def measure() -> str:
    """Clicks of each policy, also relative to the best LinUCB and the best RegCB."""
    installed = find_spec("vowpalwabbit") is not None
    policies = POLICIES if installed else tuple(one for one in POLICIES if one not in OF_VOWPAL)
    tasks = list(product(policies, VARIANTS.values(), range(WORLDS)))
    with ProcessPoolExecutor() as pool:
        totals = pool.map(clicks, *zip(*tasks, strict=True))
        found = np.reshape(list(totals), (len(policies), len(VARIANTS), WORLDS)).astype(float)
    by_variant = {
        words: dict(zip(policies, found[:, i], strict=True)) for i, words in enumerate(VARIANTS)
    }
    parts = [report(by_variant), _explained()]
    return "\n\n".join(parts if installed else [*parts, "Not installed: Vowpal Wabbit."])


def report(found: dict[str, dict[str, Floats]]) -> str:
    """One row per variant and policy; clicks (worlds,) by variant and policy."""
    lines = [
        "| shop | policy | clicks | / the best `linucb` | / the best `--regcbopt` |",
        "|---|---|---:|---:|---:|",
    ]
    for words, by_policy in found.items():
        for policy, own in by_policy.items():
            ratios = (_ratio(by_policy, policy, rivals) for rivals in (LINUCB, REGCB))
            lines.append(
                f"| {words} | `{policy}` | {own.mean():,.0f} ± {standard_error(own):.0f} "
                f"| {' | '.join(ratios)} |"
            )
    return "\n".join(lines)


def _ratio(by_policy: dict[str, Floats], policy: str, rivals: Sequence[str]) -> str:
    """Relative to the rival with most clicks; empty without rivals."""
    present = [rival for rival in rivals if rival in by_policy]
    if not present:
        return ""
    best = max(present, key=lambda rival: by_policy[rival].mean())
    ratio = paired(by_policy[policy], by_policy[best])
    return "1" if policy == best else format(ratio, "bold" if policy == OWN else "")


def _explained() -> str:
    best, uniform = _bounds([world(seed, Variant(late=True, drift=True)) for seed in range(WORLDS)])
    return (
        f"{WORLDS} worlds of {VISITORS:,} visitors with {1 + len(COLUMNS)} features, for {OFFERS} "
        f"offers of which one goes after a third and one comes after a half; after two thirds "
        f"{CHANGED:.0%} of the coefficients change. A click is known at a random moment of a visit "
        f"of up to {LATEST:,} decisions, and that there is none at its end. Clicks are means over "
        f"worlds; ratios have standard errors of paired differences. The default mellowness of "
        f"`--regcbopt` is {REGCB[0].split()[-1]}. The best offer for each "
        f"visitor would get {best:,.0f} clicks, a random one {uniform:,.0f}."
    )


def _bounds(shops: Sequence[World]) -> tuple[float, float]:
    """Clicks of who knows all tastes, and of who knows nothing: means over worlds."""
    offers = list(on_offer())
    allowed = np.zeros((VISITORS, OFFERS), bool)
    for row, present in zip(allowed, offers, strict=True):
        row[present] = True
    chances = [np.where(allowed, shop.chances, np.nan) for shop in shops]
    return (
        float(np.mean([np.nanmax(one, axis=1).sum() for one in chances])),
        float(np.mean([np.nanmean(one, axis=1).sum() for one in chances])),
    )
