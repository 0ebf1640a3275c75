"""The paper's claims: texts from claims.toml, and here the cases that decide each of them.

The paper does not say which c OAM, which width LinUCB, and which epsilon and gamma OSSB had: a
claim about them is judged for each.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial

from thrifty.files import package_toml
from thrifty.lab.paper import comparisons as check
from thrifty.lab.paper import panels as paper
from thrifty.lab.paper.claims import Case, Claim
from thrifty.lab.paper.evidence import Finding

Cases = tuple[Case, ...]
Compare = Callable[..., Finding]  # a comparison that lacks policies, before its table

OAMS = {"0": paper.OAM, "1": paper.OAM_C1}  # by c
SAME_LEVEL = {"0": paper.FN_C0, "1": paper.FN_C1}  # LinUCB at the level of an OAM, by c
OSSB_VALUES = "OSSB's epsilon = gamma"
OSSBS = {"0": paper.OSSB, "0.001": paper.OSSB_LITTLE, "0.01": paper.OSSB_FORCED}
LINUCBS = {"oful": paper.OFUL, "fn": paper.FN_C1}  # by width
RIVALS_OF_LINTS = (*OAMS.values(), paper.OFUL, *SAME_LEVEL.values(), paper.LINTS_THEORY)
RIVALS_OF_LINTS += tuple(OSSBS.values())
END_OF_OPTIMISM = ("end-of-optimism", "end-of-optimism:eps=0.05,a=2")
LONG = (*END_OF_OPTIMISM, "orthogonal", "scenario-one")
FORCIBLE = ("fixed-u0.1", "scenario-one", "small-5", "large-100")
RANDOM_THETA = "random-theta:seed=each"
IN_A_RUN, BETWEEN_RUNS = "within a run", "from one horizon to the next"
LAI_ROBBINS = sum(2 / (0.2 * i) for i in range(1, 5))  # C of the instance `orthogonal`
U, SMALL_U, LARGE_U = ("0.01", "0.02", "0.1", "0.2"), ("0.01", "0.02"), ("0.1", "0.2")
# horizons at which figures are judged; None: the longest
HORIZONS = {"1e4": 10**4, "1e5": 10**5, "longest": None}


def _oam(compare: Compare, **setting: str) -> Cases:
    """A comparison of OAM for each c."""
    return tuple(Case(setting | {"c": c}, partial(compare, oam)) for c, oam in OAMS.items())


def _oam_and_linucb(compare: Compare, **setting: str) -> Cases:
    """A comparison of OAM with LinUCB for each c, at LinUCB's own level and at OAM's."""
    return tuple(
        Case(setting | {"c": c, "width": width}, partial(compare, oam, linucb))
        for c, oam in OAMS.items()
        for width, linucb in (("oful", paper.OFUL), ("fn", SAME_LEVEL[c]))
    )


def _oam_and_ossb(compare: Compare, *, ossb_first: bool = False, **setting: str) -> Cases:
    """A comparison of OAM with OSSB for each c, and each epsilon = gamma of OSSB."""
    return tuple(
        Case(
            setting | {"c": c, OSSB_VALUES: epsilon},
            partial(compare, ossb, oam) if ossb_first else partial(compare, oam, ossb),
        )
        for c, oam in OAMS.items()
        for epsilon, ossb in OSSBS.items()
    )


def _by_horizon(compare: Compare, instance: str, **setting: str) -> Cases:
    """A comparison of OAM with LinUCB on an instance at each horizon."""
    return tuple(
        case
        for n, horizon in HORIZONS.items()
        for case in _oam_and_linucb(partial(compare, instance, horizon=horizon), **setting, n=n)
    )


def _on_each(names: Sequence[str], compare: Compare) -> Cases:
    """A comparison of OAM on several instances for each c."""
    return tuple(case for name in names for case in _oam(partial(compare, name), instance=name))


def _lints_and_all(*, modest: bool) -> Cases:
    """A comparison of LinTS with all others on the instances of random theta, by horizon."""
    compare = partial(check.best, RANDOM_THETA, paper.LINTS, RIVALS_OF_LINTS, modest=modest)
    return tuple(Case({"n": n}, partial(compare, horizon=most)) for n, most in HORIZONS.items())


def _forced(epsilon: str, c: str, where: str = "") -> str:
    """OAM that is forced on all arms, or on a spanner, with these parameters."""
    return f"oam:epsilon={epsilon}{'' if c == '0' else ',c=1'}{where}"


CASES: dict[str, Cases] = {
    "fixed-less": tuple(
        case for u in LARGE_U for case in _by_horizon(check.less, f"fixed-u{u}", u=u)
    ),
    "fixed-why": tuple(Case({"u": u}, partial(check.carries, f"fixed-u{u}", 1)) for u in U),
    "linucb-stops": tuple(
        Case({"u": u, "width": width}, partial(check.stops_playing, f"fixed-u{u}", linucb, 1))
        for u in U
        for width, linucb in LINUCBS.items()
    ),
    "lints-stops": tuple(
        case
        for u in SMALL_U
        for case in (
            Case(
                {"u": u, "quantity": "pulls"},
                partial(check.stops_playing, f"fixed-u{u}", paper.LINTS, 1),
            ),
            *_oam(partial(check.less, f"fixed-u{u}", paper.LINTS), u=u, quantity="regret"),
        )
    ),
    "small-u-less": tuple(
        case for u in SMALL_U for case in _oam_and_linucb(partial(check.less, f"fixed-u{u}"), u=u)
    ),
    "scenario-one-overtaken": _by_horizon(check.overtaken, "scenario-one"),
    "scenario-two-alike": _by_horizon(check.alike, "scenario-two"),
    "scenario-two-wasted": _oam(
        partial(check.label_share, "scenario-two", label="wasted", share=0.5)
    ),
    "bounded-oam": _oam(partial(check.flattens, "bounded")),
    "bounded-linucb": tuple(
        Case({"width": width, "growth": IN_A_RUN}, partial(check.bounded, "bounded", linucb))
        for width, linucb in (("anytime", paper.ANYTIME), ("oful", paper.OFUL))
    )
    + tuple(
        Case({"width": width, "growth": BETWEEN_RUNS}, partial(check.flattens, "bounded", linucb))
        for width, linucb in (("anytime", paper.ANYTIME), *LINUCBS.items())
    ),
    "almost-greedy": _on_each(("bounded", "scenario-two"), check.flattens),
    "sublogarithmic": tuple(
        Case({"instance": name}, partial(check.constant_is, name, 0.0))
        for name in ("bounded", "scenario-two")
    ),
    "lai-robbins": (
        Case({"gaps": "0.2 to 0.8"}, partial(check.constant_is, "orthogonal", LAI_ROBBINS)),
    ),
    "large-ossb": tuple(
        case
        for quantity, compare in (("regret", check.far_worse), ("spread", check.wilder))
        for case in _oam_and_ossb(partial(compare, "large-100"), ossb_first=True, quantity=quantity)
    ),
    "large-lints": _oam(partial(check.far_worse, "large-100", paper.LINTS_THEORY)),
    "ossb-endoa": tuple(
        Case({"instance": name, OSSB_VALUES: eps}, partial(check.less, name, ossb, paper.ENDOA))
        for name in ("small-5", "large-100")
        for eps, ossb in OSSBS.items()
    ),
    "small-less": _oam_and_ossb(partial(check.less, "small-5")),
    "small-smaller": _oam_and_ossb(partial(check.smaller_gain, "small-5", "large-100")),
    "random-less": _oam_and_ossb(partial(check.less, RANDOM_THETA)),
    "random-best": _lints_and_all(modest=False),
    "random-modest": _lints_and_all(modest=True),
    "attained": _on_each(LONG, partial(check.slope, than="near")),
    "tracks": _on_each(LONG[:3], check.tracks_allocation),
    "not-below": tuple(
        Case(
            {"policy": policy, "instance": name},
            partial(check.slope, name, policy, than="not below"),
        )
        for policy in (*OAMS.values(), *LINUCBS.values(), paper.LINTS)
        for name in LONG
    ),
    "thrifty-not-below": tuple(
        Case({"instance": name}, partial(check.slope, name, paper.THRIFTY, than="not below"))
        for name in LONG
    ),
    "optimism-not-optimal": tuple(
        Case({"width": width, "instance": name}, partial(check.slope, name, linucb, than="above"))
        for width, linucb in LINUCBS.items()
        for name in END_OF_OPTIMISM
    ),
    "matched": _on_each(LONG, partial(check.label_share, label="matched")),
    "spanner": tuple(
        Case(
            {"instance": name, "epsilon": epsilon, "c": c},
            partial(check.alike, name, _forced(epsilon, c, ",forced=spanner"), _forced(epsilon, c)),
        )
        for name in FORCIBLE
        for epsilon in ("0.001", "0.01")
        for c in OAMS
    ),
    "literal": tuple(
        Case({"c": c, "width": width}, partial(check.less, "fixed-u0.1", linucb, literal))
        for c, literal in (("0", paper.LITERAL), ("1", paper.LITERAL_C1))
        for width, linucb in (("oful", paper.OFUL), ("fn", SAME_LEVEL[c]))
    ),
}


@cache
def paper_claims() -> tuple[Claim, ...]:
    """All claims, in the order of the page."""
    return tuple(
        Claim(cases=CASES[entry["name"]], **entry | {"panels": tuple(entry["panels"])})
        for entry in package_toml("thrifty.lab.paper", "claims.toml")["claims"]
    )
