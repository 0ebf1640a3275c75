"""Machine code of one function on disk, by private parts of Numba.

A file holds one version of one function: for given argument types and a given processor. It carries
a digest; a damaged one is compiled again. Several processes may write at the same time.
"""

import hashlib
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import types
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.serialize import dumps

from thrifty.compiler.machine_code import announce_compiling, cache_folder
from thrifty.errors import BadFile, CacheUnavailable
from thrifty.files import write_whole


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
    """Announces the compiler when it is at work on a function of this package."""

    def on_start(self, compiling: Any) -> None:
        if str(compiling.data["dispatcher"].py_func.__module__).startswith("thrifty."):
            announce_compiling()

    def on_end(self, compiling: Any) -> None:
        """Nothing to say."""


register: Any = event.register
register("numba:compile", _Announcer())
