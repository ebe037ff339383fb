"""TLS of a listener: versions, suites, certificates by name, and authorities of clients.

`Security` is what a listener asks for each connection.  It is read from files, and read again when
they change: connections from then on have the new content, those that are open keep their own, and
what a client certificate is worth is asked anew with each request (`http.shown`).

Source: kube-apiserver's flags of secure serving; Go's ``crypto/tls`` for which certificate a client
is shown; ``NewDynamicServingCertificateController`` for what happens without a name.
"""

from __future__ import annotations

import ssl
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kubetrio.config.sni import NamedPair
from kubetrio.config.suites import CURVES, INSECURE, SUITES, VERSIONS
from kubetrio.http import openssl
from kubetrio.http.servernames import NameTable
from kubetrio.http.shown import ClientAuthorities
from kubetrio.observe.logs import Log
from kubetrio.tls.certificates import authorities
from kubetrio.tls.pem import printed

log = Log("kubetrio.http")

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2 what has forward secrecy and authenticated encryption; TLS 1.3 has nothing else."""
CIPHERS_OF_OLD = f"{CIPHERS}:ECDHE+AES"
"""Those of TLS 1.2, with what TLS 1.0 and 1.1 have."""
_OLD = VERSIONS[:2]
_NUMBERS = dict(
    zip(
        VERSIONS,
        (
            ssl.TLSVersion.TLSv1,
            ssl.TLSVersion.TLSv1_1,
            ssl.TLSVersion.TLSv1_2,
            ssl.TLSVersion.TLSv1_3,
        ),
        strict=True,
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig:
    """Files and choices of a TLS listener.

    Args:
        certificate: serving certificate, PEM.
        key: its key, PEM.
        client_ca: authorities that client certificates are verified against, or None.
        front_proxy_ca: authorities of proxies that name users in headers, or None.
        oldest: version of TLS, one of `VERSIONS`.
        suites: IANA names of cipher suites; the usual ones when empty.
        curves: Go's numbers of key exchanges; OpenSSL's own when empty.
        named: further serving certificates, by name.
        http2: whether HTTP/2 is offered.
    """

    certificate: Path
    key: Path
    client_ca: Path | None
    front_proxy_ca: Path | None = None
    oldest: str = "VersionTLS12"
    suites: tuple[str, ...] = ()
    curves: tuple[int, ...] = ()
    named: tuple[NamedPair, ...] = ()
    http2: bool = True

    @property
    def pairs(self) -> tuple[NamedPair, ...]:
        """All serving certificates, the default one first."""
        return (NamedPair(self.certificate, self.key), *self.named)


class Security:
    """What a listener does TLS with.

    Each certificate, and the authorities together, are read again on their own: what is wrong with
    one file keeps the others from nothing.

    Args:
        config: how.

    Attributes:
        config: the same.
        trust: authorities of clients, now.
        authorities: of clients and of proxies, as they were last read: DER.

    Raises:
        OSError: a file cannot be read, or its content not be used (`ssl.SSLError`).
        ValueError: a choice that this OpenSSL or this interpreter cannot fulfil.
    """

    def __init__(self, config: TlsConfig) -> None:
        self.config = config
        self.trust = ClientAuthorities()
        self.authorities = self._read_authorities()
        self._table: NameTable | None = None
        self._contexts = [self._made(pair) for pair in config.pairs]
        self._told()
        warn_of_suites(config.suites)

    @property
    def context(self) -> ssl.SSLContext:
        """For the next connection."""
        return self._contexts[0]

    def reload_pair(self, at: int) -> None:
        """Read a certificate and its key again; what is wrong leaves everything as it is.

        Args:
            at: which of `TlsConfig.pairs`.

        Raises:
            OSError: a file cannot be read, or its content not be used (`ssl.SSLError`).
            ValueError: the same.
        """
        table = self._named()
        self._contexts[at] = self._made(self.config.pairs[at])
        self._table = table

    def reload_authorities(self) -> None:
        """Read the authorities again; what is wrong with one leaves all as they are.

        Raises:
            OSError: a file cannot be read, or its content not be used (`ssl.SSLError`).
            ValueError: the same.
        """
        self.authorities = self._read_authorities()
        for at, pair in enumerate(self.config.pairs):
            try:
                self._contexts[at] = self._made(pair)
            except (OSError, ValueError):
                # Its files are being replaced, or are bad: the old one learns of the new
                # authorities, and of those that are gone `trust` knows.
                self._believe(self._contexts[at])
        self._told()

    def _told(self) -> None:
        self._table = self._named()
        client, proxies = self.authorities
        self.trust.set(frozenset(client), frozenset(proxies))

    def _named(self) -> NameTable | None:
        config = self.config
        return NameTable.of(config.certificate, config.named) if config.named else None

    def _read_authorities(self) -> tuple[list[bytes], list[bytes]]:
        """Both files, if all of what is in them is good."""
        return _authorities(self.config.client_ca), _authorities(self.config.front_proxy_ca)

    def _made(self, pair: NamedPair) -> ssl.SSLContext:
        context = tls_context(self.config, pair)
        self._believe(context)
        if self.config.named:
            context.sni_callback = self._choose
        return context

    def _believe(self, context: ssl.SSLContext) -> None:
        """Have a context ask for client certificates of the authorities, and verify them."""
        believed = [der for ders in self.authorities for der in ders]
        if not believed:
            return
        context.load_verify_locations(cadata=b"".join(map(printed, believed)).decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        # Constraints of host names are not for the names of users, as in Go.
        context.hostname_checks_common_name = False
        # Each certificate of the file counts, as in Go, not only those that signed themselves.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        files = (self.config.client_ca, self.config.front_proxy_ca)
        openssl.name_authorities(context, *(path for path in files if path is not None))
        openssl.let_in(context)

    def _choose(self, sock: ssl.SSLObject, name: str | None, default: ssl.SSLContext) -> None:
        """Show the certificate for a name."""
        del default
        if self._table is not None:
            at = self._table.find(name) if name else self._table.at_address(_local(sock))
            if at is not None:
                sock.context = self._contexts[at + 1]


def _local(sock: ssl.SSLObject) -> str:
    """Address that a client connected to; empty in memory."""
    name = getattr(sock, "getsockname", None)
    return str(name()[0]) if name is not None else ""


def _authorities(path: Path | None) -> list[bytes]:
    """The authorities of a file, DER.

    Raises:
        OSError: it cannot be read, or used.
    """
    if path is None:
        return []
    try:
        return authorities(path.read_bytes())
    except ValueError as error:
        raise OSError(str(error)) from error


def tls_context(config: TlsConfig, pair: NamedPair) -> ssl.SSLContext:
    """A server context: HTTP/1.1 preferred, client certificates not asked for.

    Args:
        config: how.
        pair: the certificate.

    Raises:
        ssl.SSLError: certificate and key do not fit.
        OSError: a file cannot be read.
        ValueError: a choice that this OpenSSL or this interpreter cannot fulfil.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_TICKET  # a resumed session has no certificates to verify
    _speak(context, config)
    context.load_cert_chain(pair.cert, pair.key)
    # HTTP/1.1 first: llhttp serves it several times faster than any HTTP/2 in Python.
    context.set_alpn_protocols(["http/1.1", "h2"] if config.http2 else ["http/1.1"])
    context.num_tickets = 0  # clients keep connections; tickets cost time and memory
    return context


def _speak(context: ssl.SSLContext, config: TlsConfig) -> None:
    """Versions, suites and key exchanges.

    Raises:
        ValueError: see `tls_context`.
    """
    old = config.oldest in _OLD
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # who asks for old versions knows
        context.minimum_version = _NUMBERS[config.oldest]
    chosen = CIPHERS_OF_OLD if old else CIPHERS
    if config.suites:
        every = SUITES | INSECURE
        names = dict.fromkeys(every[name] for name in every if name in config.suites)
        chosen = ":".join(names)
        if not chosen:  # of TLS 1.3 alone
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            chosen = CIPHERS
    try:
        # The signatures of old versions are below any other level.
        context.set_ciphers(f"{chosen}:@SECLEVEL=0" if old else chosen)
    except ssl.SSLError as error:
        raise ValueError(
            f"--tls-cipher-suites: {ssl.OPENSSL_VERSION} has none of {', '.join(config.suites)}"
        ) from error
    if config.curves:
        _limit_curves(
            context, tuple(name for number, name in CURVES.items() if number in config.curves)
        )


def _limit_curves(context: ssl.SSLContext, names: tuple[str, ...]) -> None:
    """Raises ValueError for what is not possible here."""
    try:
        told = openssl.set_groups(context, names)
    except ValueError as error:
        raise ValueError(f"--tls-curve-preferences: {error}") from error
    if not told:
        raise ValueError(
            "--tls-curve-preferences: this Python cannot tell OpenSSL which key exchanges to use; "
            "leave the flag out, or use a CPython that is linked with a shared OpenSSL"
        )


def warn_of_suites(names: Sequence[str]) -> None:
    """Say which suites are insecure, as kube-apiserver does, and which this OpenSSL lacks."""
    if not names:
        return
    have = {str(suite["name"]) for suite in _all_suites()}
    for name in names:
        if name in INSECURE:
            insecure = f"Use of insecure cipher '{name}' detected."
            log.warning(insecure)
        theirs = SUITES.get(name) or INSECURE.get(name)
        if theirs is not None and theirs not in have:
            log.warning("cipher suite is not there", suite=name, openssl=ssl.OPENSSL_VERSION)


def _all_suites() -> Sequence[dict[str, object]]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context.get_ciphers()  # type: ignore[return-value]
