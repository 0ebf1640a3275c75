"""Run the benchmarks, print their tables and write RESULTS.md: `python -m benchmarks [NAME...]`; with names, print those only."""

import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from platform import machine, python_version

from rich.console import Console

NAMES = ["against_cvxpy", "rounds", "peers", "oam_knobs", "warm_start", "growth", "startup"]
RESULTS = Path(__file__).parent / "RESULTS.md"
README = Path(__file__).parent.parent / "README.md"


def main() -> None:
    chosen = sys.argv[1:] or NAMES
    if unknown := [name for name in chosen if name not in NAMES]:
        sys.exit(f"benchmarks: unknown benchmark {unknown[0]!r}; known: {', '.join(NAMES)}")
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "cvxpy", "clarabel"))
    sections = [
        f"# Results\n\nWritten by `make bench`. Python {python_version()}, {libraries}, {machine()}; two cores of a shared machine: trust ratios, not times."
    ]
    for name in chosen:
        module = import_module(f"benchmarks.{name}")
        with Console(stderr=True).status(module.TITLE):
            table = module.measure()
        sections.append(f"## {module.TITLE}\n\n{table}")
        print(sections[-1] + "\n", flush=True)
    if chosen == NAMES:
        RESULTS.write_text("\n\n".join(sections) + "\n")
        for section in sections[1:3]:
            _quote_in_readme(section)


def _quote_in_readme(section: str) -> None:
    """Put the first table of a section into the README, in place of the one that starts with the same words."""
    table = section.split("\n\n")[1]
    paragraphs = README.read_text().split("\n\n")
    README.write_text("\n\n".join(table if paragraph.startswith(table[:20]) else paragraph for paragraph in paragraphs))


main()
