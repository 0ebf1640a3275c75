"""Options that several commands share."""

from typing import Annotated

import typer

Instances = Annotated[
    list[str] | None,
    typer.Argument(metavar="INSTANCE...", help="Names from the catalog, or TOML files."),
]
Threads = Annotated[
    int | None,
    typer.Option(help="Number of threads, by default the number of cores; no effect on results."),
]
OnCluster = Annotated[
    str | None,
    typer.Option("--cluster", metavar="tcp://HOST:PORT", help="Compute on a Dask cluster."),
]
Out = Annotated[str, typer.Option(metavar="DIR", help="Folder for results and the page.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
