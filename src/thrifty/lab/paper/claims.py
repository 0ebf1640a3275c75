"""Claims and verdicts: a statement, the cases that decide it, and what the results say.

A claim holds if it holds in all cases, and holds under conditions if it holds in some. If it holds
in none, it is undecided where standard errors leave a case open, and was not seen otherwise.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from thrifty.allocation.bound import Bound
from thrifty.lab.paper.conditions import Condition, combined, phrase
from thrifty.lab.paper.evidence import Comparison, Finding, Missing, ResultTable
from thrifty.report.wording import count, listing
from thrifty.studies.results import Result

# statuses in claims.json
HOLDS, CONDITIONAL, UNDECIDED, NOT_SEEN = "holds", "holds only when", "undecided", "not seen"


@dataclass(frozen=True)
class Case:
    """A condition, `{"width": "oful"}`, and the comparison that decides the claim under it."""

    when: Condition
    comparison: Comparison

    @property
    def words(self) -> str:
        """The condition as a phrase: `with the oful width`."""
        return phrase(self.when)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, or a finding of our own.

    Attributes
    ----------
    name : short and unique, for links
    where : its place in the paper
    experiments : names of the experiments whose results decide it
    statement : the claim, as a sentence
    cases : the cases that decide it
    remark : a note for readers of the verdict
    clause : the claim as a clause after `That`, for claims that the summary mentions
    ours : a finding that the paper does not state
    """

    name: str
    where: str
    experiments: tuple[str, ...]
    statement: str
    cases: tuple[Case, ...]
    remark: str = ""
    clause: str = ""
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
        """The verdict as a predicate: `holds with the oful width`, `holds, except for u = 0.02`.

        Names the conditions under which the claim holds, or the exceptions if these are fewer, and
        those under which it is undecided.
        """
        held, failed, left_open = (
            [case.when for case, finding in self.pairs() if finding.holds is answer]
            for answer in (True, False, None)
        )
        possible = [case.when for case in self.claim.cases]
        if max(map(len, (held, failed, left_open))) == len(possible):
            return self.status
        if not held:
            return f"undecided {combined(left_open, possible)}, not seen otherwise"
        if not left_open:
            return (
                f"holds, except {combined(failed, possible)}"
                if len(failed) < len(held)
                else f"holds {combined(held, possible)}"
            )
        if not failed:
            return f"holds; undecided {combined(left_open, possible)}"
        return (
            f"holds {combined(held, possible)}; undecided {combined(left_open, possible)}; "
            "not seen otherwise"
        )

    def pairs(self) -> list[tuple[Case, Finding]]:
        """Each case with its finding."""
        return list(zip(self.claim.cases, self.findings, strict=True))

    def to_json(self) -> dict[str, Any]:
        """The entry of claims.json."""
        return {
            "claim": self.claim.name,
            "where": self.claim.where,
            "ours": self.claim.ours,
            "experiments": list(self.claim.experiments),
            "statement": self.claim.statement,
            "verdict": self.words,
            "status": self.status,
            "remark": self.claim.remark,
            "cases": [
                {"when": case.words, "holds": finding.holds, "measured": finding.measured}
                for case, finding in self.pairs()
            ],
        }


def judge(
    claims: Sequence[Claim], results: Mapping[str, Sequence[Result]], bound: Callable[[str], Bound]
) -> list[Verdict]:
    """Verdicts on the claims whose experiments have results.

    Parameters
    ----------
    results : by name of the experiment
    bound : the lower bound of an instance, by its name
    """
    verdicts = []
    for claim in claims:
        if all(name in results for name in claim.experiments):
            table = ResultTable(
                [result for name in claim.experiments for result in results[name]], bound
            )
            with suppress(Missing):
                verdicts.append(
                    Verdict(claim, tuple(case.comparison.find(table) for case in claim.cases))
                )
    return verdicts


def summary(verdicts: Sequence[tuple[Claim, str, str]]) -> str:
    """A paragraph about verdicts, each given as claim, status and words.

    It counts the verdicts on the paper's claims, gives those on claims with a clause, and lists the
    claims that are undecided or were not seen.
    """
    of_paper = [triple for triple in verdicts if not triple[0].ours]
    statuses = [status for _, status, _ in of_paper]
    counts = [
        f"{number} {singular if number == 1 else plural}"
        for status, singular, plural in _COUNTED
        if (number := statuses.count(status))
    ]
    sentences = [f"Of {count(len(of_paper), 'claim')}, {listing(counts)}."] if counts else []
    sentences += [
        f"That {claim.clause} {words}."
        for claim, status, words in of_paper
        if claim.clause and status in (HOLDS, CONDITIONAL)
    ]
    for status, title in ((UNDECIDED, "Undecided"), (NOT_SEEN, "Not seen")):
        named = [f"“{claim.statement}”" for claim, found, _ in of_paper if found == status]
        sentences += [f"{title}: {' '.join(named)}"] if named else []
    return " ".join(sentences)


_COUNTED = (  # status, and what one or several claims of it do
    (HOLDS, "holds", "hold"),
    (CONDITIONAL, "holds under some conditions only", "hold under some conditions only"),
    (UNDECIDED, "is undecided", "are undecided"),
    (NOT_SEEN, "was not seen", "were not seen"),
)
