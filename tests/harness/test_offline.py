"""A process that calls no other server while a block lasts."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import trio

from kubetrio.backend.dial import DialError, addresses_of, dial
from kubetrio.harness.offline import offline


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A socket that would be reached."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def test_connections_are_refused_until_the_block_ends(listening: socket.socket) -> None:
    """Blocks may be in each other; what listens already is not reached either."""
    address = listening.getsockname()
    with offline():
        with offline():
            pass
        with socket.socket() as client, pytest.raises(PermissionError, match="no other server"):
            client.connect(address)
        with socket.socket(type=socket.SOCK_DGRAM) as client, pytest.raises(PermissionError):
            client.sendto(b"x", address)
        with pytest.raises(PermissionError):
            socket.getaddrinfo("localhost", 1)
    with socket.create_connection(address):
        pass


async def test_what_a_server_calls_others_by(listening: socket.socket) -> None:
    """Proxies to nodes and Services, and webhooks, which a script may name at any address."""
    port = listening.getsockname()[1]
    with offline():
        with pytest.raises((DialError, OSError)):
            await dial("127.0.0.1", str(port), None, 5)
        with pytest.raises(DialError):
            await addresses_of("localhost")
        with pytest.raises(OSError, match=r"failed to connect|no other server"):
            await trio.open_tcp_stream("127.0.0.1", port)
