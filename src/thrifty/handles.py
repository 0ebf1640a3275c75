"""Handles: a named tuple of many arrays that compiled code holds, and that passes as one pointer.

Passing the tuple itself takes a microsecond for every few arrays, and ten for a random generator,
of which Numba then loses some bytes each time.
"""

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.experimental import structref

from thrifty.compilation import COMPILED, compiled


@structref.register
class _HandleType(types.StructRef):
    def preprocess_fields(self, fields: Any) -> Any:
        return tuple((name, types.unliteral(kind)) for name, kind in fields)  # type: ignore[no-untyped-call]  # Numba has no type hints here


class Handle(structref.StructRefProxy):
    """To compiled code `handle.held` is what it holds."""


_define: Any = structref.define_proxy
_define(Handle, _HandleType, ["held"])


def _hold(held: Any) -> Any:
    return Handle(held)  # type: ignore[no-untyped-call]  # see above


class Compiled:
    """A function that is compiled for the states of policies: from the cache for our own, anew in
    each process for others.

    The cache would not notice that the source of another's policy has changed.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._cached: Any = compiled(function)
        self._fresh: Any = numba.njit(**COMPILED)(function)

    def of(self, state: Any) -> Any:
        """The compiled function to call for a state."""
        return self._cached if type(state).__module__.startswith("thrifty.") else self._fresh


hold = Compiled(_hold)
