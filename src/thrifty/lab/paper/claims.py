"""Claims and verdicts: a statement, the cases that decide it, and what the results say.

A claim holds if it holds in all cases, and under some settings if it holds in some. If it holds in
none, it is undecided where standard errors leave a case open, and was not seen otherwise.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from thrifty.allocation.bound import Bound
from thrifty.lab.paper.evidence import Comparison, Finding, Missing, ResultTable
from thrifty.report.wording import count, listing
from thrifty.studies.results import Result

# statuses in claims.json
HOLDS, CONDITIONAL, UNDECIDED, NOT_SEEN = "holds", "holds only when", "undecided", "not seen"
_COUNTED = {  # what one or several claims of a status do
    HOLDS: ("holds", "hold"),
    CONDITIONAL: ("holds under some settings only", "hold under some settings only"),
    UNDECIDED: ("is undecided", "are undecided"),
    NOT_SEEN: ("was not seen", "were not seen"),
}


@dataclass(frozen=True)
class Case:
    """A setting, `{"width": "oful", "n": "1e4"}`, and the comparison that decides the claim."""

    when: Mapping[str, str]
    comparison: Comparison

    @property
    def words(self) -> str:
        """The setting as text: `width = oful, n = 1e4`."""
        return ", ".join(f"{name} = {value}" for name, value in self.when.items())


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, or a finding of our own; claims.toml says what each field means."""

    name: str
    where: str
    panels: tuple[str, ...]
    statement: str
    cases: tuple[Case, ...]
    remark: str = ""
    ours: bool = False


@dataclass(frozen=True)
class Verdict:
    """A claim with one finding per case."""

    claim: Claim
    findings: tuple[Finding, ...]

    @property
    def status(self) -> str:
        """HOLDS, CONDITIONAL, UNDECIDED or NOT_SEEN."""
        held = [finding.holds for finding in self.findings]
        if any(held):
            return HOLDS if all(held) else CONDITIONAL
        return UNDECIDED if None in held else NOT_SEEN

    @property
    def words(self) -> str:
        """The verdict as a predicate: `holds`, `holds in 5 of 8 settings, 1 undecided`."""
        answers = [finding.holds for finding in self.findings]
        held, left_open, cases = answers.count(True), answers.count(None), len(answers)
        if cases in (held, left_open) or not held + left_open:
            return self.status
        if not held:
            return f"undecided in {left_open} of {cases} settings, not seen in the others"
        undecided = f", {left_open} undecided" if left_open else ""
        return f"holds in {held} of {cases} settings{undecided}"

    def pairs(self) -> list[tuple[Case, Finding]]:
        """Each case with its finding."""
        return list(zip(self.claim.cases, self.findings, strict=True))

    def to_json(self) -> dict[str, Any]:
        """The entry of claims.json."""
        claim = self.claim
        return {
            "claim": claim.name,
            "where": claim.where,
            "ours": claim.ours,
            "experiments": list(claim.panels),  # the key is older than the word panel
            "statement": claim.statement,
            "verdict": self.words,
            "status": self.status,
            "remark": claim.remark,
            "cases": [
                {"when": case.words, "holds": finding.holds, "measured": finding.measured}
                for case, finding in self.pairs()
            ],
        }


def judge(
    claims: Sequence[Claim], results: Mapping[str, Sequence[Result]], bound: Callable[[str], Bound]
) -> list[Verdict]:
    """Verdicts on the claims whose panels have results, given by name of the panel."""
    verdicts = []
    for claim in claims:
        if all(name in results for name in claim.panels):
            played = [result for name in claim.panels for result in results[name]]
            table = ResultTable(played, bound)
            with suppress(Missing):
                findings = tuple(case.comparison(table) for case in claim.cases)
                verdicts.append(Verdict(claim, findings))
    return verdicts


def summary(verdicts: Sequence[Verdict]) -> str:
    """The number of the paper's claims by status, and the statements undecided or not seen."""
    by_status: dict[str, list[str]] = {status: [] for status in _COUNTED}
    for verdict in verdicts:
        if not verdict.claim.ours:
            by_status[verdict.status].append(verdict.claim.statement)
    numbers = {status: len(statements) for status, statements in by_status.items()}
    counts = [f"{n} {_COUNTED[status][n != 1]}" for status, n in numbers.items() if n]
    of_paper = count(sum(numbers.values()), "claim")
    sentences = [f"Of {of_paper}, {listing(counts)}."] if counts else []
    for status, title in ((UNDECIDED, "Undecided"), (NOT_SEEN, "Not seen")):
        if by_status[status]:
            quoted = " ".join(f"“{statement}”" for statement in by_status[status])
            sentences.append(f"{title}: {quoted}")
    return " ".join(sentences)
