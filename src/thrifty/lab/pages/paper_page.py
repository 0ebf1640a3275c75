"""The page of the reproduction: what came out, the claims with verdicts, and the experiments."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from thrifty.lab.paper.claims import CONDITIONAL, HOLDS, NOT_SEEN, UNDECIDED, Verdict, summary
from thrifty.lab.paper.panels import EXPERIMENTS, OAM, Experiment
from thrifty.report.figures import longest
from thrifty.report.pages import Page, Section, Statement, picture
from thrifty.studies.results import Result

TITLE = "Adaptive exploration, reproduced"
CLAIMS_TITLE = "Claims and verdicts"
ABOUT = (
    "The experiments are those of Hao, Lattimore and Szepesvári, Adaptive Exploration in Linear "
    "Contextual Bandit (AISTATS 2020). Every verdict is computed from the results on this page: "
    "differences are paired by replication, and are clear from two standard errors on; a saving "
    "below a twentieth is none. A claim is undecided where the standard errors allow no answer, "
    "and was not seen where the results contradict it. Cases are judged one by one: of those that "
    "lie at a limit, about one in twenty comes out wrong by chance.",
    "The paper does not give its horizons, LinUCB's confidence width, or the constants of OAM and "
    "OSSB, so claims are judged for several: for several horizons where OAM is compared with "
    "LinUCB in Figures 1 and 2, and where LinTS is compared with all, else for the longest. OAM "
    "runs with epsilon = 0 and c = 0, the library's defaults, and with c = 1. Both lie outside of "
    "the theorem, whose proof needs c > 0 and forced exploration at a rate that tends to 0; these "
    "defaults were chosen by regret on thirteen instances, six of them the paper's. On "
    "large-100 both values of c give the same runs. LinUCB runs with its own width, oful, and with "
    "fn, noise sqrt(f_n), at the c of the OAM that it is compared with (alone, at c = 1). OSSB "
    "runs with epsilon = gamma = 0, 0.001 and 0.01.",
)
LABELS_ABOUT = (
    "Rounds of OAM are init, until all directions are known; exploit; forced on the least played "
    "arm; matched to the optimal allocation; or wasted, when the allocation is reached but the "
    "data do not yet confirm the best arm. In theory only matched exploration has regret of order "
    "log n."
)
TAIL_ABOUT = "The mean does not show the risk of a single run."
MARKS = {
    HOLDS: ("✓", "good"),
    CONDITIONAL: ("◐", "half"),
    UNDECIDED: ("?", "open"),
    NOT_SEEN: ("✗", "bad"),
}
ANSWERS = {True: "✓", False: "✗", None: "?"}  # of a case


def paper_page(
    results: Mapping[str, tuple[Result, ...]], verdicts: Sequence[Verdict], folder: Path
) -> Page:
    """The page of a reproduction that is kept in a folder; results by experiment."""
    statements = tuple(map(statement_of, verdicts))
    sections = [
        _section(experiment, results[experiment.name], statements, folder)
        for experiment in EXPERIMENTS
        if experiment.name in results
    ]
    paragraphs: tuple[str, ...] = ABOUT
    if verdicts:
        triples = [(verdict.claim, verdict.status, verdict.words) for verdict in verdicts]
        paragraphs = (summary(triples), *ABOUT)
    sections += _supplements(results)
    return Page(TITLE, paragraphs, tuple(sections), statements, CLAIMS_TITLE)


def statement_of(verdict: Verdict) -> Statement:
    """A verdict as part of a page, in the section of the claim's first experiment."""
    claim = verdict.claim
    mark, tone = MARKS[verdict.status]
    points = tuple(
        f"{ANSWERS[finding.holds]} {f'{case.words}: ' if case.words else ''}{finding.measured}"
        for case, finding in verdict.pairs()
    )
    return Statement(
        name=claim.name,
        section=claim.experiments[0],
        text=claim.statement,
        where=f"ours, {claim.where}" if claim.ours else claim.where,
        mark=mark,
        tone=tone,
        words=verdict.words,
        points=points,
        remark=claim.remark,
    )


def _section(
    experiment: Experiment,
    results: tuple[Result, ...],
    statements: Sequence[Statement],
    folder: Path,
) -> Section:
    last, scale = results[-1], experiment.full
    complete = last.horizon == scale.horizons[-1] and last.replications >= scale.replications
    full = "--full " if complete else ""
    horizons = ", ".join(f"{n:,}" for n in sorted({result.horizon for result in results}))
    simulated = f"{results[0].replications} replications of n = {horizons} rounds."
    return Section(
        name=experiment.name,
        title=experiment.title,
        where=experiment.where,
        text=f"{experiment.about} {simulated}",
        pictures=tuple(picture(kind, experiment.name, results) for kind in experiment.figures),
        results=results,
        statements=tuple(one for one in statements if one.section == experiment.name),
        rerun=f"thrifty reproduce {full}--only {experiment.name} --out {shlex.quote(str(folder))}",
    )


def _supplements(results: Mapping[str, tuple[Result, ...]]) -> list[Section]:
    """Sections about OAM's labels and the distribution of regret, on the paper's experiments."""
    shown = [
        result
        for experiment in EXPERIMENTS
        if experiment.name in results and "Figure" in experiment.where
        for result in longest(results[experiment.name])
    ]
    where = "supplements Section 5"
    split = [result for result in shown if result.policy == OAM]
    sections = []
    if split:
        labels = (picture("labels", "labels", split),)
        sections.append(
            Section("labels", "OAM's regret by label", where, LABELS_ABOUT, pictures=labels)
        )
    if shown:
        tail = (picture("tail", "tail", shown),)
        sections.append(
            Section("tail", "Distribution of the regret", where, TAIL_ABOUT, pictures=tail)
        )
    return sections
