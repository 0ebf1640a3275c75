"""`thrifty arena` and its page, on a suite made small."""

import json

import numpy as np
import pytest

import thrifty as th
from tests.command_line import thrifty
from thrifty.experiments import arena
from thrifty.report.html import write_html
from thrifty.report.markdown import write_markdown

SUITE = dict(arena.GROUPS)  # before the fixture below makes it small
GROUPS = {"unseen": ("fixed-u0.1", "scenario-one"), "tuned": ("bounded", "fixed-u0.2")}
SIZES = (arena.ArenaSize(100, 6, 3), arena.ArenaSize(1000, 4, 2))
REST = ("greedy", "endoa")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arena, "GROUPS", GROUPS)
        patch.setattr(arena, "QUICK", SIZES)
        patch.setattr(arena, "REST", REST)
        yield arena.play(tmp_path_factory.mktemp("arena"), progress=False)


def test_every_policy_plays_what_it_can(small):
    played = {
        (group, result.instance.name, result.policy, result.horizon, result.replications)
        for group, own in small.results.items()
        for result in own
    }
    expected = set()
    for group, names in GROUPS.items():
        for n, leaders, rest in ((100, 6, 3), (1000, 4, 2)):
            expected |= {
                (group, name, policy, n, leaders)
                for name in names
                for policy in ("thrifty", "lints")
            }
            expected |= {(group, name, "greedy", n, rest) for name in names}
            expected |= {
                (group, name, "endoa", n, rest) for name in names if name.startswith("fixed")
            }
    assert played == expected


def test_standings_are_kept(small):
    entries = json.loads((small.folder / arena.STANDINGS_FILE).read_text())
    assert entries == small.to_json()
    assert {(entry["group"], entry["policy"]) for entry in entries} == {
        (group, policy) for group in GROUPS for policy in ("thrifty", "lints", *REST)
    }


def test_it_resumes_and_can_be_read_again(small):
    files = {path: path.stat().st_mtime_ns for path in small.folder.rglob("*.parquet")}
    assert arena.play(small.folder, progress=False).to_json() == small.to_json()
    assert {path: path.stat().st_mtime_ns for path in small.folder.rglob("*.parquet")} == files
    assert arena.read_arena(small.folder).to_json() == small.to_json()


def test_computed_results_are_not_read_back(small, tmp_path, monkeypatch):
    monkeypatch.setattr(arena, "read_results", None)
    found = arena.play(tmp_path, policies=["greedy"], only=["tuned"], progress=False)
    assert {result.policy for result in found.results["tuned"]} == {"thrifty", "lints", "greedy"}


def test_a_policy_of_your_choice_against_the_leaders(small, tmp_path):
    found = arena.play(tmp_path, policies=["egreedy:decay=0.3"], progress=False)
    assert {standing.policy for standing in found.standings["unseen"]} == {
        "thrifty",
        "lints",
        "egreedy:decay=0.3",
    }


def test_some_of_the_instances(small, tmp_path):
    found = arena.play(tmp_path, policies=["greedy"], only=["tuned"], progress=False)
    assert list(found.results) == ["tuned"]
    with pytest.raises(
        th.UnknownName, match="unknown group of instances 'unsen'; did you mean 'unseen'"
    ):
        arena.play(tmp_path, only=["unsen"])


def test_unseen_seeds_are_what_they_were():
    """NumPy's generator must go on giving the same numbers."""
    assert arena.UNSEEN_SEEDS[:3] == (540490, 649778, 762522)
    assert arena.TUNED_SEEDS[20:23] == (202636, 768759, 823402)
    assert arena.TUNED_SEEDS[44:47] == (627122, 539017, 838734)
    assert not set(arena.UNSEEN_SEEDS) & set(arena.TUNED_SEEDS)


def test_a_folder_without_an_arena(tmp_path):
    with pytest.raises(th.InvalidInput, match="a folder made by `thrifty arena`"):
        arena.read_arena(tmp_path)


def test_the_page(small, tmp_path):
    text = write_html(small.page, small.folder).read_text()
    for group, names in GROUPS.items():
        assert f'id="{group}-1000-section"' in text
        for name in names:
            assert name in text
    assert text.count("<svg") == 2 + 4  # the ranking of each group, and a figure per instance
    write_markdown(small.page, tmp_path / "arena.md")
    assert "| policy | relative regret |" in (tmp_path / "arena.md").read_text()
    assert (tmp_path / "figures" / "arena-unseen.svg").exists()


def test_the_report_of_a_folder(small):
    done = thrifty("report", small.folder)
    assert done.stdout == f"{small.folder / 'index.html'}\n"
    assert "The arena" in (small.folder / "index.html").read_text()


def test_the_suite_is_what_it_is_said_to_be():
    names = [*SUITE["unseen"], *SUITE["tuned"]]
    assert len(names) == len(set(names)) >= 30
    assert not set(SUITE["unseen"]) & set(SUITE["tuned"])
    instances = [th.instance(name) for name in names]
    sizes = [np.diff(instance.sets.offsets).max() for instance in instances]
    assert (max(sizes), min(instance.sets.dimension for instance in instances)) == (200, 2)
    assert max(instance.sets.dimension for instance in instances) == 20
    assert {
        min(instance.noise for instance in instances),
        max(instance.noise for instance in instances),
    } == {0.1, 2.0}
    assert {1, 10} <= {instance.sets.contexts for instance in instances}
    assert min(instance.probabilities.min() for instance in instances) <= 0.011
    spans = {th.lower_bound(instance).constant == 0 for instance in instances}
    assert spans == {True, False}
