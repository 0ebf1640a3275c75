"""What objects show of themselves: a table in a notebook, and a pandas data frame.

Tables set no colours, so that light and dark notebooks both work, and have no scripts.
"""

import math
from collections.abc import Mapping, Sequence
from heapq import nlargest
from html import escape
from typing import TYPE_CHECKING, Any

from thrifty.errors import MissingPackage, shortened

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_ROWS = 20  # of a table in a notebook: a screenful


def frame(needed_by: str, columns: Mapping[str, Any]) -> "DataFrame":
    """Columns by name as a data frame; a single value is repeated. needed_by: for the error."""
    MissingPackage.check(needed_by, "pandas", extra=None)
    from pandas import DataFrame

    return DataFrame(dict(columns))


def html(
    title: str,
    columns: Mapping[str, Sequence[Any]],
    *,
    notes: Sequence[str] = (),
    rank: Sequence[float] | None = None,
    order: str = "",
) -> str:
    """A title, a table of columns by name, and notes.

    rank: (n,) if there are more than MOST_ROWS rows, those where it is largest are shown, the
    largest first; by default the first rows. order: what the rank is, in words.
    """
    n = len(next(iter(columns.values()))) if columns else 0
    rows: Sequence[int] = range(min(n, MOST_ROWS))
    if n > MOST_ROWS:
        if rank is not None:
            rows = nlargest(MOST_ROWS, range(n), key=rank.__getitem__)
        ordered = f", {order}" if order else ""
        notes = (f"{MOST_ROWS} of {n:,} rows{ordered}; to_frame() has all", *notes)
    table = _table({name: [column[i] for i in rows] for name, column in columns.items()})
    return "\n".join([_paragraph(title), *([table] if n else []), *map(_paragraph, notes)])


def _table(columns: Mapping[str, Sequence[Any]]) -> str:
    sides = ["left" if isinstance(column[0], str) else "right" for column in columns.values()]
    head = _row("th", columns, sides)
    body = [_row("td", map(_text, row), sides) for row in zip(*columns.values(), strict=True)]
    return "\n".join(["<table>", "<thead>", head, "</thead>", "<tbody>", *body, "</tbody></table>"])


def _row(tag: str, texts: Any, sides: Sequence[str]) -> str:
    cells = (
        f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'
        for text, side in zip(texts, sides, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _text(value: Any) -> str:
    """A cell; nothing for None and NaN."""
    if hasattr(value, "item"):  # a number of NumPy's
        value = value.item()
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or math.isnan(value):
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
