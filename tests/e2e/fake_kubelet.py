"""A kubelet that runs nothing: logs, processes and ports made up, in real protocols."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import trio

from kubetrio.backend.spdy import DICTIONARY
from kubetrio.testing.backend import ReceivedRequest

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
TUNNELLED = "SPDY/3.1+portforward.k8s.io"
SUCCESS = {"metadata": {}, "status": "Success"}


def failure(code: int) -> dict[str, Any]:
    """What a process that ended badly leaves on the error channel."""
    return {
        "metadata": {},
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


@dataclass
class FakeKubelet:
    """Answers as a kubelet.

    Args:
        log: lines of every container.
        more: lines that come while a log is followed.
        sizes: terminal sizes that were asked for.
        protocols: subprotocols of streams, in the order of preference.
    """

    log: list[bytes] = field(default_factory=lambda: [b"one\n", b"two\n", b"three\n"])
    more: trio.MemoryReceiveChannel[bytes] | None = None
    sizes: list[Any] = field(default_factory=list)
    protocols: tuple[str, ...] = (V5, V4)

    async def answer(self, asked: ReceivedRequest) -> None:
        """Answer one request."""
        kind = asked.path.split("/")[1]
        if kind == "containerLogs":
            await self._logs(asked)
        elif kind in ("exec", "attach") and asked.get("upgrade") == "websocket":
            await self._stream(asked, kind)
        elif kind in ("exec", "attach") and asked.get("upgrade") == "SPDY/3.1":
            await self._spdy_stream(asked, kind)
        elif kind == "portForward" and asked.get("upgrade") == "SPDY/3.1":
            await self._forward(asked)
        elif kind == "portForward" and asked.get("upgrade") == "websocket":
            await self._tunnelled(asked)
        elif kind == "pods":
            await asked.reply(200, b'{"kind":"PodList"}', {"Content-Type": "application/json"})
        else:
            await asked.reply(404, b"404 page not found\n")

    # ------------------------------------------------------------------ logs

    async def _logs(self, asked: ReceivedRequest) -> None:
        query = dict(asked.query)
        lines = self.log[-int(query.get("tailLines", len(self.log))) :]
        await asked.head(200, {"Content-Type": "text/plain", "Transfer-Encoding": "chunked"})
        for line in lines:
            await asked.chunk(line)
        if query.get("follow") == "true" and self.more is not None:
            async for line in self.more:
                await asked.chunk(line)
        await asked.chunk(b"")

    # ------------------------------------------------------------------ processes

    async def _stream(self, asked: ReceivedRequest, kind: str) -> None:
        async with asked.websocket(self.protocols) as socket:
            await self._process(asked, kind, socket)

    async def _spdy_stream(self, asked: ReceivedRequest, kind: str) -> None:
        offered = (asked.get("x-stream-protocol-version") or "").split(", ")
        chosen = next((name for name in self.protocols if name in offered), None)
        if chosen is None:
            await asked.reply(403, b"unable to upgrade: unable to negotiate protocol\n")
            return
        switch = {
            "Connection": "Upgrade",
            "Upgrade": "SPDY/3.1",
            "X-Stream-Protocol-Version": chosen,
        }
        await asked.head(101, switch)
        process = SpdyProcess(asked)
        await process.opened()
        await self._process(asked, kind, process)
        await process.finish()

    async def _process(self, asked: ReceivedRequest, kind: str, socket: Any) -> None:
        command = [value for key, value in asked.query if key == "command"]
        if kind == "attach":
            command = ["cat"]
        elif ("input", "1") in asked.query and command != ["cat"]:
            async for _ in self._input(socket):
                pass  # who has sent the end of its input is ready for output
        code = await self._run(socket, command)
        status = failure(code) if code else SUCCESS
        await socket.send_message(bytes([ERROR]) + json.dumps(status).encode())

    async def _run(self, socket: Any, command: list[str]) -> int:
        match command:
            case ["echo", *words]:
                await socket.send_message(bytes([STDOUT]) + " ".join(words).encode() + b"\n")
            case ["complain", *words]:
                await socket.send_message(bytes([STDERR]) + " ".join(words).encode() + b"\n")
                return 3
            case ["cat"]:
                async for data in self._input(socket):
                    await socket.send_message(bytes([STDOUT]) + data)
            case ["flood", size]:
                for _ in range(int(size)):
                    await socket.send_message(bytes([STDOUT]) + bytes(32 * 1024))
            case _:
                return 127
        return 0

    async def _input(self, socket: Any) -> AsyncIterator[bytes]:
        """Standard input up to its end, which version 4 cannot tell: there it is an empty line."""
        while True:
            message = await socket.get_message()
            channel, data = message[0], message[1:]
            if channel == RESIZE:
                self.sizes.append(json.loads(data))
            elif channel == CLOSE or data == b"\n":
                return
            elif data:
                yield data

    # ------------------------------------------------------------------ ports

    async def _forward(self, asked: ReceivedRequest) -> None:
        await asked.head(
            101,
            {
                "Connection": "Upgrade",
                "Upgrade": "SPDY/3.1",
                "X-Stream-Protocol-Version": asked.get("x-stream-protocol-version") or "",
            },
        )
        await Spdy(asked.stream.receive_some, asked.send).run()

    async def _tunnelled(self, asked: ReceivedRequest) -> None:
        async with asked.websocket([TUNNELLED]) as socket:

            async def receive(_most: int | None = None) -> bytes:
                while not (message := await socket.get_message()):
                    pass  # empty messages are no end
                return bytes(message)

            await Spdy(receive, socket.send_message).run()


class Spdy:
    """The other end of port forwarding: every connection gets back what it sends, in capitals.

    Headers are not looked at: kubectl opens an error stream and then a data stream for each
    connection, so a stream's number tells which it is.

    Source: SPDY protocol, draft 3.1, sections 2.2 and 2.6 (framing, control frames).
    """

    SYN_STREAM, SYN_REPLY, PING = 1, 2, 6
    FIN = 1

    def __init__(self, receive: Any, send: Any) -> None:
        self._receive = receive
        self._send = send
        self._compressor = zlib.compressobj()

    async def run(self) -> None:
        """Serve until the client leaves."""
        buffer = b""
        while data := await self._receive():
            buffer += data
            while len(buffer) >= 8:
                size = int.from_bytes(buffer[5:8])
                if len(buffer) < 8 + size:
                    break
                await self._frame(buffer[:5], buffer[8 : 8 + size])
                buffer = buffer[8 + size :]

    async def _control(self, kind: int, payload: bytes) -> None:
        await self._send(struct.pack(">HHI", 0x8003, kind, len(payload)) + payload)

    async def _frame(self, head: bytes, payload: bytes) -> None:
        if head[0] & 0x80:
            kind = int.from_bytes(head[2:4])
            if kind == self.PING:
                await self._control(self.PING, payload)
            elif kind == self.SYN_STREAM:
                none = self._compressor.compress(bytes(4))
                none += self._compressor.flush(zlib.Z_SYNC_FLUSH)
                await self._control(self.SYN_REPLY, payload[:4] + none)
            return
        stream, flags = int.from_bytes(head[:4]), head[4]
        if stream % 4 == 1:
            return  # an error stream; the client has nothing to say on it
        await self._data(stream, payload.upper(), flags)
        if flags & self.FIN:
            await self._data(stream - 2, b"", self.FIN)

    async def _data(self, stream: int, payload: bytes, flags: int) -> None:
        await self._send(struct.pack(">II", stream, flags << 24 | len(payload)) + payload)


class SpdyProcess:
    """The streams of a process in SPDY, with the methods of a WebSocket and its messages.

    Args:
        asked: the request, answered with an upgrade.
    """

    NAMES = ("stdin", "stdout", "stderr", "error", "resize")

    def __init__(self, asked: ReceivedRequest) -> None:
        self._asked = asked
        self._buffer = b""
        self._headers = zlib.decompressobj(zdict=DICTIONARY)
        self._packing = zlib.compressobj(zdict=DICTIONARY)
        self._streams: dict[int, int] = {}
        names = ("input", "output", "error", "tty")
        there = {name: (name, "1") in asked.query for name in names}
        self._expected = 1 + sum(there.values()) - (there["tty"] and there["error"])

    async def _frame(self) -> tuple[int, int, int, bytes]:
        """Kind (0 for data), number of the stream, flags and payload."""
        while len(self._buffer) < 8 or len(self._buffer) < 8 + int.from_bytes(self._buffer[5:8]):
            data = await self._asked.receive()
            if not data:
                raise EOFError("the client left")
            self._buffer += data
        size = int.from_bytes(self._buffer[5:8])
        head, payload = self._buffer[:8], self._buffer[8 : 8 + size]
        self._buffer = self._buffer[8 + size :]
        if not head[0] & 0x80:
            return 0, int.from_bytes(head[:4]), head[4], payload
        return int.from_bytes(head[2:4]), int.from_bytes(payload[:4]), head[4], payload[4:]

    async def _control(self, kind: int, payload: bytes) -> None:
        await self._asked.send(struct.pack(">HHI", 0x8003, kind, len(payload)) + payload)

    async def opened(self) -> None:
        """Wait for all streams that the query promises."""
        while len(self._streams) < self._expected:
            kind, stream, _, payload = await self._frame()
            if kind != Spdy.SYN_STREAM:
                continue
            block = self._headers.decompress(payload[6:])
            assert block[:4] == b"\0\0\0\1"
            size = int.from_bytes(block[4:8])
            assert block[8 : 8 + size] == b"streamtype"
            name = block[12 + size :].decode()
            self._streams[self.NAMES.index(name)] = stream
            none = self._packing.compress(bytes(4)) + self._packing.flush(zlib.Z_SYNC_FLUSH)
            await self._control(2, stream.to_bytes(4) + none)

    async def get_message(self) -> bytes:
        """What the client writes next, behind the number of its channel."""
        while True:
            kind, stream, flags, payload = await self._frame()
            channel = next((c for c, s in self._streams.items() if s == stream), None)
            if kind == 0 and channel is not None:
                return bytes([channel]) + payload if not flags else bytes([CLOSE, channel])

    async def send_message(self, message: bytes) -> None:
        """Write to the channel that a message begins with."""
        stream, data = self._streams[message[0]], message[1:]
        await self._asked.send(struct.pack(">II", stream, len(data)) + data)

    async def finish(self) -> None:
        """End what the process wrote, and wait for the client to leave."""
        await self._control(6, (2).to_bytes(4))
        for channel in (STDOUT, STDERR, ERROR):
            if channel in self._streams:
                await self._asked.send(struct.pack(">II", self._streams[channel], 1 << 24))
        while await self._asked.receive():
            pass
