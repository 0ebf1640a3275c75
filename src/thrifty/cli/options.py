"""Options that several commands share."""

from typing import Annotated

from typer import Argument, Option

Several = list[str] | None  # of an option that may be repeated
Instances = Annotated[
    Several, Argument(metavar="INSTANCE...", help="Names from the catalog, or TOML files.")
]
Threads = Annotated[
    int | None,
    Option(help="Number of threads, by default the number of cores; no effect on results."),
]
OnCluster = Annotated[
    str | None, Option("--cluster", metavar="tcp://HOST:PORT", help="Compute on a Dask cluster.")
]
Out = Annotated[str, Option(metavar="DIR", help="Folder for results and the page.")]
Json = Annotated[bool, Option("--json", help="Print JSON instead of a table.")]
