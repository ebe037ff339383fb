"""Channels of a process in a WebSocket."""

from __future__ import annotations

import pytest
from wsproto.frame_protocol import CloseReason, FrameProtocol, Opcode

from kubetrio.backend.channels import CLOSE, ERROR, RESIZE, STDIN, Channels, Piece
from kubetrio.harness.transport import MemoryTransport, memory_pair

TEXT = b"0123456789" * 20


class Peer:
    """The client's end."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.frames = FrameProtocol(client=True, extensions=[])

    def send(self, *messages: bytes) -> None:
        for message in messages:
            self.transport.write_nowait(self.frames.send_data(message, fin=True))

    def heard(self) -> list[tuple[Opcode, object]]:
        while data := self.transport.read_nowait():
            self.frames.receive_bytes(data)
        return [(frame.opcode, frame.payload) for frame in self.frames.received_frames()]


Ends = tuple[Channels, Peer]


@pytest.fixture
def ends() -> Ends:
    here, there = memory_pair()
    return Channels(here, b""), Peer(there)


async def test_messages_of_channels(ends: Ends) -> None:
    """The first byte tells the channel; a message with nothing else is none."""
    channels, peer = ends
    peer.send(b"\0one", b"", b"\0", b"\4{}", b"\7x")
    got = [await channels.receive() for _ in range(3)]
    assert got == [Piece(STDIN, b"one"), Piece(RESIZE, b"{}"), Piece(7, b"x")]


async def test_a_message_in_parts(ends: Ends) -> None:
    """What is there is passed on; of whichever frames and reads it is made."""
    channels, peer = ends
    wire = bytes(peer.frames.send_data(b"\0" + TEXT[:100], fin=False))
    wire += bytes(peer.frames.send_data(TEXT[100:], fin=True))
    heard = b""
    for at in range(0, len(wire), 7):
        peer.transport.write_nowait(wire[at : at + 7])
        if at > 21:
            piece = await channels.receive()
            assert piece is not None
            assert piece.channel == STDIN
            heard += piece.data
    while heard != TEXT:
        piece = await channels.receive()
        assert piece is not None
        heard += piece.data


async def test_a_channel_is_closed(ends: Ends) -> None:
    """By its number behind 255."""
    channels, peer = ends
    peer.send(b"\0x", bytes((CLOSE, STDIN)), b"\4y")
    got = [await channels.receive() for _ in range(3)]
    assert got == [Piece(STDIN, b"x"), Piece(STDIN, b""), Piece(RESIZE, b"y")]


@pytest.mark.parametrize("message", [b"\xff", b"\xff\x05", b"\xff\0\0"])
async def test_a_client_that_closes_nothing(ends: Ends, message: bytes) -> None:
    """Nothing more is read from it."""
    channels, peer = ends
    peer.send(b"\0x", message, b"\0y")
    assert await channels.receive() == Piece(STDIN, b"x")
    assert await channels.receive() is None


@pytest.mark.parametrize("how", ["goodbye", "end", "nonsense"])
async def test_the_client_leaves(ends: Ends, how: str) -> None:
    """However it does."""
    channels, peer = ends
    match how:
        case "goodbye":
            peer.transport.write_nowait(peer.frames.close(CloseReason.GOING_AWAY))
        case "end":
            peer.transport.end()
        case _:
            peer.transport.write_nowait(b"\xff" * 20)
    assert await channels.receive() is None


async def test_pings_are_answered(ends: Ends) -> None:
    """Between messages."""
    channels, peer = ends
    peer.transport.write_nowait(peer.frames.ping(b"there?"))
    peer.transport.write_nowait(peer.frames.send_data(b"\0x", fin=True))
    peer.transport.end()
    assert await channels.receive() == Piece(STDIN, b"x")
    assert await channels.receive() is None
    assert peer.heard() == [(Opcode.PONG, b"there?")]


async def test_writing(ends: Ends) -> None:
    """Binary messages, and a goodbye."""
    channels, peer = ends
    await channels.send(ERROR, b"")
    await channels.send(ERROR, b"oops")
    await channels.finish()
    assert peer.heard() == [
        (Opcode.BINARY, b"\3"),
        (Opcode.BINARY, b"\3oops"),
        (Opcode.CLOSE, (1000, "")),
    ]
