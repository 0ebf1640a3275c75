"""What a page says, before it is HTML or Markdown: sections of text, figures, tables and
verdicts.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thrifty.experiments.claims import Verdict
from thrifty.experiments.paper import EXPERIMENTS, OAM, Experiment
from thrifty.files import make_folder
from thrifty.report.figures import (
    horizons_figure,
    labels_figure,
    longest,
    ratio_figure,
    regret_figure,
    save_figure,
    sensitivity_figure,
    standings_figure,
    tail_figure,
)
from thrifty.report.wording import count
from thrifty.studies.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES: dict[str, Callable[[Sequence[Result]], "Figure"]] = {
    "regret": regret_figure,
    "ratio": ratio_figure,
    "sensitivity": sensitivity_figure,
    "labels": labels_figure,
    "tail": tail_figure,
    "standings": standings_figure,
    "horizons": horizons_figure,
}
CAPTIONS = {
    "regret": "Mean regret, shaded by its standard error; dots where runs planned for a shorter "
    "horizon end. C log n is the lower bound's leading term.",
    "ratio": "R(n) / log n with its standard error; C is what no consistent policy stays below.",
    "sensitivity": "Mean regret with two standard errors.",
    "labels": "Mean regret by why arms were played.",
    "tail": "Median, mean, 95th percentile and worst run at the longest horizon.",
    "standings": "Regret relative to heuristic Thompson sampling (lints), in the geometric mean "
    "over the instances: 1 is its level, less is better."
    " Whiskers are two standard errors; triangles stand for what lies outside.",
    "horizons": "Mean regret at each horizon n, which is a run of its own; colours as above, thick "
    "lines for thrifty and lints.",
}

PAPER_LEAD = (
    "The experiments of Hao, Lattimore and Szepesvári, Adaptive Exploration in Linear "
    "Contextual Bandit (AISTATS 2020), played again, and what becomes of its"
    " claims. Every verdict is computed from the results on this page: differences are "
    "paired, replicate by replicate, and count from two standard errors on."
    " The paper names neither its horizons, nor LinUCB's confidence width, nor OAM's "
    "constants: LinUCB is played with the widths oful (the library's default)"
    " and fn (that of OAM's analysis), OAM with epsilon = 0 and c = 0, and with c = 1."
)


@dataclass(frozen=True)
class Picture:
    """A figure of some results, whole for a file or a panel at a time for a page."""

    name: str
    kind: str
    results: tuple[Result, ...]
    by_instance: bool = True

    @property
    def caption(self) -> str:
        return CAPTIONS[self.kind]

    def whole(self) -> "Figure":
        """All panels in one figure."""
        return FIGURES[self.kind](self.results)

    def panels(self) -> list[tuple[str, "Figure"]]:
        """A figure for each instance, with a name of its own; or the whole, if it is about all
        instances.
        """
        if not self.by_instance:
            return [(self.name, self.whole())]
        names = dict.fromkeys(result.instance.name for result in self.results)
        panels = [
            [result for result in self.results if result.instance.name == name] for name in names
        ]
        return [(f"{self.name}-{i}", FIGURES[self.kind](panel)) for i, panel in enumerate(panels)]


@dataclass(frozen=True)
class Table:
    """Rows of text under headers; the first columns are words, the others numbers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Attributes
    ----------
    name, title : for links, and for people
    where : in the paper
    text : what it is about
    tables : what sums it up
    pictures : its figures
    results : the rows of its table
    verdicts : on the claims that it decides
    rerun : the command that makes it again
    """

    name: str
    title: str
    where: str = ""
    text: str = ""
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    results: tuple[Result, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    rerun: str = ""


@dataclass(frozen=True)
class Page:
    """A whole page; verdicts are those on all claims."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    verdicts: tuple[Verdict, ...] = ()


def study_page(results: Sequence[Result], folder: Path) -> Page:
    """The page of a study that is kept in a folder."""
    first, file = results[0], folder / "study.toml"
    rerun = (
        shlex.join(["thrifty", "run", "--study", str(file), "--out", str(folder)])
        if file.exists()
        else ""
    )
    split = tuple(result for result in longest(results) if len(result.labels) > 1)
    several = len({result.horizon for result in results}) > 1
    pictures = [Picture("regret", "regret", tuple(results))]
    pictures += [Picture("ratio", "ratio", tuple(results))] if several else []
    sections = [
        Section("regret", "Regret", pictures=tuple(pictures), results=tuple(results), rerun=rerun)
    ]
    if split:
        own = tuple(Picture(f"labels-{i}", "labels", (result,)) for i, result in enumerate(split))
        sections.append(Section("labels", "Where the regret goes", pictures=own))
    sections.append(
        Section("tail", "The tail", pictures=(Picture("tail", "tail", tuple(results)),))
    )
    instances = len({result.instance.name for result in results})
    policies = len({result.policy for result in results})
    played = (
        f"{count(first.replications, 'replication')}, seed {first.seed}, {first.rewards} rewards"
    )
    lead = f"{count(policies, 'policy', 'policies')} on {count(instances, 'instance')}: {played}."
    return Page("A study", lead, tuple(sections))


def paper_page(
    results: Mapping[str, tuple[Result, ...]], verdicts: Sequence[Verdict], folder: Path
) -> Page:
    """The page of a reproduction: the paper's experiments, then what we add to them; results by
    experiment.
    """
    sections = []
    for experiment in EXPERIMENTS:
        if experiment.name in results:
            own = results[experiment.name]
            pictures = tuple(Picture(experiment.name, kind, own) for kind in experiment.figures)
            decided = tuple(
                verdict for verdict in verdicts if verdict.claim.experiments[0] == experiment.name
            )
            full = "--full " if own[-1].horizon == experiment.full.horizons[-1] else ""
            rerun = (
                f"thrifty reproduce {full}--only {experiment.name} --out {shlex.quote(str(folder))}"
            )
            text = f"{experiment.about} {_played(own)}"
            sections.append(
                Section(
                    experiment.name,
                    experiment.title,
                    experiment.where,
                    text,
                    (),
                    pictures,
                    own,
                    decided,
                    rerun,
                )
            )
    shown = [
        result for experiment in _in_paper(results) for result in longest(results[experiment.name])
    ]
    split = tuple(result for result in shown if result.policy == OAM)
    if split:
        text = (
            "Rounds of OAM are init, until all directions are known; exploit; forced "
            "on the least played arm; matched to the optimal allocation; or wasted,"
            " when the allocation is reached but the evidence is not in. Theory has it "
            "that only matched exploration costs regret of order log n."
        )
        sections.append(
            Section(
                "labels",
                "Where OAM's regret goes",
                "beside Section 5",
                text,
                pictures=(Picture("labels", "labels", split),),
            )
        )
    if shown:
        text = "A mean hides what a single user of a policy risks."
        sections.append(
            Section(
                "tail",
                "The tail",
                "beside Section 5",
                text,
                pictures=(Picture("tail", "tail", tuple(shown)),),
            )
        )
    return Page("Adaptive exploration, reproduced", PAPER_LEAD, tuple(sections), tuple(verdicts))


def save_figures(page: Page, folder: Path, kinds: tuple[str, ...] = ("svg", "png")) -> None:
    """Write every figure of a page into a folder."""
    make_folder(folder)
    for section in page.sections:
        for picture in section.pictures:
            save_figure(picture.whole(), folder / picture.name, kinds)


def _in_paper(results: Mapping[str, tuple[Result, ...]]) -> list[Experiment]:
    """The paper's own experiments among those played."""
    return [
        experiment
        for experiment in EXPERIMENTS
        if experiment.name in results and "Figure" in experiment.where
    ]


def _played(results: Sequence[Result]) -> str:
    horizons = ", ".join(f"{n:,}" for n in sorted({result.horizon for result in results}))
    return f"{results[0].replications} replications of n = {horizons} rounds."
