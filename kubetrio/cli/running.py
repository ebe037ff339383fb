"""Which server runs on a data directory, and how it is: for ``status``, ``stop`` and ``--detach``.

The lock of the data directory says whether one runs, and who it is; no file can outlive that.  What
else there is to know of it is in a file beside, which counts for the process that has the lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

import trio

from kubetrio.store.lock import holder
from kubetrio.tls.certificates import believe

FILE_NAME = "kubetrio.running"
LOG_NAME = "kubetrio.log"
ASK_AGAIN_S = 0.1
ANSWER_S = 5.0  # for connecting, and again for each piece of an answer
SHORTEST_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a server that is ready tells of itself.

    Args:
        pid: its process.
        url: where it listens.
        since: when it was ready, RFC 3339.
        log: file that it logs to, empty for a terminal or a pipe.
        authority: what verifies its certificate, PEM.
        server_name: name that its certificate is checked for, empty for its address.
        certificate: the administrator's, a path.
        key: its key, a path.
    """

    pid: int
    url: str
    since: str
    log: str = ""
    authority: str
    server_name: str = ""
    certificate: str
    key: str


class State(Enum):
    """What a server may be found as; the values are those of ``status --output json``."""

    READY = "Ready"
    NOT_READY = "NotReady"
    UNREACHABLE = "Unreachable"
    UNKNOWN = "Unknown"
    """A process has the data directory and has not said where it listens: it starts, or it is no
    ``kubetrio serve``."""
    STOPPED = "Stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found on a data directory.

    Args:
        state: of the server.
        pid: process that has the data directory, 0 where it is not known or there is none.
        record: what it told of itself.
        failing: readiness checks that fail.
        reason: why it cannot be reached.
    """

    state: State
    pid: int = 0
    record: Record | None = None
    failing: tuple[str, ...] = ()
    reason: str = ""


@contextlib.contextmanager
def told(directory: Path, record: Record) -> Iterator[None]:
    """Have others find a server for as long as the block lasts.  Blocking.

    Args:
        directory: data directory, which this process has.
        record: of the server.

    Raises:
        OSError: it cannot be written; the block has not begun.
    """
    path = directory / FILE_NAME
    fresh = directory / f".{FILE_NAME}.{record.pid}"
    try:
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(asdict(record), file)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def recorded(directory: Path, pid: int) -> Record | None:
    """What the process that has a data directory told of itself, None if it has not.

    Args:
        directory: the data directory.
        pid: process that has it; what another one has left behind does not count.
    """
    try:
        record = Record(**json.loads((directory / FILE_NAME).read_bytes()))
    except (OSError, ValueError, TypeError):  # none, or of another version
        return None
    return record if record.pid == pid else None


def look(directory: Path) -> Found:
    """Find the server of a data directory and ask it how it is.  Blocking, for seconds at most.

    Raises:
        OSError: the directory is not there, or cannot be read.
    """
    pid = holder(directory)
    if pid is None:
        return Found(state=State.STOPPED)
    record = recorded(directory, pid)
    if record is None:
        return Found(state=State.UNKNOWN, pid=pid)
    from http.client import HTTPException

    try:
        failing = failing_checks(record)
    except (OSError, HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return Found(state=State.UNREACHABLE, pid=pid, record=record, reason=reason)
    state = State.NOT_READY if failing else State.READY
    return Found(state=state, pid=pid, record=record, failing=failing)


def failing_checks(record: Record) -> tuple[str, ...]:
    """Readiness checks of a server that fail.  Blocking.

    Raises:
        OSError: it cannot be reached, or is not the one that wrote the record (`ssl.SSLError`).
        HTTPException: what answers speaks no HTTP.
    """
    from http import HTTPStatus, client  # serve imports this module and has no use for them

    address, _, port = record.url.removeprefix("https://").rpartition(":")
    address = address.strip("[]")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    believe(context, record.authority.encode())  # a certificate may be its own authority
    with contextlib.suppress(OSError):  # readiness is for every user unless a flag says otherwise
        context.load_cert_chain(record.certificate, record.key)
    with (
        socket.create_connection((address, int(port)), ANSWER_S) as plain,
        context.wrap_socket(plain, server_hostname=record.server_name or address) as sock,
    ):
        head = f"GET /readyz?verbose HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        sock.sendall(head.encode())
        answer = client.HTTPResponse(sock, method="GET")
        answer.begin()
        text = answer.read().decode(errors="replace")
    if answer.status == HTTPStatus.OK:
        return ()
    failing = [line[3:].split()[0] for line in text.splitlines() if line.startswith("[-]")]
    return tuple(failing) or (f"HTTP {answer.status}",)


async def until(look: Callable[[], Found], state: State, seconds: float) -> Found:
    """Look until a server is in a state, or for so long; returns what was found last.

    Args:
        look: finds it.
        state: that is waited for.
        seconds: to wait.

    Raises:
        OSError: as `look` does.
    """
    end = trio.current_time() + seconds
    while True:
        status = look()
        left = end - trio.current_time()
        if status.state is state or left <= 0:
            return status
        await trio.sleep(min(ASK_AGAIN_S, max(left, SHORTEST_S)))
