"""A client of HTTP/2 that decides what it takes and sends, on a socket pair or a real socket."""

from __future__ import annotations

import socket
from collections.abc import Mapping

import h2.config
import h2.connection
import h2.events
import h2.settings
import trio
from h2.errors import ErrorCodes

from kubetrio.transport import PlainTransport


class Http2Client:
    """One connection; its streams by number.

    Args:
        sock: connected, non-blocking.
        window: bytes of each answer that the server may send unasked.

    Attributes:
        bodies: what came of each answer.
        ended: streams whose answer is complete.
        reset: streams that the server ended, and why.
        gone: why the server told the client to go, and the last stream that it serves.
    """

    def __init__(self, sock: socket.socket, window: int) -> None:
        self.transport = PlainTransport(sock)
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        initial = {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
        self.connection.local_settings = h2.settings.Settings(client=True, initial_values=initial)
        self.connection.initiate_connection()
        self.bodies: dict[int, bytes] = {}
        self.ended: set[int] = set()
        self.reset: dict[int, ErrorCodes | int | None] = {}
        self.gone: list[tuple[ErrorCodes | int | None, int | None]] = []

    async def flush(self) -> None:
        """Send what the protocol has to say."""
        view = memoryview(self.connection.data_to_send())
        while view:
            sent = self.transport.write_nowait(view)
            view = view[sent:]
            if view:
                await self.transport.wait_writable()

    async def get(self, path: str, fields: Mapping[str, str] | None = None) -> int:
        """Ask for a path; the number of the stream."""
        return await self._begin("GET", path, fields or {}, end=True)

    async def post(self, path: str, fields: Mapping[str, str] | None = None) -> int:
        """Begin a request with a body; the number of the stream."""
        return await self._begin("POST", path, fields or {}, end=False)

    async def _begin(self, method: str, path: str, fields: Mapping[str, str], *, end: bool) -> int:
        stream = self.connection.get_next_available_stream_id()
        names = {":method": method, ":path": path, ":scheme": "https", ":authority": "h", **fields}
        self.connection.send_headers(stream, list(names.items()), end_stream=end)
        await self.flush()
        return stream

    async def upload(self, stream: int, data: bytes) -> int:
        """Send as much of a body as the server takes; how much that was."""
        sent = 0
        while sent < len(data):
            room = self.connection.local_flow_control_window(stream)
            piece = data[sent : sent + min(room, self.connection.max_outbound_frame_size)]
            if not piece:
                break
            self.connection.send_data(stream, piece)
            sent += len(piece)
            await self.flush()
        return sent

    async def read(self) -> bool:
        """Take what comes once; False at the end of the connection."""
        await self.transport.wait_readable()
        return await self.read_nowait() is not False

    async def read_nowait(self) -> bool | None:
        """Take what has come; None for nothing, False at the end of the connection."""
        data = self.transport.read_nowait()
        if data is None:
            await trio.lowlevel.checkpoint()
            return None
        for event in self.connection.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                seen = self.bodies.get(event.stream_id or 0, b"")
                self.bodies[event.stream_id or 0] = seen + (event.data or b"")
            elif isinstance(event, h2.events.StreamEnded):
                self.ended.add(event.stream_id or 0)
            elif isinstance(event, h2.events.StreamReset):
                self.reset[event.stream_id or 0] = event.error_code
            elif isinstance(event, h2.events.ConnectionTerminated):
                self.gone.append((event.error_code, event.last_stream_id))
                # For the library nothing goes on then, as it does.
                self.connection.state_machine.state = h2.connection.ConnectionState.CLIENT_OPEN
        await self.flush()
        return bool(data)

    async def grant(self, stream: int, size: int) -> None:
        """Take so many bytes more of an answer."""
        self.connection.increment_flow_control_window(size, stream)
        await self.flush()
