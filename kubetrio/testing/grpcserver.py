"""A gRPC server in memory that does what a test says, by the library h2.

Each connection is a pair of `kubetrio.harness.transport`; each method has a handler.  A handler
takes messages, answers, and ends the call as it likes: with a status, a reset, or not at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import h2.config
import h2.connection
import h2.events
import h2.settings
import trio

from kubetrio.harness.transport import MemoryTransport, memory_pair


class ServedCall:
    """A call, from the server's side.

    Args:
        connection: what it came by.
        stream_id: its stream.
        headers: of the request.
    """

    def __init__(
        self, connection: ServedConnection, stream_id: int, headers: dict[str, str]
    ) -> None:
        self.headers = headers
        self.reset_by_client = trio.Event()
        self._connection = connection
        self._stream_id = stream_id
        self._part = bytearray()
        self._send, self._receive = trio.open_memory_channel[bytes](float("inf"))
        self._begun = False

    async def receive(self) -> bytes:
        """Return the next message of the client."""
        return await self._receive.receive()

    def took(self, data: bytes) -> None:
        """Take bytes of the client."""
        self._part += data
        while len(self._part) >= 5:
            size = int.from_bytes(self._part[1:5], "big")
            if len(self._part) < 5 + size:
                return
            self._send.send_nowait(bytes(self._part[5 : 5 + size]))
            del self._part[: 5 + size]

    async def begin(self, status: str = "200") -> None:
        """Send headers."""
        if not self._begun:
            self._begun = True
            headers = [(":status", status), ("content-type", "application/grpc")]
            self._connection.h2.send_headers(self._stream_id, headers)
            await self._connection.flush()

    async def send(self, message: bytes, *, flag: int = 0) -> None:
        """Send a message, as far as the client's windows let it."""
        await self.begin()
        await self.send_raw(bytes((flag,)) + len(message).to_bytes(4, "big") + message)

    async def send_raw(self, data: bytes) -> None:
        """Send bytes of messages."""
        connection, stream_id = self._connection, self._stream_id
        while data:
            size = min(
                len(data),
                connection.h2.local_flow_control_window(stream_id),
                connection.h2.max_outbound_frame_size,
            )
            if size:
                connection.h2.send_data(stream_id, data[:size])
                data = data[size:]
                await connection.flush()
            else:
                await connection.window.park()

    async def finish(self, code: int = 0, text: str = "") -> None:
        """End the call with a status."""
        trailers = [("grpc-status", str(code)), ("grpc-message", quote(text))]
        if not self._begun:
            first = [(":status", "200"), ("content-type", "application/grpc")]
            trailers = first + trailers
        self._connection.h2.send_headers(self._stream_id, trailers, end_stream=True)
        await self._connection.flush()

    async def answer(self, message: bytes) -> None:
        """Answer and end the call well."""
        await self.send(message)
        await self.finish()

    async def reset(self, code: int) -> None:
        """Reset the stream."""
        self._connection.h2.reset_stream(self._stream_id, code)
        await self._connection.flush()


Handler = Callable[[ServedCall], Awaitable[None]]


class ServedConnection:
    """A connection, from the server's side.

    Args:
        transport: its bytes.
        server: what it does.
    """

    def __init__(self, transport: MemoryTransport, server: GrpcServer) -> None:
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config)
        self.transport = transport
        self.calls: dict[int, ServedCall] = {}
        self.window = trio.lowlevel.ParkingLot()
        self.pings = 0
        self._turn = trio.Lock()
        self._server = server

    async def flush(self) -> None:
        """Send what the protocol has to say, after what another task sends."""
        async with self._turn:
            view = memoryview(self.h2.data_to_send())
            while view:
                sent = self.transport.write_nowait(view)
                view = view[sent:]
                if not sent:
                    await self.transport.wait_writable()

    def drop(self) -> None:
        """Close the connection at once."""
        self.transport.close()

    async def goaway(self, last: int) -> None:
        """Say that streams after one are not looked at."""
        self.h2.close_connection(last_stream_id=last)
        await self.flush()

    async def serve(self) -> None:
        """Read until the client is gone."""
        self.h2.initiate_connection()
        if (settings := self._server.settings) is not None:
            self.h2.update_settings(settings)
        async with trio.open_nursery() as nursery:
            try:
                await self.flush()
                while True:
                    await self._server.reads.wait()
                    data = self.transport.read_nowait()
                    if data is None:
                        await self.transport.wait_readable()
                    elif not data:
                        break
                    else:
                        for event in self.h2.receive_data(data):
                            self._take(event, nursery)
                        await self.flush()
            except OSError:
                pass  # one of both has closed it
            nursery.cancel_scope.cancel()

    def _take(self, event: Any, nursery: trio.Nursery) -> None:
        match event:
            case h2.events.RequestReceived():
                headers = {str(name): str(value) for name, value in event.headers}
                call = self.calls[event.stream_id] = ServedCall(self, event.stream_id, headers)
                handler = self._server.handlers[headers[":path"].rpartition("/")[2]]
                nursery.start_soon(handler, call)
            case h2.events.DataReceived():
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                self.calls[event.stream_id].took(event.data)
            case h2.events.StreamReset():
                self.calls[event.stream_id].reset_by_client.set()
            case h2.events.WindowUpdated():
                self.window.unpark_all()
            case h2.events.PingReceived():
                self.pings += 1


class GrpcServer:
    """Connections and what is done with their calls.

    Args:
        nursery: in which it serves.
        handlers: by the name of the method.

    Attributes:
        connections: all there have been, in order.
        reads: set while it reads; clear it for a peer that hangs.
        settings: of HTTP/2, beyond those of the library.
    """

    def __init__(self, nursery: trio.Nursery, **handlers: Handler) -> None:
        self.handlers = handlers
        self.connections: list[ServedConnection] = []
        self.reads = trio.Event()
        self.reads.set()
        self.settings: dict[Any, int] | None = None
        self._nursery = nursery

    def connect(self) -> MemoryTransport:
        """Return the client's end of a new connection."""
        near, far = memory_pair()
        connection = ServedConnection(far, self)
        self.connections.append(connection)
        self._nursery.start_soon(connection.serve)
        return near
