"""Signals, such as Ctrl-C, during long compiled calls.

Python runs signal handlers in the main thread, between two instructions of Python code. A compiled
call is a single instruction: a handler has to wait for its end.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

from thrifty.numerics.arrays import Bools

T = TypeVar("T")


def interruptible(call: Callable[[], T], stop: Bools) -> T:
    """The result of a call that reads stop (1,) now and then, and ends early once it is set.

    The call runs in a thread of its own while the main thread waits, where an exception that a
    signal handler raises sets stop. Takes a tenth of a millisecond; for calls of many.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    try:
        thread.start()
        thread.join()
    finally:
        stop[0] = True  # of no effect if the call has ended
    if errors:
        raise errors[0]
    return results[0]
