"""Whether the file of a SQLite store is still the one that was opened."""

import os
import sqlite3

from thrifty.service.storage.store import EventStore

PARTS = ("", "-wal", "-shm")  # the newest entries are in the second
WAL_BEGINS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")  # SQLite's own mark


class FileWatch:
    """The identity of a store's files when it was opened.

    SQLite goes on writing into files that were deleted, replaced or cut, with the pages that it has
    in memory, and all of it is lost when the last connection ends.
    """

    def __init__(self, store: EventStore) -> None:
        self._path = None if store.shared else str(store.engine.url.database)
        if self._path is not None:
            # SQLite removes -wal and -shm with the last connection: this one stays
            self._kept = sqlite3.connect(self._path, check_same_thread=False)
            self._kept.execute("SELECT count(*) FROM sqlite_master").fetchone()
        self._opened = self._identity()
        self._lost = False

    def is_lost(self) -> bool:
        """Whether a file was deleted, replaced or cut since; once it was, it stays so."""
        self._lost = self._lost or self._identity() != self._opened or self._is_cut()
        return self._lost

    def close(self) -> None:
        if self._path is not None:
            self._kept.close()

    def _identity(self) -> list[tuple[int, int] | None]:
        """Device and inode of each file."""
        return [_inode(self._path + part) for part in PARTS] if self._path is not None else []

    def _is_cut(self) -> bool:
        """Whether the beginning of a file is missing. Of -wal nothing may be there."""
        if self._path is None:
            return False
        # not opened: SQLite's locks of it would end when it is closed
        if os.stat(self._path).st_size == 0:
            return True
        with open(self._path + "-wal", "rb") as wal:
            begins = wal.read(len(WAL_BEGINS[0]))
        return begins not in (b"", *WAL_BEGINS)


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
