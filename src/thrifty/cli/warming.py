"""The command that compiles everything: warm-up."""

from typing import Annotated

import typer


def warm_up(
    processes: Annotated[
        int | None, typer.Option(min=1, help="How many at once; one per core by default.")
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
