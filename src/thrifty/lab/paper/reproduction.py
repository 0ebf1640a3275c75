"""The reproduction: simulates the paper's experiments and judges its claims."""

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
from thrifty.lab.paper.panels import EXPERIMENTS, Experiment, Scale
from thrifty.lab.paper.paper_claims import CLAIMS
from thrifty.problem.catalog import instance
from thrifty.report.pages import Page
from thrifty.studies.design import Design, design_study
from thrifty.studies.results import Result
from thrifty.studies.store import RESULTS, read_results
from thrifty.studies.study import run_studies

CLAIMS_FILE = "claims.json"  # marks a folder made by `thrifty reproduce`


@dataclass(frozen=True)
class Reproduction:
    """Results by experiment, and the folder that contains them."""

    folder: Path
    results: dict[str, tuple[Result, ...]]  # by name of the experiment

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Verdicts on the claims that the results decide."""
        return judge(CLAIMS, self.results, _bound)

    @property
    def page(self) -> Page:
        """The page of the reproduction."""
        return paper_page(self.results, self.verdicts, self.folder)

    def write_claims(self) -> None:
        """Write claims.json into the folder."""
        entries = [verdict.to_json() for verdict in self.verdicts]
        write_whole(
            self.folder / CLAIMS_FILE, json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
        )


def reproduce(
    folder: Path,
    *,
    full: bool = False,
    only: Sequence[str] = (),
    threads: int | None = None,
    cluster: str | None = None,
    progress: bool | None = None,
) -> Reproduction:
    """Simulate the experiments, or those named in `only`, and keep the results in a folder.

    Results that the folder contains are not computed again.
    """
    known = [experiment.name for experiment in EXPERIMENTS]
    for name in only:
        if name not in known:
            raise UnknownName("experiment", name, known)
    chosen = [one for one in EXPERIMENTS if not only or one.name in only]
    designs = [
        _design(experiment, experiment.full if full else experiment.quick) for experiment in chosen
    ]
    studies = run_studies(
        [(design, folder / one.name) for one, design in zip(chosen, designs, strict=True)],
        threads=threads,
        cluster=cluster,
        progress=progress,
    )
    found = read_reproduction(
        folder, {one.name: study.results for one, study in zip(chosen, studies, strict=True)}
    )
    found.write_claims()
    return found


def _design(experiment: Experiment, scale: Scale) -> Design:
    return design_study(
        experiment.instances,
        experiment.policies,
        horizon=scale.horizons,
        replications=scale.replications,
        pulls=experiment.pulls,
    )


def read_reproduction(
    folder: Path, known: Mapping[str, tuple[Result, ...]] = MappingProxyType({})
) -> Reproduction:
    """The results of the experiments in a folder; those in `known`, by name, are not read again."""
    completed = [
        experiment.name
        for experiment in EXPERIMENTS
        if (folder / experiment.name / RESULTS).exists()
    ]
    return Reproduction(
        folder,
        {name: known[name] if name in known else read_results(folder / name) for name in completed},
    )


@cache
def _bound(name: str) -> Bound:
    return lower_bound(instance(name))
