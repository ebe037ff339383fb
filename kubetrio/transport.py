"""Non-blocking byte transports: a TCP socket, with or without TLS.

The hot connection owns its TLS (`docs/design`): reads and writes are synchronous attempts, and a
task switch is paid only when the socket has nothing to give or to take.  Connections to backends
are made of the same, so a tunnel is two of them.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from typing import Protocol

import trio

# The peer has closed its side, whatever it sent before; only Linux can tell.
POLL_CLOSED = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR
RECEIVE_BYTES = 64 * 1024
RECORD_BYTES = 16 * 1024  # a read from TLS never gives more
WRITE_BYTES = 64 * 1024
NO_TURNS = contextlib.nullcontext()
NOT_TLS = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
KEEPALIVE_S = 15  # as Go's dialer: a peer that is gone without a word is found out


class Transport(Protocol):
    """What a connection reads from and writes to."""

    def read_nowait(self) -> bytes | None:
        """Bytes that are there, empty at the end, None when there are none yet.

        Raises:
            OSError: the connection broke.
        """
        ...

    def write_nowait(self, data: bytes | memoryview) -> int:
        """Write what fits now; 0 when nothing does.

        Raises:
            OSError: the connection broke.
        """
        ...

    async def wait_readable(self) -> None:
        """Wait until `read_nowait` has something."""
        ...

    async def wait_writable(self) -> None:
        """Wait until `write_nowait` takes something."""
        ...

    def end(self) -> None:
        """Write no more: the peer reads what was written, then the end."""
        ...

    def close(self) -> None:
        """Close both directions at once."""
        ...


def peer_closed(sock: socket.socket) -> bool:
    """Whether the peer has closed its side of a TCP connection, without reading."""
    if sock.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(sock, POLL_CLOSED)
    return any(found & POLL_CLOSED for _, found in poll.poll(0))


def keep_alive(sock: socket.socket) -> None:
    """Have the system notice a peer that is gone without a word, where it can."""
    with contextlib.suppress(OSError):  # not TCP, or closed already
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option in ("TCP_KEEPIDLE", "TCP_KEEPINTVL"):  # not everywhere
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), KEEPALIVE_S)


class PlainTransport:
    """A TCP socket.

    Args:
        sock: connected, non-blocking.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock

    def read_nowait(self) -> bytes | None:
        """See `Transport`."""
        try:
            return self.socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return None

    def write_nowait(self, data: bytes | memoryview) -> int:
        """See `Transport`."""
        try:
            return self.socket.send(data)
        except BlockingIOError:
            return 0

    async def wait_readable(self) -> None:
        """See `Transport`."""
        await trio.lowlevel.wait_readable(self.socket)

    async def wait_writable(self) -> None:
        """See `Transport`."""
        await trio.lowlevel.wait_writable(self.socket)

    def end(self) -> None:
        """See `Transport`."""
        with contextlib.suppress(OSError):  # the peer is gone
            self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """See `Transport`; a task that waits on the socket is woken."""
        trio.lowlevel.notify_closing(self.socket)
        self.socket.close()


class TlsTransport:
    """A TCP socket with TLS on it.

    Args:
        sock: wrapped, non-blocking, handshake not done.
    """

    def __init__(self, sock: ssl.SSLSocket) -> None:
        self.socket = sock

    async def handshake(self, turns: trio.Lock | None = None) -> None:
        """Do the TLS handshake; the caller brings the deadline.

        A step of a handshake takes milliseconds.  Where turns are taken, a round of the event loop
        has one such step in it, however many clients connect at once.

        A peer that speaks HTTP without TLS is told so in its own language, as by Go's server.

        Args:
            turns: of all handshakes of a listener, None to take none.

        Raises:
            OSError: the peer broke it off or does not speak TLS.
        """
        try:
            await self._handshake(turns)
        except ssl.SSLError as error:
            if error.reason == "HTTP_REQUEST":
                with contextlib.suppress(OSError):  # it does not listen either
                    # The rest of the request is read, or closing would reset the connection.
                    socket.socket.recv(self.socket, RECEIVE_BYTES)
                    socket.socket.send(self.socket, NOT_TLS)
            raise

    async def _handshake(self, turns: trio.Lock | None) -> None:
        while True:
            try:
                async with turns or NO_TURNS:  # who waits for it has it in the next round
                    self.socket.do_handshake()
            except ssl.SSLWantReadError:
                await trio.lowlevel.wait_readable(self.socket)
            except ssl.SSLWantWriteError:
                await trio.lowlevel.wait_writable(self.socket)
            else:
                return

    def read_nowait(self) -> bytes | None:
        """See `Transport`."""
        try:
            return self.socket.recv(RECORD_BYTES)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            return None
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def write_nowait(self, data: bytes | memoryview) -> int:
        """See `Transport`.  What is left must be tried again as it is (OpenSSL's rule)."""
        send = self.socket.send
        size = len(data)
        try:
            if size <= WRITE_BYTES:
                return send(data)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return 0
        # OpenSSL reports a write when all of it is done: in pieces, a slow client makes progress.
        view, done = memoryview(data), 0
        try:
            while done < size:
                done += send(view[done : done + WRITE_BYTES])
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        return done

    async def wait_readable(self) -> None:
        """See `Transport`."""
        if not self.socket.pending():
            await trio.lowlevel.wait_readable(self.socket)
        else:
            await trio.lowlevel.checkpoint()

    async def wait_writable(self) -> None:
        """See `Transport`."""
        await trio.lowlevel.wait_writable(self.socket)

    def end(self) -> None:
        """See `Transport`; what the peer still sends can be read, but means nothing any more."""
        with contextlib.suppress(OSError, ValueError):
            self.socket.unwrap()  # sends the closing alert, and does not wait for the peer's
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """See `Transport`; no closing handshake: HTTP marks the end of its messages itself."""
        trio.lowlevel.notify_closing(self.socket)
        self.socket.close()
