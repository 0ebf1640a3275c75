"""Progress bars on standard error, shown by default only on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from thrifty.errors import escaped

if TYPE_CHECKING:
    from rich.progress import Progress


class Bar:
    """A progress bar; without a display it shows nothing."""

    def __init__(self, display: "Progress | None" = None, text: str = "", total: float = 0) -> None:
        self._display = display
        if display is not None:
            self._task = display.add_task(text, total=total, note="")

    def advance(
        self, amount: float = 1.0, *, text: str | None = None, note: str | None = None
    ) -> None:
        """Add to the amount that is done; optionally replace the text before and after the bar."""
        if self._display is not None:
            # a new text is shown at once, however short the step
            changes: dict[str, Any] = {"advance": amount, "refresh": text is not None}
            if text is not None:
                changes["description"] = escaped(text)
            if note is not None:
                changes["note"] = note
            self._display.update(self._task, **changes)


@contextmanager
def progress_bar(text: str, total: float, *, show: bool | None = None) -> Iterator[Bar]:
    """Show a bar after a text while the body runs; it disappears at the end.

    total : the sum of the amounts that the body will pass to `advance`
    show : whether to show it; by default if standard error is a terminal
    """
    if not (sys.stderr is not None and sys.stderr.isatty() if show is None else show):
        yield Bar()
        return
    from rich import progress as parts
    from rich.console import Console

    columns = (
        parts.SpinnerColumn(),  # moves during long steps, such as compilation
        parts.TextColumn("{task.description}", markup=False),
        parts.BarColumn(),
        parts.TaskProgressColumn(),
        parts.TimeElapsedColumn(),
        parts.TextColumn("left:"),
        parts.TimeRemainingColumn(),
        parts.TextColumn("{task.fields[note]}", markup=False),
    )
    with parts.Progress(*columns, console=Console(stderr=True), transient=True) as display:
        yield Bar(display, text, total)
