"""Pages as one self-contained HTML file: inline figures, no scripts, light, dark and print."""

import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from thrifty.errors import MissingPackage
from thrifty.files import write_whole
from thrifty.report.drawing import INK, svg
from thrifty.report.pages import Page, Picture, result_table, save_figures
from thrifty.studies.progress import Bar, progress_bar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONG_TABLE = 12  # results from which on their table is folded


def html(page: Page, *, progress: bool | None = None) -> str:
    """A page as HTML."""
    panels = sum(len(picture.panels()) for picture in page.pictures)
    with progress_bar("drawing", panels, show=progress) as bar:
        return _render(page, bar)


def write_html(page: Page, folder: Path, *, progress: bool | None = None) -> Path:
    """Write index.html into a folder, and the figures as SVG and PNG into its folder figures."""
    panels = sum(len(picture.panels()) for picture in page.pictures)
    with progress_bar("drawing", len(page.pictures) + panels, show=progress) as bar:
        save_figures(page, folder / "figures", bar, ("svg", "png"))
        path = folder / "index.html"
        write_whole(path, _render(page, bar))
    return path


def _render(page: Page, bar: Bar) -> str:
    MissingPackage.check("a page", "Jinja2")
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = files("thrifty.report").joinpath("page.html").read_text(encoding="utf-8")

    def panels(picture: Picture) -> list[str]:
        figures = []
        for name, results in picture.panels():
            figures.append(_inline(picture.draw(results), name))
            bar.advance()
        return figures

    names = {"page": page, "result_table": result_table, "long_table": LONG_TABLE}
    return environment.from_string(source).render(names, panels=panels)


def _inline(figure: "Figure", name: str) -> str:
    """A figure as an SVG element whose text and axes have the colour of the page."""
    from markupsafe import Markup

    text = svg(figure, name)
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # ids of groups are the same in every figure; ids that are referred to contain a hash
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(rf"{INK}|#000000|(?<=stroke: )black", "currentColor", text)
    return Markup(text)  # safe: drawn by Matplotlib, which escapes names
