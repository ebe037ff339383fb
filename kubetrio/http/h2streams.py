"""How much the HTTP/2 requests of all clients may hold, and whose go when there are too many.

A stream costs a task, its header fields several times over and what came of its body, long before
it is known what it asks for; a connection may have 250 of them.  So what requests hold is added
up over all connections.  Over the bound the one who holds most loses the newest request: first by
user, then by connection, so that a client that asks for little is served beside a flood.  A stream
that has not begun is refused in a way that lets its client try again; nothing is made for it
before.

A watch that may be served leaves this account: its user has rights, and `h2buffers` bounds what
waits for its client.

Who is not known has one request of a connection: behind its answer, or when its client has reset
it, the client is told to open another, as by kube-apiserver (UnauthenticatedHTTP2DOSMitigation).
What is under way goes on.  So floods of streams that are reset cost their client a handshake each.

Source: RFC 9113, 5.2.2 (windows), 6.8 (GOAWAY), 8.7 (``REFUSED_STREAM``), 10.5 (denial of service).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import h2.errors
import h2.events
import h2.exceptions
import hpack
import trio
from hypercorn.events import Closed, RawData, Updated
from hypercorn.protocol.events import StreamClosed
from hypercorn.protocol.h2 import H2Protocol
from hypercorn.protocol.http_stream import HTTPStream
from hyperframe.frame import GoAwayFrame

from kubetrio.api.request import Request
from kubetrio.http.h2buffers import Backlog, BoundedBuffers
from kubetrio.machinery.identity import ANONYMOUS, UserInfo

PLACE = "kubetrio.place"  # key in a request's ASGI state
MOST_BYTES = 16 * 1024 * 1024
REQUEST_BYTES = 32 * 1024  # what a request holds beside its fields and its body, measured
FIELD_BYTES = 640  # the same of a header field; and what it says is kept four times
FIELD_COPIES = 4
FREE_BYTES = 16 * 1024  # of a body that may come before it is read, without more ado
LINGER_S = 1.0  # until a connection closes that was told to go, as long as Go waits
TABLE_BYTES = 4096  # of header fields that a client is told to remember (RFC 7541, 4.2)


class Ending(Protocol):
    """What can end a stream."""

    def give_up(self, place: Place) -> None:
        """End the stream of a place."""
        ...

    def last(self, place: Place) -> None:
        """End the connection behind the answer to the request of a place."""
        ...


@dataclass(slots=True, eq=False)
class Place:
    """What one request holds.

    Args:
        load: of its connection.
        stream_id: which.
        size: bytes.
        more: gives the client leave to send as much of the body again as was read.
        unread: bytes of its body that are not read.
        owed: of all that came, what the client has not got leave to send again.
        known: whether its user is known; else the connection ends with it.
    """

    load: Load
    stream_id: int
    more: Callable[[Place], None]
    size: int = 0
    unread: int = 0
    owed: int = 0
    known: bool = True

    def came(self, size: int) -> None:
        """So much of its body has come."""
        self.unread += size
        self.load.grow(self, size)

    def read(self) -> None:
        """What has come of its body was read."""
        if self.unread:
            self.load.grow(self, -self.unread)
            self.unread = 0
        if self.owed:
            self.more(self)

    def follow(self, request: Request) -> None:
        """Note whether the user of a request is known."""
        told = request.identified

        def identified(user: UserInfo) -> None:
            self.known = user.name != ANONYMOUS.name
            if told is not None:
                told(user)

        request.identified = identified

    def answered(self) -> None:
        """There is an answer; a stranger's connection ends behind it."""
        if not self.known:
            self.known = True  # no more than that is to be done, if its client resets it now
            self.load.ending.last(self)

    def settle(self) -> None:
        """It goes on for as long as its client likes, and is not counted any more."""
        self.load.drop(self)

    def leave(self) -> None:
        """Stop counting a stream that is over."""
        self.read()
        self.load.drop(self)


@dataclass(slots=True, eq=False)
class Load:
    """What the requests of one connection hold.

    Args:
        budget: of all connections.
        whose: name of the connection's user, empty as long as no credentials were shown.
        ending: ends its streams.
    """

    budget: Budget
    whose: Callable[[], str]
    ending: Ending
    size: int = 0
    places: dict[int, Place] = field(default_factory=dict)  # by stream, the newest last

    def enter(self, place: Place, size: int) -> bool:
        """A new request; False if it was refused."""
        self.places[place.stream_id] = place
        self.budget.loads[self] = None
        self.grow(place, size)
        return place.stream_id in self.places

    def grow(self, place: Place, size: int) -> None:
        """A request holds more, or less."""
        if self.places.get(place.stream_id) is place:
            place.size += size
            self.size += size
            self.budget.grow(size)

    def drop(self, place: Place) -> None:
        """A request holds nothing any more."""
        self.grow(place, -place.size)
        self.places.pop(place.stream_id, None)
        if not self.places:
            self.budget.loads.pop(self, None)

    def clear(self) -> None:
        """The connection has ended."""
        for place in tuple(self.places.values()):
            self.drop(place)


@dataclass(slots=True)
class Budget:
    """What the requests of all connections hold.

    Args:
        most_bytes: bound for all of them.

    Attributes:
        held_bytes: what they hold.
        refused: how many were ended or refused.
    """

    most_bytes: int = MOST_BYTES
    held_bytes: int = 0
    refused: int = 0
    _peak_bytes: int = 0
    loads: dict[Load, None] = field(default_factory=dict)

    def grow(self, size: int) -> None:
        """Count more, or less; over the bound, those who hold most end some."""
        self.held_bytes += size
        if self.held_bytes > self._peak_bytes:
            self._peak_bytes = self.held_bytes
        while self.held_bytes > self.most_bytes and self.loads:
            load = self._greatest()
            place = next(reversed(load.places.values()))
            load.drop(place)
            self.refused += 1
            load.ending.give_up(place)

    def take_peak(self) -> int:
        """The most that was held since the last call."""
        peak, self._peak_bytes = self._peak_bytes, self.held_bytes
        return peak

    def _greatest(self) -> Load:
        """The connection that holds most, of those of the user who holds most."""
        held = Counter[str]()
        for load in self.loads:
            held[load.whose()] += load.size
        user = max(held, key=held.__getitem__)
        return max((each for each in self.loads if each.whose() == user), key=_size)


def _size(load: Load) -> int:
    return load.size


class Answered:
    """A stream of an HTTP/2 connection whose answer went out before its request had ended."""

    idle = True

    async def handle(self, event: object) -> None:
        """Drop what still comes."""
        del event
        await trio.lowlevel.checkpoint()


_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_PSEUDO = {
    b":method": re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"),
    b":path": re.compile(rb"\*|/.*", re.DOTALL),
    b":scheme": re.compile(rb"[\x21-\x7e]+"),
    b":authority": re.compile(rb"[\x21-\x7e]*"),
}


def _malformed(field: tuple[bytes, bytes]) -> bool:
    """Whether a field makes its request malformed, as for Go and for our HTTP/1.1.

    Source: RFC 9113, 8.2.1 and 8.3.1; RFC 9110, 5.5; ValidHeaderFieldValue of golang.org/x/net.
    """
    name, value = field
    place = _PSEUDO.get(name)
    if place is not None and not place.fullmatch(value):
        return True
    return _CONTROL.search(value) is not None


def escaped(path: bytes) -> bytes:
    """A path with its bytes beyond ASCII escaped, as they are in URLs that Go makes of such."""
    if path.isascii():
        return path
    return b"".join(b"%%%02X" % byte if byte > 0x7F else b"%c" % byte for byte in path)


class Streams(dict[int, Any]):
    """The streams of an HTTP/2 connection.

    Hypercorn 0.18 looks a stream up for each piece of a request body and does not expect that it
    was answered before: the whole connection, with all requests on it, would break.
    """

    def __missing__(self, stream_id: int) -> Answered:
        return Answered()


class SmallEncoder(hpack.Encoder):
    """Remembers no more of the answers' fields than the default, whatever a client offers."""

    @property
    def header_table_size(self) -> int:
        """Bytes of its table."""
        return self.header_table.maxsize

    @header_table_size.setter
    def header_table_size(self, value: int) -> None:
        size = min(value, TABLE_BYTES)
        if size != self.header_table.maxsize:
            self.header_table.maxsize = size
            self.table_size_changes.append(size)


class BoundedProtocol(H2Protocol):
    """Hypercorn's side of an HTTP/2 connection, with bounds; made of one that has not begun."""

    def bound(
        self, backlog: Backlog, budget: Budget, whose: Callable[[], str], *, brief: bool
    ) -> None:
        """Begin to count.

        Args:
            backlog: what waits for clients, of all connections.
            budget: what requests hold, of all connections.
            whose: name of the connection's user, or empty.
            brief: whether a stranger's connection ends behind one request.
        """
        self._whose = whose
        self._brief = brief
        self._behind: set[int] = set()
        """Streams with whose answers the connection ends."""
        self._last: int | None = None
        """The newest stream that is served, once the client was told to go."""
        self.streams = Streams()
        self._buffers = BoundedBuffers(self, backlog)
        self.stream_buffers = self._buffers
        self._load = Load(budget, whose, self)
        self._under_way: dict[int, Place] = {}
        self._refused = False
        self._acknowledge = self.connection.acknowledge_received_data
        vars(self.connection)["acknowledge_received_data"] = self._received
        self.connection.encoder = SmallEncoder()

    def end(self) -> None:
        """The connection is over: nothing is held for it, and no cycle keeps what it had."""
        self._load.clear()
        self._buffers.end()
        for streams in (self._buffers, self.streams, self.connection.streams):
            streams.clear()
        vars(self.connection).clear()
        vars(self).clear()

    async def _create_stream(self, request: h2.events.RequestReceived) -> None:
        stream_id, fields = request.stream_id or 0, request.headers or []
        if any(map(_malformed, fields)):
            self._reset(stream_id, h2.errors.ErrorCodes.PROTOCOL_ERROR)
            return
        request.headers = fields = [
            (name, escaped(value)) if name == b":path" else (name, value) for name, value in fields
        ]
        if self._last is not None:
            self._reset(stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
            return
        place = Place(self._load, stream_id, self._more, known=not self._brief)
        length = sum(len(name) + len(value) for name, value in fields)
        size = REQUEST_BYTES + len(fields) * FIELD_BYTES + length * FIELD_COPIES
        if not self._load.enter(place, size):
            return
        await super()._create_stream(request)
        stream = self.streams[stream_id]
        if isinstance(stream, HTTPStream):
            self._under_way[stream_id] = place
        stream.scope["state"][PLACE] = place  # its task has not run yet

    async def _handle_events(self, events: list[h2.events.Event]) -> None:
        self._refused = False
        await super()._handle_events(events)
        if self._refused and self.idle:
            await self.send(Updated(idle=True))  # it was told of a request that there is not

    async def _priority_updated(self, event: h2.events.PriorityUpdated) -> None:
        """Streams take turns, whatever clients say of them, as in Go's server.

        A chain of dependencies is a tree as deep, which Hypercorn's library walks by recursion
        (RFC 9113, 5.3.2: these frames are deprecated, and may be ignored).
        """

    def give_up(self, place: Place) -> None:
        """End the stream of a place: refuse it, if it has not begun."""
        buffer = self._buffers.get(place.stream_id)
        if buffer is not None:
            buffer.reset()
            return
        self._reset(place.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)

    def _reset(self, stream_id: int, code: h2.errors.ErrorCodes) -> None:
        """End a stream that has not begun."""
        self._refused = True
        with suppress(h2.exceptions.ProtocolError):  # its client has ended it
            self.connection.reset_stream(stream_id, code)

    def _received(self, size: int, stream_id: int) -> None:
        """Count what came of a body: its client may send more when it was read."""
        place = self._under_way.get(stream_id)
        if place is not None:
            place.came(size)
        if place is None or place.unread <= FREE_BYTES:
            self._acknowledge(size, stream_id)
            return
        self.connection.increment_flow_control_window(size)  # the others' too
        place.owed += size

    def _more(self, place: Place) -> None:
        size, place.owed = place.owed, 0
        if self.closed:
            return
        with suppress(h2.exceptions.ProtocolError, KeyError):  # it has ended
            self.connection.increment_flow_control_window(size, place.stream_id)
            self.task_group.spawn(self._flush)

    async def _close_stream(self, stream_id: int) -> None:
        place = self._under_way.pop(stream_id, None)
        await super()._close_stream(stream_id)
        if place is not None:
            place.read()
            if not place.known and not self._whose():
                await self._retire()  # its client has not waited for the answer

    # ------------------------------------------------------------------ strangers

    def last(self, place: Place) -> None:
        """See `Ending`."""
        self._behind.add(place.stream_id)

    async def _send_data(self, stream_id: int) -> None:
        await super()._send_data(stream_id)
        if stream_id in self._behind and stream_id not in self.stream_buffers:
            self._behind.discard(stream_id)
            await self._retire()

    async def stream_send(self, event: Any) -> None:
        """See `H2Protocol`."""
        await super().stream_send(event)
        if isinstance(event, StreamClosed):
            self._leave()

    async def _retire(self) -> None:
        """Tell the client to open another connection for what it has to ask further."""
        if self._last is not None or self.closed:
            return
        self._last = self.connection.highest_inbound_stream_id
        # Not by the connection's own method, which would end what is under way.
        frame = GoAwayFrame(0, last_stream_id=self._last)
        await self.send(RawData(data=frame.serialize()))
        self._leave()

    def _leave(self) -> None:
        """Close the connection soon, if nothing is under way and the client was told to go."""
        if self._last is not None and self.idle and not self.closed:
            self.task_group.spawn(self._close_soon)

    async def _close_soon(self) -> None:
        await trio.sleep(LINGER_S)
        if not self.closed:
            await self.send(Closed())
