"""The page of the reproduction: what came out, the claims with verdicts, and the panels."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from thrifty.files import package_toml
from thrifty.lab.paper.claims import CONDITIONAL, HOLDS, NOT_SEEN, UNDECIDED, Verdict, summary
from thrifty.lab.paper.panels import OAM, Panel, paper_panels
from thrifty.report.figures import longest
from thrifty.report.pages import Page, Section, Statement, Table, picture
from thrifty.studies.results import Result

MARKS = {
    HOLDS: ("✓", "good"),
    CONDITIONAL: ("◐", "half"),
    UNDECIDED: ("?", "open"),
    NOT_SEEN: ("✗", "bad"),
}
ANSWERS = {True: "✓ holds", False: "✗ does not hold", None: "? undecided"}  # of a case


def paper_page(
    results: Mapping[str, tuple[Result, ...]], verdicts: Sequence[Verdict], folder: Path
) -> Page:
    """The page of a reproduction that is kept in a folder; results by panel."""
    words = package_toml("thrifty.lab.pages", "paper.toml")
    statements = tuple(map(statement_of, verdicts))
    played = (panel for panel in paper_panels() if panel.name in results)
    sections = [_section(panel, results[panel.name], statements, folder) for panel in played]
    sections += _supplements(results, words["labels"], words["tail"])
    outcome = (summary(verdicts),) if verdicts else ()
    paragraphs = (*outcome, *words["about"])
    return Page(words["title"], paragraphs, tuple(sections), statements, words["claims_title"])


def statement_of(verdict: Verdict) -> Statement:
    """A verdict as part of a page, in the section of the claim's first panel."""
    claim, (mark, tone) = verdict.claim, MARKS[verdict.status]
    # one row per case: its setting, whether the claim holds there, and the numbers
    names = tuple(dict.fromkeys(name for case in claim.cases for name in case.when))
    rows = tuple(
        (*(case.when.get(name, "") for name in names), ANSWERS[finding.holds], finding.measured)
        for case, finding in verdict.pairs()
    )
    return Statement(
        name=claim.name,
        section=claim.panels[0],
        text=claim.statement,
        where=f"ours, {claim.where}" if claim.ours else claim.where,
        mark=mark,
        tone=tone,
        words=verdict.words,
        cases=Table((*names, "verdict", "measured"), rows, words=len(names) + 2),
        remark=claim.remark,
    )


def _section(
    panel: Panel, results: tuple[Result, ...], statements: Sequence[Statement], folder: Path
) -> Section:
    last, scale = results[-1], panel.full
    complete = last.horizon == scale.horizons[-1] and last.replications >= scale.replications
    full = "--full " if complete else ""
    horizons = ", ".join(f"{n:,}" for n in sorted({result.horizon for result in results}))
    simulated = f"{results[0].replications} replications of n = {horizons} rounds."
    return Section(
        name=panel.name,
        title=panel.title,
        where=panel.where,
        text=f"{panel.about} {simulated}",
        pictures=tuple(picture(kind, panel.name, results) for kind in panel.figures),
        results=results,
        statements=tuple(stated for stated in statements if stated.section == panel.name),
        rerun=f"thrifty reproduce {full}--only {panel.name} --out {shlex.quote(str(folder))}",
    )


def _supplements(
    results: Mapping[str, tuple[Result, ...]], labels: str, tail: str
) -> list[Section]:
    """Sections about OAM's labels and the distribution of regret, on the paper's figures."""
    shown = [
        result
        for panel in paper_panels()
        if panel.name in results and "Figure" in panel.where
        for result in longest(results[panel.name])
    ]
    split = [result for result in shown if result.policy == OAM]
    supplements = (
        ("labels", "OAM's regret by label", labels, split),
        ("tail", "Distribution of the regret", tail, shown),
    )
    where = "supplements Section 5"
    return [
        Section(kind, title, where, text, pictures=(picture(kind, kind, of_kind),))
        for kind, title, text, of_kind in supplements
        if of_kind
    ]
