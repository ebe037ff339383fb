"""What a client certificate is worth, asked with each request of its connection.

TLS verified it once, when the connection began: signatures, usages, constraints, and that it leads
to some authority.  What can change after that is looked at each time, as kube-apiserver verifies
with each request: whether that authority still counts, and whether time has passed the end of a
certificate of the chain.

Source: docs "Authenticating", X.509 client certificates; the metric of kube-apiserver's x509
authenticator.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable
from typing import Any

from kubetrio.auth.certificates import CertificateError, user_of_peer
from kubetrio.http import openssl
from kubetrio.machinery.identity import UNUSABLE, UserInfo, authenticated
from kubetrio.observe import prometheus
from kubetrio.observe.logs import Log
from kubetrio.observe.series import Histogram

log = Log("kubetrio.http")
HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
BUCKETS = (
    0.0, 1800.0, HOUR_S, 2 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S, DAY_S, 2 * DAY_S, 4 * DAY_S,
    7 * DAY_S, 30 * DAY_S, 90 * DAY_S, 180 * DAY_S, 360 * DAY_S,
)  # fmt: skip


class ClientAuthorities:
    """Whose certificates count now.

    Attributes:
        clients: authorities of users, DER.
        proxies: authorities of proxies that name users in headers, DER.
        generation: another object each time these change.
        lifetimes: how long certificates of requests had still to go, in seconds.
    """

    __slots__ = ("clients", "generation", "lifetimes", "proxies")

    def __init__(self) -> None:
        self.clients: frozenset[bytes] = frozenset()
        self.proxies: frozenset[bytes] = frozenset()
        self.generation = object()
        self.lifetimes = Histogram(BUCKETS)

    def set(self, clients: frozenset[bytes], proxies: frozenset[bytes]) -> None:
        """Let other authorities count from now on."""
        if (clients, proxies) != (self.clients, self.proxies):
            self.clients, self.proxies = clients, proxies
            self.generation = object()

    def families(self) -> Iterable[prometheus.Metric]:
        """The metric."""
        family = prometheus.HistogramMetricFamily(
            "apiserver_client_certificate_expiration_seconds",
            "Distribution of the remaining lifetime on the certificate used to authenticate a "
            "request.",
        )
        family.add_metric([], self.lifetimes.cumulative(), self.lifetimes.total)
        yield family


class ShownCertificate:
    """The certificate of one connection's client.

    Args:
        user: who it says the client is, None for no particular user.
        common_name: of its subject.
        chain: from it to the authority, DER; empty when it was not verified.
        ends: when the first certificate of the chain ends, seconds since the epoch.
        own_end: when the client's own ends.
        trust: whose certificates count.
        now: the wall clock, in seconds since the epoch.
    """

    __slots__ = (
        "_chain", "_client", "_ends", "_generation", "_now", "_own_end", "_proxy", "_trust",
        "_user", "common_name",
    )  # fmt: skip

    def __init__(
        self,
        user: UserInfo | None,
        common_name: str,
        chain: tuple[bytes, ...],
        ends: float,
        own_end: float,
        trust: ClientAuthorities,
        now: Callable[[], float],
    ) -> None:
        self._user = user
        self.common_name = common_name
        self._chain = chain
        self._ends = ends
        self._own_end = own_end
        self._trust = trust
        self._now = now
        self._generation: object = None
        self._client = self._proxy = False

    def _judge(self) -> None:
        trust = self._trust
        self._client = not trust.clients.isdisjoint(self._chain)
        self._proxy = not trust.proxies.isdisjoint(self._chain)
        self._generation = trust.generation

    def worth(self) -> UserInfo | None:
        """Who it says the client is: `UNUSABLE` if it is not good, None if it names no user."""
        if self._generation is not self._trust.generation:
            self._judge()
        return self._user if self._client and self._now() <= self._ends else UNUSABLE

    def user(self) -> UserInfo | None:
        """Return its worth for a request, and record the lifetime that is left."""
        self._trust.lifetimes.observe(self._own_end - self._now())
        return self.worth()

    def proxy(self) -> bool:
        """Whether it is that of a proxy that may name users in headers, now."""
        if self._generation is not self._trust.generation:
            self._judge()
        return self._proxy and self._now() <= self._ends


def shown_by(
    sock: ssl.SSLSocket, trust: ClientAuthorities, now: Callable[[], float]
) -> ShownCertificate | None:
    """What a connection's client showed in its handshake, None if nothing.

    Args:
        sock: its handshake done.
        trust: whose certificates count.
        now: the wall clock, in seconds since the epoch.
    """
    wrong = openssl.failure(sock)
    peer = sock.getpeercert()
    if not peer:
        return None
    der = sock.getpeercert(binary_form=True) or b""
    subject: Any = peer.get("subject", ())
    names = [value for rdn in subject for name, value in rdn if name == "commonName"]
    common = str(names[-1]) if names else ""
    own_end = _end(peer)
    try:
        user = user_of_peer(subject, der)
        # Logged once per connection, and not for each of its requests.
        user = None if user is None else authenticated(user)
    except CertificateError as error:
        log.warning("client certificate without a usable identity", reason=str(error))
        user = UNUSABLE
    if wrong:
        log.verbose(2, "client certificate is not good", subject=common, reason=_words(wrong))
        return ShownCertificate(user, common, (), own_end, own_end, trust, now)
    chain_of = sock._sslobj.get_verified_chain  # type: ignore[attr-defined]  # noqa: SLF001
    certificates = chain_of() or ()
    infos = [each.get_info() for each in certificates]
    ends = min((_end(info) for info in infos), default=own_end)
    chain = tuple(each.public_bytes(_DER) for each in certificates)
    return ShownCertificate(user, common, chain, ends, own_end, trust, now)


_DER = 2  # ``_ssl.ENCODING_DER``


def _end(info: object) -> float:
    return float(ssl.cert_time_to_seconds(str(info["notAfter"])))  # type: ignore[index]


def _words(number: int) -> str:
    return f"verification error {number} of OpenSSL"


def certificate_of(shown: ShownCertificate | UserInfo | None) -> ShownCertificate | None:
    """What a connection's client showed, if it has a real one."""
    return shown if isinstance(shown, ShownCertificate) else None


def current(shown: ShownCertificate | UserInfo | None) -> UserInfo | None:
    """Who asks, of what a connection knows of its client's certificate."""
    return shown.user() if isinstance(shown, ShownCertificate) else shown
