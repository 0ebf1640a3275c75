"""Fingerprints of source files: which code made a piece of machine code, or a result."""

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent

# Modules and folders with compiled functions, and all that these can call. What is above them
# (commands, pages, studies) changes no machine code.
COMPUTING = (
    "actions",
    "allocation",
    "arrays",
    "compilation",
    "dense",
    "handles",
    "instances",
    "online",
    "policies",
    "regression",
    "simulation",
    "spans",
    "widths",
)


def computing_files() -> list[Path]:
    """The source files of COMPUTING."""
    return sorted(path for name in COMPUTING for path in (PACKAGE / name).rglob("*.py")) + [
        path for name in COMPUTING if (path := PACKAGE / f"{name}.py").is_file()
    ]


def fingerprint(paths: Iterable[Path], *words: str) -> str:
    """A short hash of the content of files, wherever they lie, and of words."""
    digest = hashlib.sha256(" ".join(words).encode())
    for path in paths:
        digest.update(f"\0{path.name}\0{_content(path)}".encode())
    return digest.hexdigest()[:16]


@cache
def _content(path: Path) -> str:
    """A hash of a file as it was when first asked for, for thrifty's own at import: what runs is
    what was loaded, whatever an editor does to the file then.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()
