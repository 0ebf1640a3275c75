"""Fingerprints of source files: which code made a piece of machine code, or a result."""

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

PACKAGE = Path(__file__).parent.parent

# Folders whose functions are compiled, with all that these can call.
COMPILED_FOLDERS = (
    "compiler",
    "numerics",
    "problem",
    "allocation",
    "policies",
    "simulation",
    "learners",
)
# Folders that decide the bits of a result, beside the files of the policy itself.
RESULT_FOLDERS = ("compiler", "numerics", "problem", "allocation", "policies/shared", "simulation")


def compiled_files() -> list[Path]:
    """The source files that machine code depends on."""
    return _files(COMPILED_FOLDERS)


def result_files() -> list[Path]:
    """The source files that every result depends on, whatever the policy."""
    return _files(RESULT_FOLDERS)


@cache
def installed_code() -> str:
    """A hash of all code that computes; machines with the same hash give the same results."""
    return fingerprint(compiled_files(), *versions())


def versions() -> list[str]:
    """The packages that the bits of a result depend on, with their versions."""
    return [f"{package} {version(package)}" for package in ("numpy", "numba", "scipy")]


def fingerprint(paths: Iterable[Path], *words: str) -> str:
    """A short hash of the content of files, wherever they lie, and of words."""
    digest = hashlib.sha256(" ".join(words).encode())
    for path in paths:
        digest.update(f"\0{path.name}\0{_content(path)}".encode())
    return digest.hexdigest()[:16]


def _files(folders: Iterable[str]) -> list[Path]:
    return [path for folder in folders for path in sorted((PACKAGE / folder).rglob("*.py"))]


@cache
def _content(path: Path) -> str:
    """A hash of a file, computed once per process.

    What runs is what was loaded at import, whatever an editor does to the file afterwards.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()
