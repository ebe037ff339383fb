"""The configuration of a server: frozen values, defaults, units, and what they may be."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from kubetrio.certificates import host_name

ADDRESS_TYPES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
"""Kinds of addresses that a node may have, in the order in which they are tried."""

DURABILITY = ("full", "normal")
MAX_PORT = 65535
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104
"""Addresses that mean all of a machine's, and the one of them that is always there."""

SMALLEST_RANGE = 8
"""Addresses that a range of service addresses has at least."""


class ConfigError(ValueError):
    """A configuration cannot be used; the text is one line that names the fields.

    Args:
        fields: what is wrong, or does not go together.
        why: what is wrong with it and what is allowed.
    """

    def __init__(self, fields: tuple[str, ...], why: str) -> None:
        super().__init__(f"{' and '.join(fields)}: {why}")
        self.fields = fields
        self.why = why

    def named(self, name_of: Callable[[str], str]) -> str:
        """The text with other names for the fields, such as those of flags."""
        return f"{' and '.join(map(name_of, self.fields))}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything `open_server` needs; the command line makes one of these.

    Files are looked at when the server starts, everything else when the value is made.

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
        compact_interval_s: seconds between compactions, 0 for none.
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

    Raises:
        ConfigError: a field has a value that it may not have.
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

    def __post_init__(self) -> None:
        for name, check in CHECKS.items():
            value = getattr(self, name)
            why = check(value)
            if why:
                raise ConfigError((name,), f"{value!r} {why}")
        for one, other in PAIRS:
            if (getattr(self, one) is None) != (getattr(self, other) is None):
                raise ConfigError((one, other), "go together: give both or none")
        if self.priority_and_fairness and not sum(getattr(self, name) for name in LIMITS):
            raise ConfigError(LIMITS, "must sum to more than 0 with priority and fairness")

    @property
    def audiences(self) -> tuple[str, ...]:
        """Audiences of this server's API."""
        return self.api_audiences or (self.service_account_issuer,)

    @property
    def public_address(self) -> str:
        """Address that clients are told."""
        told = self.bind_address if self.advertise_address in WILDCARDS else self.advertise_address
        return WILDCARDS.get(told, told)

    @property
    def service_ranges(self) -> tuple[str, ...]:
        """CIDRs of service addresses, the primary family's first."""
        return tuple(cidr.strip() for cidr in self.service_cluster_ip_range.split(","))


LIMITS = ("max_requests_inflight", "max_mutating_requests_inflight")
PAIRS = (
    ("tls_cert_file", "tls_private_key_file"),
    ("kubelet_client_certificate", "kubelet_client_key"),
)
"""Paths that are given together."""

# A check says what is wrong with a value, behind the value; nothing if it may be so.
Check = Callable[[Any], str]


def _path(value: object) -> str:
    return "" if isinstance(value, Path) else "is no pathlib.Path"


def _path_or_none(value: object) -> str:
    return "" if value is None or isinstance(value, Path) else "is neither a pathlib.Path nor None"


def _boolean(value: object) -> str:
    return "" if isinstance(value, bool) else "is neither True nor False"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _seconds(value: Any) -> str:
    return "" if _is_number(value) and value >= 0 else "is no number of seconds of 0 or more"


def _some_seconds(value: Any) -> str:
    return "" if _is_number(value) and value > 0 else "is no number of seconds above 0"


def _count(value: object) -> str:
    counts = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return "" if counts else "is no whole number of 0 or more"


def _port(value: Any) -> str:
    fits = not _count(value) and value <= MAX_PORT
    return "" if fits else f"is no whole number between 0 and {MAX_PORT}"


def _word(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and value != "" and " " not in value


def _name(value: object) -> str:
    return "" if _word(value) else "is no text of printable characters other than spaces"


def _durability(value: object) -> str:
    return "" if value in DURABILITY else f"is none of {', '.join(DURABILITY)}"


def _address(value: object) -> str:
    """An address or a name of a host, or nothing."""
    return "" if value == "" else _host(value)


def _host(value: object) -> str:
    if not isinstance(value, str):
        return "is no text"
    try:
        host_name(value)
    except ValueError as error:
        return str(error)
    return ""


def _texts(each: Check) -> Check:
    def check(value: object) -> str:
        if not isinstance(value, tuple):
            return "is no tuple of texts"
        return next((f"has {one!r}, which {why}" for one in value if (why := each(one))), "")

    return check


def _address_type(value: object) -> str:
    return "" if value in ADDRESS_TYPES else f"is none of {', '.join(ADDRESS_TYPES)}"


def _audience(value: str) -> str:
    return "" if value and "," not in value else "is empty or has a comma"


def _issuer(value: object) -> str:
    return "" if _word(value) else "is no URL or name without spaces"


def _gates(value: object) -> str:
    fits = isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(on, bool) for name, on in value.items()
    )
    return "" if fits else "is no mapping of names to True or False"


def _ranges(value: object) -> str:
    if not isinstance(value, str):
        return "is no text"
    networks = []
    for cidr in value.split(","):
        try:
            networks.append(ipaddress.ip_network(cidr.strip(), strict=False))
        except ValueError:
            return "is no CIDR such as 10.0.0.0/24, nor two between a comma"
    if len(networks) > 2:
        return "has more than two entries"
    if len({network.version for network in networks}) < len(networks):
        return "has two ranges of the same IP family"
    if any(network.num_addresses < SMALLEST_RANGE for network in networks):
        return f"is too small: a range has at least {SMALLEST_RANGE} addresses"
    return ""


def _address_types(value: object) -> str:
    return _texts(_address_type)(value) or ("" if value else "names no type of address")


CHECKS: Mapping[str, Check] = {
    "data_dir": _path,
    "name": _name,
    "bind_address": _address,
    "secure_port": _port,
    "advertise_address": _address,
    "cert_dir": _path_or_none,
    "tls_cert_file": _path_or_none,
    "tls_private_key_file": _path_or_none,
    "client_ca_file": _path_or_none,
    "token_auth_file": _path_or_none,
    "allow_privileged": _boolean,
    "anonymous_auth": _boolean,
    "durability": _durability,
    "accept_data_loss": _boolean,
    "history_window_s": _seconds,
    "compact_interval_s": _seconds,
    "request_timeout_s": _some_seconds,
    "min_request_timeout_s": _seconds,
    "max_connections": _count,
    "max_connections_per_address": _count,
    "max_unauthenticated_connections": _count,
    "max_requests_inflight": _count,
    "max_mutating_requests_inflight": _count,
    "priority_and_fairness": _boolean,
    "shutdown_delay_s": _seconds,
    "shutdown_grace_s": _seconds,
    "service_cluster_ip_range": _ranges,
    "service_account_issuer": _issuer,
    "api_audiences": _texts(_audience),
    "kubelet_client_certificate": _path_or_none,
    "kubelet_client_key": _path_or_none,
    "kubelet_certificate_authority": _path_or_none,
    "kubelet_preferred_address_types": _address_types,
    "kubelet_timeout_s": _some_seconds,
    "feature_gates": _gates,
    "extra_hosts": _texts(_host),
}
"""What each field may be."""
