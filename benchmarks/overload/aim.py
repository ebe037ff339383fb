"""What an attack is told, and the connections it makes."""

from __future__ import annotations

import contextlib
import dataclasses
import select
import socket
import ssl
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from benchmarks.clock import perf_counter, sleep
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.exchange import Connection

PATIENCE_S = 5.0  # for a handshake or an answer; an attacker does not wait for one server
MOST_STRANGERS = 1_024  # connections without credentials that the server allows by default
Steps = Generator[bool, None, None]
"""An attack as it goes: after each step, whether it is at its full strength."""
ATTACKED = "attacked"
"""The namespace of attacks by those who may write."""


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """Which server is attacked, by which clients, how hard.

    Args:
        endpoint: the server, without credentials.
        stranger: token of a user without any right.
        holder: token of a user who may do everything.
        scale: share of the connections of a full attack.
        share: part of a rate that is this process's, where several attack together.
    """

    endpoint: Endpoint
    stranger: str
    holder: str
    scale: float = 1.0
    share: float = 1.0
    tally: Counter[str] = field(default_factory=Counter)
    context: ssl.SSLContext = field(default_factory=_context)

    def scaled(self, full: int) -> int:
        """So many at this scale, one at least."""
        return max(1, round(full * self.scale))

    def tcp(self) -> socket.socket:
        """A connection without TLS.

        Raises:
            OSError: the server does not accept it.
        """
        sock = socket.create_connection(
            (self.endpoint.host, self.endpoint.port), timeout=PATIENCE_S
        )
        self.tally["connections"] += 1
        return sock

    def tls(self, context: ssl.SSLContext | None = None) -> ssl.SSLSocket:
        """A connection behind its handshake.

        Args:
            context: another than that of HTTP/1.1.

        Raises:
            OSError: the server does not accept it, or ends it.
        """
        raw = self.tcp()
        try:
            return (context or self.context).wrap_socket(raw, server_hostname=self.endpoint.host)
        except OSError:
            raw.close()
            raise

    @contextlib.contextmanager
    def mishaps(self) -> Iterator[None]:
        """Count what the server does about an attack: closing, refusing, not answering."""
        try:
            yield
        except (OSError, BenchError) as error:
            self.tally[f"mishaps:{type(error).__name__}"] += 1

    def head(self, method: str, path: str, token: str = "", *more: str) -> bytes:
        """A request's head.

        Args:
            method: of the request.
            path: with its query.
            token: bearer token, empty for none.
            more: further header lines.
        """
        lines = [f"{method} {path} HTTP/1.1"]
        fields = dataclasses.replace(self.endpoint, token=token).headers()
        named = {line.partition(":")[0] for line in more}
        lines += [f"{name}: {value}" for name, value in fields.items() if name not in named]
        return ("\r\n".join([*lines, *more]) + "\r\n\r\n").encode("latin-1")


class Pace:
    """Lets so many steps a second pass; what was missed is not made up for."""

    __slots__ = ("_due", "_every_s")

    def __init__(self, a_second: float) -> None:
        self._every_s = 1 / a_second
        self._due = perf_counter()

    def wait(self) -> None:
        """Wait for the next step."""
        left = self._due - perf_counter()
        if left > 0:
            sleep(left)
        self._due = max(self._due, perf_counter() - 1.0) + self._every_s


class Asker:
    """A keep-alive connection that is opened again whenever the server has closed it."""

    __slots__ = ("_aim", "_asked", "_connection")

    def __init__(self, aim: Aim) -> None:
        self._aim = aim
        self._connection: Connection | None = None
        self._asked = False

    def send(self, request: bytes) -> None:
        """Send a request, not waiting for its answer."""
        with self._aim.mishaps():
            try:
                if self._connection is None:
                    self._connection = Connection(self._aim.endpoint, self._aim.context)
                    self._aim.tally["connections"] += 1
                self._connection.send(request)
            except OSError:
                self.close()
                raise
        self._asked = self._connection is not None

    def wait(self) -> None:
        """Wait for the answer, if a request was sent."""
        connection = self._connection
        if connection is None or not self._asked:
            return
        self._asked = False
        with self._aim.mishaps():
            try:
                self._aim.tally[str(_answer(connection))] += 1
            except (OSError, BenchError):
                self.close()
                raise

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _answer(connection: Connection) -> int:
    """The status of the answer that comes next.

    Raises:
        BenchError: none comes.
    """
    until = perf_counter() + PATIENCE_S
    while True:
        data = connection.receive()
        if data is None:
            raise BenchError("closed")
        if data:
            status = connection.feed(data)
            if status:
                return status
        elif not select.select([connection.fd], [], [], max(0.0, until - perf_counter()))[0]:
            raise BenchError("silent")
