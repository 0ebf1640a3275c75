"""A learner as JSON and back, bit for bit, and the checks of a file before it is used.

Compiled code trusts its arrays: an index out of range would read or write foreign memory. So
nothing reaches it that was not checked: the digest of the file, the shape and kind of every array,
the range of every index and count (numerics/arrays.py has the kinds).
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BadFile, InvalidInput
from thrifty.files import read_whole
from thrifty.learners.lasting import PART, lasting_fields
from thrifty.numerics.arrays import ROW_INDICES

FORMAT, VERSION = "thrifty learner", 6
WORDS = {"inf", "-inf", "nan"}  # numbers that JSON does not have
MOST = 2**62  # of a count


def pack(state: Any, *, opened: bool = False) -> dict[str, Any]:
    """The arrays of a state that last, by name; the rest follows from the policy."""
    packed: dict[str, Any] = {}
    for name, part, kind in lasting_fields(state, opened=opened):
        if kind == PART:
            packed[name] = pack(part, opened=opened)
        elif part.dtype.names:
            packed[name] = {field: _to_lists(part[field])[0] for field in part.dtype.names}
        else:
            packed[name] = _to_lists(part)
    return packed


def unpack(packed: Any, state: Any, where: str = "state", *, opened: bool, rows: int) -> None:
    """Check packed arrays, and write them into those of a state; rows: how many its ledger has."""
    expect(isinstance(packed, dict), where, "an object", packed)
    for name, part, kind in lasting_fields(state, opened=opened):
        expect(name in packed, where, f"a field {name!r}", list(packed))
        value, place = packed[name], f"{where}.{name}"
        if kind == PART:
            unpack(value, part, place, opened=opened, rows=rows)
        elif part.dtype.names:
            expect(isinstance(value, dict), place, "an object", value)
            for field in part.dtype.names:
                expect(field in value, place, f"a field {field!r}", list(value))
                numbers = part[field]
                numbers[...] = _checked([value[field]], numbers, f"{place}.{field}")
        else:
            array = _checked(value, part, place)
            if kind == ROW_INDICES:
                expect(not (array >= rows).any(), place, f"indices below {rows}", value)
            part[...] = array


def _checked(value: Any, like: NDArray[Any], where: str) -> NDArray[Any]:
    """A value as an array of the shape and kind of another; integers are counts or indices."""
    expected = f"an array {like.shape} of {like.dtype}"
    try:
        array = np.array(value)
    except ValueError:  # of different lengths
        array = np.empty(0)
    kinds = {"f": "fi", "i": "i", "b": "b"}[like.dtype.kind]
    if like.dtype.kind == "f" and array.dtype.kind in "UO":
        numbers = [_number(number, where) for number in np.array(value, object).flat]
        array = np.array(numbers).reshape(array.shape)
    expect(array.shape == like.shape, where, expected, value)
    expect(array.dtype.kind in kinds or array.size == 0, where, expected, value)
    if like.dtype.kind == "i":
        expect(not ((array < 0) | (array > MOST)).any(), where, f"{expected}, none below 0", value)
    return array.astype(like.dtype)


def _number(value: Any, where: str) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    expect(number or value in WORDS, where, "a number, or one of inf, -inf, nan", value)
    return float(value)


def _to_lists(array: NDArray[Any]) -> Any:
    """Nested lists for JSON, with NaN and infinity as strings."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    words = array.astype(str).astype(object)
    return np.where(np.isfinite(array), array.astype(object), words).tolist()


def expect(holds: bool, where: str, expected: str, got: object) -> None:
    """Raise InvalidInput unless a condition holds."""
    if not holds:
        raise InvalidInput.expected(where, expected, got)


def to_text(content: dict[str, Any]) -> str:
    """The text of a state file."""
    text = json.dumps(content)
    head = json.dumps({"format": FORMAT, "version": VERSION, "digest": _digest(text)})
    return f'{head[:-1]}, "learner": {text}}}\n'


def read(source: str | os.PathLike[str] | bytes) -> dict[str, Any]:
    """The content of a state file, if it is one, of a version that can be read, and whole."""
    path = "bytes" if isinstance(source, bytes) else source
    try:
        document = json.loads(source if isinstance(source, bytes) else _text_of(source))
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{path}: not valid JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BadFile(f"{path}: not the state of a thrifty learner")
    version = document.get("version")
    if version == 1:
        raise BadFile(f"{path}: written by thrifty 0.1; version 0.2 and later cannot read it")
    if version == 2:  # of 0.2: the same content without a digest
        return document
    if version not in range(3, VERSION + 1):
        raise BadFile(f"{path}: state version {version!r}; this thrifty reads 2 to {VERSION}")
    content = document.get("learner")
    if not isinstance(content, dict) or document.get("digest") != _digest(json.dumps(content)):
        raise BadFile(f"{path}: the digest does not match: the file was changed or damaged")
    return content


def _text_of(path: str | os.PathLike[str]) -> str:
    # a file may be as large as it is; a device has no size, and may have no end
    size = os.stat(path).st_size if os.path.isfile(path) else 0
    return read_whole(Path(path), size)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
