"""Tokens, read by a thread of their own: a revocation takes effect whatever the writer does."""

import logging
from threading import Event as Flag
from threading import Thread

from sqlalchemy.exc import SQLAlchemyError

from thrifty.errors import first_line
from thrifty.service.storage.store import EventStore
from thrifty.service.storage.tokens import Token, read_tokens

LOG = logging.getLogger("thrifty.service")
PERIOD = 0.5  # seconds


class TokenWatch(Thread):
    """The tokens of a store; they are read when this is made, and then again and again.

    tokens : by id, or None if none was ever made
    """

    def __init__(self, store: EventStore) -> None:
        super().__init__(name="tokens", daemon=True)
        self._store, self._stopping = store, Flag()
        self.tokens: dict[str, Token] | None = self._read()

    def run(self) -> None:
        while not self._stopping.wait(PERIOD):
            try:
                self.tokens = self._read()
            except SQLAlchemyError as error:  # no request can be carried out, either
                LOG.warning("tokens were not read: %s", first_line(error))

    def stop(self) -> None:
        """End; returns when the thread has."""
        self._stopping.set()
        self.join()

    def _read(self) -> dict[str, Token] | None:
        with self._store.reading() as connection:
            return read_tokens(connection)
