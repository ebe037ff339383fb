"""Listening: accept, TLS handshake, client certificate, and who serves the connection.

After the handshake ALPN decides: HTTP/1.1 goes to the fast loop, HTTP/2 to Hypercorn.  A sweeper
closes what has waited too long; shutdown stops accepting, ends streams and lets requests in
flight finish.
"""

from __future__ import annotations

import errno
import socket as sockets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

import trio

from kubetrio.api.pipeline import Handle
from kubetrio.env import Env
from kubetrio.http.bridge import Bridge
from kubetrio.http.connections import ConnectionLimits, Connections, Peer, Presence
from kubetrio.http.h1 import Connection, Stranger, Upgrade
from kubetrio.http.heads import DateHeader
from kubetrio.http.limits import H1Config, SweepClock
from kubetrio.http.memory import Memory
from kubetrio.http.openssl import failure
from kubetrio.http.shown import ShownCertificate, shown_by
from kubetrio.http.tls import Security
from kubetrio.http.turns import Turns
from kubetrio.machinery.identity import UNUSABLE, UserInfo
from kubetrio.observe.logs import Log
from kubetrio.transport import PlainTransport, TlsTransport

log = Log("kubetrio.http")
SWEEP_S = 1.0
HANDSHAKE_TIMEOUT_S = 10.0
BACKLOG = 1024
# Out of file descriptors and the like: wait until an idle connection has given up its own.
ACCEPT_RETRY_S = 0.1
ACCEPT_RETRY = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def bind(host: str, port: int, *, shared: bool = False) -> sockets.socket:
    """A listening socket.

    Args:
        host: address to listen on.
        port: TCP port, 0 for any.
        shared: whether others may listen on the same port (``SO_REUSEPORT``).

    Raises:
        OSError: the address is taken or not ours.
    """
    family = sockets.AF_INET6 if ":" in host else sockets.AF_INET
    listener = sockets.create_server(
        (host, port), family=family, backlog=BACKLOG, reuse_port=shared
    )
    listener.setblocking(False)
    return listener


Who = Callable[[sockets.socket], UserInfo | None]
UNIX_ADDRESS = "unix"
"""Stands for the address of the client of a Unix socket."""


@dataclass(slots=True)
class Listener:
    """One listening socket and its connections.

    Args:
        socket: listening, non-blocking.
        tls: certificates and who counts, None for plain HTTP.
        handle: the pipeline.
        config: limits of connections.
        env: clocks.
        bridge: serves what the fast loop does not.
        limits: how many connections there may be.
        who: says who is at the other end of a connection without TLS.

    Attributes:
        peers: the open connections, counted.
        memory: goes back to the system behind a crowd.
        turns: of requests without credentials.
        handshakes: held for one step of a TLS handshake.
    """

    socket: sockets.socket
    tls: Security | None
    handle: Handle
    config: H1Config
    env: Env
    bridge: Bridge
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    who: Who | None = None
    peers: Connections = field(init=False)
    memory: Memory = field(init=False)
    turns: Turns = field(default_factory=Turns)
    handshakes: trio.Lock = field(default_factory=trio.Lock)
    date: DateHeader = field(default_factory=DateHeader)
    clock: SweepClock = field(default_factory=SweepClock)
    connections: set[Connection] = field(default_factory=set)
    draining: bool = False
    _open: int = 0
    _idle: trio.Event = field(default_factory=trio.Event)

    def __post_init__(self) -> None:
        self.peers = Connections(self.limits)
        self.memory = Memory(self.env)

    @property
    def port(self) -> int:
        """Port it listens on."""
        port: int = self.socket.getsockname()[1]
        return port

    async def run(self) -> NoReturn:
        """Accept and serve until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._sweep, name="connection sweeper")
            nursery.start_soon(self.memory.run, name="memory")
            nursery.start_soon(self.turns.run, name="turns of strangers")
            try:
                while True:
                    accepted = await self._accept()
                    if accepted is not None:
                        nursery.start_soon(self._serve, *accepted, name="connection")
            finally:
                self.socket.close()

    async def _accept(self) -> tuple[sockets.socket, str] | None:
        await trio.lowlevel.wait_readable(self.socket)
        try:
            sock, address = self.socket.accept()
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno in ACCEPT_RETRY:
                self.peers.make_descriptor()
                await trio.sleep(ACCEPT_RETRY_S)
            return None
        try:
            sock.setblocking(False)
            if isinstance(address, tuple):
                sock.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
        except OSError:  # it has gone already (macOS says so here)
            sock.close()
            return None
        return sock, str(address[0]) if isinstance(address, tuple) else UNIX_ADDRESS

    async def _serve(self, sock: sockets.socket, address: str) -> None:
        peer = Peer(address)
        self.peers.enter(peer)
        try:
            with peer.scope:
                await self._serve_socket(sock, peer)
        finally:
            self.peers.leave(peer)

    async def _serve_socket(self, sock: sockets.socket, peer: Peer) -> None:
        transport: TlsTransport | PlainTransport | None = None
        try:
            if self.tls is None:
                transport = PlainTransport(sock)
            else:
                transport = TlsTransport(
                    self.tls.context.wrap_socket(
                        sock,
                        server_side=True,
                        do_handshake_on_connect=False,
                        suppress_ragged_eofs=True,
                    )
                )
            await self._serve_transport(transport, peer)
        except OSError:
            return  # the client's side broke
        except Exception as error:  # noqa: BLE001  (a bug must cost a connection, not the server)
            log.error(error, "connection failed", stack=True, peer=peer.address)
        finally:
            if isinstance(transport, TlsTransport):
                failure(transport.socket)  # of a handshake that did not come to its end
            if transport is not None:
                transport.close()
            else:
                sock.close()

    async def _serve_transport(self, transport: TlsTransport | PlainTransport, peer: Peer) -> None:
        certificate: ShownCertificate | UserInfo | None = None
        known = False
        if self.who is not None:
            certificate = self.who(transport.socket)
            if certificate is not None:
                known = True
                self.peers.identified(peer, certificate)
        if isinstance(transport, TlsTransport) and self.tls is not None:
            shaken = False
            try:
                with trio.move_on_after(HANDSHAKE_TIMEOUT_S):
                    await transport.handshake(self.handshakes)
                    shaken = True
            finally:
                self.peers.failed_handshakes += not shaken
            if not shaken:
                return
            certificate = shown = shown_by(
                transport.socket, self.tls.trust, self.env.certificates_now
            )
            user = None if shown is None else shown.worth()
            if user is not None and user is not UNUSABLE:
                known = True
                self.peers.identified(peer, user)
            if transport.socket.selected_alpn_protocol() == "h2":
                with self._counted():
                    await self.bridge.serve(transport, b"", certificate, self._presence(peer))
                return
        connection = Connection(
            transport,
            self.handle,
            self.config,
            self.env,
            self.date,
            peer.address,
            certificate,
            self.clock,
            None if known else Stranger(partial(self.peers.identified, peer), self.turns.take),
        )
        peer.busy = connection.busy
        self.connections.add(connection)
        if self.draining:
            connection.finish()
        with self._counted():
            try:
                await connection.run()
            except Upgrade as upgrade:
                self.connections.discard(connection)
                received, presence = upgrade.received, self._presence(peer)
                await self.bridge.serve(transport, received, certificate, presence)
            finally:
                self.connections.discard(connection)

    def _presence(self, peer: Peer) -> Presence:
        """What requests of a connection that Hypercorn serves tell about it."""
        presence = Presence(
            partial(self.peers.identified, peer), lambda: peer.user, self.turns.take
        )
        peer.busy = presence.busy
        return presence

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """A connection that shutdown waits for."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if self.draining and not self._open:
                self._idle.set()

    async def _sweep(self) -> NoReturn:
        while True:
            await trio.sleep(SWEEP_S)
            now = self.clock.tick()
            self.memory.look(len(self.peers), self.bridge.peak_bytes())
            self._end_overdue(now)

    def _end_overdue(self, now: float) -> None:
        """Cancel connections whose clients are too slow.

        A function of its own: the sweeper's frame, which lives on, would hold the last connection.
        """
        for connection in tuple(self.connections):
            if connection.overdue(now):
                connection.scope.cancel()

    async def drain(self) -> None:
        """Ask every connection to end after what it is doing."""
        self.draining = True
        for connection in tuple(self.connections):
            connection.finish()
        if not self._open:
            self._idle.set()
        await self.bridge.terminate()

    def abort(self) -> None:
        """Close connections that did not end in time; `drain` has asked them to."""
        for connection in tuple(self.connections):
            connection.scope.cancel()
        self.bridge.abort()

    async def wait_idle(self) -> None:
        """Wait until the last connection has ended; call `drain` first."""
        await self._idle.wait()
