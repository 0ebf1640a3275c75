"""Whether the file of a SQLite store is still the one that was opened."""

import os
import sqlite3

from thrifty.service.storage.store import EventStore

PARTS = ("", "-wal", "-shm")  # the newest entries are in the second


class FileWatch:
    """The identity of a store's files when it was opened.

    SQLite goes on writing into files that were deleted or replaced, and all of it is lost when the
    last connection ends.
    """

    def __init__(self, store: EventStore) -> None:
        self._path = None if store.shared else str(store.engine.url.database)
        if self._path is not None:
            # SQLite removes -wal and -shm with the last connection: this one stays
            self._kept = sqlite3.connect(self._path, check_same_thread=False)
            self._kept.execute("SELECT count(*) FROM sqlite_master").fetchone()
        self._opened = self._identity()

    def replaced(self) -> bool:
        """Whether a file was deleted or replaced since."""
        return self._identity() != self._opened

    def close(self) -> None:
        if self._path is not None:
            self._kept.close()

    def _identity(self) -> list[tuple[int, int] | None]:
        """Device and inode of each file."""
        return [_inode(self._path + part) for part in PARTS] if self._path is not None else []


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
