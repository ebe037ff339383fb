"""The configuration of a server: frozen values, defaults, units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ADDRESS_TYPES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
"""Kinds of addresses that a node may have, in the order in which they are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything `open_server` needs; the command line makes one of these.

    Args:
        data_dir: where the database and, unless `cert_dir` says otherwise, the certificates are.
        name: name of the cluster; contexts are called ``kubetrio-<name>``.
        bind_address: address to listen on.
        secure_port: port to listen on, 0 for any free one.
        advertise_address: address that clients are told; the bind address unless that is a
            wildcard.
        cert_dir: where self-made certificates are; ``<data_dir>/pki`` when None.
        tls_cert_file: serving certificate instead of a self-made one.
        tls_private_key_file: its key.
        client_ca_file: CA of client certificates instead of the self-made one.
        token_auth_file: static tokens, ``token,user,uid,"group,group"`` a line.
        allow_privileged: whether containers may be privileged.
        anonymous_auth: whether requests without credentials are served as ``system:anonymous``.
        durability: ``full`` or ``normal`` (see `store.revisions.StoreConfig`).
        accept_data_loss: start although writes that were answered are missing.
        history_window_s: seconds of history kept for watches and exact reads.
        compact_interval_s: seconds between compactions.
        request_timeout_s: seconds for requests that are not watches and the like.
        min_request_timeout_s: a watch without a time-out gets between this and twice this.
        max_connections: connections at a time; 0 for what the file descriptors allow.
        max_connections_per_address: of them, those from one address; 0 for all.
        max_unauthenticated_connections: of them, those without credentials; 0 for a quarter of
            all, at most 1,024.
        max_requests_inflight: requests that read only, at a time; with the next, the seats of
            flow control.
        max_mutating_requests_inflight: requests that write, at a time.
        priority_and_fairness: API Priority and Fairness, or plain counting of requests.
        shutdown_delay_s: seconds of further service after ``/readyz`` turned false.
        shutdown_grace_s: seconds that requests in flight get at shutdown.
        service_cluster_ip_range: CIDR of service addresses.
        service_account_issuer: issuer named in service account tokens.
        api_audiences: audiences of this server's API; the issuer alone when empty.
        kubelet_client_certificate: client certificate shown to kubelets instead of a self-made one.
        kubelet_client_key: its key.
        kubelet_certificate_authority: CA of kubelets' certificates; they are not checked when None.
        kubelet_preferred_address_types: which of a node's addresses is used, the first there is.
        kubelet_timeout_s: seconds for connecting to a kubelet.
        feature_gates: gates that are switched from their default, by name.
        extra_hosts: more names and addresses for the serving certificate.
    """

    data_dir: Path
    name: str = "default"
    bind_address: str = "127.0.0.1"
    secure_port: int = 6443
    advertise_address: str = ""
    cert_dir: Path | None = None
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    client_ca_file: Path | None = None
    token_auth_file: Path | None = None
    allow_privileged: bool = False
    anonymous_auth: bool = True
    durability: str = "full"
    accept_data_loss: bool = False
    history_window_s: float = 300.0
    compact_interval_s: float = 60.0
    request_timeout_s: float = 60.0
    min_request_timeout_s: float = 1800.0
    max_connections: int = 0
    max_connections_per_address: int = 0
    max_unauthenticated_connections: int = 0
    max_requests_inflight: int = 400
    max_mutating_requests_inflight: int = 200
    priority_and_fairness: bool = True
    shutdown_delay_s: float = 0.0
    shutdown_grace_s: float = 10.0
    service_cluster_ip_range: str = "10.0.0.0/24"
    service_account_issuer: str = "https://kubernetes.default.svc.cluster.local"
    api_audiences: tuple[str, ...] = ()
    kubelet_client_certificate: Path | None = None
    kubelet_client_key: Path | None = None
    kubelet_certificate_authority: Path | None = None
    kubelet_preferred_address_types: tuple[str, ...] = ADDRESS_TYPES
    kubelet_timeout_s: float = 5.0
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    extra_hosts: tuple[str, ...] = field(default=())

    @property
    def pki_dir(self) -> Path:
        """Where self-made certificates are."""
        return self.cert_dir or self.data_dir / "pki"

    @property
    def audiences(self) -> tuple[str, ...]:
        """Audiences of this server's API."""
        return self.api_audiences or (self.service_account_issuer,)

    @property
    def public_address(self) -> str:
        """Address that clients are told."""
        if self.advertise_address:
            return self.advertise_address
        wildcard = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104
        return wildcard.get(self.bind_address, self.bind_address)
