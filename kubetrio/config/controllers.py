"""Flags of controllers, as kube-controller-manager has them."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any, ClassVar

from kubetrio.config.flag import (
    ConfigError,
    Rule,
    Section,
    both_or_none,
    error_of,
    flag,
    section,
)
from kubetrio.config.kinds import COUNT, FILE, MAYBE_RANGES, SOME_TIME

YEAR_S = 365 * 24 * 3600.0


@section
class Certificates(Section):
    """What controllers sign and clean up; see the reference of flags."""

    TITLE: ClassVar[str] = "controllers"
    RULES: ClassVar[tuple[Rule, ...]] = (both_or_none("signing_cert_file", "signing_key_file"),)

    signing_cert_file: Path | None = flag(
        "cluster-signing-cert-file", FILE, None,
        "PEM file of the authority that signs certificate requests",
        unset="the server's own, unless --client-ca-file names others",
    )  # fmt: skip
    signing_key_file: Path | None = flag(
        "cluster-signing-key-file", FILE, None, "its key; the two go together"
    )
    signing_duration_s: float = flag(
        "cluster-signing-duration", SOME_TIME, YEAR_S,
        "longest life of the certificates that are signed; requests may ask for less",
    )  # fmt: skip
    unused_tokens_s: float = flag(
        "legacy-service-account-token-clean-up-period", SOME_TIME, YEAR_S,
        "tokens in Secrets that were not used for so long are made invalid, and deleted after the "
        "same time again",
    )  # fmt: skip


@section
class Scheduler(Section):
    """How pods are scheduled; see the reference of flags."""

    TITLE: ClassVar[str] = "controllers"

    file: Path | None = flag(
        "scheduler-config", FILE, None,
        "file with a KubeSchedulerConfiguration for the controller kube-scheduler",
        more="See [its profiles](../how-to/simulate-a-cluster.md#profiles-of-the-scheduler).",
    )  # fmt: skip


MOST_BITS = 16
"""A range is cut into 2 to this many parts at most."""


def _fit(chosen: Any) -> ConfigError | None:
    """Check that each range can be cut as it is to be."""
    ranges = chosen.ranges
    if chosen.mask_size and len(ranges) > 1:
        why = "is for one range: give a size for each family"
        return error_of(type(chosen), ("mask_size",), why)
    for network, size in ranges:
        field = "mask_size_ipv4" if network.version == 4 else "mask_size_ipv6"
        if not network.prefixlen <= size <= network.max_prefixlen:
            why = f"{size} cuts no part of {network}"
            return error_of(type(chosen), (field,), why)
        if size - network.prefixlen > MOST_BITS:
            why = f"{size} cuts {network} into more than {1 << MOST_BITS} parts"
            return error_of(type(chosen), (field,), why)
    return None


@section
class NodeIpam(Section):
    """Which addresses the pods of nodes get; see the reference of flags."""

    TITLE: ClassVar[str] = "controllers"
    RULES: ClassVar[tuple[Rule, ...]] = (_fit,)

    cluster_cidr: str = flag(
        "cluster-cidr", MAYBE_RANGES, "",
        "addresses of pods, one range or two of different families with a comma; "
        "node-ipam-controller gives each node a part of each",
        unset="nodes get none",
    )  # fmt: skip
    mask_size: int = flag(
        "node-cidr-mask-size", COUNT, 0,
        "bits that the addresses of a node have in common, where there is one range; "
        "0 for 24 with IPv4 and 64 with IPv6",
    )  # fmt: skip
    mask_size_ipv4: int = flag("node-cidr-mask-size-ipv4", COUNT, 24, "the same of the IPv4 range")
    mask_size_ipv6: int = flag("node-cidr-mask-size-ipv6", COUNT, 64, "the same of the IPv6 range")

    @property
    def ranges(self) -> list[tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, int]]:
        """The ranges, and the prefix length of a node's part of each."""
        parts = self.cluster_cidr.split(",") if self.cluster_cidr else []
        networks = [ipaddress.ip_network(part.strip(), strict=False) for part in parts]
        sizes = {4: self.mask_size_ipv4, 6: self.mask_size_ipv6}
        return [(one, self.mask_size or sizes[one.version]) for one in networks]
