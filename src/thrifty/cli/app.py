"""The command line: parse, call, print. Heavy modules are imported by the command that needs
them.
"""

import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thrifty.cli import tables as terminal
from thrifty.errors import NOTHING, BadFile, InvalidInput, ThriftyError

if TYPE_CHECKING:
    from thrifty.report.pages import Page

app = typer.Typer(
    help="Exploration that costs no more than it must: linear contextual bandits, their "
    "lower bounds, optimal allocations and policies.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Threads = Annotated[
    int | None, typer.Option(help="As many as cores by default; results do not depend on it.")
]
OnCluster = Annotated[
    str | None, typer.Option("--cluster", metavar="tcp://HOST:PORT", help="Work on a Dask cluster.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def main() -> None:
    """Run the command line; a user's mistake ends with one line and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a name that the terminal cannot show is no reason to fail
            stream.reconfigure(errors="replace")
    warnings.showwarning = lambda message, *_: print(f"thrifty: {message}", file=sys.stderr)
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
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.")
    ] = False,
) -> None:
    if version:
        import thrifty

        print(f"thrifty {thrifty.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def bound(
    instances: Annotated[
        list[str] | None,
        typer.Argument(metavar="INSTANCE...", help="Names from the catalog or TOML files."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every instance of the catalog.")] = False,
    as_json: Json = False,
) -> None:
    """The regret per log n that no consistent policy can beat, and which arms carry the
    exploration.
    """
    from thrifty.allocation.bound import lower_bound
    from thrifty.problem.catalog import CATALOG, instance

    names = [*(instances or []), *(CATALOG if every else ())]
    if not names:
        raise InvalidInput("bound", "an instance, or --all", NOTHING)
    problems = [instance(name) for name in names]
    with terminal.busy("solving"):
        bounds = [lower_bound(problem) for problem in problems]
    if as_json:
        several = [
            {"instance": problem.name} | found.to_json()
            for problem, found in zip(problems, bounds, strict=True)
        ]
        terminal.print_json(bounds[0].to_json() if len(bounds) == 1 else several)
    elif len(bounds) == 1:
        terminal.print_bound(bounds[0])
    else:
        terminal.print_bounds(bounds)
    if any(found.status == "failed" for found in bounds):
        raise typer.Exit(1)


@app.command()
def instances(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[INSTANCE]", help="Print this one as a TOML file, to start your own from."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """The catalog of named instances; with a name, that instance as TOML."""
    from thrifty.problem.catalog import describe, instance

    if name is not None:
        print(instance(name).to_toml(), end="")
    elif as_json:
        terminal.print_json(describe())
    else:
        terminal.print_catalog(describe())


@app.command()
def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="INSTANCE...", help="Names from the catalog or TOML files."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", metavar="SPEC", help="NAME or NAME:KEY=VALUE,...; may be repeated."
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            "--study", metavar="FILE", help="A study file (TOML); options given beside it win."
        ),
    ] = None,
    horizon: Annotated[
        list[float] | None,
        typer.Option(help="Rounds of each replication, 1e4 by default; may be repeated."),
    ] = None,
    replications: Annotated[float | None, typer.Option(help="How many; 100 by default.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of the luck that all policies share; 0 by default.")
    ] = None,
    rewards: Annotated[
        str | None, typer.Option(help="gaussian, or bernoulli where means lie in [0, 1].")
    ] = None,
    threads: Threads = None,
    cluster: OnCluster = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Keep results there; what is there already is not computed again."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Let policies play instances and measure their regret; by default thrifty, oam, linucb and
    lints.
    """
    from thrifty.policies import POLICIES
    from thrifty.studies.study import run as play
    from thrifty.studies.study_files import StudyFile, read_study

    given = names or []
    # so that `--policy oam linucb` means both
    specs = [*(policy or []), *(name for name in given if name.partition(":")[0] in POLICIES)]
    problems = [name for name in given if name.partition(":")[0] not in POLICIES]
    asked = (
        StudyFile((), ("thrifty", "oam", "linucb", "lints"))
        if study is None
        else read_study(Path(study))
    )
    if not problems and not asked.instances:
        raise InvalidInput("run", "an instance, or --study FILE", NOTHING)
    given_or_asked: dict[str, tuple[Any, Any]] = {
        "horizon": (horizon, asked.horizon),
        "replications": (replications, asked.replications),
        "seed": (seed, asked.seed),
        "rewards": (rewards, asked.rewards),
    }
    options = {
        key: next((value for value in values if value is not None), None)
        for key, values in given_or_asked.items()
    }
    settings = {"horizon": 1e4} | {
        key: value for key, value in options.items() if value is not None
    }
    with _resumable(out), _named(study):
        played = play(
            problems or asked.instances,
            specs or asked.policies,
            threads=threads,
            cluster=cluster,
            out=out,
            **settings,
        )
    if as_json:
        terminal.print_json(played.to_json())
    else:
        terminal.print_study(played)


@app.command()
def reproduce(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Horizons up to 1e5, three minutes on two cores; the default."
        ),
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="100 replications of up to 1e6 rounds, and some of 1e8; under an hour."
        ),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only this experiment; may be repeated."),
    ] = None,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Where to keep results and write the page.")
    ] = "reproduction",
    threads: Threads = None,
    cluster: OnCluster = None,
    as_json: Json = False,
) -> None:
    """Play every experiment of the paper, judge its claims, and write a page about both."""
    from thrifty.experiments.reproduction import reproduce as play

    _not_both(quick, full, "reproduce")
    with _resumable(out):
        found = play(Path(out), full=full, only=only or (), threads=threads, cluster=cluster)
    path = _write_page(found.page, Path(out))
    if as_json:
        terminal.print_json([verdict.to_json() for verdict in found.verdicts])
        return
    terminal.print_verdicts(found.verdicts)
    print(f"The page about it: {path}")


@app.command()
def arena(
    quick: Annotated[
        bool, typer.Option("--quick", help="Horizons up to 1e4, minutes on two cores; the default.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Horizons up to 1e6; an hour or two.")
    ] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", metavar="SPEC", help="Only this beside thrifty and lints; may be repeated."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="GROUP", help="Only these instances: unseen, or tuned."),
    ] = None,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Where to keep results and write the page.")
    ] = "arena",
    threads: Threads = None,
    cluster: OnCluster = None,
    as_json: Json = False,
) -> None:
    """Let every policy play a wide suite of instances, and rank them by regret relative to
    heuristic Thompson sampling.
    """
    from thrifty.experiments.arena import play

    _not_both(quick, full, "arena")
    with _resumable(out):
        found = play(
            Path(out),
            full=full,
            policies=policy or (),
            only=only or (),
            threads=threads,
            cluster=cluster,
        )
    path = _write_page(found.page, Path(out))
    if as_json:
        terminal.print_json(found.to_json())
        return
    terminal.print_standings(found.standings)
    print(f"The page about it: {path}")


@app.command()
def report(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="DIR",
            help="What `thrifty run --out`, `thrifty reproduce` or `thrifty arena` has kept.",
        ),
    ],
    markdown: Annotated[
        str | None,
        typer.Option(
            "--markdown",
            metavar="FILE",
            help="Write Markdown, with figures beside it, instead of HTML.",
        ),
    ] = None,
) -> None:
    """Make one self-contained page of kept results: figures, tables, verdicts, and how to run each
    again.
    """
    from thrifty.experiments.arena import is_arena, read_arena
    from thrifty.experiments.reproduction import CLAIMS_FILE, read_reproduction
    from thrifty.report.markdown import write_markdown
    from thrifty.report.pages import study_page
    from thrifty.studies.store import read_results

    path = Path(folder)
    if (path / CLAIMS_FILE).is_file():
        found = read_reproduction(path)
        found.write_claims()
        page = found.page
    elif is_arena(path):
        arena = read_arena(path)
        arena.write_standings()
        page = arena.page
    else:
        page = study_page(read_results(path), path)
    if markdown is None:
        print(_write_page(page, path))
    else:
        with terminal.busy("drawing"):
            write_markdown(page, Path(markdown))
        print(markdown)


@app.command()
def policies(as_json: Json = False) -> None:
    """The policies, their parameters and defaults."""
    from thrifty.policies import describe

    if as_json:
        terminal.print_json(describe())
        return
    terminal.print_policies(describe())


def _not_both(quick: bool, full: bool, command: str) -> None:
    if quick and full:
        raise InvalidInput(command, "--quick or --full", "both")


@contextmanager
def _resumable(out: str | None) -> Iterator[None]:
    """Tell somebody who interrupts a study that is kept that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        if out is not None:
            print(
                f"thrifty: interrupted; what is done is in {out}: the same command "
                "goes on from there",
                file=sys.stderr,
            )
        raise


@contextmanager
def _named(study: str | None) -> Iterator[None]:
    """Mistakes in what a study file asks name the file."""
    try:
        yield
    except InvalidInput as error:
        raise error if study is None else BadFile(f"{study}: {error}") from None


def _write_page(page: "Page", folder: Path) -> Path:
    from thrifty.report.html import write_html

    with terminal.busy("drawing"):
        return write_html(page, folder)
