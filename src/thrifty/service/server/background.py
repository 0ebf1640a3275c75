"""Threads for work that takes long: in slices, so that each piece of work has its turns."""

import time
from collections.abc import Callable, Generator
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

THREADS = 4
SLICE = 0.05  # seconds of a turn

Steps = Generator[None, None, Any]  # yields where other work may have its turn


class _Piece(NamedTuple):
    steps: Steps
    done: Callable[[Any], None]


class Background:
    """A few threads that carry out pieces of work, each in turns with those that wait."""

    def __init__(self) -> None:
        self._pieces: SimpleQueue[_Piece] = SimpleQueue()
        for number in range(THREADS):
            Thread(target=self._run, name=f"background {number}", daemon=True).start()

    def submit(self, steps: Steps, done: Callable[[Any], None]) -> None:
        """Carry steps out; then call `done`, in a thread, with what they return or raise."""
        self._pieces.put(_Piece(steps, done))

    def _run(self) -> None:
        while True:
            piece = self._pieces.get()
            until = time.monotonic() + SLICE
            try:
                while time.monotonic() < until:
                    next(piece.steps)
            except StopIteration as end:
                piece.done(end.value)
            except Exception as error:  # whoever waits for it must know
                piece.done(error)
            else:
                self._pieces.put(piece)
