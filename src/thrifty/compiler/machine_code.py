"""Where machine code is kept between processes, and how people hear that they wait for it.

The folder is named after a hash of all sources that are compiled, of the versions of Numba and
Python, and of what else changes machine code. Neither an edit nor an upgrade ever runs stale code,
and a copy of the package elsewhere finds the same files.
"""

import logging
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from platformdirs import user_cache_path

from thrifty.compiler.fingerprints import compiled_files, fingerprint
from thrifty.errors import CacheUnavailable

log = logging.getLogger("thrifty")

_MONTH = 30 * 24 * 3600.0


@cache
def cache_folder() -> Path | None:
    """The folder of this version's machine code; None, with a warning, if it cannot be written."""
    root = Path(os.environ.get("THRIFTY_CACHE_DIR") or user_cache_path("thrifty"))
    checks = f"bounds checks {numba.config.BOUNDSCHECK}"  # type: ignore[attr-defined]  # set at run time
    plain = f"plain {os.environ.get('THRIFTY_PLAIN_NUMBA')}"
    folder = root / fingerprint(compiled_files(), numba.__version__, sys.version, checks, plain)
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _remove_old(root, keep=folder)
        os.utime(folder)
    except OSError as error:
        _warn_unwritable(folder, error.strerror or str(error))
        return None
    if not os.access(folder, os.W_OK):
        _warn_unwritable(folder, "no permission")
        return None
    return folder


def _warn_unwritable(folder: Path, why: str) -> None:
    warnings.warn(
        f"machine code cannot be kept in {folder} ({why}): every process compiles again; "
        "set THRIFTY_CACHE_DIR to a folder that can be written",
        CacheUnavailable,
        stacklevel=2,
    )


def _remove_old(root: Path, *, keep: Path) -> None:
    """Remove the machine code of versions that nobody has run for a month."""
    for folder in root.iterdir():
        if folder.is_dir() and folder != keep and time.time() - folder.stat().st_mtime > _MONTH:
            shutil.rmtree(folder, ignore_errors=True)


def is_ours(function: Callable[..., Any]) -> bool:
    """Whether machine code may be kept: the name of the folder follows our sources, no others."""
    return function.__module__.startswith("thrifty.")


@cache
def announce_compiling() -> None:
    """Say once per process, in the log, that the compiler is at work."""
    log.info(
        "compiling for this machine: the first use of each part takes some seconds, once"
        " (`thrifty warm-up` compiles everything)"
    )
