"""Signals during a solve: an exception for the caller, soon, and never a crash."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import thrifty as th
from thrifty.compiler.compilation import compiled
from thrifty.compiler.interrupts import interruptible

pytestmark = pytest.mark.slow


def test_a_signal_ends_a_long_solve():
    """In a process of its own: this was a segmentation fault."""
    script = """
        import signal, time
        import thrifty as th
        th.lower_bound(th.instance("orthogonal:d=4"))  # compiled, or loaded
        hard = th.instance("orthogonal:d=400")
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            th.lower_bound(hard)
        except KeyboardInterrupt:
            print("interrupted")
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_the_flag_stops_the_solver(monkeypatch):
    """The solve gives up after the step in which it sees the flag, far from its tolerance."""

    def stop_at_once(call, stop):
        stop[0] = True
        return call()

    instance = th.instance("drawn:seed=3")
    rows = np.random.default_rng(0).normal(size=(400, 20))
    gaps, best = np.append(0, np.random.default_rng(1).uniform(0.1, 1, 399)), np.arange(400) == 0
    monkeypatch.setattr("thrifty.allocation.allocations.interruptible", stop_at_once)
    stopped = th.allocate(rows, gaps, best)
    assert (stopped.iterations, stopped.status) == (0, "failed")
    assert th.lower_bound(instance).status == "solved"  # small: not interruptible, not stopped


def test_interruptible_returns_what_the_call_returns_and_raises_what_it_raises():
    stop = np.zeros(1, dtype=bool)
    assert interruptible(lambda: 7, stop) == 7
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0, stop)


def test_compiled_functions_may_not_return_named_tuples_to_python():
    """Numba makes them by Python code, and crashes if a signal handler raises there."""

    @compiled
    def named(x):
        return th.allocation.certificate.Bounds(x, x), 1

    with pytest.raises(TypeError, match="must return a plain tuple"):
        named(1.0)
