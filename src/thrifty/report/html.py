"""A page as one self-contained HTML file: figures inline, no scripts, readable in light, dark and
print.
"""

import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from thrifty.files import write_whole
from thrifty.report.figures import INK, svg
from thrifty.report.pages import Page, Picture, save_figures
from thrifty.report.wording import plain, printable, with_error
from thrifty.studies.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = {"holds": "✓", "holds only when": "◐", "not seen": "✗"}


def html(page: Page) -> str:
    """The page as HTML."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(
        files("thrifty.report").joinpath("page.html").read_text(encoding="utf-8")
    )
    return template.render(page=page, panels=_panels, row=table_row, marks=MARKS)


def write_html(page: Page, folder: Path) -> Path:
    """Write the page as index.html into a folder, its figures as SVG and PNG into the folder
    figures there.
    """
    save_figures(page, folder / "figures")
    path = folder / "index.html"
    write_whole(path, html(page))
    return path


def table_row(result: Result) -> dict[str, str]:
    """A line of the table of results."""
    ratio = "" if result.ratio is None else f"{result.ratio:.2f}"
    numbers = {
        "mean": with_error(result.mean, result.se, 4),
        "median": plain(result.median, 4),
        "p95": plain(result.p95, 4),
        "worst": plain(result.max, 4),
    }
    return (
        {
            "instance": printable(result.instance.name),
            "policy": printable(result.policy),
            "n": f"{result.horizon:,}",
        }
        | numbers
        | {"R / (C log n)": ratio}
    )


def _panels(picture: Picture) -> list[str]:
    """The panels of a picture as SVG elements whose ink is that of the page."""
    return [_inline(figure, name) for name, figure in picture.panels()]


def _inline(figure: "Figure", name: str) -> str:
    from markupsafe import Markup

    text = svg(figure, name)
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # names of groups, the same in every figure; what is referred to is named by hash
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(rf"{INK}|#000000|(?<=stroke: )black", "currentColor", text)
    return Markup(text)  # our own drawing, not a user's text: Matplotlib escapes the names in it
