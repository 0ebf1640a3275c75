"""Files are written whole or not at all, and read with errors that name them."""

import json
import os
import secrets
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from thrifty.errors import BadFile


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that other readers see the old content or the new, never a part."""
    try:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            with open(temporary, "xb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadFile(f"{path}: cannot be written: {error.strerror or error}") from None


def make_folder(path: Path) -> None:
    """Make a folder that files can be written into, unless it is there; before long work, so that
    its results have a place to go.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise BadFile(f"{path}: cannot be written into: {error.strerror or error}") from None


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """A TOML file: what it says, and its text."""
    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text), text
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFile(f"{path}: not valid TOML: {error}") from None


def toml_literal(value: str | float | list[Any]) -> str:
    """A TOML literal. A JSON string is one too, but for the DEL character; repr gives every float
    back.
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(map(toml_literal, value))}]" if isinstance(value, list) else repr(value)
