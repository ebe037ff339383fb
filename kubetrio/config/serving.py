"""Flags of listening, certificates and connections."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import (
    ConfigError,
    Rule,
    Section,
    both_or_none,
    error_of,
    flag,
    section,
)
from kubetrio.config.kinds import (
    ADDRESS,
    ANY_DIRECTORY,
    BOOLEAN,
    COUNT,
    DURATION,
    FILE,
    HOSTS,
    NUMBERS,
    PORT,
    TEXT_LIST,
    one_of,
)
from kubetrio.config.sni import SNI_PAIRS, NamedPair
from kubetrio.config.suites import (
    VERSIONS,
    curves_problem,
    hsts_problem,
    http2_problem,
    suites_problem,
)

WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104
"""Addresses that mean all of a machine's, and the one of them that is always there."""


def _is_reconciler(value: object) -> str:
    if value == "master-count":
        return "is master-count, which keeps addresses of dead servers: servers use leases here"
    return "" if value in ("lease", "none") else "is none of lease, none"


RECONCILER = one_of("lease", "none")._replace(check=_is_reconciler, choices=())


def _no_problem(field: str, problem: Callable[..., str], *others: str) -> Rule:
    """What is said of a field has no problem, given what is said of others."""

    def rule(chosen: Section) -> ConfigError | None:
        why = problem(*(getattr(chosen, name) for name in (field, *others)))
        return error_of(type(chosen), (field,), why) if why else None

    return rule


def _http2(suites: tuple[str, ...], oldest: str, disabled: bool) -> str:
    return "" if disabled else http2_problem(suites, oldest)


@section
class Serving(Section):
    """Where and how the server listens, and how it stops; see the reference of flags."""

    TITLE: ClassVar[str] = "secure serving"
    RULES: ClassVar[tuple[Rule, ...]] = (
        both_or_none("tls_cert_file", "tls_private_key_file"),
        _no_problem("tls_cipher_suites", suites_problem),
        _no_problem("tls_cipher_suites", _http2, "tls_min_version", "disable_http2"),
        _no_problem("tls_curve_preferences", curves_problem),
        _no_problem("hsts_directives", hsts_problem),
    )

    bind_address: str = flag(
        "bind-address", ADDRESS, "127.0.0.1", "address to listen on, 0.0.0.0 or :: for all"
    )
    secure_port: int = flag("secure-port", PORT, 6443, "port to listen on; 0 takes any free one")
    advertise_address: str = flag(
        "advertise-address", ADDRESS, "", "address that clients are told",
        unset="the bind address, or the loopback address if that is a wildcard",
        more="It is in the kubeconfig and in the `kubernetes` endpoints. Replicas on an etcd need "
        "one each that clients reach; see [on etcd](../how-to/run-on-etcd.md#what-replicas-share).",
    )  # fmt: skip
    endpoint_reconciler: str = flag(
        "endpoint-reconciler-type", RECONCILER, "lease",
        "what the endpoints of the Service kubernetes lead to: lease, to all servers, which say by "
        "leases that they are there; none, to what others write into them",
        more="master-count is refused: it counts addresses, and those of dead servers stay.",
    )  # fmt: skip
    cert_dir: Path | None = flag(
        "cert-dir", ANY_DIRECTORY, None, "where self-made certificates are", unset="DATA_DIR/pki"
    )
    tls_cert_file: Path | None = flag(
        "tls-cert-file", FILE, None,
        "serving certificate (PEM, with intermediates) instead of the self-made one",
    )  # fmt: skip
    tls_private_key_file: Path | None = flag(
        "tls-private-key-file", FILE, None, "its key; the two go together"
    )
    extra_hosts: tuple[str, ...] = flag(
        "tls-san", HOSTS, (),
        "one more name or address for the self-made serving certificate; repeatable",
    )  # fmt: skip
    tls_min_version: str = flag(
        "tls-min-version", one_of(*VERSIONS), "VersionTLS12", "oldest version of TLS",
        more="VersionTLS10 and VersionTLS11 also allow the signatures and suites that these need.",
    )  # fmt: skip
    tls_cipher_suites: tuple[str, ...] = flag(
        "tls-cipher-suites", TEXT_LIST, (),
        "cipher suites of TLS 1.2 and older, by their IANA names",
        unset="those with forward secrecy and authenticated encryption",
        more="Insecure ones are taken with a warning. Those of TLS 1.3 are always offered.",
    )  # fmt: skip
    tls_curve_preferences: tuple[int, ...] = flag(
        "tls-curve-preferences", NUMBERS, (),
        "key exchanges, by the numbers of Go's CurveID, such as 29,23",
        unset="what OpenSSL offers",
        more="4588 and the like need an OpenSSL that has them; a list needs an interpreter whose "
        "OpenSSL can be reached, which is CPython as most systems ship it.",
    )  # fmt: skip
    tls_sni_cert_key: tuple[NamedPair, ...] = flag(
        "tls-sni-cert-key", SNI_PAIRS, (),
        "serving certificate and key for some names: foo.crt,foo.key or "
        "foo.crt,foo.key:*.foo.com,foo.com; repeatable",
        more="Without names those of the certificate count. An exact name goes before a wildcard, "
        "a name given here before one of a certificate, an earlier flag before a later one.",
    )  # fmt: skip
    disable_http2: bool = flag("disable-http2-serving", BOOLEAN, False, "speak HTTP/1.1 only")
    http2_max_streams: int = flag(
        "http2-max-streams-per-connection", COUNT, 0,
        "requests at a time on a connection of HTTP/2", unset="250",
    )  # fmt: skip
    hsts_directives: tuple[str, ...] = flag(
        "strict-transport-security-directives", TEXT_LIST, (),
        "directives of the header Strict-Transport-Security: max-age=SECONDS, includeSubDomains, "
        "preload",
        unset="no such header",
    )  # fmt: skip
    permit_port_sharing: bool = flag(
        "permit-port-sharing", BOOLEAN, False,
        "let others listen on the same port (SO_REUSEPORT)",
        more="The data directory is never shared.",
    )  # fmt: skip
    max_connections: int = flag(
        "max-connections", COUNT, 0, "connections at a time",
        unset="what the limit of open files allows, with some kept for the store",
    )  # fmt: skip
    max_connections_per_address: int = flag(
        "max-connections-per-address", COUNT, 0, "of them, those from one address", unset="all"
    )
    max_unauthenticated_connections: int = flag(
        "max-unauthenticated-connections", COUNT, 0, "of them, those without credentials",
        unset="a quarter of all, at most 1024",
    )  # fmt: skip
    shutdown_delay_s: float = flag(
        "shutdown-delay-duration", DURATION, 0.0,
        "keep serving for so long after /readyz turned false",
    )  # fmt: skip
    shutdown_grace_s: float = flag(
        "", DURATION, 10.0, "how long requests in flight may take at shutdown"
    )

    @property
    def standing_headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Headers of every answer."""
        if not self.hsts_directives:
            return ()
        return ((b"Strict-Transport-Security", "; ".join(self.hsts_directives).encode()),)

    @property
    def public_address(self) -> str:
        """Address that clients are told."""
        told = self.bind_address if self.advertise_address in WILDCARDS else self.advertise_address
        return WILDCARDS.get(told, told)
