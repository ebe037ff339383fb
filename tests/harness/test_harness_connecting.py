"""Connections in memory go through the server's own connection loop."""

from __future__ import annotations

import pytest

from kubetrio.harness.connecting import converse
from kubetrio.harness.exchange import BadAnswer, encode_request
from kubetrio.testing.server import InProcess


async def test_a_client_without_a_certificate_is_anonymous(server: InProcess) -> None:
    """And one with is who it says."""
    async with server.connect(certificate=None) as stranger, server.connect() as admin:
        assert (await stranger.request("GET", "/api/v1/namespaces")).status == 403
        assert (await admin.request("GET", "/api/v1/namespaces")).status == 200


async def test_a_severed_connection_ends_in_the_client(server: InProcess) -> None:
    """Reading says so, and writing too."""
    async with server.connect() as client:
        assert (await client.request("GET", "/readyz")).body == b"ok"
        client.sever()
        with pytest.raises(BadAnswer):
            await client.receive()
        with pytest.raises(OSError, match="pipe"):
            await client.request("GET", "/readyz")


async def test_a_conversation_is_heard_to_its_end(server: InProcess) -> None:
    """All answers of a connection, as bytes."""
    script = [encode_request("GET", "/readyz"), encode_request("GET", "/livez")]
    heard = await converse(server.api.handle, server.env, script)
    assert heard.count(b"HTTP/1.1 200 OK\r\n") == 2
