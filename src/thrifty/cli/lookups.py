"""Commands that look things up: bound, instances, policies."""

from typing import Annotated

from typer import Argument, Exit, Option

from thrifty.cli import printing
from thrifty.cli.options import Instances, Json
from thrifty.errors import InvalidInput


def bound(
    instances: Instances = None,
    every: Annotated[
        bool, Option("--all", help="All instances of the catalog that have a bound.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Lower bound on regret per log n, and the optimal allocation of exploration to arms."""
    from thrifty.allocation.bound import lower_bound
    from thrifty.problem.catalog import CATALOG, instance
    from thrifty.studies.progress import progress_bar

    if not instances and not every:
        raise InvalidInput("bound", "name an instance, or give --all for the whole catalog")
    catalog = [name for name in CATALOG if every and not instance(name).changes]
    problems = [instance(name) for name in dict.fromkeys([*(instances or []), *catalog])]
    bounds = []
    with progress_bar("solving", len(problems)) as bar:
        for problem in problems:
            bounds.append(lower_bound(problem))
            bar.advance()
    if as_json:
        several = [{"instance": solved.instance.name} | solved.to_json() for solved in bounds]
        printing.print_json(bounds[0].to_json() if len(bounds) == 1 else several)
    elif len(bounds) == 1:
        printing.print_bound(bounds[0])
    else:
        printing.print_bounds(bounds)
    if any(solved.status == "failed" for solved in bounds):
        raise Exit(1)


def instances(
    name: Annotated[
        str | None,
        Argument(
            metavar="[INSTANCE]", help="Print this instance as TOML, to derive your own from."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the catalog of named instances; with a name, print that instance as TOML."""
    from thrifty.problem.catalog import describe, instance

    if name is not None:
        print(instance(name).to_toml(), end="")
    elif as_json:
        printing.print_json(describe())
    else:
        printing.print_catalog(describe())


def policies(as_json: Json = False) -> None:
    """List the policies with their parameters and defaults."""
    from thrifty.policies import describe

    if as_json:
        printing.print_json(describe())
    else:
        printing.print_policies(describe())
