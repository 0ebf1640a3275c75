"""Leases: each experiment is led by one server, which alone writes its log.

A lease ends unless its holder renews it. The next leader has a greater fence. Every commit reads
the lease, under a lock, and is refused if the fence is no longer that of the leader: one that was
paused and woke up too late cannot write.

A server of a shared store also holds a lease of its address: two that others take for one would
take the experiments from each other.
"""

import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from hashlib import sha256
from threading import Event as Flag
from threading import Thread
from typing import Literal, NamedTuple

from sqlalchemy import Connection, delete, insert, literal_column
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from thrifty.errors import InvalidInput, ThriftyError, first_line
from thrifty.service.storage.store import EventStore, list_for, now
from thrifty.service.storage.tables import LEASES

LOG = logging.getLogger("thrifty.service")
LASTS = 5_000_000  # microseconds without renewal
BEAT = 1.0  # seconds between renewals while the writer is at work
WATCH = 1_500_000  # microseconds without renewal after which the server at an address is gone
LOOK = 0.1  # seconds between looks at whether it is
PAUSE = 2_000  # milliseconds that a transaction may be silent while it holds leases
Lock = Literal["key share", "update"] | None
_COLUMNS = "experiment, holder, url, fence, until"
_READ = {  # as text, since each group of requests needs it
    "sqlite": f"SELECT {_COLUMNS} FROM leases WHERE experiment IN (SELECT value FROM json_each(?))",
    "postgresql": f"SELECT {_COLUMNS} FROM leases WHERE experiment = ANY(%s)",
}
_LIMIT_SILENCE = f"set_config('idle_in_transaction_session_timeout', '{PAUSE}', true)"
_LOCKED = "FROM leases WHERE experiment = ANY(%s) ORDER BY experiment FOR"


class Elsewhere(ThriftyError):
    """Another server leads the experiment: the one at `url`."""

    def __init__(self, url: str) -> None:
        super().__init__(f"the experiment is led by {url}")
        self.url = url


class AddressTaken(Elsewhere):
    """Another server has the address of this one: what it leads cannot be told from here."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        advice = "restart this one with another --url"
        self.args = (f"another server of this store uses {url} by now; {advice}",)


class Lease(NamedTuple):
    """Who leads an experiment, and until when."""

    holder: str
    url: str
    fence: int
    until: int


class Leases:
    """The leases that this server holds."""

    def __init__(self, store: EventStore, holder: str, url: str) -> None:
        self.store, self.holder, self.url = store, holder, url
        self.fences: dict[str, int] = {}
        self._probe = f":{holder}"  # no experiment has such a name
        self._address = f"server:{sha256(url.encode()).hexdigest()[:32]}"  # no experiment's name

    def claim_address(self) -> None:
        """Become the only server at this address; raises InvalidInput if another one is.

        One that has crashed is found by the renewals that do not come. The lease is kept by those
        of the others.
        """
        seen: Lease | None = None
        while self.store.shared and self._address not in self.fences:
            with suppress(IntegrityError), self.store.begin() as connection:  # another was faster
                lease = _read(connection, [self._address], "update").get(self._address)
                at = self.store.now(connection)
                if lease is None or min(lease.until, lease.until - LASTS + WATCH) <= at:
                    self._take(connection, self._address, lease, at)
                elif seen is not None and seen != lease:
                    message = "another server of this store uses it; give each one its own address"
                    raise InvalidInput(f"--url {self.url}", message)
                seen = lease
            time.sleep(0 if self._address in self.fences else LOOK)

    def acquire(self, connection: Connection, experiment: str) -> None:
        """Become the leader of an experiment; raises Elsewhere if another server is.

        The transaction should be short: others wait for its end.
        """
        self.fences.pop(experiment, None)
        self._keep_address(connection)
        for lock in (None, "update"):  # leaders do not wait for those who only look
            lease = _read(connection, [experiment], lock).get(experiment)
            at = self.store.now(connection)
            if lease is not None and not self._is_free(connection, lease, at):
                raise Elsewhere(lease.url)
        self._take(connection, experiment, lease, at)

    def _take(self, connection: Connection, name: str, lease: Lease | None, at: int) -> None:
        fence = 1 if lease is None else lease.fence + 1
        _write(connection, name, Lease(self.holder, self.url, fence, at + LASTS))
        self.fences[name] = fence

    def _is_free(self, connection: Connection, lease: Lease, at: int) -> bool:
        """Whether a lease has ended, or is of this server or of one that had its address before."""
        if lease.holder == self.holder or lease.until <= at:
            return True
        if lease.url != self.url or not self.url:
            return False
        return not self.store.shared or not self.lost(connection, [self._address])

    def lost(self, connection: Connection, experiments: Collection[str]) -> list[str]:
        """Those of the experiments that this server does not lead, or no longer.

        The others cannot get a new leader before the transaction ends.
        """
        leases = _read(connection, experiments, "key share") if experiments else {}
        return [
            name
            for name in experiments
            if name not in leases or leases[name].fence != self.fences.get(name)
        ]

    def renew(self, connection: Connection) -> None:
        """Keep all leases for a while; raises AddressTaken if that of the address is lost."""
        self._keep_address(connection)
        if self.fences:
            self._keep_until(connection, self.store.now(connection) + LASTS)

    def release(self, connection: Connection, experiment: str | None = None) -> None:
        """Give a lease up, or all of them, so that another server can lead at once."""
        self._keep_until(connection, 0, experiment)
        if experiment is None:
            connection.execute(delete(LEASES).where(LEASES.c.experiment == self._probe))
        for name in [experiment] if experiment is not None else list(self.fences):
            self.fences.pop(name, None)

    def probe(self, connection: Connection) -> None:
        """Write something, to find out whether that is possible."""
        row = {"holder": self.holder, "url": self.url, "fence": 0, "until": now()}
        probed = LEASES.update().where(LEASES.c.experiment == self._probe).values(row)
        if connection.execute(probed).rowcount == 0:
            connection.execute(insert(LEASES).values(experiment=self._probe, **row))

    def _keep_address(self, connection: Connection) -> None:
        """Make sure that the address is still that of this server, or take it when it is free.

        A server that was paused may have lost it.
        """
        if self._address not in self.fences:  # never claimed
            return
        lease = _read(connection, [self._address], "key share").get(self._address)
        if lease is not None and lease.holder == self.holder:
            return
        at = self.store.now(connection)
        if lease is not None and lease.until > at:
            raise AddressTaken(self.url)
        self._take(connection, self._address, lease, at)

    def _keep_until(
        self, connection: Connection, until: int, experiment: str | None = None
    ) -> None:
        query = LEASES.update().where(LEASES.c.holder == self.holder)
        if experiment is not None:
            query = query.where(LEASES.c.experiment == experiment)
        connection.execute(query.values(until=until))


def _read(connection: Connection, experiments: Collection[str], lock: Lock) -> dict[str, Lease]:
    """The leases of experiments.

    lock: until the transaction ends there are no new leaders, but leases can be renewed; "update":
    nobody else reads them with a lock. The database ends a transaction that holds them and is
    silent for PAUSE: a server that stands still must not keep others from leading.
    """
    dialect = connection.dialect.name
    statement = _READ[dialect]
    if lock and dialect != "sqlite":  # there, a transaction that writes is alone
        statement = f"SELECT {_COLUMNS}, {_LIMIT_SILENCE} {_LOCKED} {lock.upper()}"
    rows = connection.exec_driver_sql(statement, (list_for(dialect, experiments),))
    return {row.experiment: Lease(row.holder, row.url, row.fence, row.until) for row in rows}


def _write(connection: Connection, experiment: str, lease: Lease) -> None:
    """Make a lease, or take it over."""
    older = (LEASES.c.experiment == experiment, LEASES.c.fence < lease.fence)
    changed = connection.execute(LEASES.update().where(*older).values(lease._asdict()))
    if changed.rowcount == 0:
        new = insert(LEASES).values(experiment=experiment, **lease._asdict())
        if connection.dialect.name != "sqlite":  # as _read with a lock
            new = new.returning(literal_column(_LIMIT_SILENCE))
        connection.execute(new)


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
            except (SQLAlchemyError, AddressTaken) as error:
                LOG.warning("leases were not renewed: %s", first_line(error))

    def stop(self) -> None:
        """No renewal begins after this returns."""
        self._stopping.set()
        if self.is_alive():
            self.join()
