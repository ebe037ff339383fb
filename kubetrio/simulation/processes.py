"""Commands in simulated containers, and containers that are attached to, as a client sees them.

What they print is known before; what is typed may end a container that is attached to, and goes
nowhere else.  A client speaks SPDY with them, or a WebSocket whose messages begin with the number
of a channel.

Source: KEP-4006 (protocols of streams); docs "API concepts" (``v4.channel.k8s.io``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from kubetrio.backend.channels import CLOSE, ERROR, STDERR, STDIN, STDOUT
from kubetrio.backend.spdy import DATA, PING, SYN_STREAM, Frame, SpdyError, data, ping
from kubetrio.backend.spdyserver import ServerFraming
from kubetrio.backend.websocket import Frames
from kubetrio.simulation.answers import Ran, runs, status_of
from kubetrio.simulation.connection import Connection
from kubetrio.simulation.standardinput import StandardInput

Object = dict[str, Any]
Find = Callable[[str, str], Awaitable[Object | None]]
"""Finds a pod by namespace and name."""

LOOK_S = 1.0
"""How often a container is looked at that is followed."""
MOST_TEXT_BYTES = 16 * 1024  # of a message


class Following:
    """Waits for a container to end.

    Args:
        find: finds pods.
        where: namespace, name and container.
        pod: as it is now; a container that starts again is another one.
    """

    def __init__(self, find: Find, where: tuple[str, str, str], pod: Object) -> None:
        self._find = find
        self._where = where
        self._id = status_of(pod, where[2]).get("containerID")

    async def ended(self) -> bool:
        """Whether the container does not run."""
        namespace, name, container = self._where
        pod = await self._find(namespace, name)
        if pod is None or not runs(pod, container):
            return True
        return bool(status_of(pod, container).get("containerID") != self._id)

    async def work(self, here: Connection) -> None:
        """See `OtherEnd`."""
        if here.over or await self.ended():
            here.finish()
            return
        await here.written(LOOK_S)
        here.take()


class SpdyProcess:
    """Streams of a command, or of a container that is attached to, over SPDY.

    Args:
        expected: names of the streams that the client opens.
        ran: what it prints.
        after: what it waits for before it ends, None for nothing.
        rest: bytes that came behind the request.
        typed: takes what the client types, None for nothing that heeds it.
    """

    def __init__(
        self,
        expected: frozenset[str],
        ran: Ran,
        after: Following | None,
        rest: bytes,
        typed: StandardInput | None = None,
    ) -> None:
        self._framing = ServerFraming()
        self._expected = expected
        self._ran = ran
        self._after = after
        self._rest = rest
        self._typed = typed
        self._streams: dict[str, int] = {}
        self._printed = False

    async def work(self, here: Connection) -> None:
        """See `OtherEnd`."""
        if self._typed is not None:
            await self._typed.act()
        if self._printed and (self._after is None or await self._after.ended()):
            self._end(here)
            return
        if not self._rest:
            await here.written(LOOK_S if self._printed else None)
        received, self._rest = self._rest + here.take(), b""
        if here.over and not received:
            here.finish()
            return
        try:
            frames = self._framing.feed(received)
            for frame in frames:
                self._take(here, frame)
        except SpdyError:
            here.finish()
            return
        if not self._printed and self._expected <= self._streams.keys():
            self._printed = True
            for name, text in (("stdout", self._ran.stdout), ("stderr", self._ran.stderr)):
                if text and name in self._streams:
                    here.say(data(self._streams[name], text.encode()))

    def _take(self, here: Connection, frame: Frame) -> None:
        if frame.kind == SYN_STREAM:
            name = self._framing.headers(frame).get("streamtype", "")
            self._streams[name] = frame.stream
            here.say(self._framing.reply(frame.stream))
        elif frame.kind == PING:
            here.say(ping(frame.stream))
        typed = frame.kind in (DATA, SYN_STREAM) and frame.stream == self._streams.get("stdin")
        if typed and self._typed is not None:
            self._typed.take(frame.payload if frame.kind == DATA else b"", fin=frame.fin)

    def _end(self, here: Connection) -> None:
        for name in ("stdout", "stderr"):
            if name in self._streams:
                here.say(data(self._streams[name], b"", fin=True))
        here.say(data(self._streams["error"], status_of_exit(self._ran.code), fin=True))
        here.finish()


def status_of_exit(code: int) -> bytes:
    """How a command ended, as a ``Status``."""
    if not code:
        return orjson.dumps({"metadata": {}, "status": "Success"})
    text = f"command terminated with non-zero exit code: exit status {code}"
    details = {"causes": [{"reason": "ExitCode", "message": str(code)}]}
    return orjson.dumps(
        {
            "metadata": {},
            "status": "Failure",
            "message": text,
            "reason": "NonZeroExitCode",
            "details": details,
        }
    )


class SocketProcess:
    """Streams of a command, or of a container that is attached to, over a WebSocket.

    Args:
        ran: what it prints.
        after: what it waits for before it ends, None for nothing.
        rest: bytes that came behind the request.
        typed: takes what the client types, None for nothing that heeds it.
    """

    def __init__(
        self,
        ran: Ran,
        after: Following | None,
        rest: bytes,
        typed: StandardInput | None = None,
    ) -> None:
        self._typed = typed
        self._channel: int | None = None  # of the message that is being read
        self._frames = Frames()
        self._ran = ran
        self._after = after
        self._rest = rest
        self._printed = False

    async def work(self, here: Connection) -> None:
        """See `OtherEnd`."""
        if not self._printed:
            self._printed = True
            for channel, text in ((STDOUT, self._ran.stdout), (STDERR, self._ran.stderr)):
                self._say(here, channel, text.encode())
            return
        if self._typed is not None:
            await self._typed.act()
        if self._after is None or await self._after.ended():
            self._say(here, ERROR, status_of_exit(self._ran.code))
            here.say(self._frames.goodbye())
            here.finish()
            return
        if not self._rest:
            await here.written(LOOK_S)
        received, self._rest = self._rest + here.take(), b""
        for part, finished in self._frames.read(received):
            self._take(part, finished=finished)
        if pong := self._frames.take_pong():
            here.say(pong)
        if self._frames.ended or here.over:
            here.finish()

    def _take(self, part: bytes, *, finished: bool) -> None:
        """Take a part of a message."""
        if self._channel is None and part:
            self._channel, part = part[0], part[1:]
        if self._typed is not None and self._channel == STDIN:
            self._typed.take(part)
        elif self._typed is not None and self._channel == CLOSE and part[:1] == bytes((STDIN,)):
            self._typed.take(b"", fin=True)
        if finished:
            self._channel = None

    def _say(self, here: Connection, channel: int, text: bytes) -> None:
        for place in range(0, len(text), MOST_TEXT_BYTES):
            piece = text[place : place + MOST_TEXT_BYTES]
            here.say(self._frames.message(bytes((channel,)) + piece))
