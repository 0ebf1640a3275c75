"""Experiments and claims of the paper, as data.

Hao, Lattimore and Szepesvari, Adaptive Exploration in Linear Contextual Bandit (AISTATS 2020):
section 5, appendix D ("Additional Experiments"), and theoretical results that a simulation can
show. The paper does not give its horizons, LinUCB's width, or OAM's epsilon and c: LinUCB runs with
both widths, OAM with the library's defaults (epsilon = 0, c = 0) and with c = 1.
"""

from dataclasses import dataclass

from thrifty.experiments.claims import Case, Claim
from thrifty.experiments.comparisons import (
    Alike,
    BestModestly,
    Bounded,
    Carries,
    ConstantIs,
    FarWorse,
    Flattens,
    Less,
    Overtaken,
    Share,
    Slope,
    SmallerGain,
    Wilder,
)
from thrifty.experiments.conditions import LONGEST


@dataclass(frozen=True)
class Scale:
    """Horizons and number of replications of an experiment."""

    horizons: tuple[int, ...]
    replications: int


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper, or one that supplements it.

    Attributes
    ----------
    name : for the command line, and the name of its folder
    title, about : the heading and a description
    where : its place in the paper
    quick, full : horizons and replications of the two versions
    figures : kinds of figures that show it (report/pages.py)
    """

    name: str
    title: str
    where: str
    about: str
    instances: tuple[str, ...]
    policies: tuple[str, ...]
    quick: Scale
    full: Scale
    figures: tuple[str, ...] = ("regret",)


OAM, OAM_C1, OFUL, FN, LINTS, LINTS_THEORY, OSSB = (
    "oam",
    "oam:c=1",
    "linucb",
    "linucb:width=fn",
    "lints",
    "lints:inflation=theory",
    "ossb",
)
WIDTHS = {"oful": OFUL, "fn": FN}  # LinUCB by its confidence width
FEW = (OAM, OAM_C1, OFUL, FN, LINTS)
ALL = (OAM, OFUL, FN, LINTS, LINTS_THEORY, OSSB)
IN_A_RUN, BETWEEN_RUNS = "within a run", "from one horizon to the next"
RANDOM_THETA = "random-theta:seed=each"
END_OF_OPTIMISM, END_OF_OPTIMISM_5 = "end-of-optimism", "end-of-optimism:eps=0.05,a=2"
LONG = (END_OF_OPTIMISM, END_OF_OPTIMISM_5, "orthogonal", "scenario-one")

QUICK, FULL = Scale((10**3, 10**4, 10**5), 100), Scale((10**3, 10**4, 10**5, 10**6), 100)
QUICK_MANY, FULL_MANY = Scale((10**4, 10**5), 40), Scale((10**4, 10**5, 10**6), 100)

EXPERIMENTS = (
    Experiment(
        "fixed",
        "Fixed action set",
        "Section 5.1, Figure 1",
        "Three arms in the plane: x1 = (1, 0), x2 = (0, 1), x3 = (1 - u, 5u), theta = "
        "(1, 0), for u = 0.1 and 0.2.",
        ("fixed-u0.1", "fixed-u0.2"),
        FEW,
        QUICK,
        FULL,
    ),
    Experiment(
        "small-u",
        "Fixed action set, u below 0.04",
        "supplements Section 5.1",
        "The same arms with u = 0.01 and 0.02. Here C = 50 is the cost of exploring with x2, since "
        "x3 is too similar to x1 to be a cheap source of information; for u > 0.04, C = 2/u is "
        "the cost of exploring with x3. The paper's explanation of its figure, that LinUCB stops "
        "playing x2, applies to this case.",
        ("fixed-u0.01", "fixed-u0.02"),
        FEW,
        QUICK,
        FULL,
    ),
    Experiment(
        "scenario-one",
        "Changing action sets, scenario one",
        "Section 5.2, Figure 2, left",
        "Two sets in three dimensions, drawn with probabilities 0.3 and 0.7.",
        ("scenario-one",),
        FEW,
        QUICK,
        FULL,
    ),
    Experiment(
        "scenario-two",
        "Changing action sets, scenario two",
        "Section 5.2, Figure 2, right",
        "The optimal arms span the plane, so C = 0; but the set that contains one of them occurs "
        "once in a hundred rounds.",
        ("scenario-two",),
        FEW,
        QUICK,
        FULL,
    ),
    Experiment(
        "bounded",
        "Bounded regret",
        "Section 5.3, Figure 3, left",
        "The sets of scenario two with probabilities 0.8 and 0.2: greedy play explores by itself.",
        ("bounded",),
        FEW,
        QUICK,
        FULL,
    ),
    Experiment(
        "large",
        "Large action set",
        "Section 5.4, Figure 3, right",
        "100 arms on the unit circle, theta = (1, 0). The paper does not say which "
        "draw; this one has the median C of 101."
        " Neighbours on the circle differ by so little that C log n lies far above "
        "every regret: no horizon here is asymptotic.",
        ("large-100",),
        ALL,
        QUICK_MANY,
        FULL_MANY,
    ),
    Experiment(
        "small",
        "Small action set",
        "Appendix D, Figure 4, left",
        "Five arms on the unit circle; again the draw of median C.",
        ("small-5",),
        ALL,
        QUICK_MANY,
        FULL_MANY,
    ),
    Experiment(
        "random-theta",
        "Random theta",
        "Appendix D, Figure 4, right",
        "The 100 arms of the large set; theta is drawn anew in each replication and normalised.",
        (RANDOM_THETA,),
        ALL,
        QUICK_MANY,
        FULL_MANY,
    ),
    Experiment(
        "long-run",
        "R(n) / log n in the long run",
        "Sections 3 and 4.2, the asymptotic lower and upper bounds",
        "Each dot is a separate run, since OAM and LinUCB plan for n. No consistent policy ends "
        "below C; OAM tends to it.",
        LONG,
        (OAM, OFUL, LINTS),
        Scale((10**3, 10**4, 10**5, 10**6), 20),
        Scale((10**3, 10**4, 10**5, 10**6, 10**7, 10**8), 20),
        ("ratio",),
    ),
    Experiment(
        "literal",
        "The forced exploration of the algorithm box",
        "Algorithm 1",
        "As printed, eps_t = 1 / log log t is 0.45 at t = 1e4, and the proof needs "
        "eps_t <= 1/|A|: here t >= 5e8. Until then OAM plays all arms in turn.",
        ("fixed-u0.1",),
        (OAM, "oam:epsilon=literal", OFUL),
        QUICK,
        FULL,
    ),
    Experiment(
        "sensitivity",
        "Sensitivity of OAM to epsilon and c",
        "supplements Section 5",
        "The share of forced exploration epsilon, and the constant c of the "
        "lower-order term of f_n.",
        ("fixed-u0.1", "scenario-one", "small-5"),
        (
            OAM,
            "oam:epsilon=0.001",
            "oam:epsilon=0.01",
            "oam:epsilon=0.05",
            "oam:c=0.3",
            OAM_C1,
            "oam:epsilon=0.01,c=1",
        ),
        Scale((10**5,), 50),
        Scale((10**6,), 100),
        ("sensitivity",),
    ),
)


def _by_width(comparison: type, instance: str, **condition: str) -> tuple[Case, ...]:
    """A comparison of OAM with LinUCB for both widths, under a further condition."""
    return tuple(
        Case(condition | {"width": width}, comparison(instance, OAM, linucb))
        for width, linucb in WIDTHS.items()
    )


def _by_instance(instances: tuple[str, ...], comparison: type, *arguments: str) -> tuple[Case, ...]:
    """A comparison on each of some instances."""
    return tuple(Case({"instance": name}, comparison(name, *arguments)) for name in instances)


CLAIMS = (
    Claim(
        "fixed-less",
        "Section 5.1",
        ("fixed",),
        "On the fixed set OAM has less regret than LinUCB.",
        _by_width(Less, "fixed-u0.1", u="0.1") + _by_width(Less, "fixed-u0.2", u="0.2"),
        "The width decides: at d = 2 and n = 1e4 the square of oful is about 50, that "
        "of fn 26. The paper does not say which it used.",
        clause="OAM has less regret than LinUCB on the fixed action set",
    ),
    Claim(
        "fixed-why",
        "Section 5.1",
        ("fixed", "small-u"),
        "The reason is that x1 and x3 are so alike that only x2 tells them apart "
        "cheaply, and LinUCB stops playing x2.",
        tuple(Case({"u": u}, Carries(f"fixed-u{u}", 1)) for u in ("0.01", "0.02", "0.1", "0.2")),
        "For u > 0.04 an optimal policy does not play x2 either: pulling x3, at gap u, "
        "gives the same information at a cost of 2/u, which is less than the 50 of x2.",
    ),
    Claim(
        "small-u-less",
        "supplements Section 5.1",
        ("small-u",),
        "Where that reason applies, OAM has less regret than LinUCB.",
        _by_width(Less, "fixed-u0.01", u="0.01") + _by_width(Less, "fixed-u0.02", u="0.02"),
        "With gaps of 0.01 and 0.02 nothing is decided before some 2/u^2 rounds of "
        "x3's kind: the advantage needs a long horizon.",
    ),
    Claim(
        "scenario-one-overtaken",
        "Section 5.2",
        ("scenario-one",),
        "In scenario one LinUCB starts better and ends with more regret than OAM.",
        _by_width(Overtaken, "scenario-one"),
        clause="LinUCB starts better than OAM in scenario one and ends with more regret",
    ),
    Claim(
        "scenario-two-alike",
        "Section 5.2",
        ("scenario-two",),
        "In scenario two OAM and LinUCB can hardly be told apart.",
        tuple(
            Case({"width": width, "n": n}, Alike("scenario-two", OAM, linucb, n))
            for width, linucb in WIDTHS.items()
            for n in (10**4, 10**5)
        )
        + tuple(
            Case({"width": width, "n": LONGEST}, Alike("scenario-two", OAM, linucb))
            for width, linucb in WIDTHS.items()
        ),
        "The criterion: regrets differ by no more than a fifth of LinUCB's, by a margin of two "
        "standard errors.",
    ),
    Claim(
        "scenario-two-wasted",
        "Section 5.2",
        ("scenario-two",),
        "There OAM falls back on LinUCB: most of its regret comes from wasted exploration.",
        (Case({}, Share("scenario-two", OAM, "wasted", share=0.5)),),
        "The allocation needs pulls of an optimal arm whose set rarely occurs; until they are "
        "made, rounds of the other set are wasted.",
    ),
    Claim(
        "bounded-oam",
        "Section 5.3",
        ("bounded",),
        "Where the optimal arms span the space, OAM's regret stops growing after a short while.",
        (
            Case({"growth": IN_A_RUN}, Bounded("bounded", OAM)),
            Case({"growth": BETWEEN_RUNS}, Flattens("bounded", OAM)),
        ),
    ),
    Claim(
        "bounded-linucb",
        "Theorem 3 and Section 5.3",
        ("bounded",),
        "There LinUCB's regret is bounded, too.",
        tuple(
            Case({"width": width, "growth": IN_A_RUN}, Bounded("bounded", linucb))
            for width, linucb in WIDTHS.items()
        )
        + tuple(
            Case({"width": width, "growth": BETWEEN_RUNS}, Flattens("bounded", linucb))
            for width, linucb in WIDTHS.items()
        ),
        "The theorem is about a width that grows with t; here the width depends on n, so that a "
        "longer run begins with a larger one.",
    ),
    Claim(
        "sublogarithmic",
        "Section 3.1",
        ("bounded", "scenario-two"),
        "C = 0 where the optimal arms span the space, whatever the law of the contexts.",
        (
            Case({"law": "bounded"}, ConstantIs("bounded", 0.0)),
            Case({"law": "scenario-two"}, ConstantIs("scenario-two", 0.0)),
        ),
    ),
    Claim(
        "lai-robbins",
        "Section 3, example",
        ("long-run",),
        "On orthogonal arms C is the sum of 2/gap, as Lai and Robbins have it.",
        (
            Case(
                {"gaps": "0.2 to 0.8"},
                ConstantIs("orthogonal", sum(2 / (0.2 * i) for i in range(1, 5))),
            ),
        ),
    ),
    Claim(
        "large-ossb",
        "Section 5.4",
        ("large",),
        "With 100 arms OSSB has far more regret than OAM, and it is unstable.",
        (
            Case({"quantity": "regret"}, FarWorse("large-100", OSSB, OAM)),
            Case({"quantity": "spread"}, Wilder("large-100", OSSB, OAM)),
        ),
        "Far more means twice as much. OSSB estimates each arm by itself, not by least squares.",
    ),
    Claim(
        "large-lints",
        "Section 5.4",
        ("large",),
        "With 100 arms the LinTS of the theory has far more regret than OAM.",
        (Case({}, FarWorse("large-100", LINTS_THEORY, OAM)),),
    ),
    Claim(
        "small-less",
        "Appendix D",
        ("small",),
        "With five arms OAM has less regret than OSSB.",
        (Case({}, Less("small-5", OAM, OSSB)),),
        "OSSB with gamma = 0 may play a suboptimal arm for ever: see also the median and the worst "
        "run.",
    ),
    Claim(
        "small-smaller",
        "Appendix D",
        ("small", "large"),
        "The advantage of OAM over OSSB is smaller with five arms than with 100.",
        (Case({}, SmallerGain("small-5", "large-100", OAM, OSSB)),),
    ),
    Claim(
        "random-less",
        "Appendix D",
        ("random-theta",),
        "With a random theta OAM has less regret than OSSB.",
        (Case({}, Less(RANDOM_THETA, OAM, OSSB)),),
    ),
    Claim(
        "random-lints",
        "Appendix D",
        ("random-theta",),
        "With a random theta heuristic LinTS is the best by a modest margin.",
        (Case({}, BestModestly(RANDOM_THETA, LINTS, (OAM, OFUL, FN, LINTS_THEORY, OSSB))),),
        "Modest means that the next best has at most half as much again.",
    ),
    Claim(
        "attained",
        "Section 4.2, upper bound",
        ("long-run",),
        "OAM's regret is C log n to first order: its slope in log n tends to C.",
        _by_instance(LONG, Slope, OAM, "near"),
        "Near means within a quarter of C, and known to a quarter of it. The theorem "
        "assumes that the optimum is unique and that each set spans the space:"
        " not so in scenario one.",
        clause="OAM's regret is C log n to first order",
    ),
    Claim(
        "not-below",
        "Section 3, lower bound",
        ("long-run",),
        "No consistent policy's regret grows more slowly than C log n in the end.",
        tuple(
            Case({"policy": policy, "instance": name}, Slope(name, policy, "not below"))
            for policy in (OAM, OFUL, LINTS)
            for name in LONG
        ),
        "An asymptotic statement: at a finite horizon regret may lie below C log n, or grow more "
        "slowly for some time. Whether heuristic LinTS is consistent is not known.",
    ),
    Claim(
        "optimism-not-optimal",
        "Section 1, after Lattimore and Szepesvari (2017)",
        ("long-run",),
        "Optimism is not asymptotically optimal: LinUCB's slope in log n stays above C.",
        _by_instance((END_OF_OPTIMISM, END_OF_OPTIMISM_5), Slope, OFUL, "above"),
        "Above means by a quarter and two standard errors.",
        clause="optimism is not asymptotically optimal",
    ),
    Claim(
        "matched",
        "Section 4.3",
        ("long-run",),
        "OAM's regret comes from matched exploration; exploiting, forcing and wasting "
        "cost only lower-order terms.",
        _by_instance(LONG, Share, OAM, "matched"),
        "Measured as at least nine tenths of the regret.",
    ),
    Claim(
        "literal",
        "Algorithm 1",
        ("literal",),
        "With eps_t = 1 / log log t as printed, OAM has less regret than LinUCB.",
        (Case({"u": "0.1"}, Less("fixed-u0.1", "oam:epsilon=literal", OFUL)),),
        "The paper's figures must have been made with less forced exploration.",
    ),
)
