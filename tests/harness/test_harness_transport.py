"""Connections in memory block and break as sockets do; tests/test_transport.py compares them."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from kubetrio.harness.transport import memory_pair


async def test_a_writer_waits_for_room() -> None:
    """What does not fit is not taken, and fits when the reader has read."""
    left, right = memory_pair(capacity=4)
    assert left.write_nowait(b"abcdef") == 4
    assert left.write_nowait(b"ef") == 0
    room = trio.Event()

    async def wait() -> None:
        await left.wait_writable()
        room.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        assert not room.is_set()
        assert right.read_nowait() == b"abcd"
    assert left.write_nowait(b"ef") == 2


def test_what_was_written_is_read_before_the_end() -> None:
    """A closed end is read to its end; writing to it fails."""
    left, right = memory_pair()
    left.write_nowait(b"last")
    left.close()
    assert (right.read_nowait(), right.read_nowait()) == (b"last", b"")
    with pytest.raises(BrokenPipeError):
        right.write_nowait(b"late")
    with pytest.raises(OSError, match="Bad file"):
        left.read_nowait()
