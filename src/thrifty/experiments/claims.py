"""Claims that results can decide: what is said, the cases that decide it, and the verdict.

A claim has cases, each with the condition it stands for and a comparison. It holds if all cases do;
it holds only under some conditions if some do; else it was not seen.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from thrifty.allocation.bound import Bound
from thrifty.experiments.comparisons import Comparison, Evidence, Finding, Missing
from thrifty.studies.results import Result


@dataclass(frozen=True)
class Case:
    """A condition, `with the width oful`, and what decides whether the claim holds then."""

    when: str
    comparison: Comparison


@dataclass(frozen=True)
class Claim:
    """What the paper says, in our words.

    Attributes
    ----------
    name : short, for links
    where : in the paper
    experiments : whose results decide it
    statement : what is claimed
    cases : what decides it
    remark : what a reader should know beside the verdict
    """

    name: str
    where: str
    experiments: tuple[str, ...]
    statement: str
    cases: tuple[Case, ...]
    remark: str = ""


@dataclass(frozen=True)
class Verdict:
    """What became of a claim."""

    claim: Claim
    findings: tuple[Finding, ...]

    @property
    def status(self) -> str:
        """`holds`, `holds only when`, or `not seen`."""
        held = [finding.holds for finding in self.findings]
        return "holds" if all(held) else "holds only when" if any(held) else "not seen"

    @property
    def words(self) -> str:
        """The status, with the conditions under which the claim holds, or does not, whichever are
        fewer.
        """
        held, failed = (
            [case.when for case, finding in self.pairs() if finding.holds is wanted]
            for wanted in (True, False)
        )
        if not held or not failed:
            return self.status
        return (
            f"holds, except when {'; '.join(failed)}"
            if len(failed) < len(held)
            else f"holds only when {'; '.join(held)}"
        )

    def pairs(self) -> list[tuple[Case, Finding]]:
        """Each case with what was found."""
        return list(zip(self.claim.cases, self.findings, strict=True))

    def to_json(self) -> dict[str, Any]:
        """An entry of claims.json."""
        return {
            "claim": self.claim.name,
            "where": self.claim.where,
            "experiments": list(self.claim.experiments),
            "statement": self.claim.statement,
            "verdict": self.words,
            "status": self.status,
            "remark": self.claim.remark,
            "cases": [
                {"when": case.when, "holds": finding.holds, "measured": finding.measured}
                for case, finding in self.pairs()
            ],
        }


def judge(
    claims: Sequence[Claim], results: Mapping[str, Sequence[Result]], bound: Callable[[str], Bound]
) -> list[Verdict]:
    """The verdicts on those claims that the experiments which have been played can decide; results
    by experiment, and the bound of an instance by its name.
    """
    verdicts = []
    for claim in claims:
        if all(name in results for name in claim.experiments):
            evidence = Evidence(
                [result for name in claim.experiments for result in results[name]], bound
            )
            with suppress(Missing):
                verdicts.append(
                    Verdict(claim, tuple(case.comparison.find(evidence) for case in claim.cases))
                )
    return verdicts
