"""Ids of decisions: UUIDs of version 7 (RFC 9562), which sort by the time they were made."""

import secrets
import time
from threading import Lock

_lock = Lock()
_last = 0  # time of the last id, in units of 1 / 4096 milliseconds


def new_id() -> str:
    """A UUID of version 7, above all that this process has made before.

    48 bits of milliseconds since 1970, the version, 12 bits of a fraction of the millisecond, the
    variant, 62 random bits.
    """
    global _last  # noqa: PLW0603  # the one number that ids share
    with _lock:
        _last = ticks = max(_last + 1, time.time_ns() * 4096 // 1_000_000)
    milliseconds, fraction = divmod(ticks, 4096)
    version, variant = 7 << 76, 2 << 62
    bits = milliseconds << 80 | version | fraction << 64 | variant | secrets.randbits(62)
    digits = f"{bits:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
