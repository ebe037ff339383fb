"""A WebSocket as a transport."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from wsproto.frame_protocol import CloseReason, FrameProtocol, Opcode

from kubetrio.backend.tunnel import send_all
from kubetrio.backend.websocket import WebSocketTransport, accept_head
from kubetrio.harness.transport import MemoryTransport, memory_pair


class Peer:
    """The client's end.

    Args:
        transport: the connection.
    """

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.frames = FrameProtocol(client=True, extensions=[])

    def send(self, data: bytes) -> None:
        self.transport.write_nowait(self.frames.send_data(data, fin=True))

    def heard(self) -> list[tuple[Opcode, object]]:
        while data := self.transport.read_nowait():
            self.frames.receive_bytes(data)
        return [(frame.opcode, frame.payload) for frame in self.frames.received_frames()]


@pytest.fixture
def ends() -> tuple[WebSocketTransport, Peer]:
    here, there = memory_pair()
    return WebSocketTransport(here, b""), Peer(there)


Ends = tuple[WebSocketTransport, Peer]


def test_the_handshake() -> None:
    """The key of RFC 6455's own example."""
    head = accept_head(b"dGhlIHNhbXBsZSBub25jZQ==", "SPDY/3.1+portforward.k8s.io")
    assert b"Sec-Websocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in head
    assert b"Sec-Websocket-Protocol: SPDY/3.1+portforward.k8s.io\r\n" in head


async def test_messages_are_bytes(ends: Ends) -> None:
    """Empty ones are nothing, and not the end."""
    socket, peer = ends
    assert socket.read_nowait() is None
    for data in (b"one", b"", b"two"):
        peer.send(data)
    assert [socket.read_nowait() for _ in range(3)] == [b"one", b"two", None]
    assert socket.write_nowait(b"three") == 5
    assert peer.heard() == [(Opcode.BINARY, b"three")]


async def test_bytes_read_behind_the_upgrade() -> None:
    """Count as the first."""
    here, _ = memory_pair()
    early = bytes(FrameProtocol(client=True, extensions=[]).send_data(b"early", fin=True))
    socket = WebSocketTransport(here, early)
    await socket.wait_readable()
    assert socket.read_nowait() == b"early"


async def test_pings_are_answered(ends: Ends) -> None:
    """In between."""
    socket, peer = ends
    peer.transport.write_nowait(peer.frames.ping(b"there?"))
    assert socket.read_nowait() is None
    assert peer.heard() == [(Opcode.PONG, bytearray(b"there?"))]


@pytest.mark.parametrize("how", ["closing frame", "end of the connection", "not a frame"])
async def test_the_end(ends: Ends, how: str) -> None:
    """However it comes; what was said before is read first."""
    socket, peer = ends
    peer.send(b"last")
    if how == "closing frame":
        peer.transport.write_nowait(peer.frames.close(CloseReason.NORMAL_CLOSURE))
    elif how == "not a frame":
        peer.transport.write_nowait(b"\xff\xff\xff\xff")
    else:
        peer.transport.end()
    assert socket.read_nowait() == b"last"
    assert socket.read_nowait() == b""


async def test_a_peer_that_does_not_read() -> None:
    """One message waits, no more; all of it arrives in the end."""
    here, there = memory_pair(1000)
    socket, peer = WebSocketTransport(here, b""), Peer(there)
    assert socket.write_nowait(bytes(200_000)) == 64 * 1024
    assert socket.write_nowait(b"more") == 0
    heard = 0

    async def listen() -> None:
        nonlocal heard
        while True:
            await there.wait_readable()
            for opcode, payload in peer.heard():
                if opcode is Opcode.CLOSE:
                    return
                assert isinstance(payload, bytes | bytearray)
                heard += len(payload)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen)
        await send_all(socket, bytes(100_000))
        await socket.finish()
    assert heard == 64 * 1024 + 100_000
