"""Run the benchmarks: `python -m benchmarks [NAME...]`; with names, only those sections.

Prints their tables, and writes them into RESULTS.md and the generated blocks of the documentation.
"""

import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from platform import machine, python_version

from rich.console import Console

from benchmarks import blocks

NAMES = [
    "against_cvxpy",
    "rounds",
    "peers",
    "latency",
    "open_contexts",
    "real_data",
    "shop",
    "oam_knobs",
    "warm_start",
    "growth",
    "startup",
    "cold_start",
    "compiler",
    "studies",
    "frontier",
    "targets",
    "slopes",
    "service",
    "soak",
    "drift",
    "staleness",
]
RESULTS = Path(__file__).parent / "RESULTS.md"


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
    blocks.main()


main()
