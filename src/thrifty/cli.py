"""The command line: parse, call, print. Heavy modules are imported by the command that needs them."""

import io
import json
import math
import os
import sys
import textwrap
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thrifty.errors import NOTHING, InvalidInput, ThriftyError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from thrifty.bound import Bound
    from thrifty.results import Result
    from thrifty.study import Study

app = typer.Typer(
    help="Exploration that costs no more than it must: linear contextual bandits, their lower bounds, optimal allocations and policies.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

MOST_ROWS = 30  # a person reads no longer table
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def main() -> None:
    """Run the command line; a user's mistake ends with one line and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show is no reason to fail
    try:
        code = app(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (ThriftyError, typer.TyperException) as error:
        message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
        if message:
            print(f"thrifty: {message}", file=sys.stderr)
        code = 2
    except OSError as error:
        print(f"thrifty: output: {error.strerror or error}", file=sys.stderr)
        os._exit(1)  # what is left in the buffers cannot be written either
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    sys.exit(code)


@app.callback(invoke_without_command=True)
def _root(context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False) -> None:
    if version:
        import thrifty

        print(f"thrifty {thrifty.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def bound(
    instances: Annotated[list[str] | None, typer.Argument(metavar="INSTANCE...", help="Names from the catalog or TOML files.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every instance of the catalog.")] = False,
    as_json: Json = False,
) -> None:
    """The regret per log n that no consistent policy can beat, and which arms carry the exploration."""
    from rich.console import Console

    from thrifty.bound import lower_bound
    from thrifty.catalog import CATALOG, instance

    names = [*(instances or []), *(CATALOG if every else ())]
    if not names:
        raise InvalidInput("bound", "an instance, or --all", NOTHING)
    problems = [instance(name) for name in names]
    with Console(stderr=True).status("solving"):
        bounds = [lower_bound(problem) for problem in problems]
    if as_json:
        several = [{"instance": problem.name} | found.to_json() for problem, found in zip(problems, bounds, strict=True)]
        _print_json(bounds[0].to_json() if len(bounds) == 1 else several)
    elif len(bounds) == 1:
        _print_bound(bounds[0])
    else:
        _print_bounds(bounds)
    if any(found.status == "failed" for found in bounds):
        raise typer.Exit(1)


@app.command()
def instances(
    name: Annotated[str | None, typer.Argument(metavar="[INSTANCE]", help="Print this one as a TOML file, to start your own from.")] = None,
    as_json: Json = False,
) -> None:
    """The catalog of named instances; with a name, that instance as TOML."""
    from thrifty.catalog import describe, instance

    if name is not None:
        print(instance(name).to_toml(), end="")
    elif as_json:
        _print_json(describe())
    else:
        _print_catalog(describe())


@app.command()
def run(
    names: Annotated[list[str], typer.Argument(metavar="INSTANCE...", help="Names from the catalog or TOML files.")],
    policy: Annotated[list[str] | None, typer.Option("--policy", metavar="SPEC", help="NAME or NAME:KEY=VALUE,...; may be repeated.")] = None,
    horizon: Annotated[float, typer.Option(help="Rounds of each replication; 1e5 is fine.")] = 1e4,
    replications: Annotated[float, typer.Option(help="How many.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the luck that all policies share.")] = 0,
    rewards: Annotated[str, typer.Option(help="gaussian, or bernoulli where means lie in [0, 1].")] = "gaussian",
    threads: Annotated[int | None, typer.Option(help="As many as cores by default; results do not depend on it.")] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Write results.json and a figure there.")] = None,
    as_json: Json = False,
) -> None:
    """Let policies play instances and measure their regret; by default oam, linucb and lints."""
    from thrifty.files import make_folder
    from thrifty.policies import POLICIES
    from thrifty.study import run as play

    specs = [*(policy or []), *(name for name in names if name.partition(":")[0] in POLICIES)]  # so that `--policy oam linucb` means both
    problems = [name for name in names if name.partition(":")[0] not in POLICIES]
    if not problems:
        raise InvalidInput("run", "an instance", NOTHING)
    if out is not None:
        make_folder(Path(out))
    study = play(problems, specs or ["oam", "linucb", "lints"], horizon=horizon, replications=replications, seed=seed, rewards=rewards, threads=threads)
    if out is not None:
        study.write(out)
    if as_json:
        _print_json(study.to_json())
    else:
        _print_study(study)


@app.command()
def policies(as_json: Json = False) -> None:
    """The policies, their parameters and defaults."""
    from thrifty.policies import describe

    if as_json:
        _print_json(describe())
        return
    width = min(_console().width, 110)
    for entry in describe():
        print(entry["name"] + "".join(f" {key}={_shown(value)}" for key, value in entry["parameters"].items()))
        print(textwrap.fill(entry["definition"], width, initial_indent="    ", subsequent_indent="    "))
        for key, meaning in entry["meanings"].items():
            print(textwrap.fill(f"{key}: {meaning}", width, initial_indent="      ", subsequent_indent="        "))


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _print_study(study: "Study") -> None:
    """Regret of each policy on each instance, then where it went."""
    first = study.results[0]
    print(f"regret after {first.horizon:,} rounds, {_count(first.replications, 'replication')}, seed {first.seed}, {first.rewards} rewards")
    headers = ("mean", "se", "median", "p95", "worst", "R/(C log n)")
    table = _table("instance", "policy", *headers, numeric=headers)
    for result in study.results:
        numbers = ["" if math.isnan(number) else f"{number:.4g}" for number in (result.mean, result.se, result.median, result.p95, result.max)]
        ratio = "" if result.ratio is None else f"{result.ratio:.3g}"
        table.add_row(_plain(result.instance.name), _plain(result.policy), *numbers, ratio)
    _show(table)
    split = [result for result in study.results if len(result.labels) > 1]
    if split:
        _print_labels(split)


def _print_labels(results: list["Result"]) -> None:
    """For policies that tell why they play: mean rounds and regret of each reason."""
    table = _table("instance", "policy", "why", "rounds", "regret", "share", "solves", numeric=("rounds", "regret", "share", "solves"))
    for result in results:
        entry = result.to_json()
        for label, mean in entry["labels"].items():
            if mean["rounds"] > 0:
                share = f"{mean['regret'] / entry['mean']:.1%}" if entry["mean"] > 0 else ""
                solves = f"{entry['solves']:.0f}" + (f" ({entry['unsolved']:.1f} missed)" if entry["unsolved"] else "") if label == "matched" else ""
                table.add_row(_plain(result.instance.name), _plain(result.policy), label, f"{mean['rounds']:,.0f}", f"{mean['regret']:.4g}", share, solves)
    _show(table)


def _print_catalog(entries: list[dict[str, Any]]) -> None:
    """Each family with its names, sizes and definition."""
    width = min(_console().width, 110)
    for family, members in groupby(entries, key=lambda entry: str(entry["family"])):
        group = list(members)
        parameters = ",".join(f"{key}={value:g}" for key, value in group[0]["family_parameters"].items())
        names = [entry["name"] for entry in group if entry["name"] != family]
        print(family + (f":{parameters}" if parameters else "") + (f"   ({', '.join(names)})" if names else ""))
        print(textwrap.fill(_size(group[0]) + ". " + group[0]["definition"], width, initial_indent="    ", subsequent_indent="    "))


def _size(entry: dict[str, Any]) -> str:
    return f"{_count(entry['contexts'], 'context')}, {_count(entry['arms'], 'arm')}, d = {entry['dimension']}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _print_bound(found: "Bound") -> None:
    """One instance: the constant, what it means, and who carries the exploration."""
    problem, sets = found.instance, found.instance.sets
    size = {"contexts": sets.contexts, "arms": len(sets.rows), "dimension": sets.dimension}
    print(f"{_plain(problem.name)}: {_size(size)}, noise {problem.noise:g}")
    print(f"C = {found.constant:.6g}   ({found.status}, {_certified(found)})")
    print(found.in_words())
    table = _table("context", "probability", "arm", "gap", "pulls per log n", "share of C", numeric=("probability", "gap", "pulls per log n", "share of C"))
    carriers = found.carriers()
    for row in carriers[:MOST_ROWS]:
        pulls = "free" if row.free else f"{row.pulls:.6g}"
        share = "" if row.free else f"{row.share:.1%}"
        table.add_row(_plain(row.context), f"{row.probability:g}", _plain(row.arm), f"{row.gap:.6g}", pulls, share)
    _show(table)
    if len(carriers) > MOST_ROWS:
        print(f"and {len(carriers) - MOST_ROWS} more (--json has all)")
    idle = len(sets.rows) - len(carriers)
    if idle:
        print("The other arm needs no pulls of its own." if idle == 1 else f"The other {idle} arms need no pulls of their own.")


def _print_bounds(bounds: list["Bound"]) -> None:
    """Several instances: a line each."""
    table = _table("instance", "M", "arms", "d", "d'", "C", "certificate", "exploration", numeric=("M", "arms", "d", "d'", "C"))
    for found in bounds:
        sets = found.instance.sets
        exploring = [row for row in found.carriers() if not row.free]
        who = ", ".join(f"{_plain(row.context)}/{_plain(row.arm)} {row.share:.0%}" for row in exploring[:3]) + (", ..." if len(exploring) > 3 else "")
        counts = [str(count) for count in (sets.contexts, len(sets.rows), sets.dimension, found.reduced_dimension)]
        table.add_row(_plain(found.instance.name), *counts, f"{found.constant:.6g}", _certified(found), who or "free")
    _show(table)
    print("M contexts; d' directions that the optimal arms leave to explore; C regret per log n that no")
    print("consistent policy can beat; exploration: context/arm and its share of C.")


def _plain(name: str) -> str:
    """A name without characters that would move the cursor or change colours."""
    return "".join(character if character.isprintable() else "?" for character in name)


def _certified(found: "Bound") -> str:
    if found.status == "failed":
        return "FAILED"
    return "exact" if found.gap == 0 else f"gap {found.gap:.0e}"


def _table(*headers: str, numeric: tuple[str, ...]) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for header in headers:
        table.add_column(header, justify="right" if header in numeric else "left", no_wrap=header in numeric, overflow="fold")
    return table


def _show(table: "Table") -> None:
    _console().print(table)


def _console() -> "Console":
    """Standard output, at least so wide that no table loses a column; a file gets all the width there is to use."""
    from rich.console import Console

    console = Console(markup=False, emoji=False, highlight=False)
    console.width = max(console.width, 80) if console.is_terminal else 120
    return console


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))
