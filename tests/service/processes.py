"""Servers as processes of their own, which tests kill, pause and stop."""

import re
import signal
import subprocess
import time

import httpx

from tests.command_line import THRIFTY

DEADLINE = 120  # seconds to start, with a cold cache of machine code
PLACE = re.compile(r"page is at (http://[^ ]+:(\d+))/")


class Server:
    """`thrifty serve` in a subprocess.

    Attributes
    ----------
    url : without a slash at the end
    port : stays the same when the server is started again
    log : file with all that it has written to standard error
    """

    def __init__(self, store, folder, *options, name="server", wait=True):
        self.store, self.options = store, options
        self.log = folder / f"{name}.log"
        self.url, self.port, self.process = "", 0, None
        self.start(wait=wait)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.resume()
        self.kill()

    def start(self, *, wait=True):
        """Start; returns when it is ready."""
        place = ["--store", self.store, "--port", str(self.port)]
        before = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*THRIFTY, "serve", *place, "--json-log", *self.options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the tests
            )
        if wait:
            self.wait(before)

    def wait(self, before=0):
        """Until it is ready; before: where its part of the log begins."""
        end = time.monotonic() + DEADLINE
        while not (self._found(before) and self.ready()):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the server did not start: {self.log.read_text()[-3000:]}")
            time.sleep(0.02)

    def _found(self, before):
        if self.port == 0 and (place := PLACE.search(self.log.read_text()[before:])):
            self.url, self.port = place[1], int(place[2])
        return self.port != 0

    def ready(self):
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def errors(self):
        """The lines of its log that tell of faults."""
        lines = self.log.read_text().splitlines()
        return [line for line in lines if '"level": "error"' in line]

    def kill(self):
        """Kill -9, if it still runs."""
        self.process.kill()
        self.process.wait(DEADLINE)

    def stop(self):
        """End it as an operator does; returns the seconds that it took."""
        begun = time.monotonic()
        self.process.terminate()
        self.process.wait(DEADLINE)
        return time.monotonic() - begun

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
