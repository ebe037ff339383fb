"""Attacks over HTTP/2: many streams whose client takes nothing."""

from __future__ import annotations

import select
import ssl
from collections import deque
from collections.abc import Iterator, MutableSequence

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from benchmarks.overload.aim import ATTACKED, PATIENCE_S, Aim, Asker, Pace, Steps
from benchmarks.requests import collection

RECEIVE_BYTES = 1 << 16
STREAMS = 24  # on each of ten connections: 240
REOPENED_A_SECOND = 2.0
WRITE_BYTES = 40_000
WRITES_A_SECOND = 20.0
WATCH = f"{collection(ATTACKED)}?watch=1&allowWatchBookmarks=1"


class Client:
    """One HTTP/2 connection.

    Args:
        aim: where to, and who counts.
        window: bytes that each stream may send before it is granted more; 0 for nothing ever.
    """

    def __init__(self, aim: Aim, window: int = 0) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        self._aim = aim
        self._window = window
        self._sock = aim.tls(context)
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self._h2.local_settings = h2.settings.Settings(
            client=True, initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
        )
        self._h2.initiate_connection()
        self._flush()
        self._sock.setblocking(False)
        self.fd = self._sock.fileno()
        self.answered = 0
        """Streams whose answer has begun."""
        self.ended = 0
        """Streams that are over."""

    def get(self, path: str, token: str) -> None:
        """Ask for a path on a stream of its own.

        Raises:
            OSError: the connection is gone.
        """
        headers = [
            (":method", "GET"),
            (":path", path),
            (":scheme", "https"),
            (":authority", f"{self._aim.endpoint.host}:{self._aim.endpoint.port}"),
        ]
        if token:
            headers.append(("authorization", f"Bearer {token}"))
        self._aim.tally["streams"] += 1
        self._h2.send_headers(self._h2.get_next_available_stream_id(), headers, end_stream=True)
        self._flush()

    def read(self) -> None:
        """Read what is there, and answer what the protocol wants answered.

        Raises:
            OSError: the connection is gone.
        """
        while True:
            try:
                data = self._sock.recv(RECEIVE_BYTES)
            except ssl.SSLWantReadError:
                return
            if not data:
                raise ConnectionResetError("closed")
            try:
                events = self._h2.receive_data(data)
            except h2.exceptions.ProtocolError as error:
                raise ConnectionResetError(str(error)) from error
            for event in events:
                self._take(event)
            self._flush()

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.ResponseReceived):
            self.answered += 1
            status = dict(event.headers or ()).get(b":status", b"?")
            self._aim.tally[status.decode()] += 1
        elif isinstance(event, h2.events.DataReceived):
            if self._window and event.flow_controlled_length:
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamReset | h2.events.StreamEnded):
            self.ended += 1
            self._aim.tally["ended"] += 1

    def _flush(self) -> None:
        data = memoryview(self._h2.data_to_send())
        while data:
            try:
                data = data[self._sock.send(data) :]
            except ssl.SSLWantWriteError as error:
                if not select.select([], [self._sock], [], PATIENCE_S)[1]:
                    raise TimeoutError("the server does not read") from error

    def close(self) -> None:
        """Close without ceremony."""
        self._sock.close()


def _read_all(aim: Aim, held: MutableSequence[Client]) -> None:
    """Read what came on each connection; those that the server ended are given up."""
    for client in tuple(held):
        with aim.mishaps():
            try:
                client.read()
            except OSError:
                held.remove(client)
                client.close()
                raise


def _silent(aim: Aim, connections: int, path: str, token: str) -> Steps:
    """Streams on so many connections that grant nothing; the oldest is replaced at a pace."""
    held: deque[Client] = deque()
    pace = Pace(REOPENED_A_SECOND)
    try:
        full = False
        while True:
            if full:
                pace.wait()
                _read_all(aim, held)
                if len(held) >= connections:
                    held.popleft().close()
            with aim.mishaps():
                client = Client(aim)
                held.append(client)
                for _ in range(STREAMS):
                    client.get(path, token)
            full = full or len(held) >= connections
            yield full
    finally:
        for client in held:
            client.close()


def openapi(aim: Aim) -> Steps:
    """A large document, 240 times on ten connections, by a user without rights."""
    yield from _silent(aim, aim.scaled(10), "/openapi/v2", aim.stranger)


def version(aim: Aim) -> Steps:
    """A small document on a hundred connections, without credentials."""
    yield from _silent(aim, aim.scaled(100), "/version", "")


def stalled_watches(aim: Aim) -> Steps:
    """Watches that take nothing, beside a writer of large objects."""
    held: list[Client] = []
    writer = Asker(aim)
    pace = Pace(WRITES_A_SECOND)
    requests = _writes(aim)
    try:
        for _ in range(10):
            with aim.mishaps():
                client = Client(aim)
                held.append(client)
                for _ in range(aim.scaled(10)):
                    client.get(WATCH, aim.holder)
            yield False
        while True:
            pace.wait()
            writer.send(next(requests))
            writer.wait()
            _read_all(aim, held)
            yield True
    finally:
        writer.close()
        for client in held:
            client.close()


def _writes(aim: Aim) -> Iterator[bytes]:
    """PUTs of one object of 40 KB, each a change; the first creates it."""
    path = collection(ATTACKED)
    serial = 0
    while True:
        text = f"{serial:020d}".encode() * (WRITE_BYTES // 20)
        body = b'{"metadata":{"name":"large"},"data":{"text":"%s"}}' % text
        method, at = ("PUT", f"{path}/large") if serial else ("POST", path)
        length = f"Content-Length: {len(body)}"
        yield aim.head(method, at, aim.holder, "Content-Type: application/json", length) + body
        serial += 1
