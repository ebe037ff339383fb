"""Where a server listens: the secure port, a Unix socket, a plain port on this machine, nowhere.

Sockets are bound before anything is written, and closed at the end; the file of a Unix socket goes
with it.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trio

from kubetrio.api.pages.aggregated import tunnels
from kubetrio.api.pipeline import Handle, Pipeline
from kubetrio.config import Config
from kubetrio.env import Env
from kubetrio.http import descriptors
from kubetrio.http.bridge import MOST_STREAMS, Bridge
from kubetrio.http.connections import ConnectionLimits, connection_families
from kubetrio.http.limits import H1Config
from kubetrio.http.peers import anybody_here, user_of_peer, without_browsers
from kubetrio.http.serve import BACKLOG, Listener, Who, bind
from kubetrio.http.tls import Security
from kubetrio.server.edge import bracketed
from kubetrio.server.files import StartError

NO_PORT = 6443  # what objects name where nothing listens
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sockets:
    """What listens.

    Args:
        secure: the secure port, None without.
        plain: the plain port, None without.
        unix: the Unix socket, None without.
        path: of the Unix socket.
    """

    secure: socket.socket | None = None
    plain: socket.socket | None = None
    unix: socket.socket | None = None
    path: Path | None = None

    @property
    def port(self) -> int:
        """The port that clients reach, for documents and objects that name it."""
        named = self.secure or self.plain
        return NO_PORT if named is None else int(named.getsockname()[1])

    def url(self, config: Config) -> str:
        """Where clients connect: the secure port before the plain one, then the Unix socket."""
        if self.secure is not None:
            return f"https://{bracketed(config.serving.public_address)}:{self.port}"
        if self.plain is not None:
            return f"http://{LOOPBACK}:{self.port}"
        return "" if self.path is None else f"unix://{self.path.absolute()}"

    def close(self) -> None:
        """Listen no more."""
        for one in (self.secure, self.plain, self.unix):
            if one is not None:
                one.close()
        if self.unix is not None and self.path is not None:
            with suppress(OSError):  # it was removed meanwhile
                self.path.unlink()


def opened(config: Config, given: socket.socket | None) -> Sockets:
    """Sockets that listen where the configuration says.

    Args:
        config: of the server.
        given: one for the secure port that listens already.

    Raises:
        StartError: an address is taken or not ours.
    """
    serving, local = config.serving, config.local
    secure = plain = unix = None
    try:
        if given is not None:
            secure = given
        elif local.secure_serving:
            secure = _bound(
                serving.bind_address, serving.secure_port, shared=serving.permit_port_sharing
            )
        if local.plain_port is not None:
            plain = _bound(LOOPBACK, local.plain_port)
        if local.unix_socket is not None:
            unix = _unix(local.unix_socket, local.unix_socket_mode)
    except StartError:
        Sockets(secure=secure, plain=plain, unix=unix, path=local.unix_socket).close()
        raise
    return Sockets(secure=secure, plain=plain, unix=unix, path=local.unix_socket)


def _bound(host: str, port: int, *, shared: bool = False) -> socket.socket:
    try:
        return bind(host, port, shared=shared)
    except OSError as error:
        # Python adds the address to the system's words; it is there already.
        number = error.errno or 0
        why = os.strerror(number) if number > 0 else str(error.strerror).partition(" (while")[0]
        raise StartError(f"cannot listen on {bracketed(host)}:{port}: {why}") from error


def _unix(path: Path, mode: int) -> socket.socket:
    """A Unix socket; one without a listener is removed."""
    if not hasattr(socket, "AF_UNIX"):
        raise StartError("--unix-socket: this system has no Unix sockets")
    _forsake(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # No client connects before it listens, and then the mode is right.
        listening.bind(str(path))
        path.chmod(mode)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise StartError(f"cannot listen on {path}: {error.strerror}") from error
    listening.setblocking(False)
    return listening


def _forsake(path: Path) -> None:
    """Remove a socket that a server has left behind.

    Raises:
        StartError: another process listens there, or it is no socket.
    """
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise StartError(f"cannot listen on {path}: it is no socket; choose another path")
    except FileNotFoundError:
        return
    except OSError as error:
        raise StartError(f"cannot listen on {path}: {error.strerror}") from error
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.connect(str(path))
        except OSError as error:
            if error.errno != errno.ECONNREFUSED:
                raise StartError(f"cannot listen on {path}: {error.strerror}") from error
        else:
            raise StartError(f"cannot listen on {path}: {os.strerror(errno.EADDRINUSE)}")
    with suppress(OSError):  # binding it says what is wrong
        path.unlink()


class Listeners:
    """What serves the connections of a server's sockets.

    Args:
        config: of the server.
        api: its pipeline.
        sockets: what listens.
        tls: of the secure port.
        env: clocks.
        handle: answers what connections ask.
    """

    def __init__(
        self,
        config: Config,
        api: Pipeline,
        sockets: Sockets,
        tls: Security,
        env: Env,
        handle: Handle,
    ) -> None:
        self._h1 = H1Config(
            max_body_bytes=api.edge.config.max_body_bytes,
            tunnels=partial(tunnels, api.edge.delegation),
        )
        self._streams = config.serving.http2_max_streams or MOST_STREAMS
        self._brief = config.feature_gates.get("UnauthenticatedHTTP2DOSMitigation", True)
        self._limits = _connection_limits(config)
        self._handle = handle
        self._env = env
        self._grace_s = config.serving.shutdown_grace_s
        self.secure = None if sockets.secure is None else self._made(sockets.secure, tls)
        self.all = [] if self.secure is None else [self.secure]
        if sockets.plain is not None:
            self.all.append(self._made(sockets.plain, None, anybody_here))
        if sockets.unix is not None:
            self.all.append(self._made(sockets.unix, None, user_of_peer))
        api.edge.metrics.gathered.add(partial(connection_families, [one.peers for one in self.all]))
        if self.secure is not None:
            api.edge.metrics.gathered.add(tls.trust.families)

    def _made(
        self, listening: socket.socket, tls: Security | None, who: Who | None = None
    ) -> Listener:
        handle = without_browsers(self._handle) if who is anybody_here else self._handle
        bridge = Bridge(
            handle,
            write_timeout_s=self._h1.write_timeout_s,
            env=self._env,
            most_streams=self._streams,
            brief=self._brief,
        )
        return Listener(listening, tls, handle, self._h1, self._env, bridge, self._limits, who=who)

    def begin(self, nursery: trio.Nursery) -> None:
        """Serve connections until the nursery is cancelled."""
        for one in self.all:
            nursery.start_soon(one.run, name="listener")

    async def stop(self) -> None:
        """Let requests in flight finish, within the grace period; then close what is left."""
        for one in self.all:
            await one.drain()
        with trio.move_on_after(self._grace_s):
            for one in self.all:
                await one.wait_idle()
        for one in self.all:
            one.abort()


def _connection_limits(config: Config) -> ConnectionLimits:
    return ConnectionLimits.within(
        descriptors.allowed(),
        total=config.serving.max_connections,
        per_address=config.serving.max_connections_per_address,
        strangers=config.serving.max_unauthenticated_connections,
    )
