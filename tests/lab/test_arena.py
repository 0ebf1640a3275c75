"""`thrifty arena` and its page, on a suite made small."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import thrifty as th
from tests.command_line import thrifty
from thrifty.lab.arena import arena, suite
from thrifty.lab.arena.arena import Step
from thrifty.lab.arena.relative import least_regret
from thrifty.lab.arena.suite import ArenaEntry
from thrifty.lab.arena.tuning import OWN, entrants, playable
from thrifty.report.html import write_html
from thrifty.report.markdown import write_markdown
from thrifty.report.wording import plain
from thrifty.studies.tasks import Task, compute

DOCS = Path(__file__).parents[2] / "docs"
GROUPS = {
    "unseen": (ArenaEntry("fixed-u0.1"), ArenaEntry("scenario-one")),
    "kinds": (
        ArenaEntry("k-armed:arms=3"),
        ArenaEntry("k-armed:arms=3", "bernoulli"),
        ArenaEntry("fixed-u0.2", "student"),
        ArenaEntry("fixed-u0.1", "student"),
    ),
    "tuned": (ArenaEntry("bounded"), ArenaEntry("fixed-u0.2")),
}
STEPS = (Step(100, 3), Step(100, 6, True), Step(1000, 2))
ENTRANTS = ("thrifty", "lints", "greedy", "endoa", "linucb", "lints:inflation=theory")


@pytest.fixture(scope="module")
def patched():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arena, "entries", GROUPS.__getitem__)
        patch.setattr(arena, "QUICK", STEPS)
        patch.setattr(arena, "entrants", lambda: ENTRANTS)
        patch.setattr(arena, "BEST", 2)
        yield


@pytest.fixture(scope="module")
def small(patched, tmp_path_factory):
    return arena.play(tmp_path_factory.mktemp("arena"), progress=False)


def expected_of(group, policy, n, replications):
    """What a policy has played: one of several contexts is too many for endoa."""
    return {
        (group, entry, policy, n, replications)
        for entry in GROUPS[group]
        if policy != "endoa" or entry.instance != "scenario-one"
    }


def test_every_policy_plays_what_it_can_and_the_best_play_more(small):
    played = {
        (
            group,
            ArenaEntry(result.instance.name, result.rewards),
            result.policy,
            result.horizon,
            result.replications,
        )
        for group, own in small.results.items()
        for result in own
    }
    expected = set()
    for group in ("unseen", "kinds"):
        best = best_after_first_step(small, group)
        for policy in ENTRANTS:
            expected |= expected_of(group, policy, 100, 6 if policy in best else 3)
            expected |= expected_of(group, policy, 1000, 2)
    assert played == expected


def best_after_first_step(small, group):
    """The leaders, and the two rivals of least relative regret on the first three replications."""
    found = {}
    for policy in ENTRANTS:
        own, base = (
            [
                result
                for result in small.results[group]
                if (result.policy, result.horizon) == (name, 100)
            ]
            for name in (policy, "lints")
        )
        if len(own) == len(base):
            means = {(one.instance.name, one.rewards): early_mean(one) for one in base}
            found[policy] = np.mean(
                [math.log(early_mean(one) / means[one.instance.name, one.rewards]) for one in own]
            )
    rivals = [policy for policy in sorted(found, key=found.get) if policy not in OWN]
    return {"thrifty", "lints", *rivals[:2]}


def early_mean(result):
    return max(result.final[:3].mean(), least_regret(result, 3))


def test_standings_are_kept(small):
    entries = json.loads((small.folder / arena.STANDINGS_FILE).read_text())
    assert entries == small.to_json()
    assert {(entry["group"], entry["policy"]) for entry in entries} == {
        (group, policy) for group in ("unseen", "kinds") for policy in ENTRANTS
    }
    values = {entry["policy"]: entry["values"] for entry in entries}
    assert (values["thrifty"], values["greedy"]) == ("own", "published")


def files_of(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}


@pytest.mark.slow
def test_it_resumes_and_can_be_read_again(small):
    files = files_of(small.folder)
    assert arena.play(small.folder, progress=False).to_json() == small.to_json()
    assert files_of(small.folder) == files
    assert arena.read_arena(small.folder).to_json() == small.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 2])
def test_it_resumes_between_steps(small, tmp_path, monkeypatch, steps):
    """The same results as without an interruption; nothing is computed twice."""
    monkeypatch.setattr(arena, "QUICK", STEPS[:steps])
    first = arena.play(tmp_path, progress=False)
    assert {one.horizon for one in first.standings["unseen"]} == {100}
    files = files_of(tmp_path)
    monkeypatch.setattr(arena, "QUICK", STEPS)
    whole = arena.play(tmp_path, progress=False)
    assert files.items() <= files_of(tmp_path).items()
    without_times = [
        [{key: value for key, value in entry.items() if key != "nanoseconds"} for entry in entries]
        for entries in (whole.to_json(), small.to_json())
    ]
    assert without_times[0] == without_times[1]


def test_the_progress_bar_says_which_step_is_played(small, monkeypatch):
    texts, run = [], arena.run_studies

    def watched(studies, *, playing, **options):
        texts.append(playing)
        return run(studies, playing=playing, **options)

    monkeypatch.setattr(arena, "run_studies", watched)
    arena.play(small.folder, progress=False)
    assert texts == [
        "step 1 of 3, n = 100, all policies",
        "step 2 of 3, n = 100, the best",
        "step 3 of 3, n = 1e3, all policies",
    ]


def test_computed_results_are_not_read_back(patched, tmp_path, monkeypatch):
    monkeypatch.setattr(arena, "read_results", None)
    found = arena.play(tmp_path, policies=["greedy"], only=["tuned"], progress=False)
    assert {result.policy for result in found.results["tuned"]} == {"thrifty", "lints", "greedy"}


def test_a_group_is_not_played_beyond_its_longest_horizon(patched, tmp_path, monkeypatch):
    monkeypatch.setattr(arena, "LONGEST", {"kinds": 100})
    found = arena.play(tmp_path, policies=["greedy"], progress=False)
    horizons = {group: {result.horizon for result in own} for group, own in found.results.items()}
    assert horizons == {"unseen": {100, 1000}, "kinds": {100}}
    alone = arena.play(tmp_path / "alone", policies=["greedy"], only=["kinds"], progress=False)
    assert {result.horizon for result in alone.results["kinds"]} == {100}


def test_a_policy_of_your_choice_against_the_leaders(patched, tmp_path):
    found = arena.play(tmp_path, policies=["egreedy:decay=0.3"], progress=False)
    assert {standing.policy for standing in found.standings["unseen"]} == {
        "thrifty",
        "lints",
        "egreedy:decay=0.3",
    }


def test_some_of_the_instances(patched, tmp_path):
    found = arena.play(tmp_path, policies=["greedy"], only=["tuned"], progress=False)
    assert list(found.results) == ["tuned"]
    with pytest.raises(
        th.UnknownName, match="unknown group of instances 'unsen'; did you mean 'unseen'"
    ):
        arena.play(tmp_path, only=["unsen"])


def test_seeds_are_what_they_were():
    """NumPy's generator must go on giving the same numbers."""
    assert suite.commit_seeds(suite.FINISHED)[:3] == (650004, 900031, 435431)
    assert suite.commit_seeds(suite.BEFORE_KINDS)[:3] == (232611, 867141, 285283)
    earlier = [suite.commit_seeds(commit) for commit in suite.EARLIER]
    assert [seeds[:3] for seeds in earlier[:4]] == [
        (202636, 768759, 823402),
        (627122, 539017, 838734),
        (540490, 649778, 762522),
        (537250, 526739, 821875),
    ]
    fresh = {*suite.commit_seeds(suite.FINISHED), *suite.commit_seeds(suite.BEFORE_KINDS)}
    assert len(fresh) == 48
    assert not fresh & {*range(20), *(seed for seeds in earlier for seed in seeds)}


def test_a_folder_without_an_arena(tmp_path):
    with pytest.raises(th.InvalidInput, match="a folder made by `thrifty arena`"):
        arena.read_arena(tmp_path)


@pytest.mark.slow
def test_the_page(small, tmp_path):
    text = write_html(small.page, small.folder).read_text()
    for group in ("unseen", "kinds"):
        assert f'id="{group}-1000-section"' in text
        for entry in GROUPS[group]:
            assert entry.instance in text
    # the ranking of each group, and a figure per instance
    assert text.count("<svg") == 2 + 2 + 4
    write_markdown(small.page, tmp_path / "arena.md")
    page = (tmp_path / "arena.md").read_text()
    assert "| rank | policy | values | relative regret |" in page
    assert (tmp_path / "figures" / "arena-unseen.svg").exists()
    numbers = json.loads((tmp_path / "arena.numbers.json").read_text())
    assert {(one["section"], one["horizon"]) for one in numbers} == {
        ("unseen", 100),
        ("kinds", 100),
    }
    assert {(one["instance"], one["rewards"]) for one in numbers} == {
        tuple(entry) for group in ("unseen", "kinds") for entry in GROUPS[group]
    }
    assert (tmp_path / "figures" / "arena-kinds-student.svg").exists()


def test_the_page_has_a_table_per_kind(small):
    sections = {section.name: section for section in small.page.sections}
    [table] = sections["kinds-student"].tables
    assert table.headers == ("policy", "values", "n = 100", "n = 1e3", "replications")
    rows = {row[0]: row[1:] for row in table.rows}
    assert set(rows) == set(ENTRANTS)
    assert rows["lints"] == ("published", "1 ± 0", "1 ± 0", "6, 2")
    own, base = (
        [
            result.mean
            for result in small.results["kinds"]
            if (result.policy, result.horizon, result.rewards) == (policy, 1000, "student")
        ]
        for policy in ("linucb", "lints")
    )
    ratio = math.sqrt(math.prod(own) / math.prod(base))
    assert float(rows["linucb"][2].split(" ±")[0]) == pytest.approx(ratio, rel=0.01)


def test_the_page_begins_with_our_policy_and_the_best_rivals(small):
    found = {(one.policy, one.horizon): one for one in small.standings["unseen"]}
    [table] = small.page.sections[0].tables
    assert [row[0] for row in table.rows] == ["100", "1e3"]
    for n, row in zip((100, 1000), table.rows, strict=True):
        ours = found["thrifty", n]
        assert row[1].split(" ±")[0] == plain(ours.ratio, 3)
        assert row[2].split(" ±")[0] == plain(ours.worst, 3)
        rivals = ("greedy", "linucb", "lints:inflation=theory")  # endoa cannot play all instances
        best = min((found[policy, n] for policy in rivals), key=lambda one: one.ratio)
        assert row[5].startswith(f"{best.policy} {plain(best.ratio, 3)} ±")


def test_a_quick_arena_says_what_it_cannot_show(small):
    assert small.limits == (
        "This is a quick arena: it cannot show what goes wrong in one run in a hundred (there are "
        "6 runs of each policy on each instance, at most) or what happens after n = 1e3; --full "
        "does."
    )
    assert small.page.paragraphs[0] == small.limits


@pytest.mark.slow
def test_the_report_of_a_folder(small):
    done = thrifty("report", small.folder)
    assert done.stdout == f"{small.folder / 'index.html'}\n"
    assert "The arena" in (small.folder / "index.html").read_text()


def test_full_and_quick_sizes():
    assert [step[:2] for step in arena.FULL if not step.best] == [
        (10**3, 100),
        (10**4, 100),
        (10**5, 100),
        (10**6, 20),
    ]
    assert [step.replications for step in arena.FULL if step.best] == [400, 400, 400, 60]
    for steps in (arena.FULL, arena.QUICK):
        horizons = [step.horizon for step in steps]
        assert horizons == sorted(horizons)


def test_the_suite_is_what_it_is_said_to_be():
    """The numbers in arena.toml."""
    unseen, kinds, tuned = map(suite.entries, suite.ALL_GROUPS)
    assert (len(unseen), len(kinds), len(tuned)) == (12, 12, 155)
    for group in (unseen, kinds, tuned):  # no instance is played twice
        assert len({entry.instance for entry in group}) == len(group)
    assert not set(unseen) & set(tuned)
    assert set(suite.tuning_instances()) < {entry.instance for entry in tuned}
    assert sum(name.startswith("drawn") for name in suite.tuning_instances()) == 20
    first, others = ([th.instance(entry.instance) for entry in group] for group in (unseen, kinds))
    assert max(one.sets.dimension for one in first) == 5
    assert max(len(one.sets.rows) * one.sets.dimension**2 for one in first) <= 1_000
    ranked = first + others
    assert {2, 20} == {f(one.sets.dimension for one in ranked) for f in (min, max)}
    assert {2, 20} == {f(one.sets.largest for one in ranked) for f in (min, max)}
    assert {0.1, 2.0} == {f(one.noise for one in ranked) for f in (min, max)}
    assert {1, 10} == {f(one.sets.contexts for one in ranked) for f in (min, max)}
    assert min(one.probabilities.min() for one in ranked) < 0.02
    spans = {th.lower_bound(one).constant == 0 for one in first}
    assert spans == {True, False}


def test_the_kinds_are_those_that_the_page_tells_of():
    found = {}
    for entry in suite.entries("kinds"):
        found.setdefault(suite.kind_of(entry), []).append(entry)
    assert {kind: len(own) for kind, own in found.items()} == dict.fromkeys(
        ("k-armed", "product", "bernoulli", "told-double", "told-half", "student"), 2
    )
    sizes = {
        kind: [len(th.instance(entry.instance).sets.rows) for entry in own]
        for kind, own in found.items()
    }
    assert (sizes["k-armed"], sizes["bernoulli"]) == ([10, 20], [5, 10])
    for kind in ("told-double", "told-half", "student"):
        for entry in found[kind]:
            rows, dimension = th.instance(entry.instance).sets.rows.shape
            assert rows * dimension**2 <= 300


STALE = (
    "docs/arena.md is stale: thrifty arena --full, then thrifty report arena --markdown "
    "docs/arena.md"
)
DOCUMENTED = json.loads((DOCS / "arena.numbers.json").read_text())


def test_the_documented_arena_has_these_policies_and_instances():
    """Each policy has played, in the numbers that the documentation keeps, what it can."""
    found = {
        (entry["section"], entry["policy"], entry["instance"], entry["rewards"])
        for entry in DOCUMENTED
    }
    assert found == {
        (group, spec, entry.instance, entry.rewards)
        for group in suite.DEFAULT_GROUPS
        for entry in suite.entries(group)
        for spec in entrants()
        if playable(th.policy(spec), [entry.instance])
    }, STALE
    assert min(entry["replications"] for entry in DOCUMENTED) >= arena.FULL[0].replications, STALE


@pytest.mark.parametrize("spec", entrants())
def test_the_documented_arena_is_of_this_code(spec):
    """The first replication at the shortest horizon has the documented regret, to the last bit."""
    own = [entry for entry in DOCUMENTED if entry["policy"] == spec]
    for entry in own[:: max(1, len(own) // 6)]:
        task = Task(
            th.instance(entry["instance"]),
            th.policy(spec),
            entry["horizon"],
            rewards=entry["rewards"],
        )
        batch = compute(task.chunks(range(1))[0])
        assert float(batch.regret[0, -1].sum()) == entry["first"], STALE
