"""`thrifty reproduce`: the paper's experiments played, its claims judged, and a page about both."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType

from thrifty.allocation.bound import Bound, lower_bound
from thrifty.errors import UnknownName
from thrifty.experiments.claims import Verdict, judge
from thrifty.experiments.paper import CLAIMS, EXPERIMENTS
from thrifty.files import write_whole
from thrifty.problem.catalog import instance
from thrifty.report.pages import Page, paper_page
from thrifty.studies.results import Result
from thrifty.studies.store import RESULTS, read_results
from thrifty.studies.study import ask, run_together

CLAIMS_FILE = "claims.json"  # tells a folder that `reproduce` has made


@dataclass(frozen=True)
class Reproduction:
    """Experiments with their results, kept in a folder, and the verdicts on the claims that these
    decide.
    """

    folder: Path
    results: dict[str, tuple[Result, ...]]  # by name of the experiment

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """What becomes of the claims."""
        return judge(CLAIMS, self.results, _bound)

    @property
    def page(self) -> Page:
        """The page about them."""
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
    """Play the experiments, or only some, into a folder; what is there already is not played
    again.
    """
    known = [experiment.name for experiment in EXPERIMENTS]
    for name in only:
        if name not in known:
            raise UnknownName("experiment", name, known)
    studies = {}
    for experiment in EXPERIMENTS:
        if not only or experiment.name in only:
            size = experiment.full if full else experiment.quick
            asked = ask(
                experiment.instances,
                experiment.policies,
                horizon=size.horizons,
                replications=size.replications,
            )
            studies[experiment.name] = (asked, folder / experiment.name)
    played = run_together(
        list(studies.values()), threads=threads, cluster=cluster, progress=progress, figures=False
    )
    found = read_reproduction(
        folder, {name: study.results for name, study in zip(studies, played, strict=True)}
    )
    found.write_claims()
    return found


def read_reproduction(
    folder: Path, known: Mapping[str, tuple[Result, ...]] = MappingProxyType({})
) -> Reproduction:
    """What a folder holds of the experiments; those that are known need not be read."""
    played = [
        experiment.name
        for experiment in EXPERIMENTS
        if (folder / experiment.name / RESULTS).exists()
    ]
    return Reproduction(
        folder,
        {name: known[name] if name in known else read_results(folder / name) for name in played},
    )


@cache
def _bound(name: str) -> Bound:
    return lower_bound(instance(name))
