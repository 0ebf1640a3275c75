"""Pages as Markdown, for a folder of documentation, with the figures beside them."""

import html
import json
import re
import textwrap
from pathlib import Path
from typing import Any

from thrifty.errors import InvalidInput
from thrifty.files import existing_mode, make_folder, write_whole
from thrifty.report.pages import Page, Section, Statement, Table, result_table, save_figures
from thrifty.studies.progress import progress_bar

FIGURES = "figures"
WIDTH = 100  # columns of prose


def markdown(page: Page) -> str:
    """A page as Markdown; its figures are in the folder FIGURES beside it."""
    blocks = [f"# {page.title}", *page.paragraphs]
    if page.statements:
        blocks += [f"## {page.statements_title}", statement_table(page)]
    for section in page.sections:
        blocks += _section(section)
    return "\n\n".join(map(wrapped, blocks)) + "\n"


def wrapped(block: str) -> str:
    """A block of Markdown in lines of at most WIDTH; headings, tables and pictures stay as is."""
    if block.startswith(("#", "|", "![")):
        return block
    is_list = block.startswith("- ")
    indent = "  " if is_list else ""
    wrapper = textwrap.TextWrapper(
        WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(map(wrapper.fill, block.split("\n") if is_list else [block]))


def write_markdown(page: Page, path: Path, *, progress: bool | None = None) -> None:
    """Write a page, its figures, and the numbers of its results as JSON, to detect stale pages."""
    if path.is_dir() or not path.name:
        raise InvalidInput("--markdown", f"{str(path)!r} is a folder: name a file in it")
    existing_mode(path)  # refuses a device before figures are put beside it
    make_folder(path.parent)
    with progress_bar("drawing", len(page.pictures), show=progress) as bar:
        save_figures(page, path.parent / FIGURES, bar, ("svg",))
    numbers = _numbers(page)
    if numbers:
        write_whole(path.with_suffix(".numbers.json"), json.dumps(numbers, indent=0) + "\n")
    write_whole(path, markdown(page))


def statement_table(page: Page) -> str:
    """A table of the statements of a page, with links to their sections."""
    rows = [
        f"| [{claim.text}](#{_anchor(claim.section, page)}) | {claim.where} "
        f"| {claim.mark} {claim.words} |"
        for claim in page.statements
    ]
    return "\n".join(["| claim | where | verdict |", "|---|---|---|", *rows])


def statement_blocks(statement: Statement) -> list[str]:
    """A statement with its verdict, the details, and the remark."""
    return [
        f"**{statement.text}** {statement.mark} {statement.words}.",
        *([_table(statement.cases)] if statement.cases else []),
        *([statement.remark] if statement.remark else []),
    ]


def _numbers(page: Page) -> list[dict[str, Any]]:
    """One entry per result; `first` is the regret of the first replication, to the last bit."""
    kept = ("rewards", "policy", "horizon", "replications", "mean", "se")
    return [
        {"section": section.name, "instance": result.instance.name}
        | {name: getattr(result, name) for name in kept}
        | {"first": float(result.final[0])}
        for section in page.sections
        for result in (*section.results, *section.kept)
    ]


def _section(section: Section) -> list[str]:
    where = f"*{section.where}.* " if section.where else ""
    blocks = [f"## {section.title}", *([where + section.text] if where or section.text else [])]
    blocks += [_table(table) for table in section.tables]
    for picture in section.pictures:
        blocks += [f"![{section.title}]({FIGURES}/{picture.name}.svg)", picture.caption]
    for statement in section.statements:
        blocks += statement_blocks(statement)
    if section.results:
        blocks.append(_table(result_table(section.results)))
    if section.rerun:
        blocks.append(f"To run it again: {_code(section.rerun)}")
    return blocks


def _table(table: Table) -> str:
    sides = ["---" if i < table.words else "---:" for i in range(len(table.headers))]
    rows = (f"| {' | '.join(map(_cell, row))} |" for row in table.rows)
    return "\n".join([f"| {' | '.join(table.headers)} |", f"|{'|'.join(sides)}|", *rows])


def _cell(text: str) -> str:
    """Text as it is in a table: neither markup, nor a column, nor a link."""
    literal = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", html.escape(text, quote=False))
    return re.sub(r":(?=//)|(?<=www)\.", lambda match: f"&#{ord(match[0])};", literal)


def _code(text: str) -> str:
    """Text as code, between more backticks than it contains in a row."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{text}{fence}" if len(fence) == 1 else f"{fence} {text} {fence}"


def _anchor(name: str, page: Page) -> str:
    """The link to a section, as Markdown renderers derive it from the title."""
    title = next((section.title for section in page.sections if section.name == name), "")
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")
