"""A connection for clients that are many on few cores: HTTP/1.1 over TLS, and little more.

`http.client` parses heads as those of mail, which takes a client longer than the server's answer.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from typing import Protocol


class Broken(OSError):
    """The server has ended the connection, or answers with what is no HTTP."""


class Stream(Protocol):
    """What a connection needs of a socket."""

    def sendall(self, data: bytes, /) -> object:
        """Send all of it."""
        ...

    def recv(self, size: int, /) -> bytes:
        """Return what has come, nothing at the end."""
        ...

    def close(self) -> object:
        """Close it."""
        ...


def dial(host: str, port: int, timeout_s: float) -> Connection:
    """Connect to a server, whatever certificate it shows.

    Args:
        host: its address.
        port: its port.
        timeout_s: seconds that each wait for the socket may take.

    Raises:
        OSError: the server takes no connection.
    """
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    raw = socket.create_connection((host, port), timeout=timeout_s)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Connection(context.wrap_socket(raw))


class Connection:
    """One connection, on which one request follows another.

    Args:
        stream: its socket.
    """

    def __init__(self, stream: Stream) -> None:
        self._socket = stream
        self._data = bytearray()

    def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Send a request; return status and body of its answer.

        Raises:
            OSError: what came of it is not known.
        """
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        lines.append(f"Content-Length: {len(body)}")
        self._socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        head = self._until(b"\r\n\r\n").lower()
        if not head.startswith(b"http/1.1 "):
            raise Broken(f"no HTTP: {head[:50]!r}")
        status = int(head[9:12])
        if b"\r\ntransfer-encoding: chunked\r\n" in head:
            return status, b"".join(iter(self._chunk, b""))
        _, found, rest = head.partition(b"\r\ncontent-length:")
        return status, self._take(int(rest.partition(b"\r\n")[0])) if found else b""

    def _chunk(self) -> bytes:
        size = int(self._until(b"\r\n").partition(b";")[0], 16)
        return self._take(size + 2)[:-2]

    def _until(self, end: bytes) -> bytes:
        while (place := self._data.find(end)) < 0:
            self._more()
        return self._take(place + len(end))

    def _take(self, size: int) -> bytes:
        while len(self._data) < size:
            self._more()
        taken = bytes(self._data[:size])
        del self._data[:size]
        return taken

    def _more(self) -> None:
        data = self._socket.recv(1 << 16)
        if not data:
            raise Broken("the server has ended the connection")
        self._data += data

    def close(self) -> None:
        """Close it."""
        self._socket.close()
