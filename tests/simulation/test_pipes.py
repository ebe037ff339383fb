"""Connections in memory between a transport and a stream."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from kubetrio.simulation.pipes import MOST_BYTES, pipe


async def test_what_one_writes_the_other_reads(autojump_clock: MockClock) -> None:
    """Both ways, each with its own end."""
    transport, stream = pipe()
    assert transport.read_nowait() is None
    assert transport.write_nowait(b"question") == 8
    assert await stream.receive_some(5) == b"quest"
    assert await stream.receive_some() == b"ion"
    await stream.send_all(b"answer")
    await transport.wait_readable()
    assert transport.read_nowait() == b"answer"
    transport.end()
    assert await stream.receive_some() == b""
    await stream.send_eof()
    assert transport.read_nowait() == b""


async def test_what_waits_is_bounded(autojump_clock: MockClock) -> None:
    """A writer waits until something was read."""
    transport, stream = pipe()
    assert transport.write_nowait(bytes(MOST_BYTES + 1)) == MOST_BYTES
    assert transport.write_nowait(b"x") == 0
    with trio.move_on_after(1) as scope:
        await transport.wait_writable()
    assert scope.cancelled_caught
    await stream.receive_some(1)
    await transport.wait_writable()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stream.send_all, bytes(3 * MOST_BYTES))
        total = 0
        while total < 3 * MOST_BYTES:
            await transport.wait_readable()
            total += len(transport.read_nowait() or b"")
    assert total == 3 * MOST_BYTES


async def test_an_end_that_is_closed(autojump_clock: MockClock) -> None:
    """The other one reads the end and cannot write."""
    transport, stream = pipe()
    await stream.aclose()
    assert transport.read_nowait() == b""
    with pytest.raises(OSError, match="Broken pipe"):
        transport.write_nowait(b"x")
    with pytest.raises(trio.ClosedResourceError):
        await stream.receive_some()
    transport, stream = pipe()
    transport.close()
    assert await stream.receive_some() == b""
    with pytest.raises(trio.BrokenResourceError):
        await stream.send_all(b"x")
