"""The bound of an instance: its certificate, its JSON, its words."""

import json
from dataclasses import replace

import numpy as np
import pytest

import thrifty as th
from tests.oracles import certificate
from thrifty.allocation import Status
from thrifty.cli.tables import print_bound, print_bounds
from thrifty.problem.catalog import CATALOG


@pytest.mark.parametrize("name", CATALOG)
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
