"""Commands in simulated containers, over SPDY and over WebSocket."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest
import trio
from asking import V4, Pods, said
from trio.testing import MockClock
from wsproto.frame_protocol import FrameProtocol, Opcode

from kubetrio.backend.exchange import BackendError
from kubetrio.backend.spdy import data, ping
from kubetrio.transport import Transport


async def test_commands(autojump_clock: MockClock) -> None:
    """Each stream says its part, and the last one how it ended."""
    pods = Pods(exec='{"ls -l": {"stdout": "a", "stderr": "b", "exitCode": 2}}')
    target = "/exec/default/p/c?command=ls&command=-l&output=1&error=1"
    session = await pods.session(target, V4)
    error = await session.open({"streamtype": "error"})
    stdout = await session.open({"streamtype": "stdout"})
    await session.send(ping(1))
    stderr = await session.open({"streamtype": "stderr"})
    texts, replies = await said(session)
    assert replies == {error, stdout, stderr}
    assert (texts[stdout], texts[stderr]) == (b"a\n", b"b\n")
    status = orjson.loads(texts[error])
    assert (status["status"], status["reason"]) == ("Failure", "NonZeroExitCode")
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "2"}]


async def test_a_command_that_succeeds(autojump_clock: MockClock) -> None:
    """What is typed is taken and goes nowhere."""
    pods = Pods(exec="done")
    session = await pods.session("/exec/default/p/c?command=x&input=1&output=1", V4)
    error = await session.open({"streamtype": "error"})
    stdin = await session.open({"streamtype": "stdin"})
    await session.send(data(stdin, b"typed", fin=True))
    stdout = await session.open({"streamtype": "stdout"})
    texts, _ = await said(session)
    assert texts[stdout] == b"done\n"
    assert orjson.loads(texts[error]) == {"metadata": {}, "status": "Success"}


async def test_attaching_shows_the_log_and_waits(autojump_clock: MockClock) -> None:
    """Until the container ends."""
    pods = Pods(logs="line")
    session = await pods.session("/attach/default/p/c?output=1", V4)
    error = await session.open({"streamtype": "error"})
    stdout = await session.open({"streamtype": "stdout"})
    with trio.move_on_after(30) as scope:
        await said(session)
    assert scope.cancelled_caught
    pods.pod = None
    texts, _ = await said(session)
    assert texts == {error: b'{"metadata":{},"status":"Success"}', stdout: b""}


async def test_what_is_typed_ends_a_container(autojump_clock: MockClock) -> None:
    """The client is told so at first, and gone when it has ended."""
    pods = Pods(logs="line")
    pods.reads_once()
    session = await pods.session("/attach/default/p/c?input=1&output=1&error=1", V4)
    await session.open({"streamtype": "error"})
    stdin = await session.open({"streamtype": "stdin"})
    stdout = await session.open({"streamtype": "stdout"})
    stderr = await session.open({"streamtype": "stderr"})
    await session.send(data(stdin, b"typed"))
    texts: dict[int, bytes] = {}
    while texts.keys() != {stdout, stderr}:
        texts |= {one.stream: one.payload for one in await session.receive() if one.payload}
    assert texts[stdout] == b"line\n"
    assert texts[stderr].startswith(b'simulated container "c" runs no program')
    assert pods.ended == []
    await session.send(data(stdin, b"", fin=True))
    await said(session)
    assert pods.ended == [("c", 0)]


class Socket:
    """A client's side of a WebSocket.

    Args:
        transport: the connection.
        rest: bytes that came behind the answer.
    """

    def __init__(self, transport: Transport, rest: bytes) -> None:
        self._transport = transport
        self._frames = FrameProtocol(client=True, extensions=[])
        self._frames.receive_bytes(rest)

    def send(self, message: bytes) -> None:
        """Send a message."""
        self._transport.write_nowait(bytes(self._frames.send_data(message, fin=True)))

    def ping(self) -> None:
        """Send a ping."""
        self._transport.write_nowait(bytes(self._frames.ping(b"x")))

    def leave(self) -> None:
        """Say goodbye."""
        self._transport.write_nowait(bytes(self._frames.close(1000)))

    def _read(self) -> Iterator[tuple[Opcode, bytes]]:
        for frame in self._frames.received_frames():
            payload = frame.payload
            yield frame.opcode, payload if isinstance(payload, (bytes, bytearray)) else b""

    async def receive(self) -> list[tuple[Opcode, bytes]]:
        """The next frames; none at the end."""
        while not (frames := [(kind, bytes(text)) for kind, text in self._read()]):
            received = self._transport.read_nowait()
            if received is None:
                await self._transport.wait_readable()
            elif not received:
                return []
            else:
                self._frames.receive_bytes(received)
        return frames

    async def all(self) -> list[tuple[Opcode, bytes]]:
        """All frames up to the end."""
        found = []
        while frames := await self.receive():
            found += frames
        return found


async def socket_of(pods: Pods, target: str, protocol: bytes = b"v4.channel.k8s.io") -> Socket:
    """A WebSocket with a command."""
    headers = ((b"upgrade", b"websocket"), (b"connection", b"Upgrade"),
               (b"sec-websocket-key", b"a2V5a2V5a2V5a2V5a2V5"), (b"sec-websocket-version", b"13"),
               (b"sec-websocket-protocol", protocol))  # fmt: skip
    exchange, head = await pods.ask(target, "GET", headers)
    if head.status != 101:
        raise BackendError(str(head.status))
    assert head.get(b"sec-websocket-protocol") == b"v4.channel.k8s.io"
    return Socket(exchange.transport, exchange.rest)


async def test_commands_over_websocket(autojump_clock: MockClock) -> None:
    """Each message begins with its channel, and the last one before the goodbye is the status."""
    pods = Pods(exec='{"*": {"stdout": "a", "stderr": "b", "exitCode": 2}}')
    target = "/exec/default/p/c?command=x&output=1&error=1"
    socket = await socket_of(pods, target, b"base64.channel.k8s.io, v4.channel.k8s.io")
    frames = await socket.all()
    assert frames[:2] == [(Opcode.BINARY, b"\x01a\n"), (Opcode.BINARY, b"\x02b\n")]
    assert frames[2][1][:1] == b"\x03"
    assert orjson.loads(frames[2][1][1:])["details"]["causes"][0]["message"] == "2"
    assert [kind for kind, _ in frames[3:]] == [Opcode.CLOSE]


async def test_large_output_comes_in_pieces(autojump_clock: MockClock) -> None:
    """Of one channel, in order."""
    text = "x" * 40_000
    socket = await socket_of(Pods(exec=text), "/exec/default/p/c?command=x&output=1")
    pieces = [message for _, message in await socket.all() if message[:1] == b"\x01"]
    assert len(pieces) == 3
    assert b"".join(piece[1:] for piece in pieces) == text.encode() + b"\n"


async def test_attaching_over_websocket(autojump_clock: MockClock) -> None:
    """Pings are answered while the container runs; a client may leave before it ends."""
    pods = Pods(logs="line")
    socket = await socket_of(pods, "/attach/default/p/c?output=1")
    assert await socket.receive() == [(Opcode.BINARY, b"\x01line\n")]
    socket.send(b"\x00typed")
    socket.ping()
    assert await socket.receive() == [(Opcode.PONG, b"x")]
    socket.leave()
    with trio.fail_after(10):
        assert await socket.all() == []


@pytest.mark.parametrize("message", [b"\xff\x00", b"\x00\x04"])
async def test_what_is_typed_over_websocket(autojump_clock: MockClock, message: bytes) -> None:
    """The end of the input, or Ctrl-D in a terminal; what ends it is told on the way."""
    pods = Pods(logs="line")
    pods.reads_once(tty=message != b"\xff\x00")
    socket = await socket_of(pods, "/attach/default/p/c?input=1&output=1&tty=1")
    frames = await socket.receive()
    assert b"runs no program" in b"".join(text for _, text in frames)
    socket.send(b"\x01\x04")
    socket.send(message)
    await socket.all()
    assert pods.ended == [("c", 0)]


async def test_other_protocols_are_refused() -> None:
    """Those whose end says no code."""
    with pytest.raises(BackendError, match="403"):
        await socket_of(Pods(), "/exec/default/p/c?output=1", b"channel.k8s.io")
