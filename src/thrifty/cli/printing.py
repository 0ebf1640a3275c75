"""Output of the command line: tables, or JSON."""

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from thrifty.report.wording import count, plain, power, printable, with_error, with_errors

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from thrifty.allocation.bound import Bound
    from thrifty.lab.arena.standings import Standing
    from thrifty.lab.paper.claims import Verdict
    from thrifty.service.storage.tokens import Token
    from thrifty.studies.results import Result
    from thrifty.studies.study import Study

MOST_ROWS = 30  # of the table of an optimal allocation


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def print_study(study: "Study") -> None:
    """Print the regret of each policy on each instance, then the regret by label."""
    first = study.results[0]
    several = len({result.horizon for result in study.results}) > 1
    rounds = "n" if several else f"{first.horizon:,}"
    print(
        f"regret after {rounds} rounds, {count(first.replications, 'replication')}, "
        f"seed {first.seed}, {first.rewards} rewards"
    )
    headers = (*(("n",) if several else ()), "mean", "se", "median", "p95", "worst", "R/(C log n)")
    table = _table("instance", "policy", *headers, numeric=headers)
    for result in study.results:
        numbers = [
            "" if math.isnan(number) else f"{number:.4g}"
            for number in (result.mean, result.se, result.median, result.p95, result.max)
        ]
        ratio = "" if result.ratio is None else f"{result.ratio:.3g}"
        horizon = [f"{result.horizon:,}"] if several else []
        _add_row(table, result.instance.name, result.policy, *horizon, *numbers, ratio)
    _show(table)
    longest = max(result.horizon for result in study.results)
    split = [
        result for result in study.results if len(result.labels) > 1 and result.horizon == longest
    ]
    if split:
        _print_labels(split)


def _print_labels(results: list["Result"]) -> None:
    """Print mean rounds and regret by label, for policies with several labels."""
    table = _table(
        "instance",
        "policy",
        "why",
        "rounds",
        "regret",
        "share",
        "solves",
        numeric=("rounds", "regret", "share", "solves"),
    )
    for result in results:
        entry = result.to_json()
        for label, mean in entry["labels"].items():
            if mean["rounds"] > 0:
                share = f"{mean['regret'] / entry['mean']:.1%}" if entry["mean"] > 0 else ""
                solves = (
                    f"{entry['solves']:.0f}"
                    + (f" ({entry['unsolved']:.1f} missed)" if entry["unsolved"] else "")
                    if label == "matched"
                    else ""
                )
                who = (result.instance.name, result.policy, label)
                numbers = (f"{mean['rounds']:,.0f}", f"{mean['regret']:.4g}", share, solves)
                _add_row(table, *who, *numbers)
    _show(table)


def print_catalog(entries: list[dict[str, Any]]) -> None:
    """Print each family of instances with its names, size and definition."""
    width = min(_console().width, 110)
    for family, members in groupby(entries, key=lambda entry: str(entry["family"])):
        group = list(members)
        parameters = ",".join(
            f"{key}={_shown(value)}" for key, value in group[0]["family_parameters"].items()
        )
        names = [entry["name"] for entry in group if entry["name"] != family]
        print(
            family
            + (f":{parameters}" if parameters else "")
            + (f"   ({', '.join(names)})" if names else "")
        )
        print(
            textwrap.fill(
                _size(group[0]) + ". " + group[0]["definition"],
                width,
                initial_indent="    ",
                subsequent_indent="    ",
            )
        )


def _size(entry: dict[str, Any]) -> str:
    return (
        f"{count(entry['contexts'], 'context')}, {count(entry['arms'], 'arm')}, d = "
        f"{entry['dimension']}"
    )


def print_bound(found: "Bound") -> None:
    """Print the lower bound of one instance: the constant, and the optimal allocation."""
    problem, sets = found.instance, found.instance.sets
    size = {"contexts": sets.contexts, "arms": len(sets.rows), "dimension": sets.dimension}
    print(f"{printable(problem.name)}: {_size(size)}, noise {problem.noise:g}")
    print(f"C {_constant(found)}   ({found.status}, {_certified(found)})")
    print(found.in_words())
    for remark in found.remarks:
        print(f"Note: {remark}.")
    if found.status != "failed":
        _print_carriers(found)


def _print_carriers(found: "Bound") -> None:
    """Print the arms that carry the optimal allocation."""
    table = _table(
        "context",
        "probability",
        "arm",
        "gap",
        "pulls per log n",
        "share of C",
        numeric=("probability", "gap", "pulls per log n", "share of C"),
    )
    carriers = found.carriers()
    for row in carriers[:MOST_ROWS]:
        pulls = "free" if row.free else f"{row.pulls:.6g}"
        share = "" if row.free else f"{row.share:.1%}"
        numbers = (f"{row.gap:.6g}", pulls, share)
        _add_row(table, row.context, f"{row.probability:g}", row.arm, *numbers)
    _show(table)
    if len(carriers) > MOST_ROWS:
        print(f"and {len(carriers) - MOST_ROWS} more (--json has all)")
    idle = len(found.instance.sets.rows) - len(carriers)
    if idle:
        print(
            "The other arm needs no pulls of its own."
            if idle == 1
            else f"The other {idle} arms need no pulls of their own."
        )


def print_bounds(bounds: list["Bound"]) -> None:
    """Print the lower bounds of several instances, one row each."""
    table = _table(
        "instance",
        "M",
        "arms",
        "d",
        "d'",
        "C",
        "certificate",
        "exploration",
        numeric=("M", "arms", "d", "d'", "C"),
    )
    for found in bounds:
        sets = found.instance.sets
        counts = [
            str(count)
            for count in (sets.contexts, len(sets.rows), sets.dimension, found.reduced_dimension)
        ]
        constant = _constant(found).removeprefix("= ")
        _add_row(
            table, found.instance.name, *counts, constant, _certified(found), _explorers(found)
        )
    _show(table)
    print(
        "M contexts; d' directions that the optimal arms leave to explore; C regret "
        "per log n that no"
    )
    print("consistent policy can beat; exploration: context/arm and its share of C.")


def _explorers(found: "Bound") -> str:
    """The first arms that exploration needs, each with its share of C."""
    if found.status == "failed":
        return ""
    exploring = [row for row in found.carriers() if not row.free]
    who = ", ".join(
        f"{printable(row.context)}/{printable(row.arm)} {row.share:.0%}" for row in exploring[:3]
    )
    return who + (", ..." if len(exploring) > 3 else "") if who else "free"


def _constant(found: "Bound") -> str:
    """What is known about C: its value, or after a failed solve a lower bound."""
    return f">= {found.lower:.6g}" if found.status == "failed" else f"= {found.constant:.6g}"


def _certified(found: "Bound") -> str:
    if found.status == "failed":
        return "FAILED"
    certified = "exact" if found.gap == 0 else f"gap {found.gap:.0e}"
    return f"{certified} up to a tolerance" if found.solution.remarks else certified


def _table(*headers: str, numeric: tuple[str, ...]) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for header in headers:
        table.add_column(
            header,
            justify="right" if header in numeric else "left",
            no_wrap=header in numeric,
            overflow="fold",
        )
    return table


def _add_row(table: "Table", *cells: str) -> None:
    table.add_row(*map(printable, cells))


def _show(table: "Table") -> None:
    _console().print(table)


def _console() -> "Console":
    """Standard output, at least 80 columns wide; 120 columns if it is not a terminal."""
    from rich.console import Console

    console = Console(markup=False, emoji=False, highlight=False)
    console.width = max(console.width, 80) if console.is_terminal else 120
    return console


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2))


def print_policies(entries: list[dict[str, Any]]) -> None:
    """Print each policy with its definition and parameters."""
    width = min(_console().width, 110)
    for entry in entries:
        print(
            entry["name"]
            + "".join(f" {key}={_shown(value)}" for key, value in entry["parameters"].items())
        )
        print(
            textwrap.fill(
                entry["definition"], width, initial_indent="    ", subsequent_indent="    "
            )
        )
        for key, meaning in entry["meanings"].items():
            print(
                textwrap.fill(
                    f"{key}: {meaning}",
                    width,
                    initial_indent="      ",
                    subsequent_indent="        ",
                )
            )


def print_standings(standings: Mapping[str, Sequence["Standing"]]) -> None:
    """Print the ranking of policies, by group of instances and horizon."""
    from thrifty.lab.arena.tuning import origin
    from thrifty.lab.pages.arena_page import cvar_text, rank_text

    headers = ("relative regret", "worst", "CVaR", "median", "stuck", "runs", "ns")
    for group, found in standings.items():
        for horizon, standing_rows in groupby(found, key=lambda standing: standing.horizon):
            own = list(standing_rows)
            most = max(standing.instances for standing in own)
            print(f"{group}, n = {power(horizon)}, {count(most, 'instance')}")
            table = _table("rank", "policy", "values", *headers, numeric=headers)
            for standing in own:
                fewer = "" if standing.instances == most else f" (on {standing.instances})"
                _add_row(
                    table,
                    rank_text(standing),
                    standing.policy + fewer,
                    origin(standing.policy),
                    with_errors(standing.ratio, standing.error, standing.instance_error),
                    with_error(standing.worst, standing.worst_error),
                    cvar_text(standing),
                    plain(standing.median, 3),
                    str(standing.stuck),
                    str(standing.replications),
                    f"{standing.nanoseconds:,.0f}",
                )
            _show(table)
    print("relative regret ± over replications ± over instances; runs of each policy and instance;")
    print("ns per round; CVaR: mean of the worst 2 % of the runs, relative to that of lints.")


def print_verdicts(verdicts: Sequence["Verdict"]) -> None:
    """Print each claim with its verdict."""
    table = _table("claim", "where", "verdict", numeric=())
    for verdict in verdicts:
        table.add_row(verdict.claim.statement, verdict.claim.where, verdict.words)
    _show(table)


def print_experiments(experiments: list[dict[str, Any]]) -> None:
    """Print the experiments of a service."""
    numeric = ("decisions", "waiting", "mean reward", "explored", "cost", "expected")
    table = _table("name", "status", "policy", *numeric, numeric=numeric)
    for one in experiments:
        counts, exploration, mean = one["counts"], one["exploration"], one["mean_reward"]
        _add_row(
            table,
            one["name"],
            one["status"],
            one["policy"],
            f"{counts['decisions']:,}",
            f"{counts['waiting']:,}",
            "" if mean is None else plain(mean, 3),
            f"{exploration['share']:.1%}",
            plain(exploration["cost"], 3),
            plain(exploration["expected"], 3),
        )
    _show(table)


def print_tokens(tokens: "list[Token]") -> None:
    """Print tokens without their secrets."""
    table = _table("id", "name", "scopes", "made", "revoked", numeric=())
    for token in tokens:
        revoked = "" if token.revoked is None else _day(token.revoked)
        _add_row(
            table, token.id, token.name, " ".join(sorted(token.scopes)), _day(token.at), revoked
        )
    _show(table)


def _day(at: int) -> str:
    return datetime.fromtimestamp(at / 1e6, UTC).date().isoformat()
