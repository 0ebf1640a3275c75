"""The reproduction: simulates the paper's panels and judges its claims."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType

from thrifty.allocation.bound import Bound, lower_bound
from thrifty.errors import UnknownName
from thrifty.files import write_whole
from thrifty.lab.pages.paper_page import paper_page
from thrifty.lab.paper.claims import Verdict, judge
from thrifty.lab.paper.panels import paper_panels
from thrifty.lab.paper.paper_claims import paper_claims
from thrifty.problem.catalog import instance
from thrifty.report.pages import Page
from thrifty.studies.results import Result
from thrifty.studies.store import RESULTS, read_results
from thrifty.studies.study import run_studies

CLAIMS_FILE = "claims.json"  # marks a folder made by `thrifty reproduce`


@dataclass(frozen=True)
class Reproduction:
    """Results by panel, and the folder that contains them."""

    folder: Path
    results: dict[str, tuple[Result, ...]]  # by name of the panel

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Verdicts on the claims that the results decide."""
        return judge(paper_claims(), self.results, _bound)

    @property
    def page(self) -> Page:
        """The page of the reproduction."""
        return paper_page(self.results, self.verdicts, self.folder)

    def write_claims(self) -> None:
        """Write claims.json into the folder."""
        entries = [verdict.to_json() for verdict in self.verdicts]
        text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
        write_whole(self.folder / CLAIMS_FILE, text)


def reproduce(
    folder: Path,
    *,
    full: bool = False,
    only: Sequence[str] = (),
    threads: int | None = None,
    cluster: str | None = None,
    progress: bool | None = None,
) -> Reproduction:
    """Simulate the panels, or those named in `only`, and keep the results in a folder.

    Results that the folder contains are not computed again.
    """
    known = [panel.name for panel in paper_panels()]
    for name in only:
        if name not in known:
            raise UnknownName("panel", name, known)
    chosen = {panel.name: panel for panel in paper_panels() if not only or panel.name in only}
    designs = [(panel.design(full=full), folder / name) for name, panel in chosen.items()]
    studies = run_studies(designs, threads=threads, cluster=cluster, progress=progress)
    computed = {name: study.results for name, study in zip(chosen, studies, strict=True)}
    reproduction = read_reproduction(folder, computed)
    reproduction.write_claims()
    return reproduction


def read_reproduction(
    folder: Path, known: Mapping[str, tuple[Result, ...]] = MappingProxyType({})
) -> Reproduction:
    """The results of the panels in a folder; those in `known`, by name, are not read again."""
    results = {}
    for name in (panel.name for panel in paper_panels()):
        if (folder / name / RESULTS).exists():
            results[name] = known[name] if name in known else read_results(folder / name)
    return Reproduction(folder, results)


@cache
def _bound(name: str) -> Bound:
    return lower_bound(instance(name))
