"""The random draws of a policy in use, made for many decisions at a time."""

from copy import copy
from typing import Any

from thrifty.numerics.arrays import Floats
from thrifty.numerics.streams import streams
from thrifty.policies.shared.ledger import Ledger

BLOCK = 256  # decisions whose draws are made at a time
# draws of a kind at a time, a fifth of a millisecond: the decision that waits for them should not
# take much longer than others, and so a block is of fewer decisions if each needs many
MOST_DRAWN = 1 << 14


class Draws:
    """Random draws, and the states of the generators from which they can be made again.

    Attributes
    ----------
    normals, uniforms : (b, n) draws of the present block, of BLOCK decisions or fewer
    drawn_from : states of both generators before the block
    first : the first decision that uses the block
    increment : of the generator of normals: it follows from the seed, also of a learner in a file
    """

    normals: Floats
    uniforms: Floats
    drawn_from: tuple[Any, Any]
    first: int
    increment: int
    _has_normals: bool
    _has_uniforms: bool

    def __init__(self, seed: int) -> None:
        _, _, *self._generators = streams(seed, 0)
        self._next = self._states()

    def _states(self) -> tuple[Any, Any]:
        normals, uniforms = self._generators
        return normals.bit_generator.state, uniforms.bit_generator.state

    def renew(self, ledger: Ledger, made: int, states: tuple[Any, Any] | None = None) -> None:
        """Make the block of the next decisions, of which `made` were made before.

        states: of both generators; by default those after the last block.
        """
        before = self._next if states is None else states
        normals, uniforms = self._generators
        normals.bit_generator.state, uniforms.bit_generator.state = before
        most = max(ledger.normals.size, ledger.uniforms.size, 1)
        block = max(1, min(BLOCK, MOST_DRAWN // most))
        # one instruction, which no signal handler can interrupt
        self.__dict__.update(
            normals=normals.standard_normal((block, ledger.normals.size)),
            uniforms=uniforms.random((block, ledger.uniforms.size)),
            drawn_from=before,
            first=made,
            increment=before[0]["state"]["inc"],
            _next=self._states(),
            _has_normals=ledger.normals.size > 0,
            _has_uniforms=ledger.uniforms.size > 0,
        )

    def renewed(self, ledger: Ledger, made: int) -> "Draws":
        """The same with a new block, for a policy that may need more draws or fewer.

        These stay as they are. Both share the generators, whose states each sets before it draws.
        """
        draws = copy(self)
        draws.renew(ledger, made)
        return draws

    def write(self, ledger: Ledger, made: int) -> None:
        """Write the draws of the next decision into the ledger."""
        used = made - self.first
        while used >= len(self.normals):  # more than once if a file was written with larger blocks
            self.renew(ledger, made - used + len(self.normals))
            used = made - self.first
        if self._has_normals:
            ledger.normals[:] = self.normals[used]
        if self._has_uniforms:
            ledger.uniforms[:] = self.uniforms[used]
