"""Certificates of backends, and addresses that are judged."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trio
import trio.testing
from dialling import connect, refusal, silence

from kubetrio.backend.backends import FRESH_S, Backends, KubeletConfig, PeerVerification
from kubetrio.backend.dial import (
    DialError,
    NotAllowed,
    Tls,
)
from kubetrio.backend.guard import Guard
from kubetrio.env import seeded
from kubetrio.testing.backend import open_backend, tls_of
from kubetrio.tls import pki
from kubetrio.transport import TlsTransport, Transport


async def test_certificates_are_checked(names: None, certificates: pki.Pki) -> None:
    """By a known authority and for the address; not TLS at all is said."""
    trusting = ssl.create_default_context(cafile=str(certificates.ca.cert))
    async with open_backend(silence, tls_of(certificates, ask=False)) as backend:
        port = str(backend.port)
        words = "tls: failed to verify certificate: x509: "
        assert await refusal("127.0.0.1", port, ssl.create_default_context()) == (
            words + "certificate signed by unknown authority"
        )
        assert await refusal("node.test", port, trusting) == (
            words + "certificate is not valid for node.test"
        )
        transport = await connect("127.0.0.1", port, trusting)
        assert isinstance(transport, TlsTransport)
        transport.close()


async def test_not_tls(certificates: pki.Pki) -> None:
    """A backend that answers in plain."""

    async def plain(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = str(listeners[0].socket.getsockname()[1])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, plain, listeners)
        trusting = ssl.create_default_context(cafile=str(certificates.ca.cert))
        words = await refusal("127.0.0.1", port, trusting)
        nursery.cancel_scope.cancel()
    assert words == "tls: first record does not look like a TLS handshake"


async def test_trust(certificates: pki.Pki, mock_clock: trio.testing.MockClock) -> None:
    """Kubelets are shown a certificate and checked against an authority; others are neither."""
    seen: list[tuple[ssl.SSLContext | None, float]] = []

    async def look(address: str, port: str, tls: Tls | None, timeout_s: float) -> Transport:
        seen.append((tls.context if tls else None, timeout_s))
        raise DialError("no")

    made = 0

    def own() -> pki.KeyPair:
        nonlocal made
        made += 1
        return certificates.admin

    config = KubeletConfig(authority=certificates.ca.cert, timeout_s=3.0)
    backends = Backends(config, seeded(0), own, look)
    for trust in PeerVerification:
        with pytest.raises(DialError):
            await backends.connect("10.0.0.1", "1", trust)
    (none, _), (anyone, patience), (kubelet, limit), (unverified, _), (component, _) = seen
    assert none is None
    assert anyone is not None
    assert kubelet is not None
    assert unverified is not None
    assert component is not None
    assert (patience, limit) == (30.0, 3.0)
    assert (kubelet.verify_mode, kubelet.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert anyone.verify_mode == component.verify_mode == unverified.verify_mode == ssl.CERT_NONE
    assert made == 2


async def test_certificates_are_read_again(
    certificates: pki.Pki, mock_clock: trio.testing.MockClock
) -> None:
    """Once a day, for they may have been renewed."""
    made = 0

    def own() -> pki.KeyPair:
        nonlocal made
        made += 1
        return certificates.admin

    async def look(address: str, port: str, tls: Tls | None, timeout_s: float) -> Transport:
        raise DialError("no")

    backends = Backends(KubeletConfig(), seeded(0), own, look)
    for jump, expected in ((0.0, 1), (FRESH_S - 1, 1), (2.0, 2)):
        mock_clock.jump(jump)
        with pytest.raises(DialError):
            await backends.connect("10.0.0.1", "1", PeerVerification.KUBELET)
        assert made == expected


async def test_certificates_that_cannot_be_used(certificates: pki.Pki, tmp_path: Path) -> None:
    """Are why there is no connection."""

    def none() -> pki.KeyPair:
        raise pki.PkiError("ca.key is missing")

    backends = Backends(KubeletConfig(), seeded(0), none)
    with pytest.raises(
        DialError, match=r"cannot load certificates for kubelets: ca\.key is missing"
    ):
        await backends.connect("127.0.0.1", "1", PeerVerification.KUBELET)
    config = KubeletConfig(authority=tmp_path / "none.crt")
    backends = Backends(config, seeded(0), lambda: certificates.admin)
    with pytest.raises(DialError, match="cannot load certificates"):
        await backends.connect("127.0.0.1", "1", PeerVerification.KUBELET)


class Turncoat(trio.abc.HostnameResolver):
    """Has another address for a name each time it is asked."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = list(addresses)

    async def getaddrinfo(self, host, port, family=0, type=0, proto=0, flags=0):  # noqa: A002
        address = self._addresses.pop(0)
        return [(trio.socket.AF_INET, trio.socket.SOCK_STREAM, 6, "", (address, 0))]

    async def getnameinfo(self, sockaddr, flags):
        raise NotImplementedError


class Dialled(list[str]):
    """Where a dialler was sent; nobody is there."""

    async def __call__(
        self, address: str, port: str, tls: Tls | None, timeout_s: float, /
    ) -> Transport:
        self.append(f"{address}:{port}")
        raise DialError("nobody there")


async def test_what_is_judged_is_dialled(certificates: pki.Pki) -> None:
    """A name that is somebody else's the second time is not asked for a second time."""
    trio.socket.set_custom_hostname_resolver(Turncoat("10.0.0.9", "127.0.0.1"))
    dialled = Dialled()
    made = Backends(KubeletConfig(), seeded(0), lambda: certificates.admin, dialled)
    found = await made.lookup("node.test", "80", PeerVerification.ANY)
    with pytest.raises(DialError, match="nobody there"):
        await made.connect("node.test", "80", PeerVerification.ANY, found)
    assert dialled == ["10.0.0.9:80"]
    with pytest.raises(NotAllowed):
        await made.connect("node.test", "80", PeerVerification.ANY)
    assert dialled == ["10.0.0.9:80"]


async def test_addresses_that_are_brought_are_judged(certificates: pki.Pki) -> None:
    """Whoever found them, and before any of them is dialled."""
    dialled = Dialled()
    made = Backends(KubeletConfig(), seeded(0), lambda: certificates.admin, dialled)
    with pytest.raises(NotAllowed, match="address not allowed"):
        await made.connect(
            "node.test", "80", PeerVerification.PLAIN, ["10.0.0.9", "::ffff:127.0.0.1"]
        )
    assert not dialled


async def test_the_server_does_not_connect_to_itself(certificates: pki.Pki) -> None:
    """Not as to a kubelet either; a kubelet beside it is another port."""
    dialled = Dialled()
    guard = Guard(port=6443, local=lambda address: address == "10.0.0.9")
    made = Backends(KubeletConfig(), seeded(0), lambda: certificates.admin, dialled, guard)
    for host in ("127.0.0.1", "::1", "127.1", "::ffff:127.0.0.1", "10.0.0.9", "::ffff:a00:9"):
        with pytest.raises(NotAllowed):
            await made.connect(host, "6443", PeerVerification.KUBELET)
        with pytest.raises(NotAllowed):
            await made.connect(host, "06443", PeerVerification.KUBELET_UNVERIFIED)
    assert not dialled
    with pytest.raises(DialError, match="nobody there"):
        await made.connect("10.0.0.9", "10250", PeerVerification.KUBELET)
    with pytest.raises(DialError, match="nobody there"):
        await made.connect("127.0.0.1", "10250", PeerVerification.KUBELET)
    assert dialled == ["10.0.0.9:10250", "127.0.0.1:10250"]


async def test_no_certificate_is_needed_in_memory(mock_clock: trio.testing.MockClock) -> None:
    """Connections to kubelets that are simulated carry no TLS; those to others do."""
    seen: list[tuple[str, bool]] = []

    async def look(address: str, port: str, tls: Tls | None, timeout_s: float) -> Transport:
        seen.append((address, tls is not None))
        raise DialError("no")

    def own() -> pki.KeyPair:
        raise pki.PkiError("there is none")

    backends = Backends(
        KubeletConfig(),
        seeded(0),
        own,
        dial=look,
        in_memory=lambda address: address == "198.18.0.1",
    )
    for address in ("198.18.0.1", "192.0.2.1"):
        with pytest.raises(DialError, match="no"):
            await backends.connect(address, "10250", PeerVerification.KUBELET)
    assert seen == [("198.18.0.1", False)]
