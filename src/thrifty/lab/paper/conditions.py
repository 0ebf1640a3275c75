"""Conditions under which a claim is examined, and phrases that combine them.

A condition maps names to values, `{"width": "oful", "n": 10_000}`; its phrase is `with the oful
width at n = 1e4`. Conditions that differ in one value are combined: `at n = 1e4 and 1e5`.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations

from thrifty.report.wording import listing, power

Condition = Mapping[str, str | int]
Block = dict[str, tuple[str | int, ...]]  # all conditions with one of the given values per name

LONGEST = "longest"  # a value of n: the longest horizon that was simulated


def _horizons(values: Sequence[str | int]) -> str:
    numbers = [power(n) for n in values if isinstance(n, int)]
    phrases = [f"at n = {listing(numbers)}"] if numbers else []
    return " and ".join([*phrases, *(["at the longest horizon"] if LONGEST in values else [])])


def _template(singular: str, plural: str = "") -> Callable[[Sequence[str | int]], str]:
    def phrase(values: Sequence[str | int]) -> str:
        template = plural if plural and len(values) > 1 else singular
        return template.format(listing([str(value) for value in values]))

    return phrase


_PHRASES: dict[str, Callable[[Sequence[str | int]], str]] = {  # in the order of a sentence
    "policy": _template("for {}"),
    "u": _template("for u = {}"),
    "gaps": _template("for gaps of {}"),
    "quantity": _template("in {}"),
    "c": _template("at c = {}"),
    "epsilon": _template("with epsilon = {}"),
    "ossb": _template("with OSSB's epsilon = gamma = {}"),
    "width": _template("with the {} width", "with the {} widths"),
    "law": _template("with the context distribution of {}", "with the context distributions of {}"),
    "instance": _template("on {}"),
    "n": _horizons,
    "growth": _template("{}"),
}


def phrase(condition: Condition) -> str:
    """One condition as a phrase; empty for no condition."""
    return _block_phrase({name: (value,) for name, value in condition.items()})


def combined(chosen: Sequence[Condition], possible: Sequence[Condition]) -> str:
    """Some of the possible conditions as one phrase.

    A name is left out where the chosen conditions include all of its possible values.
    """
    blocks = [_simplified(block, possible) for block in _blocks(chosen)]
    return ", and ".join(map(_block_phrase, blocks))


def _blocks(conditions: Sequence[Condition]) -> list[Block]:
    """Few blocks that together contain exactly the given conditions."""
    names = list(dict.fromkeys(name for condition in conditions for name in condition))
    values = {name: [condition.get(name) for condition in conditions] for name in names}

    def ordered(by: Sequence[str]) -> list[Condition]:
        return sorted(
            conditions, key=lambda one: [values[name].index(one.get(name)) for name in by]
        )

    return min((_merged(ordered(by)) for by in permutations(names)), key=len)


def _merged(conditions: Sequence[Condition]) -> list[Block]:
    """Blocks of conditions that are merged one by one."""
    blocks: list[Block] = []
    for condition in conditions:
        block: Block = {name: (value,) for name, value in condition.items()}
        while (
            partner := next((one for one in blocks if _mergeable(one, block)), None)
        ) is not None:
            blocks.remove(partner)
            # merged values keep their order: dict.fromkeys drops those in both
            block = {name: tuple(dict.fromkeys(partner[name] + block[name])) for name in block}
        blocks.append(block)
    return blocks


def _mergeable(one: Block, other: Block) -> bool:
    """Whether two blocks differ in the values of one name at most."""
    return one.keys() == other.keys() and sum(one[name] != other[name] for name in one) <= 1


def _simplified(block: Block, possible: Sequence[Condition]) -> Block:
    """The block without names that do not restrict the possible conditions further."""
    for name in block:
        rest = {other: values for other, values in block.items() if other != name}
        if _matching(rest, possible) == _matching(block, possible):
            return _simplified(rest, possible)
    return block


def _matching(block: Block, possible: Sequence[Condition]) -> list[int]:
    """Indices of the possible conditions that lie in a block."""
    return [
        i
        for i, condition in enumerate(possible)
        if all(condition.get(name) in values for name, values in block.items())
    ]


def _block_phrase(block: Block) -> str:
    return " ".join(_PHRASES[name](block[name]) for name in _PHRASES if name in block)
