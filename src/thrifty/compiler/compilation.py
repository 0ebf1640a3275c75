"""How functions are compiled.

- `@compiled`: called from Python, a function has machine code of its own, kept on disk
  (machine_code.py). Called from compiled code, it becomes part of its caller.
- `@kernel`: for inner loops. It counts no references and is inlined into the compiled function
  that calls it. Called from Python, it stays a Python function.
- `Pointer`: a compiled function behind its address, which callers do not compile again.

Left to itself, Numba gives every function that compiled code calls its own machine code, with
wrappers for Python and C, and optimises it again inside each of its callers. For the solver, some
ninety small functions, that took a minute of processor time. Here a callee is lowered to LLVM's
language only; LLVM optimises it and makes machine code once, together with its caller.
This uses parts of Numba that are not public: pyproject.toml admits only versions it is tested with.

Functions return plain tuples, never named ones, to Python. Numba 0.68 runs Python code to make a
named tuple, and crashes if a signal handler raises an exception in it.
"""

import gc
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core import compiler, dispatcher
from numba.core.registry import CPUDispatcher

from thrifty.compiler.interrupts import away_from_signals
from thrifty.compiler.machine_code import DiskCache, cache_folder

F = TypeVar("F", bound=Callable[..., object])

JIT: bool = not getattr(numba.config, "DISABLE_JIT")  # noqa: B009  # Numba sets it at run time
FunctionCompiler: Any = getattr(dispatcher, "_FunctionCompiler")  # noqa: B009  # not public

COMPILED: Any = {"nogil": True, "error_model": "numpy"}  # x / 0 is inf, as in NumPy
# Numba counts references, atomically, whenever a named tuple of arrays is taken apart or passed on;
# in a loop of small functions that costs ten times the arithmetic. A function that makes no arrays
# can do without.
KERNEL: Any = COMPILED | {"_nrt": False, "forceinline": True}


def compiled(function: F) -> F:
    """Compile a function on first use, for Python as well as for compiled callers."""
    if not JIT:
        return function
    return _CompiledFunction(function, COMPILED)  # type: ignore[return-value]  # called like one


def kernel(function: F) -> F:
    """Make a function part of the compiled code that calls it; for Python it stays as it is.

    It may not make or return arrays, only views within itself.
    """
    if not JIT:
        return function
    return _Kernel(function, KERNEL)  # type: ignore[return-value]  # called like one


class _Callee(CPUDispatcher):
    """A function as compiled code calls it: lowered once, linked into every caller."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, {}, {"nopython": True, **options})
        _compile_with(self, _CalleeCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile for the types of a call. A literal 0 is an int64: one version serves both."""
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)

    def add_overload(self, result: Any) -> None:
        """Keep a version for compiled callers; there is nothing that Python could call."""
        self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        self.overloads[tuple(result.signature.args)] = result


class _Entry(CPUDispatcher):
    """A function as Python calls it, compiled or loaded in a thread that signals do not reach."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, {}, {"nopython": True, **COMPILED})
        _compile_with(self, _EntryCompiler)

    def compile(self, sig: Any) -> Any:
        """Compile for a signature, unless that was done."""
        known: Any = self.overloads.get(sig) if isinstance(sig, tuple) else None
        if known is not None:
            return known.entry_point
        return away_from_signals(lambda: super(_Entry, self).compile(sig))

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


class _Flags(compiler.Flags):
    """Compiler flags that are cheap to compare: Numba does so a hundred thousand times per solver.

    Numba hashes the names of all options, which never change, and compares the value of each.
    """

    __slots__ = ()

    _HASH = hash(tuple(sorted(compiler.Flags.options)))

    def __hash__(self) -> int:
        return self._HASH

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, compiler.Flags):
            return NotImplemented
        mine, others = cast(Any, self)._values, cast(Any, other)._values
        if mine == others:
            return True
        for name in mine.keys() | others.keys():  # options that neither has set have their default
            if getattr(self, name) != getattr(other, name):
                return False
        return True


class _EntryCompiler(FunctionCompiler):  # type: ignore[misc]  # Numba has no type hints here
    """Compiles a function for Python.

    The compiler makes millions of objects, most of which stay for its caches. Python would search
    them for unused cycles a thousand times, a tenth of the compile time; here it does so less often
    until the function is compiled. Numba's lock admits one compiling thread at a time.
    """

    def _customize_flags(self, flags: Any) -> Any:
        return _Flags(flags)  # type: ignore[no-untyped-call]  # inherited from Numba

    def compile(self, args: Any, return_type: Any) -> Any:
        """Compile with rare garbage collection."""
        threshold, *others = gc.get_threshold()
        gc.set_threshold(100 * threshold, *others)
        try:
            result = super().compile(args, return_type)
        finally:
            gc.set_threshold(threshold, *others)
        if _has_named_tuple(result.signature.return_type):
            raise TypeError(f"{self.py_func.__qualname__} must return a plain tuple")
        return result


def _has_named_tuple(kind: Any) -> bool:
    named = isinstance(kind, types.NamedTuple | types.NamedUniTuple)
    return named or any(map(_has_named_tuple, getattr(kind, "types", ())))


class _CalleeCompiler(FunctionCompiler):  # type: ignore[misc]  # Numba has no type hints here
    """Stops before machine code: no wrappers, no optimisation, nothing that could be run."""

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return _Flags(flags)  # type: ignore[no-untyped-call]  # inherited from Numba

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


def _compile_with(function: Any, kind: Any) -> None:
    """Replace the compiler of a Numba dispatcher."""
    old = vars(function)["_compiler"]
    function._compiler = kind(
        old.py_func, old.targetdescr, old.targetoptions, {}, old.pipeline_class
    )


class _Kernel(_Callee):
    """What `@kernel` makes."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


class _CompiledFunction(_Callee):
    """What `@compiled` makes.

    Attributes
    ----------
    entry : the function for Python, its machine code kept on disk
    uncached : the same, compiled anew in each process
    """

    @cached_property
    def entry(self) -> Any:
        entry: Any = _Entry(self.py_func)
        # only thrifty's own: the name of the folder follows its sources, and no others
        if self.py_func.__module__.startswith("thrifty.") and cache_folder() is not None:
            entry._cache = DiskCache(self.py_func)
        return entry

    @cached_property
    def uncached(self) -> Any:
        return _Entry(self.py_func)

    def __call__(self, *args: Any) -> Any:
        return self.entry(*args)


def entry_for(function: Callable[..., Any], state: object) -> Callable[..., Any]:
    """The compiled function to call from Python for a policy's state.

    Machine code for policies that are not thrifty's is not kept: the cache would not notice that
    their source has changed.
    """
    if not isinstance(function, _CompiledFunction):  # compilation is switched off
        return function
    ours = type(state).__module__.startswith("thrifty.")
    entry: Callable[..., Any] = function.entry if ours else function.uncached
    return entry


def direct_call(entry: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The machine code of an entry for the types of some arguments, as a C function.

    It checks no types: every call must pass arguments of the same types. No Python code runs during
    the call, so that no exception of a signal handler can be lost in it.
    """
    if not isinstance(entry, CPUDispatcher):  # compilation is switched off
        return entry
    kinds = tuple(map(numba.typeof, arguments))
    machine_code: Callable[..., Any] = entry.compile(kinds)
    return machine_code


class Pointer(types.WrapperAddressProtocol):
    """A compiled function behind its address, for a field of a named tuple.

    Compiled code calls it like any other function, but does not compile it again within itself, as
    it would if it called the function by name.
    """

    def __init__(self, function: Any, arguments: tuple[Any, ...]) -> None:
        self._function = function
        if isinstance(function, _CompiledFunction):
            function.entry.compile(arguments)
            self._compiled = function.entry.overloads[arguments]

    def __wrapper_address__(self) -> int:
        name = self._compiled.fndesc.llvm_cfunc_wrapper_name
        address: int = self._compiled.library.get_pointer_to_function(name)
        return address

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def signature(self) -> Any:
        """Types of result and arguments, as Numba asks for them."""
        return self._compiled.signature
