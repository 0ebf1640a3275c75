"""How functions are compiled.

- `@compiled`: called from Python, a function has machine code of its own, kept on disk
  (machine_code.py). Called from compiled code, it becomes part of its caller.
- `@kernel`: for inner loops. It is inlined into the compiled function that calls it, and may not
  make arrays. Called from Python, it stays a Python function.
- `Pointer`: a compiled function behind its address, which callers do not compile again.

Two backends do the work and give the same bits. public_backend.py serves every version of Numba.
accelerated_backend.py compiles several times as fast, by private parts of the versions it knows.
The environment variable THRIFTY_PLAIN_NUMBA=1 selects the public one.

Compiled functions return plain tuples, never named ones, to Python. Numba runs Python code to make
a named tuple, and crashes if a signal handler raises an exception in it.
"""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import types

F = TypeVar("F", bound=Callable[..., object])

JIT: bool = not getattr(numba.config, "DISABLE_JIT")  # noqa: B009  # Numba sets it at run time
KNOWN_INSIDE = ("0.68",)  # minor versions of Numba whose private parts are known
ACCELERATED: bool = ".".join(numba.__version__.split(".")[:2]) in KNOWN_INSIDE and os.environ.get(
    "THRIFTY_PLAIN_NUMBA", "0"
) in ("", "0")

if ACCELERATED:
    from thrifty.compiler import accelerated_backend as _backend
else:
    from thrifty.compiler import public_backend as _backend  # type: ignore[no-redef]  # same names


def compiled(function: F) -> F:
    """Compile a function on first use, for Python as well as for compiled callers."""
    if not JIT:
        return function
    return _backend.CompiledFunction(function)  # type: ignore[return-value]  # called like one


def kernel(function: F) -> F:
    """Make a function part of the compiled code that calls it; for Python it stays as it is.

    It may not make or return arrays, only views within itself.
    """
    if not JIT:
        return function
    return _backend.make_kernel(function)


def entry_for(function: Callable[..., Any], state: object) -> Callable[..., Any]:
    """The compiled function to call from Python for a policy's state.

    Machine code for policies that are not thrifty's is not kept: the cache would not notice that
    their source has changed.
    """
    if not isinstance(function, _backend.CompiledFunction):  # compilation is switched off
        return function
    ours = type(state).__module__.startswith("thrifty.")
    entry: Callable[..., Any] = function.entry if ours else function.uncached
    return entry


def direct_call(entry: Any, *arguments: Any) -> Callable[..., Any]:
    """The machine code of an entry for the types of some arguments.

    Every call must pass arguments of the same types. In the accelerated backend it is a C function
    that checks no types, and no Python code runs during the call: no exception of a signal handler
    can be lost in it.
    """
    if not JIT:
        return entry  # compilation is switched off
    machine_code: Callable[..., Any] = entry.compile(tuple(map(numba.typeof, arguments)))
    return machine_code


class Pointer(types.WrapperAddressProtocol):
    """A compiled function behind its address, for a field of a named tuple.

    Compiled code calls it like any other function, but does not compile it again within itself, as
    it would if it called the function by name.

    Parameters
    ----------
    function : a compiled function
    signature : its types as Numba writes them, `result(argument, ...)`
    """

    def __init__(self, function: Any, signature: Any) -> None:
        self._function, self._signature = function, signature
        if JIT:
            self._address: int = _backend.function_address(function, signature)

    def __wrapper_address__(self) -> int:
        return self._address

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def signature(self) -> Any:
        """Types of result and arguments, as Numba asks for them."""
        return self._signature
