"""Progress bars on standard error, shown by default only on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from thrifty.errors import escaped


class Bar(Protocol):
    """A progress bar."""

    def advance(
        self, amount: float = 1.0, *, text: str | None = None, note: str | None = None
    ) -> None:
        """Add to the amount that is done; optionally replace the text before and after the bar."""


class _NoBar:
    def advance(
        self, amount: float = 1.0, *, text: str | None = None, note: str | None = None
    ) -> None:
        """Show nothing."""


@contextmanager
def progress_bar(text: str, total: float, *, show: bool | None = None) -> Iterator[Bar]:
    """Show a bar while the body runs; it disappears at the end.

    Parameters
    ----------
    text : shown before the bar
    total : the sum of the amounts that the body will pass to `advance`
    show : whether to show it; by default if standard error is a terminal
    """
    if not (sys.stderr is not None and sys.stderr.isatty() if show is None else show):
        yield _NoBar()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        SpinnerColumn(),  # moves during long steps, such as compilation
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=total, note="")

        class _RichBar:
            def advance(
                self, amount: float = 1.0, *, text: str | None = None, note: str | None = None
            ) -> None:
                fields: dict[str, Any] = {} if note is None else {"note": note}
                # a new text is shown at once, however short the step
                shown = text is not None
                line = None if text is None else escaped(text)
                progress.update(task, advance=amount, description=line, refresh=shown, **fields)

        yield _RichBar()


def duration(seconds: float) -> str:
    """A time span for people: `40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
