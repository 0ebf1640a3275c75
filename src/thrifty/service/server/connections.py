"""Connections: deadlines and limits, so that slow or silent ones take nothing from others."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from thrifty.service.server.guard import is_loopback

HEADER = 10.0  # seconds for the header of a request
BODY = 30.0  # seconds for its body
LONGEST_HEADER = 65_536  # bytes; also of trailers
LONGEST_BODY = 25_000_000  # bytes as they are sent: the gate's, even if each is a chunk of its own
STALLED = 10.0  # seconds in which at least LEAST bytes of an answer must be read
LEAST = 100_000
UNREAD = 1.0  # seconds in which nothing is read of an answer, until it gives way to other requests
MOST = 4_000  # connections
MOST_OF_ONE = 500  # connections of an address; a proxy on this machine may have them all
MOST_UNREAD = 256_000_000  # bytes of all answers that wait to be read
TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


class Connections:
    """The open connections of a server; first those whose last request began first."""

    def __init__(self) -> None:
        self.most = MOST
        self._open: OrderedDict[HttpConnection, None] = OrderedDict()
        self._by_address: dict[str, int] = {}

    def enter(self, connection: "HttpConnection") -> bool:
        """Count a connection; False if there are too many."""
        address = connection.address
        mine = self._by_address.get(address, 0)
        if mine >= MOST_OF_ONE and not is_loopback(address):
            return False
        if len(self._open) >= self.most and not self._close_first(lambda one: one.idle):
            return False
        self._open[connection] = None
        self._by_address[address] = mine + 1
        return True

    def leave(self, connection: "HttpConnection") -> None:
        """Count a connection no longer."""
        if connection in self._open:
            del self._open[connection]
            self._by_address[connection.address] -= 1
            if self._by_address[connection.address] == 0:
                del self._by_address[connection.address]

    def put_last(self, connection: "HttpConnection") -> None:
        """Note that a request of a connection begins."""
        if connection in self._open:
            self._open.move_to_end(connection)

    def make_way(self, asking: int | None) -> bool:
        """Close the connection whose request has waited longest for its body, or to be read.

        False if there is none. asking: id of the connection that this is for, which stays.
        """
        return self._close_first(lambda one: (one.incomplete or one.unread) and id(one) != asking)

    def bound_unread(self) -> None:
        """Close the oldest connections that do not read, if too much waits for them."""
        stalled = [one for one in self._open if one.stalled]
        unread = {one: one.transport.get_write_buffer_size() for one in stalled}
        while stalled and sum(unread.values()) > MOST_UNREAD:
            first = stalled.pop(0)
            del unread[first]
            first.transport.abort()

    def _close_first(self, fits: "Callable[[HttpConnection], bool]") -> bool:
        for connection in self._open:
            if fits(connection):
                connection.transport.abort()
                self.leave(connection)
                return True
        return False


class HttpConnection(HttpToolsProtocol):
    """A connection with deadlines.

    Attributes
    ----------
    address : of who has connected
    stalled : whether an answer waits to be read
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        app = cast(Any, self.config.app)
        self._all: Connections = app.state.connections
        self.address = self.client[0] if self.client else ""
        self.stalled, self._paused = False, 0.0  # when it began to wait, on the loop's clock
        self._coming = True  # whether a header comes, or a body
        self._framing = 0  # bytes since a header or a body has ended, or since a part of a body
        self._since_header = 0  # bytes
        self._unanswered: deque[RequestResponseCycle] = deque()  # the first is carried out
        self._deadline: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        if self._all.enter(self):
            self._set_deadline(HEADER)
        else:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.leave(self)
        for timer in (self._deadline, self._reading):
            if timer is not None:
                timer.cancel()
        for cycle in self._unanswered:  # uvicorn tells only the last one
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    @property
    def idle(self) -> bool:
        """Whether no request of it is carried out."""
        return not self._unanswered

    @property
    def incomplete(self) -> bool:
        """Whether a request of it is carried out whose body has not come whole."""
        return len(self._unanswered) == 1 and not self._coming

    @property
    def unread(self) -> bool:
        """Whether nothing is read of its answers, which keep requests that came with them."""
        return self.stalled and self.loop.time() - self._paused > UNREAD

    # a request comes

    def data_received(self, data: bytes) -> None:
        self._framing += len(data)
        self._since_header += len(data)
        super().data_received(data)  # which calls the methods below
        if self._framing > LONGEST_HEADER or self._since_header > LONGEST_BODY:
            self._refuse_rest()

    def _refuse_rest(self) -> None:
        if not self.transport.is_closing():
            if self._coming and self.idle:  # no other answer is on its way
                self.transport.write(TOO_LONG)
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        # not the connection itself: only the garbage collector would find such a cycle
        self.scope["state"]["connection"] = id(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._coming:  # trailers are not used: the request is carried out already
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._coming, self._framing, self._since_header = False, 0, 0
        self._all.put_last(self)
        self._set_deadline(BODY)
        super().on_headers_complete()
        self._unanswered.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        self._framing = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._coming, self._framing = True, 0
        # no deadline while it is carried out; a refusal may have been sent before the body came
        self._set_deadline(self.timeout_keep_alive + HEADER if self.idle else None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._unanswered.popleft()
        if self.idle and self._coming:
            self._set_deadline(self.timeout_keep_alive + HEADER)
        super().on_response_complete()

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        close = self.transport.close
        self._deadline = None if seconds is None else self.loop.call_later(seconds, close)

    # an answer goes

    def pause_writing(self) -> None:
        super().pause_writing()
        self.stalled, self._paused = True, self.loop.time()
        self._expect_reading(self.transport.get_write_buffer_size())
        self.loop.call_soon(self._all.bound_unread)  # once all of it is counted

    def resume_writing(self) -> None:
        super().resume_writing()
        self.stalled = False
        if self._reading is not None:
            self._reading.cancel()

    def _expect_reading(self, unread: int) -> None:
        self._reading = self.loop.call_later(STALLED, self._check_reading, unread)

    def _check_reading(self, before: int) -> None:
        """Go on waiting for who reads fast enough."""
        unread = self.transport.get_write_buffer_size()
        if before - unread < LEAST:
            self.transport.abort()
        else:
            self._expect_reading(unread)
