"""Flags of services and kubelets."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import Rule, Section, both_or_none, flag, section
from kubetrio.config.kinds import ADDRESS_TYPE_LIST, ADDRESS_TYPES, FILE, RANGES, SOME_TIME


@section
class Services(Section):
    """Addresses of Services; see the reference of flags."""

    TITLE: ClassVar[str] = "services"

    cluster_ip_range: str = flag(
        "service-cluster-ip-range", RANGES, "10.0.0.0/24",
        "addresses of Services, one range or two of different families with a comma",
    )  # fmt: skip

    @property
    def ranges(self) -> tuple[str, ...]:
        """CIDRs of service addresses, the primary family's first."""
        return tuple(cidr.strip() for cidr in self.cluster_ip_range.split(","))


@section
class Kubelet(Section):
    """How kubelets are reached; see the reference of flags."""

    TITLE: ClassVar[str] = "kubelets"
    RULES: ClassVar[tuple[Rule, ...]] = (both_or_none("client_certificate", "client_key"),)

    client_certificate: Path | None = flag(
        "kubelet-client-certificate", FILE, None, "client certificate shown to kubelets",
        unset="made by the server's authority",
        more="See [certificates](../how-to/connect-a-node.md#certificates).",
    )  # fmt: skip
    client_key: Path | None = flag("kubelet-client-key", FILE, None, "its key; the two go together")
    certificate_authority: Path | None = flag(
        "kubelet-certificate-authority", FILE, None,
        "authority of kubelets' certificates, which are not checked without it",
    )  # fmt: skip
    preferred_address_types: tuple[str, ...] = flag(
        "kubelet-preferred-address-types", ADDRESS_TYPE_LIST, ADDRESS_TYPES,
        "which of a node's addresses is used: the first type that there is",
    )  # fmt: skip
    timeout_s: float = flag("kubelet-timeout", SOME_TIME, 5.0, "limit of connecting to a kubelet")
