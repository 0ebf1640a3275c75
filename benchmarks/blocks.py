"""Generated blocks of README.md and docs/*.md: `python -m benchmarks.blocks` writes them again.

A block stands between two comments, each on a line of its own:

    <!-- generated: table FILE SECTION [NUMBER [COLUMN...]] -->    a table of a section of a page
    <!-- generated: parameters POLICY -->                          a policy's, from its docstring
    <!-- generated: sentence NAME -->                              a template of docs/blocks.toml
    <!-- end -->

`--check` changes nothing and fails, naming file, line and command, if a block is stale.
"""

import shlex
import sys
import tomllib
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from thrifty.lab.paper.panels import paper_panels
from thrifty.policies import describe
from thrifty.report.markdown import wrapped
from thrifty.report.wording import power

ROOT = Path(__file__).parent.parent
START, END = "<!-- generated: ", "<!-- end -->"


class Cells(list[str]):
    """Cells of a table; in a template {x} is the only one as it is, {x:±} without a second error,
    and {x:.2f} the range of the numbers in all of them: `0.97 to 1.02`.
    """

    def __format__(self, spec: str) -> str:
        if spec in ("", "±"):
            [cell] = self
            return " ± ".join(cell.split(" ± ")[:2]) if spec else cell
        numbers = [float(cell.split(" ±")[0].replace(",", "")) for cell in self]
        return " to ".join(dict.fromkeys(f"{f(numbers):{spec}}" for f in (min, max)))


def tables(page: str, section: str) -> list[list[list[str]]]:
    """The tables of a section of a page: rows of cells, the first row the headers."""
    text = (ROOT / page).read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found = [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        for is_table, lines in groupby(text.splitlines(), lambda line: line.startswith("|"))
        if is_table
    ]
    return found or sys.exit(f"{page}: no tables in a section {section!r}")


def look_up(
    section: str = "",
    column: str = "",
    row: Sequence[Sequence[str]] = (),
    page: str = "benchmarks/RESULTS.md",
    code: str = "",
) -> Cells:
    """The cells in a column, in rows that have one of the words of each entry of `row`.

    Or `code`, a name of _from_code.
    """
    if code:
        return _from_code()[code]
    cells = Cells()
    for headers, _, *rows in tables(page, section):
        if column in headers:
            for line in rows:
                bare = [cell.strip("`*") for cell in line]
                if all(any(word in bare for word in words) for words in row):
                    cells.append(line[headers.index(column)].replace("*", "").strip())
    cells[:] = [cell for cell in cells if cell]
    return cells or sys.exit(f"{page}, {section!r}: no {column!r} in a row with {row}")


def _from_code() -> dict[str, Cells]:
    scales = [panel.full for panel in paper_panels()]
    return {
        "replications": Cells(str(scale.replications) for scale in scales),
        "longest horizon": Cells([power(max(max(scale.horizons) for scale in scales))]),
    }


def sentence(name: str) -> str:
    """A template of docs/blocks.toml with its numbers; blank lines separate paragraphs."""
    values = dict(tomllib.loads((ROOT / "docs" / "blocks.toml").read_text())[name])
    text = values.pop("text").strip()
    numbers = {key: _numbers(asked) for key, asked in values.items()}
    return "\n\n".join(wrapped(part) for part in text.format(**numbers).split("\n\n"))


def _numbers(asked: Any) -> Cells:
    lookups = asked if isinstance(asked, list) else [asked]
    return Cells(cell for lookup in lookups for cell in look_up(**lookup))


def table(page: str, section: str, number: str = "1", *columns: str) -> str:
    """A table of a section of a page, or some columns of it."""
    rows = tables(page, section)[int(number) - 1]
    kept = [rows[0].index(column) for column in columns or rows[0]]
    head, rule, *body = ([row[i] for i in kept] for row in rows)
    lines = [f"| {' | '.join(row)} |" for row in (head, *body)]
    return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])


def parameters(policy: str) -> str:
    """The parameters of a policy, with their defaults and meanings."""
    [entry] = [entry for entry in describe() if entry["name"] == policy]
    lines = ["| parameter | default | meaning |", "|---|---|---|"]
    for key, default in entry["parameters"].items():
        shown = "none" if default is None else str(default).removesuffix(".0")
        meaning = entry["meanings"][key].replace("|", "\\|")
        lines.append(f"| `{key}` | `{shown}` | {meaning} |")
    return "\n".join(lines)


KINDS = {"sentence": sentence, "table": table, "parameters": parameters}


def renewed(text: str) -> str:
    """A page with all its blocks written again."""
    lines, out = iter(text.split("\n")), []
    for line in lines:
        out.append(line)
        if line.startswith(START):
            kind, *arguments = shlex.split(line.removeprefix(START).removesuffix("-->"))
            out += KINDS[kind](*arguments).split("\n")
            out += [next(old for old in lines if old == END)]
    return "\n".join(out)


def main(*, check: bool = False) -> None:
    """Write the blocks of all pages again, or check them."""
    stale = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        old = path.read_text()
        new = renewed(old)
        if not check:
            path.write_text(new)
        elif new != old:
            pairs = zip(old.split("\n"), new.split("\n"), strict=False)
            line = next(n for n, (before, now) in enumerate(pairs, start=1) if before != now)
            stale.append(f"{path.relative_to(ROOT)}:{line}: stale: python -m benchmarks.blocks")
    sys.exit("\n".join(stale) or None)


if __name__ == "__main__":
    main(check="--check" in sys.argv[1:])
