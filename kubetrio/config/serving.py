"""Flags of listening, certificates and connections."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import Rule, Section, both_or_none, flag, section
from kubetrio.config.kinds import (
    ADDRESS,
    ANY_DIRECTORY,
    COUNT,
    DURATION,
    FILE,
    HOSTS,
    PORT,
    one_of,
)

WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104
"""Addresses that mean all of a machine's, and the one of them that is always there."""

TLS_VERSIONS = ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")


@section
class Serving(Section):
    """Where and how the server listens, and how it stops; see the reference of flags."""

    TITLE: ClassVar[str] = "secure serving"
    RULES: ClassVar[tuple[Rule, ...]] = (both_or_none("tls_cert_file", "tls_private_key_file"),)

    bind_address: str = flag(
        "bind-address", ADDRESS, "127.0.0.1", "address to listen on, 0.0.0.0 or :: for all"
    )
    secure_port: int = flag("secure-port", PORT, 6443, "port to listen on; 0 takes any free one")
    advertise_address: str = flag(
        "advertise-address", ADDRESS, "", "address that clients are told",
        unset="the bind address, or the loopback address if that is a wildcard",
        more="It is in the kubeconfig and in the `kubernetes` endpoints.",
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
        "tls-min-version", one_of(*TLS_VERSIONS), "VersionTLS12",
        "oldest version of TLS; nothing older than VersionTLS12 is spoken in any case",
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
    def public_address(self) -> str:
        """Address that clients are told."""
        told = self.bind_address if self.advertise_address in WILDCARDS else self.advertise_address
        return WILDCARDS.get(told, told)
