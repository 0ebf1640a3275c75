"""Compiled functions by public parts of Numba alone: njit, overload, cfunc.

Serves every version of Numba. Each callee gets machine code of its own and is optimised again in
every caller, so compiling takes longer than with accelerated_backend.py. Bits are the same.
"""

import threading
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any

import numba
from numba.extending import overload

from thrifty.compiler.interrupts import away_from_signals
from thrifty.compiler.machine_code import announce_compiling, cache_folder, is_ours

OPTIONS: Any = {"nogil": True, "error_model": "numpy"}  # x / 0 is inf, as in NumPy
_CONFIG_LOCK = threading.Lock()


class CompiledFunction:
    """What `@compiled` makes: Python calls it through `entry`, compiled code as an overload."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        overload(self, jit_options=OPTIONS, strict=False)(lambda *arguments: function)

    @cached_property
    def entry(self) -> "Entry":
        return Entry(self.py_func, keep=is_ours(self.py_func))

    @cached_property
    def uncached(self) -> "Entry":
        return Entry(self.py_func, keep=False)

    def __call__(self, *arguments: Any) -> Any:
        return self.entry(*arguments)


def make_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is inlined into compiled code; for Python it stays as it is."""
    options = OPTIONS | {"forceinline": True}
    overload(function, jit_options=options, strict=False)(lambda *arguments: function)
    return function


class Entry:
    """A function as Python calls it, compiled or loaded in a thread that signals do not reach."""

    def __init__(self, function: Callable[..., Any], *, keep: bool) -> None:
        self._function = function
        self._keep = keep and cache_folder() is not None
        self._dispatcher = _decorated(numba.njit, function, keep=self._keep)
        self._known: set[tuple[Any, ...]] = set()  # argument types that have machine code

    @property
    def stats(self) -> Any:
        """How often machine code was found on disk, as Numba counts it."""
        return self._dispatcher.stats

    def compile(self, kinds: tuple[Any, ...]) -> Callable[..., Any]:
        """The function, once it has machine code for the types of some arguments."""
        if kinds not in self._known:
            away_from_signals(lambda: self._compile(kinds))
            self._known.add(kinds)
        return self._dispatcher

    def _compile(self, kinds: tuple[Any, ...]) -> None:
        announce_compiling()
        try:
            self._dispatcher.compile(kinds)
        except Exception:  # a damaged file in the cache fails in many ways
            if not self._keep:
                raise
            self._keep, self._known = False, set()
            self._dispatcher = _decorated(numba.njit, self._function, keep=False)
            self._dispatcher.compile(kinds)

    def __call__(self, *arguments: Any) -> Any:
        return self.compile(tuple(map(numba.typeof, arguments)))(*arguments)


def function_address(function: CompiledFunction, signature: Any) -> int:
    """The address of a compiled function as C calls it."""

    def decorator(**options: Any) -> Any:
        return numba.cfunc(signature, **options)

    keep = is_ours(function.py_func) and cache_folder() is not None
    callback = away_from_signals(lambda: _decorated(decorator, function.py_func, keep=keep))
    _CALLBACKS.append(callback)
    address: int = callback.address
    return address


_CALLBACKS: list[Any] = []  # their machine code must not be freed


def _decorated(decorator: Callable[..., Any], function: Callable[..., Any], *, keep: bool) -> Any:
    """A function after Numba's decorator; keep: in thrifty's folder of machine code."""
    if not keep:
        return decorator(**OPTIONS)(function)
    # Numba asks where to keep machine code when it decorates, and has one setting for everybody.
    with _CONFIG_LOCK:
        config: Any = numba.config
        before, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder())
        try:
            return decorator(cache=True, **OPTIONS)(function)
        finally:
            config.CACHE_DIR = before
