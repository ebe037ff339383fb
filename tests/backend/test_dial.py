"""Connections to backends: addresses, and why there is none."""

from __future__ import annotations

import ssl
import sys

import pytest
import trio
import trio.testing
from dialling import connect, refusal, silence

from kubetrio.backend.dial import (
    io_words,
    join_host_port,
    tls_words,
)
from kubetrio.testing.backend import open_backend
from kubetrio.testing.faults import no_descriptors


async def test_every_address_of_a_name_is_tried(names: None) -> None:
    """The one that answers is taken."""
    async with open_backend(silence) as backend:
        transport = await connect("node.test", str(backend.port))
        await backend.wait_connections(1)
        transport.close()
        await backend.wait_connections(0)


async def test_why_there_is_no_connection(names: None) -> None:
    """In the words that kube-apiserver's clients know."""
    assert await refusal("127.0.0.1", "1") == "dial tcp 127.0.0.1:1: connect: connection refused"
    assert await refusal("other.test", "80") == "dial tcp: lookup other.test: no such host"
    assert await refusal("127.0.0.1", "http") == "dial tcp: lookup tcp/http: unknown port"
    assert await refusal("127.0.0.1", "65536") == "dial tcp: lookup tcp/65536: unknown port"


async def test_a_backend_that_does_not_shake_hands(autojump_clock: trio.testing.MockClock) -> None:
    """The limit is for TLS, too."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    words = await refusal("127.0.0.1", str(port), ssl.create_default_context())
    assert words == f"dial tcp 127.0.0.1:{port}: i/o timeout"
    await listeners[0].aclose()


def test_words() -> None:
    """Of systems' errors."""
    assert io_words(OSError(104, "x")) == "read: connection reset by peer"
    assert tls_words(ssl.SSLEOFError(), "h") == "EOF"
    assert join_host_port("fd00::1", "80") == "[fd00::1]:80"


@pytest.mark.skipif(sys.platform != "linux", reason="limits the files of the process")
async def test_without_descriptors_there_is_no_connection() -> None:
    """In Go's words."""
    with no_descriptors():
        assert await refusal("127.0.0.1", "1") == (
            "dial tcp 127.0.0.1:1: socket: too many open files"
        )
