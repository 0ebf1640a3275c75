"""Specs: `name` or `name:key=value,key=value`, as instances and policies are asked for."""

from collections.abc import Iterable

from thrifty.errors import InvalidInput, UnknownName


def split_parameters(given: str, known: Iterable[str], *, owner: str, where: str) -> dict[str, str]:
    """The values in `key=value,key=value` by key, each known and given once; owner and where go
    into the error.
    """
    values: dict[str, str] = {}
    for pair in given.split(",") if given else []:
        key, _, value = pair.partition("=")
        if key in values:
            raise InvalidInput(f"{where}{key}", "one value", given)
        if key not in known:
            raise UnknownName(f"parameter of {owner}", key, known)
        values[key] = value
    return values
