"""What the command line prints: tables, or JSON."""

import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from thrifty.report.wording import count, plain, power, printable, with_error

if TYPE_CHECKING:
    from rich.console import Console

    from thrifty.allocation.bound import Bound
    from thrifty.lab.arena.standings import Standing
    from thrifty.lab.paper.claims import Verdict
    from thrifty.service.storage.tokens import Token
    from thrifty.studies.results import Result
    from thrifty.studies.study import Study

MOST_ROWS = 30  # of the table of an optimal allocation


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2))


def _print_table(words: str, numbers: str, rows: Iterable[Sequence[str]]) -> None:
    """Print a table: columns of words, then columns of numbers; headers are separated by `|`.

    A header of words that starts with `>` is one of numbers, too.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    headers = words.split("|") + [f">{number}" for number in numbers.split("|") if number]
    for header in headers:
        right = header.startswith(">")
        justify: Any = "right" if right else "left"
        table.add_column(header.removeprefix(">"), justify=justify, no_wrap=right, overflow="fold")
    for row in rows:
        table.add_row(*map(printable, row))
    _console().print(table)


def _console() -> "Console":
    """Standard output, at least 80 columns wide; 120 columns if it is not a terminal."""
    from rich.console import Console

    console = Console(markup=False, emoji=False, highlight=False)
    console.width = max(console.width, 80) if console.is_terminal else 120
    return console


def _print_filled(text: str, indent: int, hanging: int = 0) -> None:
    """Print a paragraph, indented; lines after the first by so much more."""
    width = min(_console().width, 110)
    first, rest = " " * indent, " " * (indent + hanging)
    print(textwrap.fill(text, width, initial_indent=first, subsequent_indent=rest))


def print_study(study: "Study") -> None:
    """Print the regret of each policy on each instance, then the regret by label."""
    first = study.results[0]
    horizons = {result.horizon for result in study.results}
    several = len(horizons) > 1
    print(
        f"regret after {'n' if several else f'{first.horizon:,}'} rounds, "
        f"{count(first.replications, 'replication')}, seed {first.seed}, {first.rewards} rewards"
    )
    rows: list[tuple[str, ...]] = []
    for result in study.results:
        statistics = (result.mean, result.se, result.median, result.p95, result.max)
        numbers = ["" if math.isnan(number) else f"{number:.4g}" for number in statistics]
        horizon = [f"{result.horizon:,}"] if several else []
        ratio = "" if result.ratio is None else f"{result.ratio:.3g}"
        rows.append((result.instance.name, result.policy, *horizon, *numbers, ratio))
    n = "n|" if several else ""
    _print_table("instance|policy", f"{n}mean|se|median|p95|worst|R/(C log n)", rows)
    longest = [result for result in study.results if result.horizon == max(horizons)]
    split = [row for result in longest if len(result.labels) > 1 for row in _label_rows(result)]
    if split:
        _print_table("instance|policy|why", "rounds|regret|share|solves", split)


def _label_rows(result: "Result") -> list[tuple[str, ...]]:
    """Mean rounds and regret by label, of labels that occur."""
    entry = result.to_json()
    rows: list[tuple[str, ...]] = []
    for label, mean in entry["labels"].items():
        if mean["rounds"] > 0:
            share = f"{mean['regret'] / entry['mean']:.1%}" if entry["mean"] > 0 else ""
            missed = f" ({entry['unsolved']:.1f} missed)" if entry["unsolved"] else ""
            solves = f"{entry['solves']:.0f}{missed}" if label == "matched" else ""
            numbers = (f"{mean['rounds']:,.0f}", f"{mean['regret']:.4g}", share, solves)
            rows.append((result.instance.name, result.policy, label, *numbers))
    return rows


def print_catalog(entries: list[dict[str, Any]]) -> None:
    """Print each family of instances with its names, size and definition."""
    for family, members in groupby(entries, key=lambda entry: str(entry["family"])):
        group = list(members)
        defaults = group[0]["family_parameters"].items()
        parameters = ",".join(f"{key}={_shown(value)}" for key, value in defaults)
        names = ", ".join(entry["name"] for entry in group if entry["name"] != family)
        print(f"{family}{':' * bool(parameters)}{parameters}{f'   ({names})' if names else ''}")
        _print_filled(f"{_size(group[0])}. {group[0]['definition']}", 4)


def print_policies(entries: list[dict[str, Any]]) -> None:
    """Print each policy with its definition and parameters."""
    for entry in entries:
        parameters = (f" {key}={_shown(value)}" for key, value in entry["parameters"].items())
        mark = " (experimental)" if entry["experimental"] else ""
        print(entry["name"] + "".join(parameters) + mark)
        _print_filled(entry["definition"], 4)
        for key, meaning in entry["meanings"].items():
            _print_filled(f"{key}: {meaning}", 6, 2)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _size(entry: Mapping[str, Any]) -> str:
    sizes = f"{count(entry['contexts'], 'context')}, {count(entry['arms'], 'arm')}"
    return f"{sizes}, d = {entry['dimension']}"


def print_bound(bound: "Bound") -> None:
    """Print the lower bound of one instance: the constant, and the optimal allocation."""
    problem, sets = bound.instance, bound.instance.sets
    size = {"contexts": sets.contexts, "arms": len(sets.rows), "dimension": sets.dimension}
    print(f"{printable(problem.name)}: {_size(size)}, noise {problem.noise:g}")
    print(f"C {_constant(bound)}   ({bound.status}, {_certified(bound)})")
    print(bound.in_words())
    for remark in bound.remarks:
        print(f"Note: {remark}.")
    if bound.status != "failed":
        _print_carriers(bound)


def _print_carriers(bound: "Bound") -> None:
    """Print the arms that carry the optimal allocation."""
    carriers = bound.carriers()
    rows = []
    for row in carriers[:MOST_ROWS]:
        cost = ("free", "") if row.free else (f"{row.pulls:.6g}", f"{row.share:.1%}")
        rows.append((row.context, f"{row.probability:g}", row.arm, f"{row.gap:.6g}", *cost))
    _print_table("context|>probability|arm", "gap|pulls per log n|share of C", rows)
    if len(carriers) > MOST_ROWS:
        print(f"and {len(carriers) - MOST_ROWS} more (--json has all)")
    if (idle := len(bound.instance.sets.rows) - len(carriers)) == 1:
        print("The other arm needs no pulls of its own.")
    elif idle:
        print(f"The other {idle} arms need no pulls of their own.")


def print_bounds(bounds: list["Bound"]) -> None:
    """Print the lower bounds of several instances, one row each."""
    rows = []
    for bound in bounds:
        sets = bound.instance.sets
        sizes = (sets.contexts, len(sets.rows), sets.dimension, bound.reduced_dimension)
        words = (_constant(bound).removeprefix("= "), _certified(bound), _explorers(bound))
        rows.append((bound.instance.name, *map(str, sizes), *words))
    _print_table("instance|>M|>arms|>d|>d'|>C|certificate|exploration", "", rows)
    print(
        "M contexts; d' directions that the optimal arms leave to explore; C regret per log n that "
        "no\nconsistent policy can beat; exploration: context/arm and its share of C."
    )


def _explorers(bound: "Bound") -> str:
    """The first arms that exploration needs, each with its share of C."""
    if bound.status == "failed":
        return ""
    exploring = [row for row in bound.carriers() if not row.free]
    arms = ((printable(row.context), printable(row.arm), row.share) for row in exploring[:3])
    who = ", ".join(f"{context}/{arm} {share:.0%}" for context, arm, share in arms)
    return who + ", ..." * (len(exploring) > 3) if who else "free"


def _constant(bound: "Bound") -> str:
    """What is known about C: its value, or after a failed solve a lower bound."""
    return f">= {bound.lower:.6g}" if bound.status == "failed" else f"= {bound.constant:.6g}"


def _certified(bound: "Bound") -> str:
    if bound.status == "failed":
        return "FAILED"
    certified = "exact" if bound.gap == 0 else f"gap {bound.gap:.0e}"
    return f"{certified} up to a tolerance" if bound.solution.remarks else certified


def print_standings(standings: Mapping[str, Sequence["Standing"]]) -> None:
    """Print the ranking of policies, by group of instances and horizon."""
    from thrifty.lab.arena.tuning import values_of
    from thrifty.lab.pages.arena_page import cvar_text, rank_text, ratio_text

    for group, of_group in standings.items():
        for horizon, ranking in groupby(of_group, key=lambda standing: standing.horizon):
            ranked = list(ranking)
            most = max(standing.instances for standing in ranked)
            print(f"{group}, n = {power(horizon)}, {count(most, 'instance')}")
            rows = [
                (
                    rank_text(row),
                    row.policy + ("" if row.instances == most else f" (on {row.instances})"),
                    values_of(row.policy),
                    ratio_text(row),
                    with_error(row.worst, row.worst_error),
                    cvar_text(row),
                    plain(row.median, 3),
                    str(row.stuck),
                    str(row.replications),
                    f"{row.nanoseconds:,.0f}",
                )
                for row in ranked
            ]
            numbers = "relative regret|worst|CVaR|median|stuck|runs|ns"
            _print_table("rank|policy|values", numbers, rows)
    print("relative regret ± over replications ± over instances; runs of each policy and instance;")
    print("ns per round; CVaR: mean of the worst 2 % of the runs, relative to that of lints.")


def print_verdicts(verdicts: Sequence["Verdict"]) -> None:
    """Print each claim with its verdict."""
    rows = [(verdict.claim.statement, verdict.claim.where, verdict.words) for verdict in verdicts]
    _print_table("claim|where|verdict", "", rows)


def print_experiments(experiments: list[dict[str, Any]]) -> None:
    """Print the experiments of a service."""
    rows = []
    for entry in experiments:
        counts, exploration, mean = entry["counts"], entry["exploration"], entry["mean_reward"]
        numbers = (
            f"{counts['decisions']:,}",
            f"{counts['waiting']:,}",
            "" if mean is None else plain(mean, 3),
            f"{exploration['share']:.1%}",
            plain(exploration["cost"], 3),
            plain(exploration["expected"], 3),
        )
        rows.append((entry["name"], entry["status"], entry["policy"], *numbers))
    columns = "decisions|pending|mean reward|explored|cost|expected"
    _print_table("name|status|policy", columns, rows)


def print_tokens(tokens: "list[Token]") -> None:
    """Print tokens without their secrets."""
    rows = []
    for token in tokens:
        days = ("" if at is None else _day(at) for at in (token.at, token.revoked))
        rows.append((token.id, token.name, " ".join(sorted(token.scopes)), *days))
    _print_table("id|name|scopes|made|revoked", "", rows)


def _day(at: int) -> str:
    return datetime.fromtimestamp(at / 1e6, UTC).date().isoformat()
