"""Content of a page, independent of HTML and Markdown: sections of text, figures and tables."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thrifty.errors import escaped
from thrifty.files import make_folder
from thrifty.report import figures as draw
from thrifty.report.drawing import save_figure
from thrifty.report.wording import count, plain, printable, with_error
from thrifty.studies.progress import Bar
from thrifty.studies.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DrawFigure = Callable[[Sequence[Result]], "Figure"]
FIGURES: dict[str, tuple[DrawFigure, str]] = {
    "regret": (
        draw.regret_figure,
        "Mean regret, shaded by its standard error; dots show the final regret of runs with a "
        "shorter horizon. C log n is the leading term of the lower bound.",
    ),
    "ratio": (
        draw.ratio_figure,
        "R(n) / log n with its standard error. In the limit, no consistent policy is below C.",
    ),
    "sensitivity": (draw.sensitivity_figure, "Mean regret with two standard errors."),
    "labels": (draw.labels_figure, "Mean regret, split by the reason for which arms were played."),
    "tail": (
        draw.tail_figure,
        "Median, mean, 95th percentile and worst run at the longest horizon.",
    ),
}


@dataclass(frozen=True)
class Picture:
    """A figure on a page: in one piece as a file, and one panel per instance on an HTML page."""

    name: str  # of its file, without suffix
    draw: DrawFigure
    caption: str  # the text below it
    results: tuple[Result, ...]
    by_instance: bool = True  # whether it can be drawn one instance at a time

    def panels(self) -> list[tuple[str, tuple[Result, ...]]]:
        """Unique names and results of the figures on an HTML page."""
        if not self.by_instance:
            return [(self.name, self.results)]
        groups: dict[str, tuple[Result, ...]] = {}
        for result in self.results:
            groups[result.instance.name] = (*groups.get(result.instance.name, ()), result)
        return [(f"{self.name}-{i}", group) for i, group in enumerate(groups.values())]


def picture(kind: str, name: str, results: Sequence[Result]) -> Picture:
    """A picture of one of the kinds in FIGURES."""
    return Picture(name, *FIGURES[kind], tuple(results))


@dataclass(frozen=True)
class Table:
    """Rows of text under headers; the first `words` columns are text, the others numbers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


@dataclass(frozen=True)
class Statement:
    """A statement with a verdict."""

    name: str  # unique, for links
    section: str  # the name of the section that shows it
    text: str
    where: str  # its source
    mark: str  # a character in front of the verdict
    tone: str  # `good`, `half`, `open` or `bad`; decides the colour
    words: str  # the verdict
    cases: Table | None = None  # what decides the verdict
    remark: str = ""  # a note below them


@dataclass(frozen=True)
class Section:
    """A section of a page; tables, pictures and statements are shown in this order."""

    name: str  # for links
    title: str
    where: str = ""  # the source of what it shows
    text: str = ""  # a paragraph
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    results: tuple[Result, ...] = ()  # a table; kept with Markdown to detect when it is stale
    kept: tuple[Result, ...] = ()  # kept in the same way, but not shown
    statements: tuple[Statement, ...] = ()
    rerun: str = ""  # the command that computes the results again


@dataclass(frozen=True)
class Page:
    """A page: paragraphs, then a table of statements if there are any, then sections."""

    title: str
    paragraphs: tuple[str, ...]
    sections: tuple[Section, ...]
    statements: tuple[Statement, ...] = ()
    statements_title: str = ""

    @property
    def pictures(self) -> list[Picture]:
        """All pictures, in order."""
        return [picture for section in self.sections for picture in section.pictures]


def result_table(results: Sequence[Result]) -> Table:
    """One row per result: mean with its standard error, median, 95th percentile, maximum."""
    headers = ("instance", "policy", "n", "mean", "median", "p95", "worst", "R / (C log n)")
    return Table(headers, tuple(map(_result_row, results)), words=2)


def _result_row(result: Result) -> tuple[str, ...]:
    return (
        printable(result.instance.name),
        printable(result.policy),
        f"{result.horizon:,}",
        with_error(result.mean, result.se, 4),
        plain(result.median, 4),
        plain(result.p95, 4),
        plain(result.max, 4),
        "" if result.ratio is None else f"{result.ratio:.2f}",
    )


def study_page(results: Sequence[Result], folder: Path) -> Page:
    """The page of a study that is kept in a folder."""
    file = folder / "study.toml"
    words = ["thrifty", "run", "--study", str(file), "--out", str(folder)]
    rerun = escaped(shlex.join(words)) if file.exists() else ""
    kinds = ("regret", "ratio") if len({result.horizon for result in results}) > 1 else ("regret",)
    pictures, shown = tuple(picture(kind, kind, results) for kind in kinds), tuple(results)
    sections = [Section("regret", "Regret", pictures=pictures, results=shown, rerun=rerun)]
    split = [result for result in draw.longest(results) if len(result.labels) > 1]
    if split:
        by_label = tuple(picture("labels", f"labels-{i}", [item]) for i, item in enumerate(split))
        sections.append(Section("labels", "Regret by label", pictures=by_label))
    tail = picture("tail", "tail", results)
    sections.append(Section("tail", "Distribution of the regret", pictures=(tail,)))
    policies = count(len({result.policy for result in results}), "policy", "policies")
    instances = count(len({result.instance.name for result in results}), "instance")
    first = results[0]
    scale = f"{count(first.replications, 'replication')}, seed {first.seed}"
    lead = f"{policies} on {instances}: {scale}, {first.rewards} rewards."
    return Page("A study", (lead,), tuple(sections))


def save_figures(page: Page, folder: Path, bar: Bar, kinds: tuple[str, ...]) -> None:
    """Write every figure of a page into a folder."""
    make_folder(folder)
    for picture in page.pictures:
        save_figure(picture.draw(picture.results), folder / picture.name, kinds)
        bar.advance()
