"""Compiled functions by private parts of Numba, several times as fast to compile.

Left to itself, Numba gives every function that compiled code calls its own machine code, with
wrappers for Python and C, and optimises it again inside each of its callers. For the solver, some
ninety small functions, that took a minute of processor time. Here a callee is lowered to LLVM's
language only; LLVM optimises it and makes machine code once, together with its caller.
`python -m benchmarks compiler` measures what each private part buys.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from numba import types
from numba.core import dispatcher
from numba.core.registry import CPUDispatcher

from thrifty.compiler.disk_cache import DiskCache
from thrifty.compiler.interrupts import away_from_signals
from thrifty.compiler.machine_code import cache_folder, is_ours

FunctionCompiler: Any = getattr(dispatcher, "_FunctionCompiler")  # noqa: B009  # not public

OPTIONS: Any = {"nogil": True, "error_model": "numpy"}  # x / 0 is inf, as in NumPy
# Numba counts references, atomically, whenever a named tuple of arrays is taken apart or passed on;
# in a loop of small functions that costs ten times the arithmetic. A function that makes no arrays
# can do without.
INLINED: Any = OPTIONS | {"_nrt": False, "forceinline": True}


class _Callee(CPUDispatcher):
    """A function as compiled code calls it: lowered once, linked into every caller."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, {}, {"nopython": True, **options})
        old = vars(self)["_compiler"]
        self._compiler = _CalleeCompiler(
            old.py_func, old.targetdescr, old.targetoptions, {}, old.pipeline_class
        )

    def add_overload(self, result: Any) -> None:
        """Keep a version for compiled callers; there is nothing that Python could call."""
        self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        self.overloads[tuple(result.signature.args)] = result


class _Entry(CPUDispatcher):
    """A function as Python calls it, compiled or loaded in a thread that signals do not reach."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, {}, {"nopython": True, **OPTIONS})

    def compile(self, sig: Any) -> Any:
        """Compile for a signature, unless that was done."""
        known: Any = self.overloads.get(sig) if isinstance(sig, tuple) else None
        if known is not None:
            return known.entry_point
        return away_from_signals(lambda: super(_Entry, self).compile(sig))

    def add_overload(self, result: Any) -> None:
        """Keep a version, unless Numba would make its result by Python code."""
        if _has_named_tuple(result.signature.return_type):
            raise TypeError(f"{self.py_func.__qualname__} must return a plain tuple")
        super().add_overload(result)

    def __call__(self, *args: Any) -> Any:
        """Call the machine code for the types of the arguments.

        Numba runs some Python code to make an array of a result. If a signal handler raises an
        exception in it, Python complains about a result with an exception: that exception is meant.
        """
        try:
            return CPUDispatcher.__call__(self, *args)
        except SystemError as error:
            meant: BaseException = error
            while isinstance(meant, SystemError) and meant.__cause__ is not None:
                meant = meant.__cause__
            raise meant from None


def _has_named_tuple(kind: Any) -> bool:
    named = isinstance(kind, types.NamedTuple | types.NamedUniTuple)
    return named or any(map(_has_named_tuple, getattr(kind, "types", ())))


class _CalleeCompiler(FunctionCompiler):  # type: ignore[misc]  # Numba has no type hints here
    """Stops before machine code: no wrappers, no optimisation, nothing that could be run."""

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags

    def compile(self, args: Any, return_type: Any) -> Any:
        """Lower the function; the result is named by an object of its own instead of an address."""
        result = super().compile(args, return_type)
        library = result.library

        def finalize() -> None:
            library._finalize_dynamic_globals()
            library._finalized = True

        library._optimize_final_module = lambda: None
        library._finalize_final_module = finalize
        return result._replace(entry_point=object())


class _Kernel(_Callee):
    """What `@kernel` makes."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


def make_kernel(function: Callable[..., Any]) -> Any:
    """A function that is inlined into compiled code; for Python it stays as it is."""
    return _Kernel(function, INLINED)


class CompiledFunction(_Callee):
    """What `@compiled` makes.

    Attributes
    ----------
    entry : the function for Python, its machine code kept on disk
    uncached : the same, compiled anew in each process
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, OPTIONS)

    @cached_property
    def entry(self) -> Any:
        entry: Any = _Entry(self.py_func)
        if is_ours(self.py_func) and cache_folder() is not None:
            entry._cache = DiskCache(self.py_func)
        return entry

    @cached_property
    def uncached(self) -> Any:
        return _Entry(self.py_func)

    def __call__(self, *args: Any) -> Any:
        return self.entry(*args)


def function_address(function: CompiledFunction, signature: Any) -> int:
    """The address of a compiled function as C calls it."""
    function.entry.compile(signature.args)
    result = function.entry.overloads[signature.args]
    if result.signature != signature:
        raise TypeError(f"{function.py_func.__qualname__} has the types {result.signature}")
    address: int = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
    return address
