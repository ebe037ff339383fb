"""Who may be connected to, and with which certificates.

A kubelet is shown a client certificate, and its own is checked if an authority is given; pods and
services are met without either, as kube-apiserver meets them.

Source: kube-apiserver's flags ``--kubelet-*``; docs "Communication between Nodes and the Control
Plane" (API server to kubelet, API server to nodes, pods, and services).
"""

from __future__ import annotations

import enum
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import trio

from kubetrio.backend.dial import (
    CONNECT_TIMEOUT_S,
    Dial,
    DialError,
    HandshakeError,
    NotAllowed,
    Tls,
    addresses_of,
    dial,
    join_host_port,
    port_number,
)
from kubetrio.backend.guard import Guard
from kubetrio.config.kinds import ADDRESS_TYPES
from kubetrio.env import Env
from kubetrio.observe.logs import Log
from kubetrio.tls import pki
from kubetrio.tls.certificates import believe
from kubetrio.transport import Transport

log = Log("kubetrio.backend")
FRESH_S = 86400.0
"""Seconds after which certificate files are read again: they may have been renewed."""


class PeerVerification(enum.Enum):
    """Whose certificates count on a connection."""

    PLAIN = "no TLS"
    ANY = "TLS with any server that answers"
    KUBELET = "TLS with a kubelet"
    KUBELET_UNVERIFIED = "TLS with a kubelet, whatever its certificate"
    COMPONENT = "TLS with any server that answers on this machine, at a port that no user chooses"


KUBELETS = frozenset({PeerVerification.KUBELET, PeerVerification.KUBELET_UNVERIFIED})


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletConfig:
    """How kubelets are reached.

    Args:
        certificate: client certificate shown to kubelets; a self-made one when None.
        key: its key.
        authority: CA of kubelets' certificates; they are not checked when None.
        address_types: which of a node's addresses is used, the first there is.
        timeout_s: seconds for connecting.
    """

    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None
    address_types: tuple[str, ...] = ADDRESS_TYPES
    timeout_s: float = 5.0


def _nowhere(_: str) -> bool:
    return False


@dataclass(slots=True)
class Backends:
    """Opens the connections of one server.

    Args:
        config: how kubelets are reached.
        env: threads and the wall clock.
        own: makes, or finds, the server's own client certificate for kubelets; blocking.
        dial: opens connections.
        guard: which addresses they may lead to.
        in_memory: whether connections to an address are in memory, where no TLS is spoken and no
            certificate is needed.
    """

    config: KubeletConfig
    env: Env
    own: Callable[[], pki.KeyPair]
    dial: Dial = dial
    guard: Guard = field(default_factory=Guard)
    in_memory: Callable[[str], bool] = _nowhere
    _contexts: dict[PeerVerification, tuple[float, ssl.SSLContext]] = field(
        init=False, default_factory=dict
    )
    _lock: trio.Lock = field(init=False, default_factory=trio.Lock)

    async def lookup(self, host: str, port: str, trust: PeerVerification) -> tuple[str, ...]:
        """The addresses of a host, all of which may be connected to.

        Args:
            host: address or name.
            port: decimal TCP port.
            trust: whose certificates count.

        Raises:
            NotAllowed: one of them may not.
            DialError: there are none.
        """
        number = port_number(port)
        timeout_s = self._timeout_s(trust)
        with trio.move_on_after(timeout_s) as timer:
            addresses = await addresses_of(host)
        if timer.cancelled_caught:
            raise DialError(f"dial tcp: lookup {host}: i/o timeout")
        self._judge(addresses, number, trust)
        return addresses

    async def connect(
        self, host: str, port: str, trust: PeerVerification, addresses: Sequence[str] = ()
    ) -> Transport:
        """An open connection.

        Args:
            host: address or name.
            port: decimal TCP port.
            trust: whose certificates count.
            addresses: what `lookup` found for the host: it is not asked for again.

        Raises:
            DialError: there is none; certificates that cannot be used are such a reason too.
        """
        if addresses:
            self._judge(addresses, port_number(port), trust)
        else:
            addresses = await self.lookup(host, port, trust)
        plain = trust is PeerVerification.PLAIN or all(map(self.in_memory, addresses))
        tls = None if plain else Tls(await self._context(trust), host)
        until = trio.current_time() + self._timeout_s(trust)
        problem = DialError(f"dial tcp {join_host_port(host, port)}: i/o timeout")
        for address in addresses:
            left_s = until - trio.current_time()
            if left_s <= 0:
                break
            try:
                return await self.dial(address, port, tls, left_s)
            except HandshakeError:
                raise
            except DialError as error:
                problem = error
        raise problem

    def _judge(self, addresses: Sequence[str], port: int, trust: PeerVerification) -> None:
        if trust is PeerVerification.COMPONENT:
            return
        kubelet = trust in KUBELETS
        if not all(self.guard.allows(each, port, kubelet=kubelet) for each in addresses):
            raise NotAllowed("address not allowed")

    def _timeout_s(self, trust: PeerVerification) -> float:
        return self.config.timeout_s if trust in KUBELETS else CONNECT_TIMEOUT_S

    async def _context(self, trust: PeerVerification) -> ssl.SSLContext:
        async with self._lock:
            entry = self._contexts.get(trust)
            if entry is not None and trio.current_time() - entry[0] < FRESH_S:
                return entry[1]
            try:
                context = await self.env.run_blocking(self._make_context, trust)
            except (OSError, pki.PkiError) as error:  # ssl.SSLError is an OSError
                if entry is not None:
                    log.warning("certificates for kubelets are not read again", reason=str(error))
                    self._contexts[trust] = (trio.current_time(), entry[1])
                    return entry[1]
                raise DialError(f"cannot load certificates for kubelets: {error}") from error
            self._contexts[trust] = (trio.current_time(), context)
            return context

    def reload(self) -> None:
        """Read certificates given by flags again, for the connections from now on.

        Raises:
            OSError: a file cannot be read, or its content not be used; the old one goes on.
        """
        now = trio.current_time()
        given = [one for one in self._contexts if one in KUBELETS]
        self._contexts.update({one: (now, self._make_context(one)) for one in given})

    def _make_context(self, trust: PeerVerification) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        authority = self.config.authority if trust is PeerVerification.KUBELET else None
        if authority is None:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        else:
            believe(context, authority.read_bytes())
        if trust in KUBELETS:
            given, key = self.config.certificate, self.config.key
            if given is not None:
                context.load_cert_chain(given, key)
            else:
                own = self.own()
                context.load_cert_chain(own.cert, own.key)
        return context
