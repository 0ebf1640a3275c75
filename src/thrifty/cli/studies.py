"""Commands that simulate policies and report results; and warm-up, which compiles them before."""

import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from thrifty.cli import printing
from thrifty.cli.options import Instances, Json, OnCluster, Out, Several, Threads
from thrifty.errors import BadFile, InvalidInput, MissingPackage, escaped

if TYPE_CHECKING:
    from thrifty.report.pages import Page

DEFAULT_POLICIES = ("thrifty", "oam", "linucb", "lints")
DEFAULT_HORIZON = 1e4


def run(
    names: Instances = None,
    policy: Annotated[
        Several, Option(metavar="SPEC", help="NAME or NAME:KEY=VALUE,...; may be repeated.")
    ] = None,
    study: Annotated[
        str | None, Option(metavar="FILE", help="A study file (TOML); other options override it.")
    ] = None,
    horizon: Annotated[
        list[float] | None, Option(help="Rounds per replication, 1e4 by default; may be repeated.")
    ] = None,
    replications: Annotated[
        float | None, Option(help="Number of replications, 100 by default.")
    ] = None,
    seed: Annotated[
        int | None,
        Option(help="Random seed, 0 by default; all policies see the same contexts and noise."),
    ] = None,
    rewards: Annotated[
        str | None,
        Option(help="gaussian, student (heavy tails), or bernoulli where means lie in [0, 1]."),
    ] = None,
    pulls: Annotated[
        bool, Option("--pulls", help="Keep the pulls of each arm, in --json and in --out.")
    ] = False,
    threads: Threads = None,
    cluster: OnCluster = None,
    out: Annotated[
        str | None,
        Option(
            metavar="DIR",
            help="Folder for results and figures; results in it are not computed again.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate policies on instances and measure regret; default: thrifty, oam, linucb, lints."""
    from thrifty.studies.progress import progress_bar
    from thrifty.studies.study import run as run_study

    options = {
        "horizon": horizon,
        "replications": replications,
        "seed": seed,
        "rewards": rewards,
        "pulls": pulls or None,
    }
    arguments = _arguments(study, names or [], policy or [], options)
    if out is not None:
        MissingPackage.check("thrifty run --out", "pyarrow", "matplotlib")
    try:
        with _resumable(out):
            played = run_study(**arguments, threads=threads, cluster=cluster, out=out)
    except InvalidInput as error:  # perhaps about the content of the study file
        raise error if study is None else BadFile(f"{study}: {error}") from None
    if out is not None:
        from thrifty.report.drawing import save_figure

        with progress_bar("drawing", 1):
            save_figure(played.plot(), Path(out) / "regret")
    if as_json:
        printing.print_json(played.to_json())
    else:
        printing.print_study(played)


def _arguments(
    study: str | None, names: list[str], policies: list[str], options: dict[str, Any]
) -> dict[str, Any]:
    """Arguments of `thrifty.run`: a study file or the defaults, overridden by the command line.

    Names of policies may stand among those of instances: `--policy oam linucb` gives both.
    """
    from thrifty.policies import POLICIES
    from thrifty.studies.design import read_study

    arguments = {"policies": DEFAULT_POLICIES} if study is None else read_study(Path(study))
    among = [name for name in names if name.partition(":")[0] in POLICIES]
    instances = [name for name in names if name not in among]
    options |= {"instances": instances or None, "policies": [*policies, *among] or None}
    arguments |= {key: value for key, value in options.items() if value is not None}
    if "instances" not in arguments:
        raise InvalidInput("run", "name an instance, or a study file with --study FILE")
    return {"horizon": DEFAULT_HORIZON} | arguments


def reproduce(
    quick: Annotated[
        bool, Option("--quick", help="Horizons up to 1e5, about three minutes; the default.")
    ] = False,
    full: Annotated[
        bool,
        Option("--full", help="100 to 2,400 replications, horizons up to 1e7; an hour and a half."),
    ] = False,
    only: Annotated[
        Several, Option(metavar="NAME", help="Only this panel; may be repeated.")
    ] = None,
    out: Out = "reproduction",
    threads: Threads = None,
    cluster: OnCluster = None,
    as_json: Json = False,
) -> None:
    """Simulate every panel of the paper, judge its claims, and write a page."""
    _check("reproduce", quick=quick, full=full)
    from thrifty.lab.paper.reproduction import reproduce as reproduce_paper
    from thrifty.report.html import write_html

    with _resumable(out):
        workers: dict[str, Any] = {"threads": threads, "cluster": cluster}
        reproduction = reproduce_paper(Path(out), full=full, only=only or (), **workers)
    path = write_html(reproduction.page, Path(out))
    if as_json:
        printing.print_json([verdict.to_json() for verdict in reproduction.verdicts])
    else:
        printing.print_verdicts(reproduction.verdicts)
        print(f"Page: {path}")


def arena(
    quick: Annotated[
        bool, Option("--quick", help="Horizons up to 1e4, some minutes; the default.")
    ] = False,
    full: Annotated[bool, Option("--full", help="Horizons up to 1e6, tails; some hours.")] = False,
    policy: Annotated[
        Several,
        Option(
            metavar="SPEC", help="Compare only this policy with thrifty and lints; may be repeated."
        ),
    ] = None,
    only: Annotated[
        Several,
        Option(
            metavar="GROUP",
            help="Group of instances: unseen, kinds or tuned; by default the first two.",
        ),
    ] = None,
    out: Out = "arena",
    threads: Threads = None,
    cluster: OnCluster = None,
    as_json: Json = False,
) -> None:
    """Rank all policies on a wide suite of instances, by regret relative to lints."""
    _check("arena", quick=quick, full=full)
    from thrifty.lab.arena.arena import play
    from thrifty.report.html import write_html

    with _resumable(out):
        settings: dict[str, Any] = {"policies": policy or (), "only": only or ()}
        played = play(Path(out), full=full, threads=threads, cluster=cluster, **settings)
    path = write_html(played.page, Path(out))
    if as_json:
        printing.print_json(played.to_json())
        return
    printing.print_standings(played.standings)
    if played.limits:
        print(textwrap.fill(played.limits, 100))
    print(f"Page: {path}")


def report(
    folder: Annotated[
        str,
        Argument(
            metavar="DIR",
            help="A folder made by `thrifty run --out`, `thrifty reproduce` or `thrifty arena`.",
        ),
    ],
    markdown: Annotated[
        str | None, Option(metavar="FILE", help="Write Markdown and figures instead of HTML.")
    ] = None,
) -> None:
    """Write a self-contained page of results: figures, tables, verdicts, commands to run again."""
    _check("report")
    from thrifty.report.html import write_html
    from thrifty.report.markdown import write_markdown

    page = _page_of(Path(folder))
    if markdown is None:
        print(write_html(page, Path(folder)))
    else:
        write_markdown(page, Path(markdown))
        print(markdown)


def warm_up(
    processes: Annotated[
        int | None, Option(min=1, help="How many at once; one per core by default.")
    ] = None,
) -> None:
    """Compile the solver and all policies for this machine, once per version: a minute or two."""
    from thrifty.studies.executors import cores
    from thrifty.studies.progress import progress_bar
    from thrifty.studies.warm_up import PARTS, compile_all

    with progress_bar("compiling", len(PARTS)) as bar:
        for done, name in enumerate(compile_all(processes or cores()), start=1):
            bar.advance(text=f"compiled {done} of {len(PARTS)}: {name}")
    print(f"compiled {len(PARTS)} parts")


def _page_of(folder: Path) -> "Page":
    """The page of a folder with results, by the files that it contains."""
    from thrifty.lab.arena.arena import is_arena, read_arena
    from thrifty.lab.paper.reproduction import CLAIMS_FILE, read_reproduction
    from thrifty.report.pages import study_page
    from thrifty.studies.store import read_results

    if (folder / CLAIMS_FILE).is_file():
        reproduction = read_reproduction(folder)
        reproduction.write_claims()
        return reproduction.page
    if is_arena(folder):
        arena = read_arena(folder)
        arena.write_standings()
        return arena.page
    return study_page(read_results(folder), folder)


def _check(command: str, *, quick: bool = False, full: bool = False) -> None:
    """Raise an error if both --quick and --full are given, or if a package is missing."""
    if quick and full:
        raise InvalidInput(command, "pass --quick or --full, not both")
    MissingPackage.check(f"thrifty {command}", "pyarrow", "matplotlib", "Jinja2")


@contextmanager
def _resumable(out: str | None) -> Iterator[None]:
    """Refuse a file as --out; after Ctrl-C, say that the results so far are kept in the folder."""
    if out is not None and Path(out).is_file():
        raise BadFile(f"{out} is a file: --out needs a folder")
    try:
        yield
    except KeyboardInterrupt:
        if out is not None:
            advice = "run the same command again to continue"
            kept = f"interrupted; results so far are in {escaped(out)}: {advice}"
            print(f"thrifty: {kept}", file=sys.stderr)
        raise
