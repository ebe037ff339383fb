"""The streams of a process in one WebSocket: each message begins with the number of its channel.

Source: KEP-4006 (subprotocol ``v5.channel.k8s.io``, whose channel 255 closes another one).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import trio

from kubetrio.backend.tunnel import send_all
from kubetrio.backend.websocket import Frames
from kubetrio.transport import Transport

PROTOCOL = "v5.channel.k8s.io"
STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
CHANNELS = 5
CLOSE = 255


@dataclass(frozen=True, slots=True)
class Piece:
    """What a client wrote to a channel, or that it writes no more to it.

    Args:
        channel: number of the channel.
        data: the bytes; none at its end.
    """

    channel: int
    data: bytes


class Channels:
    """The server's side.

    Args:
        transport: the connection, the upgrade answered.
        received: bytes read behind the upgrade.
    """

    def __init__(self, transport: Transport, received: bytes) -> None:
        self._transport = transport
        self._frames = Frames()
        self._pieces: deque[Piece] = deque()
        self._channel: int | None = None
        self._closing = b""
        self._ended = False
        self._sending = trio.Lock()
        self._feed(received)

    async def send(self, channel: int, data: bytes) -> None:
        """Write to a channel.

        Raises:
            OSError: the connection broke.
        """
        await self._send(self._frames.message(bytes((channel,)) + data))

    async def finish(self) -> None:
        """Say goodbye.

        Raises:
            OSError: the connection broke.
        """
        await self._send(self._frames.goodbye())

    async def _send(self, frame: bytes) -> None:
        async with self._sending:
            await send_all(self._transport, frame)

    async def receive(self) -> Piece | None:
        """What the client wrote next; None when it has left.

        Raises:
            OSError: the connection broke.
        """
        while not self._pieces:
            if pong := self._frames.take_pong():
                await self._send(pong)
            if self._ended:
                return None
            received = self._transport.read_nowait()
            if received is None:
                await self._transport.wait_readable()
            elif received:
                self._feed(received)
            else:
                self._ended = True
        await trio.lowlevel.checkpoint()  # a fast client must not starve the others
        return self._pieces.popleft()

    def _feed(self, received: bytes) -> None:
        for part, finished in self._frames.read(received):
            self._take(part, finished=finished)
            if self._ended:
                return
        self._ended = self._ended or self._frames.ended

    def _take(self, part: bytes, *, finished: bool) -> None:
        """Take a part of a message."""
        if self._channel is None and part:
            self._channel, part = part[0], part[1:]
        if self._channel == CLOSE:
            self._closing += part
            if finished or len(self._closing) > 1:
                self._close()
        elif part and self._channel is not None:
            self._pieces.append(Piece(self._channel, part))
        if finished:
            self._channel = None

    def _close(self) -> None:
        """The client ends a channel; who names none has lost its way, and is left."""
        closing, self._closing = self._closing, b""
        if len(closing) == 1 and closing[0] < CHANNELS:
            self._pieces.append(Piece(closing[0], b""))
        else:
            self._ended = True
