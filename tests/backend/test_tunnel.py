"""Bytes in both directions behind an upgrade."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio
import trio.testing

from kubetrio.backend.tunnel import splice
from kubetrio.harness.transport import MemoryTransport, memory_pair


@pytest.fixture
async def tunnel() -> AsyncIterator[tuple[MemoryTransport, MemoryTransport, trio.Event]]:
    """The far ends of a tunnel with small pipes, and whether it has ended."""
    client, here = memory_pair(1000)
    there, backend = memory_pair(1000)
    ended = trio.Event()

    async def run() -> None:
        await splice(here, there, b"to client", b"to backend")
        here.close()
        there.close()
        ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        yield client, backend, ended
        nursery.cancel_scope.cancel()


Tunnel = tuple[MemoryTransport, MemoryTransport, trio.Event]


async def test_a_tunnel_begins_with_what_was_read(tunnel: Tunnel) -> None:
    """At both ends."""
    client, backend, _ = tunnel
    await trio.testing.wait_all_tasks_blocked()
    assert (client.read_nowait(), backend.read_nowait()) == (b"to client", b"to backend")


async def test_a_tunnel_holds_little(tunnel: Tunnel) -> None:
    """A reader that does not read stops the writer."""
    client, backend, _ = tunnel
    await trio.testing.wait_all_tasks_blocked()
    backend.read_nowait()
    sent = 0
    for _ in range(100):
        sent += client.write_nowait(bytes(1000))
        await trio.testing.wait_all_tasks_blocked()
    assert 2000 <= sent <= 3000
    got = 0
    while got < sent:
        await backend.wait_readable()
        got += len(backend.read_nowait() or b"")


@pytest.mark.parametrize("which", [0, 1])
async def test_one_end_ends_both(tunnel: Tunnel, which: int) -> None:
    """What it said last is delivered."""
    ends, ended = tunnel[:2], tunnel[2]
    await trio.testing.wait_all_tasks_blocked()
    for end in ends:
        end.read_nowait()
    ends[which].write_nowait(b"bye")
    ends[which].end()
    await ended.wait()
    assert ends[1 - which].read_nowait() == b"bye"
    assert ends[1 - which].read_nowait() == b""
