"""A page as Markdown, for a folder of documentation, with its figures beside it."""

import html
import json
from pathlib import Path
from typing import Any

from thrifty.errors import InvalidInput
from thrifty.files import make_folder, write_whole
from thrifty.report.html import MARKS, table_row
from thrifty.report.pages import Page, Section, Table, save_figures

FIGURES = "figures"


def markdown(page: Page) -> str:
    """The page as Markdown; figures are in the folder FIGURES beside it."""
    blocks = [f"# {page.title}", page.lead]
    if page.verdicts:
        blocks.append("## What becomes of the claims")
        rows = [
            f"| [{v.claim.statement}](#{_anchor(v.claim.experiments[0], page)}) | "
            f"{v.claim.where} | {MARKS[v.status]} {v.words} |"
            for v in page.verdicts
        ]
        blocks.append("\n".join(["| claim | where | verdict |", "|---|---|---|", *rows]))
    for section in page.sections:
        blocks += _section(section)
    return "\n\n".join(blocks) + "\n"


def write_markdown(page: Page, path: Path) -> None:
    """Write the page, its figures beside it, and as JSON the results in its tables, if any, by
    which it can be told whether it is stale.
    """
    if path.is_dir() or not path.name:
        raise InvalidInput("--markdown", "the name of a file", str(path))
    make_folder(path.parent)
    save_figures(page, path.parent / FIGURES, ("svg",))
    numbers = _numbers(page)
    if numbers:
        write_whole(path.with_suffix(".numbers.json"), json.dumps(numbers, indent=0) + "\n")
    write_whole(path, markdown(page))


def _numbers(page: Page) -> list[dict[str, Any]]:
    """One entry a result; `first` is the regret of its first replicate, to the last bit."""
    return [
        {
            "section": section.name,
            "instance": result.instance.name,
            "policy": result.policy,
            "horizon": result.horizon,
            "replications": result.replications,
            "mean": result.mean,
            "se": result.se,
            "first": float(result.final[0]),
        }
        for section in page.sections
        for result in section.results
    ]


def _section(section: Section) -> list[str]:
    blocks = [
        f"## {section.title}",
        *(
            [f"*{section.where}.* {section.text}"]
            if section.where
            else [section.text]
            if section.text
            else []
        ),
    ]
    blocks += [_table(table) for table in section.tables]
    for picture in section.pictures:
        blocks += [f"![{section.title}]({FIGURES}/{picture.name}.svg)", picture.caption]
    for verdict in section.verdicts:
        cases = [
            f"- {'✓' if finding.holds else '✗'} "
            f"{f'{case.when}: ' if case.when else ''}{finding.measured}"
            for case, finding in verdict.pairs()
        ]
        blocks += [
            f"**{verdict.claim.statement}** {MARKS[verdict.status]} {verdict.words}.",
            "\n".join(cases),
        ]
        blocks += [verdict.claim.remark] if verdict.claim.remark else []
    if section.results:
        rows = [table_row(result) for result in section.results]
        blocks.append(
            _table(Table(tuple(rows[0]), tuple(tuple(row.values()) for row in rows), words=2))
        )
    if section.rerun:
        blocks.append(f"Again: `{section.rerun}`")
    return blocks


def _table(table: Table) -> str:
    head = [
        f"| {' | '.join(table.headers)} |",
        f"|{'|'.join('---' if i < table.words else '---:' for i in range(len(table.headers)))}|",
    ]
    return "\n".join([*head, *(f"| {' | '.join(map(_cell, row))} |" for row in table.rows)])


def _cell(text: str) -> str:
    return html.escape(text, quote=False).replace("|", r"\|")


def _anchor(name: str, page: Page) -> str:
    """The link to a section, as Markdown readers make it from the title."""
    title = next((section.title for section in page.sections if section.name == name), "")
    return "".join(
        character
        for character in title.lower().replace(" ", "-")
        if character.isalnum() or character == "-"
    )
