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
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import register_jitable
from platformdirs import user_cache_path

F = TypeVar("F", bound=Callable[..., object])

_MONTH = 30 * 24 * 3600.0


COMPILED: Any = {"nogil": True, "error_model": "numpy"}  # x / 0 is inf, as in NumPy
# Numba counts references, atomically, whenever a named tuple of arrays is taken apart or passed on; in a loop of small functions that costs ten times the
# arithmetic. A function that makes no arrays can do without.
KERNEL: Any = COMPILED | {"_nrt": False, "forceinline": True}


def compiled(function: F) -> F:
    """Compile with Numba in nopython mode, without the GIL, cached on disk across processes."""
    dispatcher: F = _cached(numba.njit, COMPILED)(function)
    return dispatcher


def kernel(function: F) -> F:
    """A function for the innermost loop: it becomes part of the compiled function that calls it, and stays a Python function to Python.

    It may not make or return arrays, only views within itself.
    """
    kept: F = register_jitable(**KERNEL)(function)
    return kept


def pointer(function: Callable[..., object], signature: Any) -> Any:
    """A compiled function behind a pointer, for a field of a named tuple. Callers call it like any other, but do not compile it again, as they would."""
    return _cached(partial(numba.cfunc, signature), {"error_model": "numpy"})(function)


def _cached(decorator: Callable[..., Any], options: dict[str, Any]) -> Any:
    def decorate(function: Any) -> Any:
        folder = cache_folder()
        config: Any = numba.config
        previous = config.CACHE_DIR
        config.CACHE_DIR = str(folder or previous)  # read when the dispatcher is made: other packages keep their own folder
        try:
            return decorator(cache=folder is not None, **options)(function)
        finally:
            config.CACHE_DIR = previous

    return decorate


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


@cache
def announce(function: Callable[..., object]) -> None:
    """Tell a person at a terminal, once, that the first call of a compiled function on a machine has to wait for the compiler."""
    folder = cache_folder()
    name = f"*.{function.__name__}-*.nbi"
    if sys.stderr.isatty() and (folder is None or not any(folder.rglob(name))):
        print("thrifty: compiling for this machine, once; this takes about a minute", file=sys.stderr)


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
