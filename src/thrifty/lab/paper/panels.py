"""Experiments of the paper, as data.

Hao, Lattimore and Szepesvari, Adaptive Exploration in Linear Contextual Bandit (AISTATS 2020):
section 5, appendix D ("Additional Experiments"), and theoretical results that a simulation can
show. The paper does not give its horizons, LinUCB's width, or the constants of OAM and OSSB. OAM
runs with c = 0, the library's default, and with c = 1; LinUCB with its own width, oful, and with
fn at the level of the OAM that it is compared with; OSSB with epsilon = gamma = 0 and 0.01.
"""

from dataclasses import dataclass


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
    pulls : whether results keep the pulls by arm
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
    pulls: bool = False


OAM, OAM_C1, LINTS, LINTS_THEORY, ENDOA, THRIFTY = (
    "oam",
    "oam:c=1",
    "lints",
    "lints:inflation=theory",
    "endoa",
    "thrifty",
)
OFUL, FN_C0, FN_C1, ANYTIME = (
    "linucb",
    "linucb:width=fn,c=0",
    "linucb:width=fn",
    "linucb:width=anytime",
)
OSSB, OSSB_LITTLE, OSSB_FORCED = (
    "ossb",
    "ossb:epsilon=0.001,gamma=0.001",
    "ossb:epsilon=0.01,gamma=0.01",
)
LITERAL, LITERAL_C1 = "oam:epsilon=literal", "oam:epsilon=literal,c=1"
# OAM that is forced on all arms, and on a spanner, by epsilon and c
FORCED, SPANNER = (
    {
        (epsilon, c): f"oam:epsilon={epsilon}{'' if c == '0' else ',c=1'}{forced}"
        for epsilon in ("0.001", "0.01")
        for c in ("0", "1")
    }
    for forced in ("", ",forced=spanner")
)
FEW = (OAM, OAM_C1, OFUL, FN_C0, FN_C1, LINTS)
ALL = (*FEW, LINTS_THEORY, OSSB, OSSB_LITTLE, OSSB_FORCED)
RANDOM_THETA = "random-theta:seed=each"
END_OF_OPTIMISM, END_OF_OPTIMISM_5 = "end-of-optimism", "end-of-optimism:eps=0.05,a=2"
LONG = (END_OF_OPTIMISM, END_OF_OPTIMISM_5, "orthogonal", "scenario-one")
FORCIBLE = ("fixed-u0.1", "scenario-one", "small-5", "large-100")

QUICK, FULL = Scale((10**3, 10**4, 10**5), 100), Scale((10**3, 10**4, 10**5, 10**6), 200)
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
        pulls=True,
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
        pulls=True,
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
        Scale(FULL.horizons, 800),
    ),
    Experiment(
        "bounded",
        "Bounded regret",
        "Section 5.3, Figure 3, left",
        "The sets of scenario two with probabilities 0.8 and 0.2: greedy play explores by itself.",
        ("bounded",),
        (*FEW, ANYTIME),
        Scale(QUICK.horizons, 400),
        Scale(FULL.horizons, 2400),
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
        (*ALL, ENDOA),
        QUICK_MANY,
        FULL_MANY,
    ),
    Experiment(
        "small",
        "Small action set",
        "Appendix D, Figure 4, left",
        "Five arms on the unit circle; again the draw of median C.",
        ("small-5",),
        (*ALL, ENDOA),
        QUICK_MANY,
        Scale(FULL_MANY.horizons, 200),
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
        "Each dot is a separate run, since OAM and LinUCB plan for n. In the limit the ratio of a "
        "consistent policy is not below C; at a finite n it may lie on either side.",
        LONG,
        (OAM, OAM_C1, OFUL, FN_C1, LINTS, THRIFTY),
        Scale((10**3, 10**4, 10**5, 10**6), 40),
        Scale((10**3, 10**4, 10**5, 10**6, 10**7), 400),
        ("ratio",),
        pulls=True,
    ),
    Experiment(
        "literal",
        "The forced exploration of the algorithm box",
        "Algorithm 1",
        "As printed, eps_t = 1 / log log t is 0.45 at t = 1e4, and the proof needs "
        "eps_t <= 1/|A|: here t >= 5e8. Until then OAM plays all arms in turn.",
        ("fixed-u0.1",),
        (OAM, OAM_C1, LITERAL, LITERAL_C1, OFUL, FN_C0, FN_C1),
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
            FORCED["0.001", "0"],
            FORCED["0.01", "0"],
            "oam:epsilon=0.05",
            "oam:c=0.3",
            OAM_C1,
            FORCED["0.01", "1"],
        ),
        Scale((10**5,), 50),
        Scale((10**6,), 100),
        ("sensitivity",),
    ),
    Experiment(
        "spanner",
        "Forced exploration on a spanner",
        "Section 4.1, remark",
        "OAM that is forced on the least played of all arms, or of a barycentric spanner of the "
        "set. With epsilon = 0.01 and 100 arms the former plays all arms in turn.",
        FORCIBLE,
        (*FORCED.values(), *SPANNER.values()),
        Scale((10**4,), 100),
        Scale((10**5,), 200),
        ("sensitivity",),
    ),
)
