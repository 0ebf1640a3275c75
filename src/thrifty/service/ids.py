"""Ids of decisions: UUIDs of version 7 (RFC 9562), which sort by the time they were made."""

import secrets
import time
from threading import Lock

_lock = Lock()
_last = 0  # time of the last id, in units of 1 / 4096 milliseconds


def new_id() -> str:
    """A UUID of version 7."""
    return new_ids(1)[0]


def new_ids(count: int) -> list[str]:
    """UUIDs of version 7, in order, above all that this process has made before.

    48 bits of milliseconds since 1970, the version, 12 bits of a fraction of the millisecond, the
    variant, 62 random bits.
    """
    global _last  # noqa: PLW0603  # the one number that ids share
    with _lock:
        first = max(_last + 1, time.time_ns() * 4096 // 1_000_000)
        _last = first + count - 1
    random = secrets.token_bytes(8 * count)
    return [_text(first + n, random[8 * n : 8 * n + 8]) for n in range(count)]


def _text(ticks: int, random: bytes) -> str:
    """A UUID of a time, in units of 1 / 4096 milliseconds, and 8 random bytes."""
    high = f"{(ticks >> 12) << 16 | 0x7000 | ticks & 0xFFF:016x}"
    low = f"{int.from_bytes(random) & 0x3FFFFFFFFFFFFFFF | 1 << 63:016x}"
    return f"{high[:8]}-{high[8:12]}-{high[12:]}-{low[:4]}-{low[4:]}"
