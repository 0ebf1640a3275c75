"""`thrifty reproduce` and `thrifty report` on small panels, and the page in docs/."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import thrifty as th
from tests.command_line import thrifty
from thrifty.lab.pages.paper_page import statement_of
from thrifty.lab.paper import reproduction
from thrifty.lab.paper.claims import Verdict, summary
from thrifty.lab.paper.evidence import Finding
from thrifty.lab.paper.panels import Scale, paper_panels
from thrifty.lab.paper.paper_claims import paper_claims
from thrifty.problem.catalog import problem
from thrifty.report.html import write_html
from thrifty.report.markdown import statement_blocks, wrapped
from thrifty.studies.tasks import Task, compute

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
PANELS, CLAIMS = paper_panels(), paper_claims()
SMALL = tuple(replace(panel, quick=Scale((10**3, 10**4, 10**5), 3)) for panel in PANELS)
CHEAP = 10**5  # horizons that the tests simulate again


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """All panels, a few short replications each."""
    folder = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "paper_panels", lambda: SMALL)
        return reproduction.reproduce(folder)


def test_every_panel_is_played_and_every_claim_judged(tiny):
    assert list(tiny.results) == [panel.name for panel in PANELS]
    assert [verdict.claim.name for verdict in tiny.verdicts] == [claim.name for claim in CLAIMS]
    entries = json.loads((tiny.folder / "claims.json").read_text())
    assert [entry["statement"] for entry in entries] == [claim.statement for claim in CLAIMS]
    assert {entry["status"] for entry in entries} <= {
        "holds",
        "holds only when",
        "undecided",
        "not seen",
    }


def test_the_page_has_all_of_it(tiny):
    text = write_html(tiny.page, tiny.folder).read_text()
    outcome = summary(tiny.verdicts).replace("'", "&#39;")
    assert text.index(outcome) < text.index('id="claims"') < text.index("-section")
    for panel in PANELS:
        assert f'id="{panel.name}-section"' in text
        assert f"thrifty reproduce --only {panel.name} --out {tiny.folder}" in text
        assert (tiny.folder / "figures" / f"{panel.name}.svg").exists()
    for claim in CLAIMS:
        assert f'id="{claim.name}"' in text  # in the section of its first experiment
        assert f'href="#{claim.name}"' in text
    assert (tiny.folder / "figures" / "labels.png").exists()
    assert (tiny.folder / "figures" / "tail.png").exists()


def test_it_resumes(tiny):
    files = {path: path.stat().st_mtime_ns for path in tiny.folder.rglob("*.parquet")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "paper_panels", lambda: SMALL)
        reproduction.reproduce(tiny.folder)
    assert {path: path.stat().st_mtime_ns for path in tiny.folder.rglob("*.parquet")} == files


def test_one_panel_from_the_command_line(tmp_path):
    done = thrifty("reproduce", "--only", "bounded", "--out", "mine", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "There LinUCB's regret is bounded" in done.stdout
    assert "Page: mine/index.html" in done.stdout
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == [
        "bounded",
        "claims.json",
        "figures",
        "index.html",
    ]
    page = (tmp_path / "mine" / "index.html").read_text()
    (tmp_path / "mine" / "index.html").unlink()
    again = thrifty("report", "mine", folder=tmp_path)
    assert (again.returncode, again.stdout) == (0, "mine/index.html\n")
    assert (tmp_path / "mine" / "index.html").read_text() == page
    as_markdown = thrifty("report", "mine", "--markdown", "docs/page.md", folder=tmp_path)
    assert as_markdown.returncode == 0
    assert (
        (tmp_path / "docs" / "page.md").read_text().startswith("# Adaptive exploration, reproduced")
    )


def test_a_study_in_a_folder_named_like_a_panel_is_none(tmp_path):
    for out in ("mine", "mine/fixed"):
        assert (
            thrifty(
                "run",
                "bounded",
                "--policy",
                "lints",
                "--horizon",
                "50",
                "--replications",
                "2",
                "--out",
                out,
                folder=tmp_path,
            ).returncode
            == 0
        )
    assert thrifty("report", "mine", folder=tmp_path).returncode == 0
    assert (
        thrifty("report", "mine", "--markdown", ".", folder=tmp_path).stderr
        == "thrifty: --markdown: '.' is a folder: name a file in it\n"
    )


def test_a_study_of_ones_own_has_a_page(tmp_path):
    assert (
        thrifty(
            "run",
            "fixed-u0.1",
            "--policy",
            "oam",
            "--horizon",
            "500",
            "--replications",
            "3",
            "--out",
            "mine",
            folder=tmp_path,
        ).returncode
        == 0
    )
    assert thrifty("report", "mine", folder=tmp_path).stdout == "mine/index.html\n"
    assert "Regret by label" in (tmp_path / "mine" / "index.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reproduce", "--only", "fixd"), "unknown panel 'fixd'; did you mean 'fixed'?"),
        (("reproduce", "--quick", "--full"), "reproduce: pass --quick or --full, not both"),
        (("reproduce", "--threads", "0"), "threads: a whole number from 1 to 1024 expected, got 0"),
        (
            ("report", "nowhere"),
            "nowhere: no such folder",
        ),
    ],
)
def test_mistakes(tmp_path, arguments, message):
    done = thrifty(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"thrifty: {message}")
    assert list(tmp_path.iterdir()) == []


STALE = (
    "docs/reproduction.md is stale: thrifty reproduce --full, then thrifty report "
    "reproduction --markdown docs/reproduction.md"
)
NUMBERS = json.loads((DOCS / "reproduction.numbers.json").read_text())


def test_the_documented_reproduction_is_of_these_panels():
    documented = [
        (
            entry["section"],
            entry["instance"],
            entry["policy"],
            entry["horizon"],
            entry["replications"],
        )
        for entry in NUMBERS
    ]
    expected = [
        (panel.name, instance, policy, n, panel.full.replications)
        for panel in PANELS
        for instance in panel.instances
        for policy in panel.policies
        for n in panel.full.horizons
    ]
    assert documented == expected, STALE


@pytest.mark.parametrize("name", [panel.name for panel in PANELS])
def test_the_documented_reproduction_is_of_this_code(name):
    """The first replication at short horizons has the documented regret, to the last bit."""
    cheap = [entry for entry in NUMBERS if entry["section"] == name and entry["horizon"] <= CHEAP]
    for entry in cheap or [entry for entry in NUMBERS if entry["section"] == name]:
        task = Task(problem(entry["instance"]), th.policy(entry["policy"]), entry["horizon"])
        batch = compute(task.chunks(range(1))[0])
        assert float(batch.regret[0, -1].sum()) == entry["first"], STALE


def test_the_documented_reproduction_judges_these_claims():
    text = documented_page()
    for claim in CLAIMS:
        assert f"**{claim.statement}**" in text, STALE
        assert claim.remark in text, STALE
    for entry in NUMBERS:
        assert f"{entry['policy']} | {entry['horizon']:,} |" in text, STALE
    for figure in {entry["section"] for entry in NUMBERS}:
        assert (DOCS / "figures" / f"{figure}.svg").exists(), STALE


def test_where_c_makes_no_difference():
    """As the page says; its rows are the same."""
    assert "On large-100 both values of c give the same runs." in documented_page()

    def rows(policy):
        head = f"| large-100 | {policy} | "
        lines = (DOCS / "reproduction.md").read_text().splitlines()
        return [line.removeprefix(head) for line in lines if line.startswith(head)]

    assert rows("oam") == rows("oam:c=1") != []


def test_the_documented_reproduction_has_these_verdicts_and_this_summary():
    """Verdicts and summary of the page follow from the marks of its cases."""
    text = documented_page()
    verdicts = [documented_verdict(claim, text) for claim in CLAIMS]
    assert summary(verdicts) in text, STALE
    for verdict in verdicts:
        statement = statement_of(verdict)
        assert f"| {statement.where} | {statement.mark} {statement.words} |" in text, STALE
        assert "\n\n".join(statement_blocks(statement)) in text, STALE


def test_slopes_of_thrifty_are_below_c_as_docs_say():
    assert "clearly below C on all four instances" in (DOCS / "thrifty.md").read_text()
    [claim] = [claim for claim in CLAIMS if claim.name == "thrifty-not-below"]
    findings = documented_verdict(claim, documented_page()).findings
    assert [finding.holds for finding in findings] == [False] * 4


def documented_page():
    """The page before its lines were wrapped."""
    text = (DOCS / "reproduction.md").read_text()
    blocks = text.rstrip("\n").split("\n\n")
    assert "\n\n".join(map(wrapped, blocks)) + "\n" == text
    return "\n\n".join(
        block if block.startswith(("|", "#")) else re.sub(r"\n(?!- )\s*", " ", block)
        for block in blocks
    )


def documented_verdict(claim, text):
    """The verdict on a claim from the table of its cases on the page."""
    _, _, *rows = text.partition(f"**{claim.statement}**")[2].split("\n\n")[1].splitlines()
    assert len(rows) == len(claim.cases)
    cells = [row.strip("| ").split(" | ")[-2:] for row in rows]
    answers = {"✓": True, "✗": False, "?": None}
    return Verdict(claim, tuple(Finding(answers[mark[0]], measured) for mark, measured in cells))
