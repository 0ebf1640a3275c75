"""Leases: each experiment is led by one server, which alone writes its log.

A lease ends unless its holder renews it. The next leader has a greater fence. Every commit reads
the lease, under a lock, and is refused if the fence is no longer that of the leader: one that was
paused and woke up too late cannot write.
"""

import logging
from collections.abc import Callable, Iterable
from threading import Event as Flag
from threading import Thread
from typing import NamedTuple

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from thrifty.errors import first_line
from thrifty.service.storage.store import Lease, Store, extend_leases, read_leases, write_lease

LOG = logging.getLogger("thrifty.service")
LASTS = 5_000_000  # microseconds without renewal
BEAT = 1.0  # seconds between renewals while the writer is at work


class Elsewhere(NamedTuple):
    """Another server leads the experiment."""

    url: str


class Leases:
    """The leases that this server holds."""

    def __init__(self, store: Store, holder: str, url: str) -> None:
        self.store, self.holder, self.url = store, holder, url
        self.fences: dict[str, int] = {}

    def acquire(self, connection: Connection, experiment: str) -> Elsewhere | None:
        """Become the leader of an experiment, unless another server is.

        The transaction should be short: others wait for its end.
        """
        self.fences.pop(experiment, None)
        for lock in (None, "update"):  # leaders do not wait for those who only look
            known = read_leases(connection, [experiment], lock=lock).get(experiment)
            at = self.store.now(connection)
            if known is not None and not self._is_free(known, at):
                return Elsewhere(known.url)
        fence = 1 if known is None else known.fence + 1
        lease = Lease(self.holder, self.url, fence, at + LASTS)
        write_lease(connection, experiment, lease)
        self.fences[experiment] = fence
        return None

    def _is_free(self, lease: Lease, at: int) -> bool:
        """Whether a lease has ended, or is of this server or of one that had its address before."""
        own = lease.holder == self.holder or (lease.url == self.url and self.url != "")
        return own or lease.until <= at

    def lost(self, connection: Connection, experiments: Iterable[str]) -> list[str]:
        """Those of the experiments that this server does not lead, or no longer.

        The others cannot get a new leader before the transaction ends.
        """
        asked = list(experiments)
        known = read_leases(connection, asked, lock="key share") if asked else {}
        return [
            name
            for name in asked
            if name not in known or known[name].fence != self.fences.get(name)
        ]

    def renew(self, connection: Connection) -> None:
        """Keep all leases for a while."""
        if self.fences:
            extend_leases(connection, self.holder, self.store.now(connection) + LASTS)

    def release(self, connection: Connection) -> None:
        """Give all leases up, so that another server can lead at once."""
        extend_leases(connection, self.holder, 0)
        self.fences.clear()


class Heartbeat(Thread):
    """Renews leases while the writer is at work, however long that takes.

    Without it a server that needs longer than LASTS to read a log would lose its lease meanwhile,
    and so would the next. A lease that is renewed in vain does no harm: every commit reads the
    fence. Not for SQLite, where nobody else writes while a writer is at work.

    is_busy : whether the writer is alive, and has not been silent for far too long
    """

    def __init__(self, leases: Leases, is_busy: Callable[[], bool]) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._leases, self._is_busy, self._stopping = leases, is_busy, Flag()

    def run(self) -> None:
        while not self._stopping.wait(BEAT) and self._is_busy():
            try:
                with self._leases.store.begin() as connection:
                    self._leases.renew(connection)
            except SQLAlchemyError as error:
                LOG.warning("leases were not renewed: %s", first_line(error))

    def stop(self) -> None:
        """No renewal begins after this returns."""
        self._stopping.set()
        if self.is_alive():
            self.join()
