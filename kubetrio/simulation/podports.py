"""What is behind the ports of simulated pods.

In this order: a function of the embedder, a program on this machine that an annotation names, the
text of an annotation.  A pod's author does not reach what the operator of the server did not list
(``--simulation-targets``): without the flag, no annotation leads to a socket.
"""

from __future__ import annotations

import errno
import os
import posixpath
import socket
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import trio

from kubetrio.backend.dial import DialError, dial
from kubetrio.simulation.annotations import PREFIX, said_of
from kubetrio.simulation.answers import http_answer, page_of, runs
from kubetrio.simulation.connection import Connection
from kubetrio.simulation.plans import Role
from kubetrio.transport import PlainTransport, Transport

Object = dict[str, Any]

LOOPBACK = "127.0.0.1"
TIMEOUT_S = 10.0
TCP, UNIX = "tcp:", "unix:"


class Targets(NamedTuple):
    """What annotations may name.

    Args:
        ports: first and last TCP ports of ranges, on the loopback address.
        sockets: paths of Unix sockets, and of folders, which end in a slash.
    """

    ports: Sequence[tuple[int, int]] = ()
    sockets: Sequence[str] = ()

    def allow(self, target: str) -> bool:
        """Whether an annotation may name a target.

        Args:
            target: ``tcp:PORT`` or ``unix:/PATH``.
        """
        if target.startswith(TCP):
            number = target.removeprefix(TCP)
            if not (number.isascii() and number.isdigit()):
                return False
            return any(first <= int(number) <= last for first, last in self.ports)
        path = target.removeprefix(UNIX)
        if not target.startswith(UNIX) or posixpath.normpath(path) != path or "\0" in path:
            return False
        return any(
            posixpath.dirname(path) + "/" == one if one.endswith("/") else path == one
            for one in self.sockets
        )


NOTHING = Targets()


class PodServer(Protocol):
    """Functions of an embedder behind the ports of pods."""

    def connect(self, pod: Mapping[str, Any], port: int) -> Transport | None:
        """Open a connection to a port of a pod, None where nothing of it is behind that.

        Args:
            pod: as stored; it must not be changed.
            port: number of the port.
        """
        ...


class _Page:
    """A pod that answers HTTP.

    Args:
        page: the body of its answers.
    """

    def __init__(self, page: bytes) -> None:
        self._page = page
        self._received = b""

    async def work(self, here: Connection) -> None:
        """See `OtherEnd`."""
        await here.written()
        self._received += here.take()
        if b"\r\n\r\n" in self._received:
            here.say(http_answer(self._page))
            here.finish()
        elif here.over:
            here.finish()
        self._received = self._received[-3:]


class PodPorts:
    """Opens ports of pods.

    Args:
        targets: what annotations may name.
        server: functions of the embedder, None for none.
    """

    def __init__(self, targets: Targets = NOTHING, server: PodServer | None = None) -> None:
        self._targets = targets
        self._server = server

    async def open(self, pod: Object, port: int) -> Transport:
        """Open a connection to a port of a pod.

        Args:
            pod: as stored.
            port: number of the port.

        Raises:
            DialError: nothing listens there, or it is not allowed.
        """
        serving = any(runs(pod, one["name"]) for one in pod["spec"].get(Role.REGULAR.path) or ())
        if serving and self._server is not None:
            transport = self._server.connect(pod, port)
            if transport is not None:
                return transport
        target = said_of(pod, "port", str(port)) if serving else None
        if target is not None:
            return await self._dial(target)
        page = page_of(pod)
        if page is None:
            raise DialError(f"dial tcp {LOOPBACK}:{port}: connect: connection refused")
        return Connection(_Page(page))

    async def _dial(self, target: str) -> Transport:
        if not self._targets.allow(target):
            what = f"{PREFIX}port: the target {target!r} is not in --simulation-targets"
            raise DialError(what)
        if target.startswith(TCP):
            return await dial(LOOPBACK, target.removeprefix(TCP), None, TIMEOUT_S)
        return await _dial_unix(target.removeprefix(UNIX))


async def _dial_unix(path: str) -> Transport:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        number = sock.connect_ex(path)
        if number == errno.EINPROGRESS:
            await trio.lowlevel.wait_writable(sock)
            number = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise DialError(f"dial unix {path}: connect: {os.strerror(number).lower()}")
    except BaseException:
        sock.close()
        raise
    return PlainTransport(sock)
