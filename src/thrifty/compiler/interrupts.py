"""Signals, such as Ctrl-C, during long calls of compiled code and of the compiler.

Python runs signal handlers in the main thread, between two instructions of Python code. A compiled
call is a single instruction: a handler has to wait for its end. The compiler is Python code that
does not expect exceptions. Both run in a thread of their own here, while the main thread waits.
"""

import _thread
import atexit
import threading
from _thread import LockType
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def interruptible(call: Callable[[], T], stop: NDArray[np.bool_]) -> T:
    """The result of a call that reads stop (1,) now and then, and ends early once it is set.

    Takes a tenth of a millisecond; for calls of many.
    """
    try:
        return away_from_signals(call)
    finally:
        stop[0] = True  # of no effect if the call has ended


def away_from_signals(call: Callable[[], T]) -> T:
    """The result of a call, made where no signal handler runs.

    An exception that a handler raises meanwhile is raised here at once; the call goes on to its
    end, for which the process waits before it ends.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    results: list[T] = []
    errors: list[BaseException] = []
    running = _thread.allocate_lock()

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            running.release()
            _RUNNING.discard(running)

    running.acquire()
    _RUNNING.add(running)
    # not threading.Thread, whose start is Python code that a signal handler would interrupt
    _thread.start_new_thread(work, ())
    running.acquire()
    if errors:
        raise errors[0]
    return results[0]


_RUNNING: set[LockType] = set()  # a lock for each call that has not ended


@atexit.register
def _wait() -> None:
    """Let calls end before the process does: the compiler may not be torn down while it works."""
    for running in list(_RUNNING):
        running.acquire(timeout=60)
