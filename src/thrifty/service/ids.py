"""Ids of decisions: UUIDs of version 7 (RFC 9562), which sort by the time they were made."""

import os
import secrets
import time
from threading import Lock

_VARIANT = {digit: "89ab"[n % 4] for n, digit in enumerate("0123456789abcdef")}
_lock = Lock()
_last = 0  # time of the last id, in units of 1 / 4096 milliseconds


def _renew_lock() -> None:
    """Another thread may have held it when the process was forked."""
    global _lock  # noqa: PLW0603
    _lock = Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew_lock)


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
    digits = secrets.token_hex(8 * count)
    return [_text(first + n, digits[16 * n : 16 * n + 16]) for n in range(count)]


def _text(ticks: int, random: str) -> str:
    """A UUID of a time, in units of 1 / 4096 milliseconds, and 16 random hexadecimal digits."""
    time = f"{ticks:015x}"  # the last three digits are the fraction
    variant = _VARIANT[random[0]]
    return f"{time[:8]}-{time[8:12]}-7{time[12:]}-{variant}{random[1:4]}-{random[4:]}"
