"""Back-pressure for HTTP/2: what waits for a client is bounded, and does not wait for ever.

Hypercorn 0.18 lets the writer of a stream go on when its send task takes nothing from the stream's
buffer, which it does whenever the client grants no window: a client that never grants one has the
server hold all that it asks for.  Here a writer waits until the client has really taken something,
a stream whose client takes nothing for as long as HTTP/1.1 allows is reset, and so is the one whose
client has kept it waiting longest when the streams of all connections hold too much.

Source: RFC 9113, 5.2 (flow control) and 10.5 (denial of service).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import h2.errors
import h2.exceptions
import trio
from hypercorn.events import Updated
from hypercorn.protocol.h2 import BufferCompleteError, H2Protocol, StreamBuffer
from hypercorn.trio.worker_context import EventWrapper

HIGH_BYTES = 16 * 1024  # a writer waits while so much is there: one frame, and one comes on top
STREAM_BYTES = 32 * 1024  # what a stalled stream holds beside its buffer, measured
MOST_BYTES = 48 * 1024 * 1024
FRESH_S = 5.0  # for which a stream may wait for the server, and for a client that reads nothing


@dataclass(slots=True)
class Backlog:
    """What the HTTP/2 streams of all connections hold for clients that do not take it.

    A stream whose client has leave to be sent more, and has not waited long, only waits for the
    server: a crowd of new watches may be more than the bound for a moment, and none is lost.

    Args:
        limit_s: seconds without progress after which a stream is reset.
        most_bytes: bound for all of them.
    """

    limit_s: float
    most_bytes: int = MOST_BYTES
    held_bytes: int = 0
    resets: int = 0
    stuck: set[H2Protocol] = field(default_factory=set)
    """Connections whose client took nothing for that long, and has taken nothing since."""
    _stalled: dict[BoundedBuffer, int] = field(default_factory=dict)  # least progress first
    _fresh: dict[BoundedBuffer, tuple[int, float]] = field(default_factory=dict)  # the same

    def hold(self, buffer: BoundedBuffer, size: int) -> None:
        """Count what a buffer holds now; the streams without progress make room."""
        self.drop(buffer)
        size += STREAM_BYTES
        self._fresh[buffer] = size, trio.current_time()
        self.held_bytes += size
        self._make_room()

    def stall(self, buffer: BoundedBuffer) -> None:
        """The client of a stream that holds something grants no window."""
        if buffer in self._fresh:
            self._stalled[buffer] = self._fresh.pop(buffer)[0]
            self._make_room()

    def drop(self, buffer: BoundedBuffer) -> None:
        """A buffer holds nothing any more."""
        if buffer in self._fresh:
            self.held_bytes -= self._fresh.pop(buffer)[0]
        else:
            self.held_bytes -= self._stalled.pop(buffer, 0)

    def give_up(self, buffer: BoundedBuffer) -> None:
        """Reset a stream that makes no progress."""
        self.drop(buffer)
        self.resets += 1
        buffer.reset()

    def _make_room(self) -> None:
        while self.held_bytes > self.most_bytes:
            if self._stalled:
                self.give_up(next(iter(self._stalled)))
                continue
            buffer, (_, since) = next(iter(self._fresh.items()))
            if trio.current_time() - since <= FRESH_S:
                return
            self.give_up(buffer)


class BoundedBuffer(StreamBuffer):
    """The buffer of one stream.

    Args:
        stream_id: which.
        protocol: its connection.
        backlog: of all connections.
    """

    def __init__(self, stream_id: int, protocol: H2Protocol, backlog: Backlog) -> None:
        super().__init__(EventWrapper)
        self._stream_id = stream_id
        self._protocol = protocol
        self._backlog = backlog
        self._moved = trio.Event()

    async def push(self, data: bytes) -> None:
        """Take bytes of the answer; waits while the client has not taken enough.

        Raises:
            BufferCompleteError: the stream has ended.
        """
        while len(self.buffer) >= HIGH_BYTES and not self._complete:
            await self._progress()
        if self._complete:
            await (
                trio.lowlevel.checkpoint()
            )  # a writer that does not mind must not go round and round
            raise BufferCompleteError
        self.buffer.extend(data)
        await self._is_empty.clear()
        self._backlog.hold(self, len(self.buffer))
        # The send task may have given the stream up as empty while this waited.
        self._protocol.priority.unblock(self._stream_id)
        await self._protocol.has_data.set()

    async def pop(self, max_length: int) -> bytes:
        """Give the send task at most so many bytes."""
        data = bytes(self.buffer[:max_length])
        if data:
            self._backlog.stuck.discard(self._protocol)
            del self.buffer[: len(data)]
            self._tell()
            if self.buffer:
                self._backlog.hold(self, len(self.buffer))
            else:
                self._backlog.drop(self)
        elif self.buffer:
            self._backlog.stall(self)
        if not self.buffer:
            await self._is_empty.set()
        return data

    async def drain(self) -> None:
        """Wait until the client has taken all."""
        while self.buffer:
            await self._progress()

    async def close(self) -> None:
        """The stream is over."""
        await super().close()
        self._backlog.drop(self)
        self._tell()

    def reset(self) -> None:
        """End the stream at once; a task of its connection says so."""
        self._complete = True
        self.buffer = bytearray()
        self._tell()
        with suppress(h2.exceptions.ProtocolError):  # it has ended otherwise
            self._protocol.connection.reset_stream(self._stream_id, h2.errors.ErrorCodes.CANCEL)
        self._protocol.task_group.spawn(self._say_reset)

    async def _say_reset(self) -> None:
        protocol = self._protocol
        await protocol._flush()  # noqa: SLF001  (Hypercorn has no way to reset a stream)
        await protocol._close_stream(self._stream_id)  # noqa: SLF001
        with suppress(KeyError):
            protocol.priority.unblock(self._stream_id)  # the send task forgets it
        await protocol.has_data.set()
        if protocol.idle:
            await protocol.send(Updated(idle=True))

    def _tell(self) -> None:
        self._moved.set()
        self._moved = trio.Event()

    async def _progress(self) -> None:
        """Wait until the client has taken something, or for too long."""
        moved = self._moved
        with trio.move_on_after(self._backlog.limit_s) as timer:
            await moved.wait()
        if timer.cancelled_caught:
            self._backlog.stuck.add(self._protocol)
            self._backlog.give_up(self)


class BoundedBuffers(dict[int, Any]):
    """The buffers of one connection, in place of Hypercorn's own.

    Args:
        protocol: the connection.
        backlog: of all connections.
    """

    def __init__(self, protocol: H2Protocol, backlog: Backlog) -> None:
        super().__init__()
        self._protocol = protocol
        self._backlog = backlog

    def __setitem__(self, stream_id: int, buffer: StreamBuffer) -> None:
        super().__setitem__(stream_id, BoundedBuffer(stream_id, self._protocol, self._backlog))

    def end(self) -> None:
        """The connection is over: nothing is held for it any more."""
        self._backlog.stuck.discard(self._protocol)
        for buffer in self.values():
            self._backlog.drop(buffer)
