"""Transports: TCP, TLS, and their like in memory."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from kubetrio.harness.transport import memory_pair
from kubetrio.http.tls import TlsConfig, tls_context
from kubetrio.tls import pki
from kubetrio.transport import PlainTransport, TlsTransport, Transport

Ends = tuple[Transport, Transport]


def sockets() -> tuple[socket.socket, socket.socket]:
    left, right = socket.socketpair()
    left.setblocking(False)
    right.setblocking(False)
    return left, right


@pytest.fixture(params=["memory", "plain", "tls"])
async def ends(request: pytest.FixtureRequest, certificates: pki.Pki) -> Iterator[Ends]:
    """A server's and a client's end."""
    if request.param == "memory":
        yield memory_pair()
        return
    left, right = sockets()
    if request.param == "plain":
        here, there = PlainTransport(left), PlainTransport(right)
    else:
        config = TlsConfig(
            certificate=certificates.serving.cert, key=certificates.serving.key, client_ca=None
        )
        context = tls_context(config, config.pairs[0])
        client = ssl.create_default_context(cafile=str(certificates.ca.cert))
        here = TlsTransport(
            context.wrap_socket(left, server_side=True, do_handshake_on_connect=False)
        )
        there = TlsTransport(
            client.wrap_socket(right, server_hostname="127.0.0.1", do_handshake_on_connect=False)
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(here.handshake)
            nursery.start_soon(there.handshake)
    yield here, there
    here.close()
    there.close()


async def read(transport: Transport) -> bytes:
    """What comes next."""
    with trio.fail_after(5):
        while (data := transport.read_nowait()) is None:
            await transport.wait_readable()
    return data


async def test_bytes_come_as_they_went(ends: Ends) -> None:
    """Nothing is there before, the bytes after, and nothing again."""
    here, there = ends
    assert here.read_nowait() is None
    assert there.write_nowait(b"abc") == 3
    assert await read(here) == b"abc"
    assert here.read_nowait() is None


async def test_a_closed_end_is_read_as_the_end(ends: Ends) -> None:
    """After what was written before."""
    here, there = ends
    there.write_nowait(b"last")
    there.close()
    assert await read(here) == b"last"
    assert await read(here) == b""


async def test_writing_to_a_closed_end_fails(ends: Ends) -> None:
    """With an OSError, sooner or later."""
    here, there = ends
    there.close()
    with pytest.raises(OSError):  # noqa: PT012
        for _ in range(100):
            here.write_nowait(b"x" * 1000)
            await trio.lowlevel.checkpoint()


async def test_large_writes_make_progress(ends: Ends) -> None:
    """Each time the reader takes something, a write that was stuck reports some of it as done.

    A slow client that goes on reading must be told from one that does not.
    """
    here, there = ends
    data = bytes(range(256)) * 16384
    view = memoryview(data)
    heard = b""
    steps = 0
    while view:
        sent = here.write_nowait(view)
        view = view[sent:]
        steps += 1
        taken = 0
        while taken < 200_000 and (part := there.read_nowait()):
            taken += len(part)
            heard += part
        assert sent
    while len(heard) < len(data):
        heard += await read(there)
    assert heard == data
    assert steps > 5


async def test_waiting_ends_when_there_is_something(ends: Ends) -> None:
    """A reader sleeps until then."""
    here, there = ends
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(here.wait_readable)
            await trio.testing.wait_all_tasks_blocked()
            assert nursery.child_tasks
            there.write_nowait(b"x")


async def test_memory_holds_no_more_than_its_capacity() -> None:
    """A writer waits for the reader."""
    here, there = memory_pair(capacity=10)
    assert here.write_nowait(b"x" * 20) == 10
    assert here.write_nowait(b"x") == 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(here.wait_writable)
        await trio.testing.wait_all_tasks_blocked()
        assert there.read_nowait(4) == b"xxxx"
    assert here.write_nowait(b"x" * 20) == 4


class Shaking:
    """A socket whose handshake takes two steps; counts those of each round."""

    def __init__(self, rounds: list[int]) -> None:
        self._rounds = rounds
        self._steps = 0

    def do_handshake(self) -> None:
        self._rounds[-1] += 1
        self._steps += 1
        if self._steps < 2:
            raise ssl.SSLWantReadError

    def fileno(self) -> int:
        raise AssertionError("what is to be read is there")


async def test_handshakes_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round of the event loop has one step of them in it, however many clients connect."""
    rounds = [0]

    class Counting(trio.abc.Instrument):
        def before_io_wait(self, timeout: float) -> None:
            del timeout
            rounds.append(0)

    async def readable(sock: Shaking) -> None:
        assert sock._steps == 1
        await trio.lowlevel.checkpoint()

    monkeypatch.setattr(trio.lowlevel, "wait_readable", readable)
    turns, counting = trio.Lock(), Counting()
    async with trio.open_nursery() as nursery:
        for _ in range(8):
            transport = TlsTransport(Shaking(rounds))  # type: ignore[arg-type]
            nursery.start_soon(transport.handshake, turns)
        trio.lowlevel.add_instrument(counting)
    trio.lowlevel.remove_instrument(counting)
    assert (sum(rounds), max(rounds)) == (16, 1)
