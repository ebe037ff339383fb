"""Connections in memory to a server in this process, through its own connection loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import trio
import trio.testing

from kubetrio.api.pipeline import Handle
from kubetrio.env import Env
from kubetrio.harness.exchange import Exchange
from kubetrio.harness.transport import CAPACITY_BYTES, MemoryTransport, memory_pair
from kubetrio.http.h1 import Connection
from kubetrio.http.heads import DateHeader
from kubetrio.http.limits import H1Config, SweepClock
from kubetrio.machinery.identity import MASTERS, UserInfo
from kubetrio.runtime.groups import ungrouped

ADMIN = UserInfo("kubernetes-admin", groups=(MASTERS,))


class Connected(Exchange):
    """One open connection in memory; made by `connect`.

    Args:
        transport: the client's end.
        other: the server's end.
        connection: the server's loop, whose phase tests may look at.

    Attributes:
        ended: set when the server's loop is done.
    """

    def __init__(
        self, transport: MemoryTransport, other: MemoryTransport, connection: Connection
    ) -> None:
        super().__init__(transport)
        self.pipe = transport
        self._other = other
        self.connection = connection
        self.ended = trio.Event()

    def sever(self) -> None:
        """Close the server's end, as a server does that ends."""
        self._other.close()


@ungrouped
@asynccontextmanager
async def connect(
    handle: Handle,
    env: Env,
    *,
    certificate: UserInfo | None = ADMIN,
    config: H1Config | None = None,
    capacity: int = CAPACITY_BYTES,
) -> AsyncIterator[Connected]:
    """Open a connection to a pipeline; leaving the block closes it.

    Args:
        handle: the pipeline, such as ``api.handle``.
        env: wall clock of the server.
        certificate: who the client is, as a verified client certificate; None for none.
        config: limits of the connection.
        capacity: bytes that each direction holds before a writer must wait.
    """
    theirs, ours = memory_pair(capacity)
    connection = Connection(
        theirs,
        handle,
        config or H1Config(),
        env,
        DateHeader(),
        "192.0.2.1",
        certificate,
        SweepClock(),
    )
    client = Connected(ours, theirs, connection)

    async def serve() -> None:
        try:
            await connection.run()
        finally:
            theirs.close()
            client.ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve, name="connection")
        try:
            yield client
        finally:
            ours.close()
            nursery.cancel_scope.cancel()


async def converse(
    handle: Handle,
    env: Env,
    script: Iterable[bytes],
    *,
    certificate: UserInfo | None = ADMIN,
    config: H1Config | None = None,
) -> bytes:
    """Everything a server answers to some writes on one connection, to its end.

    Args:
        handle: the pipeline.
        env: wall clock of the server.
        script: what the client writes, write by write, before it closes its side.
        certificate: who the client is.
        config: limits of the connection.
    """
    heard = b""
    async with connect(handle, env, certificate=certificate, config=config) as client:

        async def listen() -> None:
            nonlocal heard
            heard = await client.rest()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            try:
                for data in script:
                    await client.send(data)
                    # Each write is to be a read of its own.
                    await trio.testing.wait_all_tasks_blocked()
            except OSError:
                pass  # the server has had enough; what it said is there to read
            client.pipe.end()
    return heard
