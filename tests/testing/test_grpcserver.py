"""The gRPC server in memory, against grpc's own rules by the library h2."""

from __future__ import annotations

import h2.config
import h2.connection
import h2.events
import trio

from kubetrio.testing.grpcserver import GrpcServer, ServedCall

HEADERS = [(":method", "POST"), (":scheme", "http"), (":path", "/a.B/Say"), (":authority", "a")]


async def test_a_call() -> None:
    """Its messages, its answer, its status; and the client that is gone."""
    heard: list[bytes] = []

    async def say(call: ServedCall) -> None:
        heard.append(await call.receive())
        await call.answer(b"yes")

    async with trio.open_nursery() as nursery:
        server = GrpcServer(nursery, Say=say)
        transport = server.connect()
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        client = h2.connection.H2Connection(config)
        client.initiate_connection()
        client.send_headers(1, HEADERS)
        client.send_data(1, b"\0\0\0\0\x02no", end_stream=True)
        transport.write_nowait(client.data_to_send())
        seen: list[h2.events.Event] = []
        while not any(isinstance(event, h2.events.StreamEnded) for event in seen):
            await transport.wait_readable()
            seen += client.receive_data(transport.read_nowait() or b"")
        transport.close()
    assert heard == [b"no"]
    (data,) = (event for event in seen if isinstance(event, h2.events.DataReceived))
    assert data.data == b"\0\0\0\0\x03yes"
    (trailers,) = (event for event in seen if isinstance(event, h2.events.TrailersReceived))
    assert ("grpc-status", "0") in [(str(a), str(b)) for a, b in trailers.headers]
