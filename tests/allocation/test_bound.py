"""The bound of an instance: its certificate, its JSON, its words."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import thrifty as th
from tests.oracles import certificate, normal_form
from thrifty.allocation import Status
from thrifty.cli.printing import print_bound, print_bounds
from thrifty.problem.catalog import CATALOG


@pytest.mark.parametrize("name", [name for name in CATALOG if not th.instance(name).changes])
def test_bounds_of_the_catalog_are_certified(name):
    problem = th.instance(name)
    found = th.lower_bound(problem)
    lower, upper = certificate(
        problem.sets.rows,
        problem.gaps,
        problem.optimal,
        found.solution.pulls,
        found.solution.prices,
        problem.noise,
    )
    assert found.status == "solved"
    finite = np.isfinite(found.solution.pulls)
    cost = problem.gaps[finite] @ found.solution.pulls[finite]
    assert found.constant == pytest.approx(cost, rel=1e-12)
    assert found.gap <= 1e-9
    assert (lower, upper) == (
        pytest.approx(found.lower, rel=1e-7),
        pytest.approx(found.upper, rel=1e-7),
    )


def test_an_instance_whose_theta_changes_has_no_bound_but_its_pieces_have():
    sets = th.instance("fixed-u0.1").sets
    problem = th.Instance(sets, theta=[1, 0], changes=[(5, [0, 1]), (9, [1, 0])])
    with pytest.raises(th.InvalidInput) as caught:
        th.lower_bound(problem)
    assert "no lower bound, since theta changes" in str(caught.value)
    assert th.lower_bound(problem.pieces[2]).constant == pytest.approx(20)


def test_json_keeps_the_contract():
    answer = th.lower_bound(th.instance("scenario-one")).to_json()
    assert list(answer) == [
        "constant",
        "lower",
        "upper",
        "gap",
        "status",
        "reduced_dimension",
        "optimal",
        "allocation",
    ]
    assert answer["optimal"] == [0, 1]
    assert answer["allocation"][0][0] == "inf"
    assert answer["allocation"][1][1] == "inf"
    assert json.loads(json.dumps(answer)) == answer


def test_carriers_share_the_whole_bound():
    found = th.lower_bound(th.instance("orthogonal"))
    carriers = found.carriers()
    assert [row.arm for row in carriers] == ["0", "1", "2", "3", "4"]
    assert [row.free for row in carriers] == [True, False, False, False, False]
    assert sum(row.share for row in carriers) == pytest.approx(1)


def test_the_bound_does_not_depend_on_how_often_a_context_comes():
    assert (
        th.lower_bound(th.instance("solid-toy:p=0.5")).constant
        == th.lower_bound(th.instance("solid-toy:p=0.99")).constant
    )


@pytest.mark.parametrize(
    ("sets", "theta", "words"),
    [
        (
            [[[1, 0], [0, 1], [0.9, 0.5]]],
            [1, 0],
            "No consistent policy has less regret than 20 log n in the long run: the "
            "optimal arms leave 1 direction to explore.",
        ),
        (
            [[[1, 0], [0, 1]], [[0, 1], [-1, 0]]],
            [1, 0],
            "The optimal arms span the space: exploration is free, and regret grows "
            "slower than log n.",
        ),
        ([np.eye(2)], [0, 0], "Every arm is optimal: there is nothing to explore."),
    ],
)
def test_words(sets, theta, words):
    assert th.lower_bound(th.Instance(th.ActionSets(sets), theta=theta)).in_words() == words


def failed(upper):
    found = th.lower_bound(th.instance("fixed-u0.1"))
    solution = replace(found.solution, lower=3.0, value=upper, upper=upper, status=Status.FAILED)
    return replace(found, solution=solution)


@pytest.mark.parametrize("upper", [np.inf, 1e9])
def test_a_failed_solve_says_so_and_is_valid_json(upper):
    found = failed(upper)
    assert found.in_words().startswith("The solve failed: C is at least 3; do not use the pulls")
    answer = json.loads(json.dumps(found.to_json(), allow_nan=False))
    shown = "inf" if upper == np.inf else upper
    assert (answer["constant"], answer["lower"], answer["upper"]) == (shown, 3.0, shown)
    assert answer["status"] == "failed"


def test_tables_show_no_constant_after_a_failed_solve(capsys):
    print_bound(failed(np.inf))
    assert "C >= 3   (failed, FAILED)" in capsys.readouterr().out
    print_bounds([failed(np.inf), th.lower_bound(th.instance("bounded"))])
    assert "inf" not in capsys.readouterr().out


@pytest.mark.parametrize(("share", "tied"), [(1e-10, True), (1e-9, False), (0.0, False)])
def test_what_a_tolerance_decides_is_remarked(share, tied, capsys):
    """Arms (1, 0) and (1, -1e-10) count as parallel: exploration is free, by a tolerance."""
    arms = [[1, 0], [1, -share]] if share else [[1, 0], [0.5, 0]]
    found = th.lower_bound(th.Instance(th.ActionSets([arms]), theta=[1, 1]))
    assert (found.constant == 0) == (tied or not share)
    assert len(found.remarks) == len(found.to_json().get("remarks", [])) == tied
    print_bound(found)
    assert ("exact up to a tolerance" in capsys.readouterr().out) == tied
    if tied:
        assert (
            "an arm has 1e-10 of its length in a direction that counts as none" in found.remarks[0]
        )


def allocation_is_unique(arms, theta=(1, 0)):
    return th.lower_bound(th.Instance(th.ActionSets([arms]), theta=theta)).unique


def test_whether_the_optimal_allocation_is_unique():
    assert not allocation_is_unique([[1, 0], [0, 1], [0, -1]])  # two arms with the same information
    # the cheaper of the two sources of information changes at u = 0.04
    assert allocation_is_unique([[1, 0], [0, 1], [0.95, 0.25]])
    assert not allocation_is_unique([[1, 0], [0, 1], [0.96, 0.2]])
    assert allocation_is_unique([[1, 0], [0, 1], [0.97, 0.15]])
    names = ("orthogonal", "end-of-optimism", "scenario-one", "bounded")
    assert [th.lower_bound(th.instance(name)).unique for name in names] == [True, True, False, True]


@pytest.mark.parametrize(
    ("name", "unique"),
    [
        ("drawn", False),
        ("drawn:seed=1", False),
        ("drawn:seed=5", False),
        ("orthogonal", True),
        ("large-100", True),
        ("small-5", True),
    ],
)
def test_uniqueness_agrees_with_linear_programs(name, unique):
    """The range of the pulls of each arm over all allocations with the same information and cost.

    Vectors that several contexts share can be pulled in any of them if the gaps agree.
    """
    problem = th.instance(name)
    found = th.lower_bound(problem)
    form = normal_form(problem.sets.rows, problem.gaps, problem.optimal, problem.noise)
    pulls = found.solution.pulls[form.rows]
    information = np.einsum("ji,jk->ikj", form.v, form.v).reshape(-1, len(form.rows))
    outer = np.vstack([information, form.costs])
    active = pulls > 1e-6 * pulls.max()
    outer = outer[:, active] / np.abs(outer[:, active]).max(axis=0)
    ranges = []
    for j in range(active.sum()):
        ends = [
            linprog(sign * np.eye(active.sum())[j], A_eq=outer, b_eq=outer.sum(axis=1)).x[j]
            for sign in (1, -1)
        ]
        ranges.append(ends[1] - ends[0])
    assert found.unique is unique
    assert (max(ranges) < 1e-5) == unique


def test_ties_between_optimal_arms_are_remarked():
    sets = th.ActionSets(
        [[[1, 0], [1, 1], [0, 1]], [[1, 0], [1, 0], [0, 1]]], context_names=["tie", "twice"]
    )
    found = th.lower_bound(th.Instance(sets, theta=[1, 0]))
    assert found.tied_contexts == ("tie",)  # the same vector twice is one arm
    assert "several arms are optimal in context 'tie'" in found.remarks[0]
    assert not th.lower_bound(th.instance("fixed-u0.1")).remarks
