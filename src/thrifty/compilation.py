"""How code is compiled, and where its machine code is kept.

Numba checks only a function's own file before it trusts the disk cache: an edit in a file that the
function calls goes unseen. The cache folder is therefore named after a hash of all sources that
compute (`sources.py`), so that neither an edit nor an upgrade ever runs stale code.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types
from numba.core import event
from numba.extending import register_jitable
from platformdirs import user_cache_path

from thrifty.sources import computing_files, fingerprint

F = TypeVar("F", bound=Callable[..., object])

_MONTH = 30 * 24 * 3600.0


COMPILED: Any = {"nogil": True, "error_model": "numpy"}  # x / 0 is inf, as in NumPy
# Numba counts references, atomically, whenever a named tuple of arrays is taken apart or passed on;
# in a loop of small functions that costs ten times the arithmetic. A function that makes no arrays
# can do without.
KERNEL: Any = COMPILED | {"_nrt": False, "forceinline": True}


def compiled(function: F) -> F:
    """Compile with Numba in nopython mode, without the GIL, cached on disk across processes."""
    folder = cache_folder()
    config: Any = numba.config
    previous = config.CACHE_DIR
    # read when the dispatcher is made: other packages keep their own folder
    config.CACHE_DIR = str(folder or previous)
    try:
        dispatcher: F = numba.njit(cache=folder is not None, **COMPILED)(function)
    finally:
        config.CACHE_DIR = previous
    return dispatcher


def kernel(function: F) -> F:
    """A function for the innermost loop: it becomes part of the compiled function that calls it,
    and stays a Python function to Python.

    It may not make or return arrays, only views within itself.
    """
    kept: F = register_jitable(**KERNEL)(function)
    return kept


class Pointer(types.WrapperAddressProtocol):
    """A compiled function behind a pointer, for a field of a named tuple.

    Compiled code calls it like any other function, but does not compile it again within itself, as
    it would if it called the function by name.
    """

    def __init__(self, function: Any, arguments: tuple[Any, ...]) -> None:
        function.compile(arguments)
        self._function, self._compiled = function, function.overloads[arguments]

    def __wrapper_address__(self) -> int:
        address: int = self._compiled.library.get_pointer_to_function(
            self._compiled.fndesc.llvm_cfunc_wrapper_name
        )
        return address

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def signature(self) -> Any:
        """Types of result and arguments, as Numba asks for them."""
        return self._compiled.signature


@cache
def cache_folder() -> Path | None:
    """The folder of this version's machine code; None where the machine lets us write none
    (compiled anew in each process then).
    """
    root = Path(os.environ.get("THRIFTY_CACHE_DIR") or user_cache_path("thrifty"))
    folder = root / fingerprint(computing_files(), numba.__version__, sys.version)
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _forget_old(root, keep=folder)
        os.utime(folder)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


class _Announcer(event.Listener):
    """Tells a person at a terminal, once a process, that they are waiting for the compiler."""

    told = False

    def on_start(self, compiling: Any) -> None:
        # made-up functions have no module
        ours = str(compiling.data["dispatcher"].py_func.__module__).startswith("thrifty.")
        if ours and not self.told and sys.stderr is not None and sys.stderr.isatty():
            print(
                "thrifty: compiling for this machine; the first use of each part takes "
                "up to a minute, once",
                file=sys.stderr,
            )
            self.told = True

    def on_end(self, compiling: Any) -> None:
        """Nothing to say."""


register: Any = event.register
register("numba:compile", _Announcer())


def _forget_old(root: Path, *, keep: Path) -> None:
    """Remove the machine code of versions that nobody has run for a month."""
    for folder in root.iterdir():
        if folder.is_dir() and folder != keep and time.time() - folder.stat().st_mtime > _MONTH:
            shutil.rmtree(folder, ignore_errors=True)
