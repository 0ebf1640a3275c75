"""A progress bar for people who wait: rounds played, rounds a second, time left. Nothing where
nobody looks.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from thrifty.simulation.replication import Tick


@contextmanager
def rounds_bar(
    total: int, description: str, *, done: int = 0, show: bool | None = None
) -> Iterator[Tick]:
    """Show a bar on standard error while the body calls the tick it is given with rounds just
    played; by default only on a terminal.
    """
    if not (sys.stderr is not None and sys.stderr.isatty() if show is None else show):
        yield lambda rounds: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed / 1e6:.2f} M rounds/s" if task.speed else "")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        Speed(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(description, total=total, completed=done)
        yield lambda rounds: progress.advance(bar, rounds)
