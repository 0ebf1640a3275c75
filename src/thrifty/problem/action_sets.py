"""ActionSets: the arms that each context offers. This is what a learner knows."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import NOTHING, InvalidInput, UnknownName
from thrifty.numerics.arrays import Floats, Ints, finite_numbers, numeric
from thrifty.problem.frames import arm_table, columns_of, in_order
from thrifty.problem.names import listed_names

MOST_DIMENSIONS = 10_000  # policies and bounds keep (d, d) matrices, of 0.8 GB then


class ActionSets:
    """A finite set of arms in R^d for each context; sets may differ in size and share vectors.

    Parameters
    ----------
    sets : one (K_m, d) array or data frame per context
    context_names : one distinct name per context, optional
    arm_names : for each context one distinct name per arm, optional; by default the index of a data
        frame where it is of strings
    columns : one distinct name per feature, optional; by default the columns of the first data
        frame. Columns of data frames are taken by name, in any order; otherwise it means nothing

    Attributes
    ----------
    rows : (k, d) all arms, context after context
    offsets : (M + 1,) context m owns rows[offsets[m]:offsets[m + 1]]
    """

    open = False  # whether rows change from round to round
    blocks = 1  # theta is one

    def __init__(
        self,
        sets: Sequence[ArrayLike],
        *,
        context_names: Sequence[str] | None = None,
        arm_names: Sequence[Sequence[str] | None] | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        if isinstance(sets, str) or not isinstance(sets, Sequence | np.ndarray):
            raise InvalidInput.expected("contexts", "a list of action sets", sets)
        tables = [arm_table(arms) if columns_of(arms) is not None else None for arms in sets]
        first = next((table.columns for table in tables if table is not None), None)
        names = first if columns is None else columns
        self.columns = None if names is None else listed_names(names, "columns")
        arrays = list(sets)
        for m, table in enumerate(tables):
            if table is not None and self.columns is not None:
                where = f"contexts[{m}].arms"
                arrays[m] = in_order(table.values, table.columns, self.columns, where)
        blocks = _blocks(arrays)
        if self.columns is not None and len(self.columns) != blocks[0].shape[1]:
            raise InvalidInput.expected("columns", f"{blocks[0].shape[1]} names", len(self.columns))
        self.rows: Floats = _frozen(np.concatenate(blocks))
        sizes = [len(block) for block in blocks]
        self.offsets: Ints = _frozen(np.cumsum([0, *sizes], dtype=np.int64))
        self.context_names = _names(context_names, len(blocks), "context_names", "context")
        listed = [None] * len(blocks) if arm_names is None else arm_names
        if not isinstance(listed, Sequence) or len(listed) != len(blocks):
            raise InvalidInput.expected("arm_names", f"{len(blocks)} lists of names", arm_names)
        named = list(listed)
        for m, table in enumerate(tables):
            if named[m] is None and table is not None:
                named[m] = table.names
        self.arm_names = tuple(
            _names(named[m], size, f"arm_names[{m}]", "arm") for m, size in enumerate(sizes)
        )

    @property
    def contexts(self) -> int:
        """How many contexts there are (M)."""
        return len(self.offsets) - 1

    @property
    def dimension(self) -> int:
        """The dimension of the arms (d)."""
        return int(self.rows.shape[1])

    @property
    def largest(self) -> int:
        """How many arms the largest set has."""
        return int(np.diff(self.offsets).max())

    @cached_property
    def context_of_row(self) -> Ints:
        """(k,) the context that each row belongs to."""
        return _frozen(np.repeat(np.arange(self.contexts), np.diff(self.offsets)))

    @cached_property
    def vectors(self) -> Floats:
        """(v, d) the distinct vectors, in order of first appearance: pulls are pooled by vector."""
        first = np.full(self.vector_ids.max() + 1, len(self.rows))
        np.minimum.at(first, self.vector_ids, np.arange(len(self.rows)))
        return _frozen(self.rows[first])

    @cached_property
    def vector_ids(self) -> Ints:
        """(k,) for each row the index of its vector: equal for equal vectors, in any context."""
        _, first, ids = np.unique(self.rows, axis=0, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return _frozen(rank[ids.reshape(-1)])

    def arms(self, context: int | str) -> Floats:
        """(K_m, d) the arms of a context, given by its index or name."""
        m = self.context_index(context)
        return self.rows[self.offsets[m] : self.offsets[m + 1]]

    def split(self, per_row: NDArray[Any]) -> list[NDArray[Any]]:
        """Split an array with one entry per row into one array per context."""
        return np.split(per_row, self.offsets[1:-1])

    def named_rows(self) -> dict[str, list[str]]:
        """The name of each row's context (k,), and of its arm (k,): columns of a table."""
        pairs = list(zip(self.context_names, self.arm_names, strict=True))
        return {
            "context": [context for context, arms in pairs for _ in arms],
            "arm": [arm for _, arms in pairs for arm in arms],
        }

    def context_index(self, context: int | str) -> int:
        """The index of a context given by index or name."""
        if isinstance(context, str):
            if context not in self._context_indices:
                raise UnknownName("context", context, self.context_names)
            return self._context_indices[context]
        wrong = isinstance(context, bool) or not isinstance(context, int | np.integer)
        if wrong or not 0 <= context < self.contexts:
            last = self.contexts - 1
            raise InvalidInput.expected("context", f"an index from 0 to {last}", context)
        return int(context)

    @cached_property
    def _context_indices(self) -> dict[str, int]:
        return {name: m for m, name in enumerate(self.context_names)}

    def _key(self) -> tuple[Any, ...]:
        """What equal action sets have in common; equal numbers have equal bits."""
        return self.rows.tobytes(), self.offsets.tobytes(), self.context_names, self.arm_names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActionSets) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"ActionSets({self.contexts} contexts, {len(self.rows)} arms, d={self.dimension})"


def _blocks(sets: Sequence[ArrayLike]) -> list[Floats]:
    """The sets as finite float arrays (K_m, d) of one dimension, without negative zeros."""
    if len(sets) == 0:
        raise InvalidInput.expected("contexts", "at least one action set", NOTHING)
    blocks = [_block(arms, f"contexts[{m}].arms") for m, arms in enumerate(sets)]
    dimension = blocks[0].shape[1]
    if dimension > MOST_DIMENSIONS:
        expected = f"at most {MOST_DIMENSIONS} numbers (memory grows with their square)"
        raise InvalidInput.expected("contexts[0].arms[0]", expected, dimension)
    for m, block in enumerate(blocks):
        if block.shape[1] != dimension:
            expected = f"{dimension} numbers (as in contexts[0])"
            raise InvalidInput.expected(f"contexts[{m}].arms[0]", expected, block.shape[1])
    return blocks


def _block(arms: ArrayLike, where: str) -> Floats:
    """One set as (K, d); looked at row by row only to say what is wrong."""
    try:
        block = numeric(arms, where, "a list of arms")
    except InvalidInput:
        _explain(arms, where)
    if block.ndim != 2 or block.size == 0 or not np.isfinite(block).all():
        _explain(arms, where)
    return block + 0.0  # -0.0 + 0.0 is 0.0: equal vectors have equal bits


def _explain(arms: ArrayLike, where: str) -> NoReturn:
    """Name the first arm of a set that cannot be used."""
    if isinstance(arms, Sequence | np.ndarray) and len(arms) == 0:
        raise InvalidInput.expected(where, "at least one arm", NOTHING)
    if not isinstance(arms, Sequence | np.ndarray) or isinstance(arms, str):
        raise InvalidInput.expected(where, "a list of arms", arms)
    first = finite_numbers(arms[0], f"{where}[0]")
    for i, arm in enumerate(arms):
        vector = finite_numbers(arm, f"{where}[{i}]")
        if len(vector) != len(first):
            expected = f"{len(first)} numbers (as in {where}[0])"
            raise InvalidInput.expected(f"{where}[{i}]", expected, len(vector))
    raise InvalidInput.expected(where, "a list of arms", arms)


def default_names(count: int) -> tuple[str, ...]:
    """Names of contexts and arms by default: 0, 1, 2, ..."""
    return tuple(str(i) for i in range(count))


def _names(names: Sequence[str] | None, count: int, where: str, kind: str) -> tuple[str, ...]:
    if names is None:
        return default_names(count)
    checked = listed_names(names, where)
    if len(checked) != count:
        raise InvalidInput(where, f"one name per {kind} expected: {count}, got {len(checked)}")
    return checked


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
