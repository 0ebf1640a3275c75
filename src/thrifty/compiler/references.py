"""A named tuple of many arrays behind one pointer, to be passed to compiled code at little cost.

Passing the tuple itself takes a microsecond for every few arrays, and ten for a random generator,
of which Numba then loses some bytes each time.
"""

from typing import Any

from numba import types
from numba.experimental import structref

from thrifty.compiler.compilation import JIT, compiled


@structref.register
class _ReferenceType(types.StructRef):
    def preprocess_fields(self, fields: Any) -> Any:
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


class Reference(structref.StructRefProxy):
    """In compiled code, `reference.target` is the named tuple."""


if not JIT:

    class Reference:  # type: ignore[no-redef]  # plain Python needs no pointer
        """The same without a compiler."""

        def __init__(self, target: Any) -> None:
            self.target = target

else:
    _define: Any = structref.define_proxy
    _define(Reference, _ReferenceType, ["target"])


@compiled
def refer(target: Any) -> Any:
    """A reference to a named tuple of arrays."""
    return Reference(target)  # type: ignore[no-untyped-call]  # Numba makes its constructor
