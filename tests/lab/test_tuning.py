"""The rivals of thrifty: published values, and tuned ones by the rule."""

import re
from pathlib import Path

import pytest

import thrifty as th
from thrifty.lab.arena import tuning
from thrifty.lab.arena.standings import standings
from thrifty.lab.arena.tuning import entrants, origin, rivals, tune, tuning_page
from thrifty.policies import POLICIES
from thrifty.report.markdown import markdown

PAGE = Path(__file__).parent.parent.parent / "docs" / "tuning.md"


def documented():
    """Policies in the table of docs/tuning.md, their relative regret, and whether chosen."""
    rows = re.findall(
        r"^\| (\S+) \| ([\d.,]+) ± .* \| \d+ \| (chosen)?[ ,a-z]*\|$",
        PAGE.read_text(),
        flags=re.MULTILINE,
    )
    return [(spec.replace("\\", ""), float(ratio), bool(mark)) for spec, ratio, mark in rows]


def test_tuned_values_are_the_winners_of_the_documented_table():
    stale = "python -m benchmarks.tuning, then copy the winners to rivals.toml"
    found = documented()
    grids = {name: rival["grid"] for name, rival in rivals().items() if rival["grid"]}
    assert [spec for spec, _, _ in found] == [spec for grid in grids.values() for spec in grid]
    tuned = {name: rival["tuned"][0] for name, rival in rivals().items() if rival["tuned"]}
    assert {spec.partition(":")[0]: spec for spec, _, chosen in found if chosen} == tuned, stale
    for name, grid in grids.items():
        ratios = {spec: ratio for spec, ratio, _ in found if spec in grid}
        assert ratios[tuned[name]] == min(ratios.values())


def test_every_policy_of_the_library_enters_once():
    found = entrants()
    assert len(set(found)) == len(found)
    # the one on trial enters as thrifty, once it is that
    assert {spec.partition(":")[0] for spec in found} == set(POLICIES) - {"penalty"}
    for spec in found:
        assert th.policy(spec).spec == spec
    assert {"linucb:width=fn", "lints:inflation=theory", "thrifty:noise=known"} < set(found)
    for rival in rivals().values():
        assert {*rival["published"], *rival["tuned"]} < set(found)


def test_where_the_values_of_a_policy_come_from(monkeypatch):
    few = {
        "ids": {"published": ("ids",), "tuned": ("ids",), "grid": ()},
        "solid": {"published": ("solid",), "tuned": ("solid:level=2",), "grid": ()},
    }
    monkeypatch.setattr(tuning, "rivals", lambda: few)
    found = {
        spec: origin(spec) for spec in ("thrifty", "ids", "solid", "solid:level=2", "solid:z=1")
    }
    assert list(found.values()) == ["own", "both", "published", "tuned", ""]
    assert [spec for spec in entrants() if spec.startswith(("ids", "solid"))] == [
        "ids",
        "solid",
        "solid:level=2",
    ]


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        few = {name: rivals()[name] for name in ("lints", "linucb", "endoa", "greedy")}
        patch.setattr(tuning, "rivals", lambda: few)
        yield tune(
            tmp_path_factory.mktemp("tuning"),
            horizon=200,
            replications=5,
            names=["fixed-u0.1", "scenario-one"],
            progress=False,
        )


def test_the_rule_is_the_least_relative_regret(tried):
    study = th.run(
        ["fixed-u0.1", "scenario-one"],
        ["lints", *rivals()["linucb"]["grid"]],
        horizon=200,
        replications=5,
        seed=tuning.SEED,
        progress=False,
    )
    ratios = {one.policy: one.ratio for one in standings(study.results)}
    assert {one.policy: one.ratio for one in tried["linucb"]} == {
        spec: ratio for spec, ratio in ratios.items() if spec != "lints"
    }
    best = tuning.winner(tried["linucb"])
    assert best.ratio == min(one.ratio for one in tried["linucb"])
    assert list(tried) == ["lints", "linucb", "endoa"]
    assert {one.instances for one in tried["endoa"]} == {1}


def test_the_page_marks_one_winner_per_policy(tried):
    text = markdown(tuning_page(tried))
    chosen = re.findall(r"^\| (\S+) \|.*\| chosen \|$", text, flags=re.MULTILINE)
    assert chosen == [tuning.winner(own).policy for own in tried.values()]
    assert "5 replications of 2 instances" in " ".join(text.split())
