"""Files are written whole or not at all."""

import os
import tempfile
from pathlib import Path

from thrifty.errors import BadFile


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that other readers see the old content or the new, never a part."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise BadFile(f"{path}: cannot be written: {error.strerror or error}") from None


def make_folder(path: Path) -> None:
    """Make a folder that files can be written into, unless it is there; before long work, so that its results have a place to go."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise BadFile(f"{path}: cannot be written into: {error.strerror or error}") from None
