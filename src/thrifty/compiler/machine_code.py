"""Where machine code is kept between processes, and how people hear that they wait for it.

A file holds one version of one function: for given argument types and a given processor. Its folder
is named after a hash of all sources that are compiled, so that neither an edit nor an upgrade ever
runs stale code, and a copy of the package elsewhere finds the same files. Each file carries a
digest; a damaged one is compiled again. Several processes may write at the same time.
"""

import hashlib
import logging
import os
import pickle
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.serialize import dumps
from platformdirs import user_cache_path

from thrifty.compiler.fingerprints import compiled_files, fingerprint
from thrifty.errors import BadFile, CacheUnavailable
from thrifty.files import write_whole

log = logging.getLogger("thrifty")

_MONTH = 30 * 24 * 3600.0


@cache
def cache_folder() -> Path | None:
    """The folder of this version's machine code; None, with a warning, if it cannot be written."""
    root = Path(os.environ.get("THRIFTY_CACHE_DIR") or user_cache_path("thrifty"))
    folder = root / fingerprint(compiled_files(), numba.__version__, sys.version)
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


class DiskCache(NullCache):
    """The machine code of one function, as Numba's dispatchers ask for it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._codec = CompileResultCacheImpl.__new__(CompileResultCacheImpl)

    @property
    def cache_path(self) -> str:
        return str(cache_folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for a signature; None if there is none that can be trusted."""
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        head, _, payload = content.partition(b"\0")
        if head.decode("latin-1") != _head(key, payload):
            return None
        return self._codec.rebuild(target_context, pickle.loads(payload))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function; a disk that cannot take it is said once."""
        if not self._codec.check_cachable(data):
            return
        key = self._key(sig, data.codegen)
        payload = dumps(self._codec.reduce(data))
        try:
            write_whole(self._path(key), _head(key, payload).encode("latin-1") + b"\0" + payload)
        except BadFile as error:
            _cannot_keep(str(error))

    def _key(self, sig: Any, codegen: Any) -> str:
        arguments = sig.args if hasattr(sig, "args") else sig
        described = ", ".join(map(describe_type, arguments))
        return f"{self._name}({described}) for {codegen.magic_tuple()}"

    def _path(self, key: str) -> Path:
        folder = cache_folder()
        assert folder is not None
        return folder / f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.code"


def _head(key: str, payload: bytes) -> str:
    return hashlib.sha256(key.encode() + payload).hexdigest()


@cache
def _cannot_keep(why: str) -> None:
    warnings.warn(f"machine code cannot be kept: {why}", CacheUnavailable, stacklevel=2)


def describe_type(kind: Any) -> str:
    """A type in words that no other type shares; Numba's own name a class without its module."""
    if isinstance(kind, types.NamedTuple | types.NamedUniTuple):
        owner: Any = kind.instance_class
        inner = ", ".join(map(describe_type, kind.types))
        return f"{owner.__module__}.{owner.__qualname__}({inner})"
    if isinstance(kind, types.StructRef):
        inner = ", ".join(describe_type(field) for _, field in kind._fields)
        return f"{type(kind).__name__}({inner})"
    if isinstance(kind, types.Tuple | types.UniTuple):
        return f"({', '.join(map(describe_type, kind.types))})"
    return str(kind)


class _Announcer(event.Listener):
    """Says once per process, in the log, that the compiler is at work."""

    told = False

    def on_start(self, compiling: Any) -> None:
        module = str(compiling.data["dispatcher"].py_func.__module__)
        if module.startswith("thrifty.") and not self.told:
            self.told = True
            log.info(
                "compiling for this machine: the first use of each part takes up to half a minute,"
                " once (`thrifty warm-up` compiles everything)"
            )

    def on_end(self, compiling: Any) -> None:
        """Nothing to say."""


register: Any = event.register
register("numba:compile", _Announcer())
