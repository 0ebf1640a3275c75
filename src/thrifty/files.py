"""Reading and writing files: atomic writes, TOML, file names, errors that name the path."""

import json
import os
import re
import secrets
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from thrifty.errors import BadFile


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically: other readers see the old content or the new, never a part."""
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
    """Make a folder unless it exists, and check that files can be written into it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise BadFile(f"{path}: cannot be written into: {error.strerror or error}") from None


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """Read a TOML file: its content as a dictionary, and its text."""
    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text), text
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFile(f"{path}: not valid TOML: {error}") from None


def toml_literal(value: str | float | list[Any]) -> str:
    """A string, number or list as a TOML literal.

    A JSON string is a TOML string, except for the DEL character; repr keeps every bit of a float.
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(map(toml_literal, value))}]" if isinstance(value, list) else repr(value)


def slug(text: str, *, most: int = 40, keep: str = "") -> str:
    """Text as part of a file name: letters, digits, dots, hyphens and the characters of `keep`.

    Runs of other characters become one hyphen; the result has at most `most` characters.
    """
    return re.sub(rf"[^A-Za-z0-9.{re.escape(keep)}-]+", "-", text)[:most]
