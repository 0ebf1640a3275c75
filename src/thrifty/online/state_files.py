"""The state of a policy as JSON and back, bit for bit."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BadFile

FORMAT, VERSION = "thrifty learner", 2


def pack(state: Any) -> dict[str, Any]:
    """The arrays of a state, by name; its numbers follow from the policy."""
    packed: dict[str, Any] = {}
    for name, part in zip(state._fields, state, strict=True):
        if hasattr(part, "_fields"):
            packed[name] = pack(part)
        elif isinstance(part, np.ndarray) and part.dtype.names:
            packed[name] = {field: _to_lists(part[field])[0] for field in part.dtype.names}
        elif isinstance(part, np.ndarray):
            packed[name] = _to_lists(part)
    return packed


def _to_lists(array: NDArray[Any]) -> Any:
    """Nested lists for JSON, with NaN and infinity as strings."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    words = array.astype(str).astype(object)
    return np.where(np.isfinite(array), array.astype(object), words).tolist()


def unpack(packed: Any, state: Any) -> None:
    """Write packed arrays into those of a state."""
    for name, part in zip(state._fields, state, strict=True):
        if hasattr(part, "_fields"):
            unpack(packed[name], part)
        elif isinstance(part, np.ndarray) and part.dtype.names:
            for field in part.dtype.names:
                part[field] = np.array([packed[name][field]], dtype=object).astype(
                    part[field].dtype
                )
        elif isinstance(part, np.ndarray):
            array = np.array(packed[name], dtype=object).astype(part.dtype).reshape(part.shape)
            part[...] = array


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a state file, if it is one and of this version."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror or error}") from None
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFile(f"{path}: not valid JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BadFile(f"{path}: not the state of a thrifty learner")
    version = document.get("version")
    if version == 1:
        raise BadFile(f"{path}: written by thrifty 0.1; version 0.2 and later cannot read it")
    if version != VERSION:
        raise BadFile(f"{path}: version {VERSION} of a learner's state expected, got {version!r}")
    return document
