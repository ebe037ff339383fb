"""One connection to one member of etcd: calls and streams, and the tasks that move its bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, NoReturn, Protocol

import trio

from kubetrio.store.etcd.calls import Call, Messages, Reader, framed
from kubetrio.store.etcd.errors import Code, TimedOut, Unavailable
from kubetrio.store.etcd.http2 import Http2, ProtocolError
from kubetrio.transport import Transport

READS: Final = 4  # before other tasks have their turn
CACHED_BLOCKS: Final = 256


class Broken(Exception):
    """The connection cannot be used any more; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """How a connection behaves.

    Args:
        authority: host and port, for requests.
        tls: whether it has TLS.
        keepalive_s: seconds without a word from the peer, while a call waits, after which it is
            pinged.  etcd refuses pings that come more often than every five seconds.
        keepalive_timeout_s: seconds for an answer to a ping.
        max_receive_bytes: largest message that is taken.
    """

    authority: str
    tls: bool
    keepalive_s: float
    keepalive_timeout_s: float
    max_receive_bytes: int


class Stream(Protocol):
    """Messages both ways."""

    def send(self, message: bytes) -> None:
        """Send a message; it is dropped where the stream has ended."""
        ...

    async def receive(self) -> bytes | None:
        """Return the next message, None at the end of the stream; raises `EtcdError`."""
        ...


class _Stream:
    """See `Stream`.

    Args:
        connection: what it is a stream of.
        messages: what comes in.
    """

    def __init__(self, connection: Connection, messages: Messages) -> None:
        self._connection = connection
        self._messages = messages

    def send(self, message: bytes) -> None:
        self._connection.send(self._messages, message)

    async def receive(self) -> bytes | None:
        connection = self._connection
        message = await self._messages.receive()
        connection.flush()  # a window may have been opened
        return message


class Connection:
    """A connection that is open.

    Args:
        transport: its bytes.
        settings: how it behaves.
    """

    def __init__(self, transport: Transport, settings: ConnectionSettings) -> None:
        self.since = trio.current_time()
        self.cause: Exception = Broken("the connection was closed")
        """What broke it."""
        self._transport = transport
        self._settings = settings
        self._http2 = Http2()
        self._heard = self.since
        self._writer: trio.lowlevel.Task | None = None
        self._blocks: dict[tuple[str, str], bytes] = {}
        self._room = trio.lowlevel.ParkingLot()
        self._settled = trio.Event()
        self._retired = trio.Event()
        self._dead = False

    @property
    def usable(self) -> bool:
        """Whether a call may be begun."""
        return not self._dead and not self._retired.is_set() and self._http2.usable

    @property
    def in_flight(self) -> int:
        """Number of calls and streams that are open."""
        return len(self._http2.streams)

    async def settled(self) -> bool:
        """Wait until the peer speaks HTTP/2 or the connection is gone; returns whether it does."""
        await self._settled.wait()
        return self._http2.settled

    def retire(self) -> None:
        """Begin no more calls; the connection is closed when those that are open have ended."""
        self._retired.set()
        self._closed_if_idle()

    # ------------------------------------------------------------------ calls

    async def unary(self, path: str, request: bytes, timeout_s: float) -> bytes:
        """Call a method and return its answer.

        Args:
            path: of the method.
            request: the message.
            timeout_s: how long it may take, seconds.

        Raises:
            EtcdError: it fails.
        """
        with trio.move_on_after(timeout_s):
            await self._have_room()
            call = Call(self._http2, self._settings.max_receive_bytes)
            call.stream_id = self._http2.begin(self._block(path, _timeout(timeout_s)), call)
            self._http2.send(call.stream_id, framed(request), end=True)
            self.flush()
            try:
                return await call.answer()
            finally:
                self._ended(call)
        raise TimedOut("context deadline exceeded", Code.DEADLINE_EXCEEDED, undecided=True)

    @asynccontextmanager
    async def stream(self, path: str) -> AsyncIterator[Stream]:
        """A stream of messages both ways, as long as the block lasts.

        Args:
            path: of the method.

        Raises:
            EtcdError: it cannot be begun.
        """
        await self._have_room()
        messages = Messages(self._http2, self._settings.max_receive_bytes)
        messages.stream_id = self._http2.begin(self._block(path, ""), messages)
        self.flush()
        try:
            yield _Stream(self, messages)
        finally:
            self._ended(messages)

    def send(self, reader: Reader, message: bytes) -> None:
        """Send a message of a stream, if it is open."""
        if not reader.ended:
            self._http2.send(reader.stream_id, framed(message), end=False)
            self.flush()

    async def _have_room(self) -> None:
        while not self._http2.room and self.usable:
            await self._room.park()
        if not self.usable:
            raise Unavailable(str(self.cause), Code.UNAVAILABLE)

    def _ended(self, reader: Reader) -> None:
        if not reader.ended:
            self._http2.reset(reader.stream_id)
            self.flush()
        if self._room:
            self._room.unpark()
        if self._retired.is_set():
            self._closed_if_idle()

    def _block(self, path: str, timeout: str) -> bytes:
        known = self._blocks.get((path, timeout))
        if known is None:
            headers = [
                (":method", "POST"),
                (":scheme", "https" if self._settings.tls else "http"),
                (":path", path),
                (":authority", self._settings.authority),
                ("te", "trailers"),
                ("content-type", "application/grpc"),
                ("user-agent", "kubetrio"),
            ]
            # A member without a leader refuses streams with this header, and ends those it has.
            headers.append(("grpc-timeout", timeout) if timeout else ("hasleader", "true"))
            if len(self._blocks) >= CACHED_BLOCKS:
                self._blocks.clear()
            known = self._blocks[path, timeout] = self._http2.encode(headers)
        return known

    # ------------------------------------------------------------------ bytes

    async def run(self) -> None:
        """Move bytes until the connection ends; then all calls have ended too."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read)
                nursery.start_soon(self._write)
                nursery.start_soon(self._keep_alive)
        except* (Broken, ProtocolError, OSError) as group:
            self.cause = _first(group)
        finally:
            self._dead = True
            self._settled.set()
            self._transport.close()
            self._http2.lost(str(self.cause))
            self._room.unpark_all()

    def flush(self) -> None:
        """Have what is to be sent written when the tasks that run now have had their turn."""
        if self._writer is not None and self._http2.out:
            trio.lowlevel.reschedule(self._writer)
            self._writer = None

    def _closed_if_idle(self) -> None:
        if not self._http2.streams:
            self._http2.close()
            self.flush()

    async def _read(self) -> NoReturn:
        transport, http2 = self._transport, self._http2
        reads = 0
        while True:
            data = transport.read_nowait()
            if data is None:
                reads = 0
                await transport.wait_readable()
                continue
            if not data:
                raise Broken("the peer closed the connection")
            self._heard = trio.current_time()
            http2.receive(data)
            if http2.settled and not self._settled.is_set():
                self._settled.set()
            self.flush()
            reads += 1
            if reads >= READS:
                reads = 0
                await trio.lowlevel.checkpoint()

    async def _write(self) -> NoReturn:
        transport, http2 = self._transport, self._http2
        while True:
            if not http2.out:
                if self._retired.is_set() and not http2.streams:
                    raise Broken("the connection was closed")
                await self._wait_for_output()
                continue
            rest = memoryview(bytes(http2.out))
            http2.out.clear()
            while rest:
                written = transport.write_nowait(rest)
                if written:
                    rest = rest[written:]
                else:
                    await transport.wait_writable()

    async def _wait_for_output(self) -> None:
        def abort(_: object) -> trio.lowlevel.Abort:
            self._writer = None
            return trio.lowlevel.Abort.SUCCEEDED

        self._writer = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(abort)

    async def _keep_alive(self) -> NoReturn:
        settings = self._settings
        while True:
            due = self._heard + settings.keepalive_s
            if trio.current_time() < due:
                await trio.sleep_until(due)
            elif not self._http2.streams:
                # Pings of an idle connection are what etcd counts as an attack.
                await trio.sleep(settings.keepalive_s)
            else:
                heard = self._heard
                self._http2.ping()
                self.flush()
                await trio.sleep(settings.keepalive_timeout_s)
                if self._heard == heard:
                    raise Broken("the peer does not answer pings")


def _timeout(seconds: float) -> str:
    """A time-out as gRPC writes it; rounded up, so that few differ."""
    if seconds >= 1:
        return f"{-int(-seconds // 1)}S"
    return f"{max(1, -int(-seconds * 10 // 1)) * 100}m"


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    """The first of some errors."""
    first: Exception | BaseExceptionGroup[Exception] = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first
