"""Claims and verdicts: a statement, the cases that decide it, and what the results say.

A claim holds if it holds in all cases, holds under conditions if it holds in some, and was not seen
if it holds in none.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from thrifty.allocation.bound import Bound
from thrifty.experiments.comparisons import Comparison, Finding, Missing, ResultTable
from thrifty.experiments.conditions import Condition, combined, phrase
from thrifty.report.wording import count, listing
from thrifty.studies.results import Result

HOLDS, CONDITIONAL, NOT_SEEN = "holds", "holds only when", "not seen"  # statuses in claims.json


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
    """A claim of the paper.

    Attributes
    ----------
    name : short and unique, for links
    where : its place in the paper
    experiments : names of the experiments whose results decide it
    statement : the claim, as a sentence
    cases : the cases that decide it
    remark : a note for readers of the verdict
    clause : the claim as a clause after `That`, for claims that the summary mentions
    """

    name: str
    where: str
    experiments: tuple[str, ...]
    statement: str
    cases: tuple[Case, ...]
    remark: str = ""
    clause: str = ""


@dataclass(frozen=True)
class Verdict:
    """A claim with one finding per case."""

    claim: Claim
    findings: tuple[Finding, ...]

    @property
    def status(self) -> str:
        """HOLDS, CONDITIONAL or NOT_SEEN."""
        held = [finding.holds for finding in self.findings]
        return HOLDS if all(held) else CONDITIONAL if any(held) else NOT_SEEN

    @property
    def words(self) -> str:
        """The verdict as a predicate: `holds with the oful width`, `holds, except for u = 0.02`.

        Names the conditions under which the claim holds, or the exceptions if these are fewer.
        """
        if self.status != CONDITIONAL:
            return self.status
        held, failed = (
            [case.when for case, finding in self.pairs() if finding.holds is wanted]
            for wanted in (True, False)
        )
        possible = [case.when for case in self.claim.cases]
        if len(failed) < len(held):
            return f"holds, except {combined(failed, possible)}"
        return f"holds {combined(held, possible)}"

    def pairs(self) -> list[tuple[Case, Finding]]:
        """Each case with its finding."""
        return list(zip(self.claim.cases, self.findings, strict=True))

    def to_json(self) -> dict[str, Any]:
        """The entry of claims.json."""
        return {
            "claim": self.claim.name,
            "where": self.claim.where,
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

    It counts the verdicts, gives those on claims with a clause, and lists the claims not seen.
    """
    statuses = [status for _, status, _ in verdicts]
    holds, conditional, unseen = (statuses.count(one) for one in (HOLDS, CONDITIONAL, NOT_SEEN))
    counts = [
        f"{number} {verb}"
        for number, verb in (
            (holds, "holds" if holds == 1 else "hold"),
            (conditional, f"{'holds' if conditional == 1 else 'hold'} under some conditions only"),
            (unseen, f"{'was' if unseen == 1 else 'were'} not seen"),
        )
        if number
    ]
    sentences = [f"Of {count(len(verdicts), 'claim')}, {listing(counts)}."]
    sentences += [
        f"That {claim.clause} {words}."
        for claim, status, words in verdicts
        if claim.clause and status != NOT_SEEN
    ]
    missed = [f"“{claim.statement}”" for claim, status, _ in verdicts if status == NOT_SEEN]
    return " ".join([*sentences, *([f"Not seen: {' '.join(missed)}"] if missed else [])])
