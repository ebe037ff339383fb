"""DenyServiceExternalIPs: services get no external addresses that they do not have.

Source: docs "Admission Control in Kubernetes" (DenyServiceExternalIPs); CVE-2020-8554.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Plugin
from kubetrio.admission.plugin import Base, about, denied
from kubetrio.machinery.names import GroupResource

if TYPE_CHECKING:
    from kubetrio.plugins.context import PluginContext

SERVICES = GroupResource("", "services")


class DenyServiceExternalIPs(Base):
    """The plugin."""

    name = "DenyServiceExternalIPs"
    resources = frozenset({SERVICES})
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    async def validate(self, attributes: Attributes) -> None:
        """Refuse new ones; those that are there may stay.

        Raises:
            ApiError: 403.
        """
        service = about(attributes, SERVICES)
        if service is not None and not _addresses(service) <= _addresses(attributes.old):
            raise denied(attributes, "Use of external IPs is denied by admission control")


def _addresses(service: dict[str, Any] | None) -> set[str]:
    return set(((service or {}).get("spec") or {}).get("externalIPs") or ())


def external_ips(_: PluginContext) -> Plugin:
    """Make the plugin DenyServiceExternalIPs."""
    return DenyServiceExternalIPs()
