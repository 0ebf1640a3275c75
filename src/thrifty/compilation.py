"""The one decorator for compiled code, and where its machine code is kept.

Numba checks only a function's own file before it trusts the disk cache: an edit in a file that the function calls goes unseen.
The cache folder is therefore named after a hash of all sources of the package, so that neither an edit nor an upgrade ever runs stale code.
"""

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import numba
from platformdirs import user_cache_path

F = TypeVar("F", bound=Callable[..., object])

_MONTH = 30 * 24 * 3600.0


def compiled(function: F) -> F:
    """Compile with Numba in nopython mode, without the GIL, cached on disk across processes."""
    folder = cache_folder()
    if folder is None:
        return numba.njit(nogil=True, error_model="numpy")(function)  # type: ignore[no-any-return]  # numba has no type hints
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)  # read once, when the dispatcher is made: other packages keep their own folder
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)  # type: ignore[no-any-return]  # numba has no type hints
    finally:
        numba.config.CACHE_DIR = previous


@cache
def cache_folder() -> Path | None:
    """The folder of this version's machine code; None where the machine lets us write none (compiled anew in each process then)."""
    root = Path(os.environ.get("THRIFTY_CACHE_DIR") or user_cache_path("thrifty"))
    folder = root / _source_hash()
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _forget_old(root, keep=folder)
        os.utime(folder)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def is_warm() -> bool:
    """Whether an earlier process has compiled and kept something of this version."""
    folder = cache_folder()
    return folder is not None and any(folder.rglob("*.nbi"))


def _source_hash() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _forget_old(root: Path, *, keep: Path) -> None:
    """Remove the machine code of versions that nobody has run for a month."""
    for folder in root.iterdir():
        if folder.is_dir() and folder != keep and time.time() - folder.stat().st_mtime > _MONTH:
            shutil.rmtree(folder, ignore_errors=True)
