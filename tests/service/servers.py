"""A server of the service in a thread of this process, for tests of what it answers."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx
import uvicorn

from thrifty.service.server.app import make_app
from thrifty.service.server.auditing import audit
from thrifty.service.server.serving import server_config
from thrifty.service.storage.store import Event, EventStore, all_events, statuses

LISTED = [
    {"name": "phone", "arms": [[1, 0], [0, 1], [0.9, 0.5]], "arm_names": ["a", "b", "c"]},
    {"name": "desk", "arms": [[1, 0], [0.8, 0.3]], "arm_names": ["a", "small"]},
]


class Running:
    """A server that answers, a client of it, and what it has in memory."""

    def __init__(self, app, url: str, store: Path) -> None:
        self.app, self.url, self.store = app, url, store
        self.client = httpx.Client(base_url=url, timeout=300)

    @property
    def writer(self):
        return self.app.state.service.writer

    def experiment(self, name: str):
        return self.writer.experiments[name].experiment

    def make(self, name: str, **settings) -> str:
        """Make an experiment, listed unless a dimension is given, and return its path."""
        kind = {} if "dimension" in settings or "contexts" in settings else {"contexts": LISTED}
        made = self.client.post("/v1/experiments", json={"name": name, **kind, **settings})
        assert made.status_code == 201, made.text
        return f"/v1/experiments/{name}"

    def log(self, name: str) -> list[Event]:
        with self.app.state.service.store.reading() as connection:
            return list(all_events(connection, name))


@contextmanager
def serving(store: Path) -> Iterator[Running]:
    """Serve a store on a free port of the loopback interface."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    app = make_app(str(store), url)
    server = uvicorn.Server(server_config(app))
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    running = Running(app, url, store)
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        assert server.started
        yield running
    finally:
        running.client.close()
        server.should_exit = True
        thread.join(30)
        listening.close()


def audit_all(path: Path) -> int:
    """Audit every experiment of a store that no server uses; returns the number of decisions."""
    store, decisions = EventStore(str(path)), 0
    with store.reading() as connection:
        for name in statuses(connection):
            found = audit(connection, name)
            assert (found.seq, found.unverified) == (None, 0), (name, found)
            decisions += found.decisions
    store.close()
    return decisions
