"""Connections go to servers in turn, past those that refuse, and end as their two sides do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.abc import HalfCloseableStream
from trio.testing import memory_stream_pair

from kubetrio.testing.balancer import Balancer

Handler = Callable[[HalfCloseableStream], Awaitable[None]]


class Servers:
    """Servers in memory, by port.

    Args:
        nursery: where they answer.
        handlers: what answers, by port; others refuse.
    """

    def __init__(self, nursery: trio.Nursery, handlers: dict[int, Handler]) -> None:
        self._nursery, self._handlers = nursery, handlers

    async def connect(self, host: str, port: int) -> HalfCloseableStream:
        assert host == "h"
        await trio.lowlevel.checkpoint()
        if port not in self._handlers:
            raise ConnectionRefusedError
        ours, theirs = memory_stream_pair()
        self._nursery.start_soon(self._handlers[port], theirs)
        return ours


async def everything(stream: HalfCloseableStream) -> bytes:
    return b"".join([data async for data in stream])


async def talk(stream: HalfCloseableStream) -> None:
    """Send without end."""
    while True:
        await stream.send_all(b"x")


def naming(name: bytes) -> Handler:
    """A server that reads all that it is sent, and answers with its name and that."""

    async def answer(stream: HalfCloseableStream) -> None:
        await stream.send_all(name + await everything(stream))
        await stream.aclose()

    return answer


async def asked(balancer: Balancer, data: bytes) -> bytes:
    """What one connection is answered, which its client half closes."""
    client, inside = memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(balancer.serve, inside)
        await client.send_all(data)
        await client.send_eof()
        return await everything(client)


async def test_each_connection_goes_to_another_server() -> None:
    """In turn; both directions end by themselves."""
    async with trio.open_nursery() as nursery:
        servers = Servers(nursery, {port: naming(b"%d" % port) for port in (1, 2, 3)})
        balancer = Balancer(["h:1", "h:2", "h:3"], servers.connect)
        answers = [await asked(balancer, b"!") for _ in range(6)]
    assert answers == [b"1!", b"2!", b"3!", b"1!", b"2!", b"3!"]
    assert balancer.given == {"h:1": 2, "h:2": 2, "h:3": 2}


async def test_a_server_that_refuses_is_passed_over() -> None:
    """Its connections go to the next one; with no server left the client's is closed."""
    async with trio.open_nursery() as nursery:
        balancer = Balancer(["h:1", "h:2"], Servers(nursery, {2: naming(b"2")}).connect)
        assert [await asked(balancer, b"") for _ in range(2)] == [b"2", b"2"]
        nobody = Balancer(["h:1", "h:4"], Servers(nursery, {}).connect)
        client, inside = memory_stream_pair()
        await nobody.serve(inside)
        assert await client.receive_some(1) == b""
    assert balancer.refused == {"h:1": 2}
    assert nobody.refused == {"h:1": 1, "h:4": 1}


@pytest.mark.parametrize("broken", ["client", "server"])
async def test_a_side_that_breaks_ends_the_other(broken: str) -> None:
    """At once, although the other has not ended."""
    ended = trio.Event()

    async def answer(stream: HalfCloseableStream) -> None:
        if broken == "server":
            await trio.aclose_forcefully(stream)
        else:
            with pytest.raises(trio.BrokenResourceError):
                await talk(stream)
        ended.set()

    async with trio.open_nursery() as nursery:
        balancer = Balancer(["h:1"], Servers(nursery, {1: answer}).connect)
        client, inside = memory_stream_pair()
        nursery.start_soon(balancer.serve, inside)
        if broken == "client":
            await client.receive_some(1)
            await client.aclose()
        else:
            assert await client.receive_some(1) == b""
            await client.aclose()
        await ended.wait()
