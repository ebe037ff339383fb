"""Connections whose other end is a function."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from kubetrio.simulation.connection import MOST_BYTES, Connection


class Echo:
    """Says what it hears, and ends after the goodbye."""

    async def work(self, here: Connection) -> None:
        """Answer once."""
        await here.written()
        here.say(here.take())
        if here.over:
            here.finish()


async def read(here: Connection) -> bytes:
    """What can be read next."""
    while (data := here.read_nowait()) is None:
        await here.wait_readable()
    return data


async def test_what_is_written_is_answered() -> None:
    """When it is read, and the end is seen as one."""
    here = Connection(Echo())
    assert here.read_nowait() is None
    assert here.write_nowait(b"hello") == 5
    assert await read(here) == b"hello"
    here.end()
    assert await read(here) == b""


async def test_a_writer_waits_for_room(autojump_clock: MockClock) -> None:
    """The buffer is bounded; a reader that waits makes room."""
    here = Connection(Echo())
    assert here.write_nowait(b"x" * MOST_BYTES) == MOST_BYTES
    assert here.write_nowait(b"y") == 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(here.wait_writable)
        assert len(await read(here)) == MOST_BYTES
    assert here.write_nowait(b"y") == 1


async def test_a_reader_is_cancelled_and_comes_again(autojump_clock: MockClock) -> None:
    """Nothing is lost by that."""
    here = Connection(Echo())
    with trio.move_on_after(1) as scope:
        await here.wait_readable()
    assert scope.cancelled_caught
    here.write_nowait(b"later")
    assert await read(here) == b"later"


async def test_a_writer_wakes_a_reader(autojump_clock: MockClock) -> None:
    """Also one that waits for a while only."""
    here = Connection(Echo())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(here.wait_readable)
        await trio.sleep(1)
        here.write_nowait(b"now")
    assert here.read_nowait() == b"now"
    start = trio.current_time()
    await here.written(5)
    assert trio.current_time() - start == 5


async def test_a_closed_connection_is_broken() -> None:
    """At this end for everything, and at the other for writing when it has ended."""
    here = Connection(Echo())
    here.finish()
    with pytest.raises(BrokenPipeError):
        here.write_nowait(b"x")
    await here.wait_writable()
    here.close()
    await here.wait_readable()
    with pytest.raises(OSError, match="Bad file descriptor"):
        here.read_nowait()
