"""Verdicts on artificial results that support a claim, and on others that contradict it."""

import inspect
import math
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pytest

import thrifty as th
from thrifty.lab.pages.paper_page import statement_of
from thrifty.lab.paper import comparisons
from thrifty.lab.paper import panels as paper
from thrifty.lab.paper.claims import Case, Claim, Verdict, judge, summary
from thrifty.lab.paper.comparisons import (
    alike,
    best,
    far_worse,
    label_share,
    less,
    smaller_gain,
    wilder,
)
from thrifty.lab.paper.evidence import (
    Finding,
    ResultTable,
    all_hold,
    exceeds,
    negated,
    within,
)
from thrifty.lab.paper.panels import paper_panels
from thrifty.lab.paper.paper_claims import CASES, paper_claims
from thrifty.simulation.replication import checkpoints
from thrifty.studies.results import Result

HORIZONS = (10**4, 10**5, 10**6)
CONSTANT = 10.0  # of every made-up instance


@dataclass(frozen=True)
class Made:
    """An artificial result: mean regret level + slope log n at horizon n, with 80 replications.

    The share `early` of it comes before round n/10, the share `matched` has the label matched. Arms
    have `pulls` log n pulls, of which the share `early` comes before round n/10.
    """

    level: float = 100.0
    slope: float = 0.0
    spread: float = 5.0
    early: float = 0.9
    matched: float = 0.5
    pulls: tuple[float, ...] = (1.0, 1.0, 1.0)

    def result(self, instance, policy, horizon):
        rng = np.random.default_rng(crc32(f"{instance} {policy}".encode()))
        final = self.level + self.slope * math.log(horizon) + self.spread * rng.standard_normal(80)
        times = checkpoints(horizon)
        shape = np.interp(
            np.log(times), [0, math.log(horizon / 10), math.log(horizon)], [0, self.early, 1]
        )
        curves = np.outer(final, shape)
        parts = [curves * self.matched, curves * (1 - self.matched), 0 * curves]
        regret = np.stack(parts, axis=2)
        rounds = np.stack([0 * times, 0 * times, times], axis=1)
        counts = np.repeat(rounds[np.newaxis].astype(np.int64), 80, axis=0)
        pulled = np.outer(shape, np.array(self.pulls) * 1000 * math.log(horizon))
        nothing = np.zeros(80, dtype=np.int64)
        problem = th.Instance(th.ActionSets([[[1.0]]]), theta=[1.0], name=instance)
        return Result(
            instance=problem,
            policy=policy,
            labels=("matched", "wasted", "exploit"),
            seed=0,
            rewards="gaussian",
            times=times,
            regret=regret,
            rounds=counts,
            solves=nothing,
            unsolved=nothing,
            pulls=np.repeat(pulled[np.newaxis].astype(np.int64), 80, axis=0),
            seconds=1.0,
            constant=CONSTANT,
        )


def parts(comparison):
    """The name of a comparison's function, and its arguments by name."""
    signature = inspect.signature(comparison.func)
    bound = signature.bind_partial(*comparison.args, **comparison.keywords)
    return comparison.func.__name__, SimpleNamespace(**bound.arguments)


def makings(comparison, good):
    """Changes of Made, by (instance, policy), that decide a comparison as wanted."""
    kind, c = parts(comparison)
    mine, other = (c.instance, getattr(c, "policy", "")), (c.instance, getattr(c, "rival", ""))
    if kind == "less":
        return {mine: {"level": 50 if good else 150}}
    if kind == "overtaken":
        return {mine: {"level": 70 if good else 150, "early": 0.9}, other: {"early": 0.1}}
    if kind == "alike":
        return {mine: {"level": 100 if good else 200}}
    if kind == "bounded":
        return {mine: {"early": 1.0 if good else 0.5}}
    if kind == "flattens":
        return {mine: {"slope": 0 if good else 50}}
    if kind == "far_worse":
        return {mine: {"level": 400 if good else 130}}
    if kind == "wilder":
        return {mine: {"spread": 25 if good else 5}}
    if kind == "smaller_gain":
        return {other: {"level": 120 if good else 900}, (c.other, c.rival): {"level": 500}}
    if kind == "best":
        return {mine: {"level": 80 if good else 120}}
    if kind == "stops_playing":
        return {mine: {"early": 1.0 if good else 0.5}}
    if kind == "tracks_allocation":  # 20 per log n of arm 2, as MadeBound has it
        return {mine: {"pulls": (5.0, 0.0, 0.1 if good else 0.2)}}
    if kind == "slope":
        slope = {"near": (1, 3), "above": (3, 1), "not below": (1.2, 0.3)}[c.than][0 if good else 1]
        return {mine: {"level": 0, "slope": slope * CONSTANT, "spread": 1.0}}
    if kind == "label_share":
        most = 0.95 if c.label == "matched" else 0.1  # what is not matched is the other label
        return {mine: {"matched": most if good else 1 - most}}
    assert kind in ("carries", "constant_is")
    return {}


class MadeBound:
    """An artificial lower bound."""

    status, gap = "solved", 0.0

    def __init__(self, constant, arm=None):
        self.constant = self.lower = self.upper = constant
        self.instance = th.instance("fixed-u0.1")
        pulls = np.zeros(3)
        pulls[2 if arm is None else arm] = constant / self.instance.gaps[2 if arm is None else arm]
        self.allocation = (pulls,)


def world(claim, good):
    """Results and bounds that decide the cases of a claim as wanted: all alike, or one by one."""
    wanted = [good] * len(claim.cases) if isinstance(good, bool) else good
    made, bounds = {}, {}
    for case, as_wanted in zip(claim.cases, wanted, strict=True):
        kind, arguments = parts(case.comparison)
        for key, changes in makings(case.comparison, as_wanted).items():
            made[key] = replace(made.get(key, Made()), **changes)
        if kind == "carries":
            bounds[arguments.instance] = MadeBound(20.0, arguments.arm if as_wanted else None)
        elif kind == "constant_is":
            bounds[arguments.instance] = MadeBound(arguments.value + (not as_wanted))
    results = {}
    for panel in paper_panels():
        if panel.name in claim.panels:
            pairs = [(name, policy) for name in panel.instances for policy in panel.policies]
            results[panel.name] = [
                made.get(pair, Made()).result(*pair, n) for pair in pairs for n in HORIZONS
            ]
    return results, lambda name: bounds.get(name, MadeBound(CONSTANT))


def verdict_on(claim, good):
    [verdict] = judge([claim], *world(claim, good))
    return verdict


@pytest.mark.parametrize("claim", paper_claims(), ids=lambda claim: claim.name)
def test_made_up_results_that_reverse_a_claim_reverse_its_verdict(claim):
    assert verdict_on(claim, True).words == "holds"
    assert verdict_on(claim, False).words == "not seen"


@pytest.mark.parametrize("name", ["fixed-why", "attained", "not-below", "matched"])
def test_a_claim_that_holds_in_some_cases_says_in_how_many_and_which(name):
    claim = claim_named(name)
    n = len(claim.cases)
    first = [True] + [False] * (n - 1)
    verdict, turned = verdict_on(claim, first), verdict_on(claim, [not held for held in first])
    expected = ("holds only when", f"holds in 1 of {n} settings")
    assert (verdict.status, verdict.words) == expected
    assert turned.words == f"holds in {n - 1} of {n} settings"
    cases = statement_of(verdict).cases
    column = cases.headers.index("verdict")
    assert [row[column][0] for row in cases.rows] == ["✓"] + ["✗"] * (n - 1)
    assert cases.headers[:column] == tuple(claim.cases[0].when)
    assert [row[:column] for row in cases.rows] == [tuple(c.when.values()) for c in claim.cases]


def claim_named(name):
    [claim] = [claim for claim in paper_claims() if claim.name == name]
    return claim


def test_the_width_decides():
    levels = {
        paper.OAM: 50,
        paper.OAM_C1: 60,
        paper.OFUL: 100,
        paper.FN_C0: 20,
        paper.FN_C1: 20,
    }
    results = [
        Made(level=level).result(name, policy, n)
        for name in ("fixed-u0.1", "fixed-u0.2")
        for policy, level in levels.items()
        for n in HORIZONS
    ]
    [verdict] = judge([claim_named("fixed-less")], {"fixed": results}, MadeBound)
    held = [case.when for case, finding in verdict.pairs() if finding.holds]
    assert held == [case.when for case in verdict.claim.cases if case.when["width"] == "oful"]
    assert verdict.words == f"holds in {len(held)} of {len(verdict.findings)} settings"


def test_the_lead_must_be_modest_to_be_modest():
    [claim] = [claim for claim in paper_claims() if claim.name == "random-modest"]
    results, bound = world(claim, True)
    easy = [
        Made(level=40).result(one.instance.name, one.policy, one.horizon)
        if one.policy == paper.LINTS
        else one
        for one in results["random-theta"]
    ]
    [verdict] = judge([claim], {"random-theta": easy}, bound)
    assert verdict.status == "not seen"


def test_less_is_judged_at_a_horizon_or_at_the_longest():
    levels = {10**4: 150, 10**5: 60, 10**6: 60}
    results = [Made(level=level).result("any", "oam", n) for n, level in levels.items()] + [
        Made().result("any", "linucb", n) for n in levels
    ]
    table = ResultTable(results, MadeBound)
    for n, holds in ((10**4, False), (10**5, True), (None, True)):
        assert less("any", "oam", "linucb", table, horizon=n).holds is holds


@pytest.mark.parametrize(
    ("than", "slope", "spread", "holds"),
    [
        ("near", 1.2, 1, True),
        ("near", 1.3, 1, False),
        ("near", 0.7, 1, False),
        ("near", 1.0, 200, None),
        ("above", 1.3, 1, True),
        ("above", 1.2, 1, False),
        ("above", 1.5, 200, None),
        ("not below", 0.9, 1, False),
        ("not below", 1.0, 1, True),
        ("not below", 0.8, 100, None),  # neither clearly below C nor clearly above 3/4 of it
        ("not below", 0.5, 200, None),
    ],
)
def test_a_slope_is_compared_with_c_as_far_as_it_is_known(than, slope, spread, holds):
    results = [
        Made(level=0, slope=slope * CONSTANT, spread=spread).result("any", "oam", n)
        for n in HORIZONS
    ]
    shuffled = [
        replace(result, regret=result.regret[np.random.default_rng(i).permutation(80)])
        for i, result in enumerate(results)
    ]
    table = ResultTable(shuffled, lambda name: MadeBound(CONSTANT))
    assert comparisons.slope("any", "oam", table, than=than).holds is holds


@pytest.mark.parametrize(
    ("estimate", "answer"),
    [((1.0, 0.4), True), ((1.0, 0.6), None), ((-1.0, 0.6), None), ((-1.0, 0.4), False)],
)
def test_two_standard_errors_decide(estimate, answer):
    assert exceeds(estimate) is answer
    assert exceeds((estimate[0] + 5, estimate[1]), 5.0) is answer
    assert within((estimate[0] + 5, estimate[1]), 5.0, 100.0) is answer
    assert within((-estimate[0] - 5, estimate[1]), -100.0, -5.0) is answer


def test_answers_combine():
    assert all_hold([True, True]) is True
    assert all_hold([True, None]) is None
    assert all_hold([None, False]) is False
    assert [negated(answer) for answer in (True, None, False)] == [False, None, True]


def noisy(**changes):
    """A table whose standard errors leave everything open."""
    wild = {"spread": 60.0} | changes
    return ResultTable(
        [
            Made(**(wild if policy == "oam" else {"spread": 60.0})).result("any", policy, n)
            for policy in ("oam", "rival")
            for n in HORIZONS
        ],
        lambda name: MadeBound(CONSTANT),
    )


@pytest.mark.parametrize(
    ("comparison", "level"),
    [
        (partial(less, "any", "oam", "rival"), 90),
        (partial(alike, "any", "oam", "rival"), 90),
        (partial(far_worse, "any", "oam", "rival"), 200),
        (partial(best, "any", "oam", ("rival",)), 90),
        (partial(best, "any", "oam", ("rival",), modest=True), 80),
    ],
)
def test_noise_leaves_a_comparison_undecided(comparison, level):
    assert comparison(noisy(level=level)).holds is None


def test_a_saving_of_a_trifle_is_none():
    made = {"oam": Made(level=99.5, spread=6), "rival": Made(level=100, spread=6)}
    results = [one.result("any", policy, n) for policy, one in made.items() for n in HORIZONS]
    finding = less("any", "oam", "rival", ResultTable(results, MadeBound))
    assert finding.holds is False


@pytest.mark.parametrize(
    ("answers", "status", "words"),
    [
        ((None, None), "undecided", "undecided"),
        ((True, None), "holds only when", "holds in 1 of 2 settings, 1 undecided"),
        ((False, None), "undecided", "undecided in 1 of 2 settings, not seen in the others"),
        ((True, None, False), "holds only when", "holds in 1 of 3 settings, 1 undecided"),
    ],
)
def test_an_open_case_shows_in_the_verdict(answers, status, words):
    cases = tuple(
        Case({"u": u}, partial(Finding, answer))
        for u, answer in zip(["0.1", "0.2", "0.3"][: len(answers)], answers, strict=True)
    )
    [verdict] = judge([Claim("any", "", (), "Any.", cases)], {}, MadeBound)
    assert (verdict.status, verdict.words) == (status, words)
    assert [case["holds"] for case in verdict.to_json()["cases"]] == list(answers)


@pytest.mark.parametrize(
    ("horizons", "decades"),
    [
        (HORIZONS, "from n = 1e4 to 1e6"),
        ((10**3, *HORIZONS), "from n = 1e4 to 1e6"),
        ((10**3, 2 * 10**4, 10**6), "from n = 20,000 to 1e6"),
    ],
)
def test_the_slope_is_that_of_the_last_two_decades(horizons, decades):
    results = [Made(level=0, slope=CONSTANT).result("any", "oam", n) for n in horizons]
    table = ResultTable(results, lambda name: MadeBound(CONSTANT))
    assert decades in comparisons.slope("any", "oam", table, than="near").measured


def test_zero_regret_and_zero_variance_give_no_nan():
    nothing = [
        Made(level=0, spread=0).result(name, policy, n)
        for name in ("a", "b")
        for policy in ("oam", "ossb")
        for n in HORIZONS
    ]
    table = ResultTable(nothing, MadeBound)
    for finding in (
        less("a", "oam", "ossb", table),
        far_worse("a", "oam", "ossb", table),
        wilder("a", "oam", "ossb", table),
        smaller_gain("a", "b", "oam", "ossb", table),
        best("a", "oam", ("ossb",), table),
        best("a", "oam", ("ossb",), table, modest=True),
        label_share("a", "oam", table, label="matched"),
    ):
        assert not finding.holds
        assert "nan" not in finding.measured


def test_a_single_replication_decides_nothing():
    [claim] = [claim for claim in paper_claims() if claim.name == "large-ossb"]
    results, bound = world(claim, True)
    single = [
        replace(one, regret=one.regret[:1], rounds=one.rounds[:1], pulls=one.pulls[:1])
        for one in results["large"]
    ]
    assert judge([claim], {"large": single}, bound) == []


def test_claims_wait_for_all_their_experiments():
    [claim] = [claim for claim in paper_claims() if claim.name == "small-smaller"]
    results, bound = world(claim, True)
    assert judge([claim], {"small": results["small"]}, bound) == []


def test_claims_name_panels_instances_and_policies_that_are_played():
    played = {panel.name: panel for panel in paper_panels()}
    for claim in paper_claims():
        instances = {name for panel in claim.panels for name in played[panel].instances}
        policies = {name for panel in claim.panels for name in played[panel].policies}
        for case in claim.cases:
            _, arguments = parts(case.comparison)
            assert arguments.instance in instances
            assert getattr(arguments, "policy", paper.OAM) in policies
            assert getattr(arguments, "rival", paper.OAM) in policies


def test_every_claim_has_cases_that_differ_in_their_settings():
    assert [claim.name for claim in paper_claims()] == list(CASES)
    for claim in paper_claims():
        settings = [case.words for case in claim.cases]
        assert len(set(settings)) == len(settings)
        assert all(settings)


def test_an_entry_of_claims_json():
    claim = paper_claims()[0]
    entry = verdict_on(claim, True).to_json()
    assert entry["status"] == entry["verdict"] == "holds"
    assert [case["holds"] for case in entry["cases"]] == [True] * len(claim.cases)
    assert entry["experiments"] == ["fixed"]


def found(name, holds):
    """A verdict on a claim whose cases were decided like this: the first ones, then the others."""
    claim = claim_named(name)
    answers = [holds[min(i, len(holds) - 1)] for i in range(len(claim.cases))]
    return Verdict(claim, tuple(Finding(answer, "") for answer in answers))


def test_the_summary_counts_and_names_what_was_not_decided_or_not_seen():
    verdicts = [
        found("fixed-less", [True, False]),
        found("bounded-oam", [True]),
        found("sublogarithmic", [True]),
        found("small-smaller", [False]),
        found("literal", [True]),  # ours
        found("attained", [None]),
    ]
    assert summary(verdicts) == (
        "Of 5 claims, 2 hold, 1 holds under some settings only, 1 is undecided and 1 was not "
        "seen. Undecided: “OAM's regret is C log n to first order: its slope in log n tends to "
        "C.” Not seen: “The advantage of OAM over OSSB is smaller with five arms than with 100.”"
    )
