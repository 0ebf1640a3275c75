"""Claims of the paper, as data: each with one case per reasonable reading.

The paper does not say which c OAM, which width LinUCB, and which epsilon and gamma OSSB had: a
claim about them is judged for each. Findings that the paper does not state are marked as ours.
"""

from collections.abc import Callable
from functools import partial

from thrifty.lab.paper.claims import Case, Claim
from thrifty.lab.paper.conditions import LONGEST
from thrifty.lab.paper.evidence import Comparison
from thrifty.lab.paper.growth_comparisons import Bounded, Flattens, Slope
from thrifty.lab.paper.panels import (
    ANYTIME,
    END_OF_OPTIMISM,
    END_OF_OPTIMISM_5,
    ENDOA,
    FN_C0,
    FN_C1,
    FORCED,
    FORCIBLE,
    LINTS,
    LINTS_THEORY,
    LITERAL,
    LITERAL_C1,
    LONG,
    OAM,
    OAM_C1,
    OFUL,
    OSSB,
    OSSB_FORCED,
    OSSB_LITTLE,
    RANDOM_THETA,
    SPANNER,
    THRIFTY,
)
from thrifty.lab.paper.play_comparisons import (
    Carries,
    ConstantIs,
    Share,
    StopsPlaying,
    TracksAllocation,
)
from thrifty.lab.paper.regret_comparisons import (
    Alike,
    Best,
    FarWorse,
    Less,
    ModestLead,
    Overtaken,
    SmallerGain,
    Wilder,
)

OAMS = {"0": OAM, "1": OAM_C1}  # by c
SAME_LEVEL = {"0": FN_C0, "1": FN_C1}  # LinUCB at the level of an OAM, by c
OSSBS = {"0": OSSB, "0.001": OSSB_LITTLE, "0.01": OSSB_FORCED}  # by epsilon = gamma
LINUCBS = {"oful": OFUL, "fn": FN_C1}  # by width
IN_A_RUN, BETWEEN_RUNS = "within a run", "from one horizon to the next"

# horizons at which figures are judged; None: the longest
HORIZONS: dict[str | int, int | None] = {10**4: 10**4, 10**5: 10**5, LONGEST: None}
U = ("0.01", "0.02", "0.1", "0.2")
RIVALS_OF_LINTS = (OAM, OAM_C1, OFUL, FN_C0, FN_C1, LINTS_THEORY, OSSB, OSSB_LITTLE, OSSB_FORCED)


def _oam(comparison: Callable[[str], Comparison], **condition: str | int) -> tuple[Case, ...]:
    """A comparison, made from OAM's spec, for each c."""
    return tuple(Case(condition | {"c": c}, comparison(oam)) for c, oam in OAMS.items())


def _oam_and_linucb(
    comparison: Callable[[str, str], Comparison], **condition: str | int
) -> tuple[Case, ...]:
    """A comparison of OAM with LinUCB for each c, at LinUCB's own level and at OAM's."""
    return tuple(
        Case(condition | {"c": c, "width": width}, comparison(oam, linucb))
        for c, oam in OAMS.items()
        for width, linucb in (("oful", OFUL), ("fn", SAME_LEVEL[c]))
    )


def _oam_and_ossb(
    comparison: Callable[[str, str], Comparison], **condition: str | int
) -> tuple[Case, ...]:
    """A comparison of OAM with OSSB for each c, and each epsilon = gamma of OSSB."""
    return tuple(
        Case(condition | {"c": c, "ossb": given}, comparison(oam, ossb))
        for c, oam in OAMS.items()
        for given, ossb in OSSBS.items()
    )


CLAIMS = (
    Claim(
        "fixed-less",
        "Section 5.1",
        ("fixed",),
        "On the fixed set OAM has less regret than LinUCB.",
        tuple(
            case
            for u in ("0.1", "0.2")
            for n, horizon in HORIZONS.items()
            for case in _oam_and_linucb(partial(Less, f"fixed-u{u}", horizon=horizon), u=u, n=n)
        ),
        "The width decides: at d = 2 and n = 1e4 the square of oful is about 50, that of fn is 26 "
        "at c = 1 and 18 at c = 0.",
        clause="OAM has less regret than LinUCB on the fixed action set",
    ),
    Claim(
        "fixed-why",
        "Section 5.1",
        ("fixed", "small-u"),
        "The reason is that x1 and x3 are so alike that only x2 tells them apart cheaply.",
        tuple(Case({"u": u}, Carries(f"fixed-u{u}", 1)) for u in U),
        "For u > 0.04 an optimal policy does not play x2 either: pulling x3, at gap u, "
        "gives the same information at a cost of 2/u, which is less than the 50 of x2.",
    ),
    Claim(
        "linucb-stops",
        "Section 5.1",
        ("fixed", "small-u"),
        "LinUCB stops playing x2.",
        tuple(
            Case({"u": u, "width": width}, StopsPlaying(f"fixed-u{u}", linucb, 1))
            for u in U
            for width, linucb in LINUCBS.items()
        ),
        "The criterion: the last nine tenths of a run add at most a twentieth of its pulls of x2.",
    ),
    Claim(
        "lints-stops",
        "supplements Section 5.1",
        ("small-u",),
        "LinTS stops playing x2, too, and has less regret than OAM.",
        tuple(
            case
            for u in ("0.01", "0.02")
            for case in (
                Case({"u": u, "quantity": "pulls"}, StopsPlaying(f"fixed-u{u}", LINTS, 1)),
                *(
                    Case({"u": u, "quantity": "regret", "c": c}, Less(f"fixed-u{u}", LINTS, oam))
                    for c, oam in OAMS.items()
                ),
            )
        ),
        "So the paper's reason, even where it applies, does not decide who has less regret.",
        ours=True,
    ),
    Claim(
        "small-u-less",
        "supplements Section 5.1",
        ("small-u",),
        "Where that reason applies, OAM has less regret than LinUCB.",
        tuple(
            case
            for u in ("0.01", "0.02")
            for case in _oam_and_linucb(partial(Less, f"fixed-u{u}"), u=u)
        ),
        "With gaps of 0.01 and 0.02 nothing is decided before some 2/u^2 rounds of "
        "x3's kind: the advantage needs a long horizon.",
        ours=True,
    ),
    Claim(
        "scenario-one-overtaken",
        "Section 5.2",
        ("scenario-one",),
        "In scenario one LinUCB starts better and ends with more regret than OAM.",
        tuple(
            case
            for n, horizon in HORIZONS.items()
            for case in _oam_and_linucb(partial(Overtaken, "scenario-one", horizon=horizon), n=n)
        ),
        "Starts better means after a hundredth of the rounds.",
        clause="LinUCB starts better than OAM in scenario one and ends with more regret",
    ),
    Claim(
        "scenario-two-alike",
        "Section 5.2",
        ("scenario-two",),
        "In scenario two OAM and LinUCB can hardly be told apart.",
        tuple(
            case
            for n, horizon in HORIZONS.items()
            for case in _oam_and_linucb(partial(Alike, "scenario-two", horizon=horizon), n=n)
        ),
        "The criterion: regrets differ by no more than a fifth of LinUCB's.",
    ),
    Claim(
        "scenario-two-wasted",
        "Section 5.2",
        ("scenario-two",),
        "There OAM falls back on LinUCB: most of its regret comes from wasted exploration.",
        _oam(partial(Share, "scenario-two", label="wasted", share=0.5)),
        "The allocation needs pulls of an optimal arm whose set rarely occurs; until they are "
        "made, rounds of the other set are wasted.",
    ),
    Claim(
        "bounded-oam",
        "Section 5.3",
        ("bounded",),
        "Where the optimal arms span the space, OAM's regret stops growing after a short while.",
        _oam(partial(Flattens, "bounded")),
        "Judged from one horizon to the next, by a quarter of R(n)/log n: within a run OAM stops "
        "exploring on any instance, since its f_n is that of the horizon.",
    ),
    Claim(
        "bounded-linucb",
        "Theorem 3 and Section 5.3",
        ("bounded",),
        "There LinUCB's regret is bounded, too.",
        tuple(
            Case({"width": width, "growth": IN_A_RUN}, Bounded("bounded", linucb))
            for width, linucb in (("anytime", ANYTIME), ("oful", OFUL))
        )
        + tuple(
            Case({"width": width, "growth": BETWEEN_RUNS}, Flattens("bounded", linucb))
            for width, linucb in (("anytime", ANYTIME), *LINUCBS.items())
        ),
        "The theorem is about a width that grows with t and fails with probability 1/t^3: anytime. "
        "The widths oful and fn depend on n, so that a longer run begins with a larger one; within "
        "a run fn is constant, so that exploration ends on any instance.",
    ),
    Claim(
        "almost-greedy",
        "Section 3.1, remark",
        ("bounded", "scenario-two"),
        "Where the optimal arms span the space, OAM eventually plays almost greedily.",
        _oam(partial(Flattens, "bounded"), law="bounded")
        + _oam(partial(Flattens, "scenario-two"), law="scenario-two"),
        "The remark is about the number of suboptimal pulls; here it is about their cost, the "
        "regret. OAM does go on exploring in rounds in proportion to log n, but with optimal arms.",
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
        _oam_and_ossb(lambda oam, ossb: FarWorse("large-100", ossb, oam), quantity="regret")
        + _oam_and_ossb(lambda oam, ossb: Wilder("large-100", ossb, oam), quantity="spread"),
        "Far more means twice as much. OSSB estimates each arm by itself, not by least squares. "
        "With epsilon = 0.01, one in 100, it plays all 100 arms in turn.",
    ),
    Claim(
        "large-lints",
        "Section 5.4",
        ("large",),
        "With 100 arms the LinTS of the theory has far more regret than OAM.",
        _oam(lambda oam: FarWorse("large-100", LINTS_THEORY, oam)),
    ),
    Claim(
        "ossb-endoa",
        "Section 5, after Combes, Magureanu and Proutiere (2017)",
        ("small", "large"),
        "OSSB has less regret than the algorithm of Lattimore and Szepesvari (2017), EndOA.",
        tuple(
            Case({"instance": name, "ossb": given}, Less(name, ossb, ENDOA))
            for name in ("small-5", "large-100")
            for given, ossb in OSSBS.items()
        ),
        "The reason that the paper gives for leaving EndOA out.",
    ),
    Claim(
        "small-less",
        "Appendix D",
        ("small",),
        "With five arms OAM has less regret than OSSB.",
        _oam_and_ossb(partial(Less, "small-5")),
        "OSSB with gamma = 0 may play a suboptimal arm for ever: see also the median and the worst "
        "run.",
    ),
    Claim(
        "small-smaller",
        "Appendix D",
        ("small", "large"),
        "The advantage of OAM over OSSB is smaller with five arms than with 100.",
        _oam_and_ossb(partial(SmallerGain, "small-5", "large-100")),
    ),
    Claim(
        "random-less",
        "Appendix D",
        ("random-theta",),
        "With a random theta OAM has less regret than OSSB.",
        _oam_and_ossb(partial(Less, RANDOM_THETA)),
    ),
    Claim(
        "random-best",
        "Appendix D",
        ("random-theta",),
        "With a random theta heuristic LinTS is the best.",
        tuple(
            Case({"n": n}, Best(RANDOM_THETA, LINTS, RIVALS_OF_LINTS, horizon))
            for n, horizon in HORIZONS.items()
        ),
    ),
    Claim(
        "random-modest",
        "Appendix D",
        ("random-theta",),
        "The lead of heuristic LinTS is modest there.",
        tuple(
            Case({"n": n}, ModestLead(RANDOM_THETA, LINTS, RIVALS_OF_LINTS, horizon))
            for n, horizon in HORIZONS.items()
        ),
        "Modest means that the next best has at most half as much again.",
    ),
    Claim(
        "attained",
        "Section 4.2, upper bound",
        ("long-run",),
        "OAM's regret is C log n to first order: its slope in log n tends to C.",
        tuple(
            case for name in LONG for case in _oam(partial(Slope, name, than="near"), instance=name)
        ),
        "Near means within a quarter of C. The theorem assumes epsilon_t = 1 / log log t, a "
        "positive c, that the optimum is unique, and that each set spans the space (not so in "
        "scenario one). With epsilon = 0 it covers none of these runs; as printed, epsilon_t is "
        "far too large at any horizon that can be simulated (see the algorithm box below).",
        clause="OAM's regret is C log n to first order",
    ),
    Claim(
        "tracks",
        "Section 4.3, part 2 of the proof sketch",
        ("long-run",),
        "OAM's pulls of suboptimal arms, N_x(n) / log n, tend to the optimal allocation.",
        tuple(
            case
            for name in LONG[:3]
            for case in _oam(partial(TracksAllocation, name), instance=name)
        ),
        "The criterion: the slopes of the pulls in log n differ from the allocation by at most a "
        "quarter of C in cost. Deviations of all arms add up, those by chance, too.",
    ),
    Claim(
        "not-below",
        "Section 3, lower bound",
        ("long-run",),
        "No consistent policy's regret grows more slowly than C log n in the end.",
        tuple(
            Case({"policy": policy, "instance": name}, Slope(name, policy, "not below"))
            for policy in (OAM, OAM_C1, OFUL, FN_C1, LINTS)
            for name in LONG
        ),
        "Contradicted by a slope clearly below C, and supported by one that is clearly above three "
        "quarters of C. An asymptotic statement: at a finite horizon regret may lie below C log n, "
        "or grow more slowly for some time. Whether heuristic LinTS is consistent is not known.",
    ),
    Claim(
        "thrifty-not-below",
        "supplements Section 3",
        ("long-run",),
        "The regret of thrifty does not grow more slowly than C log n either.",
        tuple(Case({"instance": name}, Slope(name, THRIFTY, "not below")) for name in LONG),
        "A slope clearly below C at these horizons is either not yet asymptotic, or a sign that "
        "the policy is not consistent, that is, misses the best arm for ever in rare runs.",
        ours=True,
    ),
    Claim(
        "optimism-not-optimal",
        "Section 1, after Lattimore and Szepesvari (2017)",
        ("long-run",),
        "Optimism is not asymptotically optimal: LinUCB's slope in log n stays above C.",
        tuple(
            Case({"width": width, "instance": name}, Slope(name, linucb, "above"))
            for width, linucb in LINUCBS.items()
            for name in (END_OF_OPTIMISM, END_OF_OPTIMISM_5)
        ),
        "Above means by a quarter.",
        clause="optimism is not asymptotically optimal",
    ),
    Claim(
        "matched",
        "Section 4.3",
        ("long-run",),
        "OAM's regret comes from matched exploration; exploiting, forcing and wasting "
        "cost only lower-order terms.",
        tuple(
            case
            for name in LONG
            for case in _oam(partial(Share, name, label="matched"), instance=name)
        ),
        "Measured as at least nine tenths of the regret.",
    ),
    Claim(
        "spanner",
        "Section 4.1, remark",
        ("spanner",),
        "Forced exploration on a barycentric spanner makes very little difference.",
        tuple(
            Case(
                {"instance": name, "epsilon": epsilon, "c": c},
                Alike(name, SPANNER[epsilon, c], forced),
            )
            for name in FORCIBLE
            for (epsilon, c), forced in FORCED.items()
        ),
        "The criterion: regrets differ by no more than a fifth. A spanner has d arms, so that the "
        "difference is that of d to the number of arms.",
    ),
    Claim(
        "literal",
        "supplements Algorithm 1",
        ("literal",),
        "With eps_t = 1 / log log t as printed, OAM has more regret than LinUCB.",
        tuple(
            Case({"c": c, "width": width}, Less("fixed-u0.1", linucb, literal))
            for c, literal in (("0", LITERAL), ("1", LITERAL_C1))
            for width, linucb in (("oful", OFUL), ("fn", SAME_LEVEL[c]))
        ),
        "The paper's figures must have been made with less forced exploration.",
        ours=True,
    ),
)
