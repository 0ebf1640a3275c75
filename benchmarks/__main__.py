"""Run the benchmarks, print their tables and write them into RESULTS.md: `python -m benchmarks
[NAME...]`; with names, only those sections.
"""

import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from platform import machine, python_version

from rich.console import Console

NAMES = [
    "against_cvxpy",
    "rounds",
    "peers",
    "latency",
    "open_contexts",
    "real_data",
    "oam_knobs",
    "warm_start",
    "growth",
    "startup",
    "cold_start",
    "studies",
    "frontier",
    "targets",
    "slopes",
    "first_edition",
    "service",
    "soak",
    "drift",
    "staleness",
]
RESULTS = Path(__file__).parent / "RESULTS.md"
README = Path(__file__).parent.parent / "README.md"


def main() -> None:
    chosen = sys.argv[1:] or NAMES
    if unknown := [name for name in chosen if name not in NAMES]:
        sys.exit(f"benchmarks: unknown benchmark {unknown[0]!r}; known: {', '.join(NAMES)}")
    libraries = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "numba", "cvxpy", "clarabel")
    )
    head = (
        f"# Results\n\nWritten by `make bench`. Python {python_version()}, {libraries}, "
        f"{machine()}; two cores of a shared machine: trust ratios, not times."
    )
    modules = [import_module(f"benchmarks.{name}") for name in NAMES]
    kept = {
        section.partition("\n")[0]: section for section in RESULTS.read_text().split("\n\n## ")[1:]
    }
    for name in chosen:
        module = modules[NAMES.index(name)]
        with Console(stderr=True).status(module.TITLE):
            kept[module.TITLE] = f"{module.TITLE}\n\n{module.measure()}"
        print(f"## {kept[module.TITLE]}\n", flush=True)
    sections = [kept[module.TITLE].rstrip() for module in modules if module.TITLE in kept]
    RESULTS.write_text("\n\n## ".join([head, *sections]) + "\n")
    for section in sections[:2]:
        _quote_in_readme(section)


def _quote_in_readme(section: str) -> None:
    """Put the first table of a section into the README, in place of the one that starts with the
    same words.
    """
    table = section.split("\n\n")[1]
    paragraphs = README.read_text().split("\n\n")
    README.write_text(
        "\n\n".join(
            table if paragraph.startswith(table[:20]) else paragraph for paragraph in paragraphs
        )
    )


main()
