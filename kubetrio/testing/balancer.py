"""A plain TCP balancer: each connection goes to the next server, past those that refuse it.

python -m kubetrio.testing.balancer 127.0.0.1:6443 127.0.0.1:6444 127.0.0.1:6445

It prints its own address.  TLS passes through it, so that it knows nothing of requests; it keeps no
connection to a server longer than the client's.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import trio
from trio.abc import HalfCloseableStream

CHUNK = 1 << 16
Connect = Callable[[str, int], Awaitable[HalfCloseableStream]]


class Balancer:
    """Gives connections to servers in turn.

    Args:
        servers: ``host:port`` of each.
        connect: opens a connection to one, and raises `OSError` where it does not answer.

    Attributes:
        given: connections that each server took.
        refused: connections that each server refused.
    """

    def __init__(self, servers: Sequence[str], connect: Connect = trio.open_tcp_stream) -> None:
        self.given: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._servers = list(servers)
        self._connect = connect
        self._next = 0

    async def serve(self, client: HalfCloseableStream) -> None:
        """Carry the bytes of one connection, until both sides have ended or one breaks.

        Args:
            client: the connection; closed in the end.
        """
        async with client:
            server = await self._open()
            if server is None:
                return
            async with server, trio.open_nursery() as nursery:
                nursery.start_soon(_carry, client, server, nursery.cancel_scope)
                nursery.start_soon(_carry, server, client, nursery.cancel_scope)

    async def _open(self) -> HalfCloseableStream | None:
        """Connect to the next server that answers; None where no server does."""
        for _ in self._servers:
            name = self._servers[self._next]
            self._next = (self._next + 1) % len(self._servers)
            host, _, port = name.rpartition(":")
            try:
                server = await self._connect(host, int(port))
            except OSError:
                self.refused[name] += 1
            else:
                self.given[name] += 1
                return server
        return None


async def _carry(
    source: HalfCloseableStream, target: HalfCloseableStream, both: trio.CancelScope
) -> None:
    """Carry one direction to its end; a side that breaks ends the other direction too."""
    try:
        while data := await source.receive_some(CHUNK):
            await target.send_all(data)
        await target.send_eof()
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        both.cancel()


async def main(servers: Sequence[str]) -> None:
    """Listen on a free port of the loopback interface, say which, and serve until cancelled."""
    balancer = Balancer(servers)
    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    print(f"127.0.0.1:{port}", flush=True)
    await trio.serve_listeners(balancer.serve, [listener])


if __name__ == "__main__":
    trio.run(partial(main, sys.argv[1:]))
