"""Reading and writing files: atomic writes, TOML, file names, errors that name the path."""

import json
import os
import re
import secrets
import stat
import sys
import tempfile
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from thrifty.errors import BadFile

MOST_TEXT = 500_000_000  # characters of a file that is read whole; millions of arms


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically: other readers see the old content or the new, never a part.

    A link stays, and the file that it points to is written. An existing file keeps its mode.
    """
    try:
        data = content.encode() if isinstance(content, str) else content
        mode = existing_mode(path)
        target = Path(os.path.realpath(path))
        temporary = target.with_name(f".{secrets.token_hex(8)}.part")
        try:
            with open(temporary, "xb") as file:
                if mode is not None:
                    os.chmod(temporary, mode)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        raise BadFile(f"{path}: cannot be written: {_reason(error)}") from None


def existing_mode(path: Path) -> int | None:
    """The mode of an existing file, None for a new one; BadFile for what is not a file."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BadFile(f"{path}: cannot be written: {_reason(error)}") from None
    if not stat.S_ISREG(mode):
        raise BadFile(f"{path}: cannot be written: a folder, a device or a pipe, not a file")
    return stat.S_IMODE(mode)


def _reason(error: OSError | ValueError) -> str:
    """Why a path cannot be used; a ValueError is about characters in it or in the text."""
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)


def make_folder(path: Path) -> None:
    """Make a folder unless it exists, and check that files can be written into it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except (OSError, ValueError) as error:
        raise BadFile(f"{path}: cannot be written into: {_reason(error)}") from None


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """Read a TOML file: its content as a dictionary, and its text."""
    try:
        text = read_whole(path)
    except UnicodeDecodeError as error:
        raise BadFile(f"{path}: not valid TOML: {error}") from None
    return parse_toml(text, str(path)), text


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The content of a TOML text; errors start with `where`."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        why = str(error)
    except ValueError:  # Python's limit on the digits of an integer
        why = f"a whole number of more than {sys.get_int_max_str_digits()} digits"
    raise BadFile(f"{where}: not valid TOML: {why}")


@cache
def package_toml(package: str, name: str) -> dict[str, Any]:
    """The content of a TOML file of the package itself; it is read once and not to be changed."""
    return tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8"))


def read_whole(path: Path, size: int = 0) -> str:
    """The text of a file; BadFile if it cannot be read or is too long, as an endless device is.

    size: of a file that may be longer than MOST_TEXT.
    """
    most = max(MOST_TEXT, size)
    try:
        with open(path, encoding="utf-8", opener=_open_without_waiting) as file:
            text = file.read(most + 1)
    except UnicodeDecodeError:
        raise
    except (OSError, ValueError) as error:
        raise BadFile(f"{path}: {_reason(error)}") from None
    if len(text) > most:
        raise BadFile(f"{path}: a file of at most {most / 1e6:g} MB expected, got a longer one")
    return text


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe that nobody writes to is empty, where it would wait for a writer."""
    if not hasattr(os, "O_NONBLOCK"):  # a system without pipes that have paths
        return os.open(path, flags)
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def toml_literal(value: str | float | bool | list[Any]) -> str:
    """A string, number, truth value or list as a TOML literal.

    A JSON string is a TOML string, except for the DEL character; repr keeps every bit of a float.
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(toml_literal, value))}]" if isinstance(value, list) else repr(value)


def slug(text: str, *, most: int = 40, keep: str = "") -> str:
    """Text as part of a file name: letters, digits, dots, hyphens and the characters of `keep`.

    Runs of other characters become one hyphen; the result has at most `most` characters.
    """
    return re.sub(rf"[^A-Za-z0-9.{re.escape(keep)}-]+", "-", text)[:most]
